"""Records of commands that act on runs: `run`, `close`, `release`, `abandon`, `process`, `replay`, `maintain`,
`demo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NotRequired, final

from typing_extensions import TypedDict

from tidemark.core.policy import Fate


class RowsByFate(TypedDict):
    """Numbers of rows by fate; their sum is the number of all rows."""

    on_time: int
    adjusted: int
    dropped: int
    quarantined: int


def rows_by_fate(counts: Mapping[Fate, int]) -> RowsByFate:
    """Numbers of rows by fate; `counts` has each fate."""
    return {
        "on_time": counts[Fate.ON_TIME],
        "adjusted": counts[Fate.ADJUSTED],
        "dropped": counts[Fate.DROPPED],
        "quarantined": counts[Fate.QUARANTINED],
    }


class BatchSummary(RowsByFate):
    """Counts of a micro-batch: its rows by fate and by reason, its objects and their bytes, and the seconds that
    judging took."""

    batch_id: int
    rows: int
    by_reason: dict[str, int]
    objects: int
    bytes: int
    seconds: float


class WatermarkSummary(TypedDict):
    """Combined watermark of a source, and the watermark of each partition (null: none yet). If `truncated`, there are
    more partitions."""

    watermark: str | None
    complete: bool
    partitions: dict[str, str | None]
    truncated: NotRequired[bool]


class StreamSummary(TypedDict):
    """Results of a run for a stream: rows written, rows that are in no window, dead letters, and its watermark."""

    rows: int
    outside: int
    dead_letters: int
    watermark: str | None
    complete: bool


class CheckSummary(TypedDict):
    """Result of a check. `observed` and `limit` are shares from 0 to 1, seconds, or counts; `examples` name rows as
    `source partition offset`."""

    table: str
    expectation: str
    observed: float | None
    limit: float | None
    success: bool
    severity: str
    examples: tuple[str, ...]
    message: str


class FindingSummary(TypedDict):
    """One finding of a micro-batch. `partition` is null if it is about an object."""

    source: str
    partition: str | None
    type: str
    count: int
    message: str


class RunSummary(TypedDict):
    """Results of a committed run. `objects` and `bytes` count all its batches; if `truncated`, `batches` has only the
    first ones. `notes`: changes of the pipeline's file since the run before, and objects that landed in the future.
    `chain`: head of the chain of batches at the end of the run (null: its batches are in no chain)."""

    run_id: str
    as_of: str
    batches: list[BatchSummary]
    truncated: bool
    watermarks: dict[str, WatermarkSummary]
    streams: dict[str, StreamSummary]
    quality: list[CheckSummary]
    objects: int
    bytes: int
    diagnostics: list[FindingSummary]
    notes: list[str]
    chain: str | None


class ReplayedBatch(TypedDict):
    """Result of computing a batch again. `input` is `landing`, `events`, or `stored` (a backfill made the batch).
    `digest_version` is null if the batch has no rows. `identical` is null if nothing differs, but some tables could
    not be compared because retention deleted their input rows; `not_compared` has the reasons."""

    batch_id: int
    identical: bool | None
    input: str
    digest_version: int | None
    differences: list[str]
    not_compared: list[str]


class ReplayRecord(TypedDict):
    """Record of `replay`. `rebuilt`: how batches made by a backfill are verified. `engine_changed`: versions and
    settings that have changed since. `identical` is null if no batch differs, but some could not be compared."""

    rebuilt: str | None
    identical: bool | None
    batches: list[ReplayedBatch]
    engine_changed: list[str]


class RunRecord(RunSummary):
    """Record of `run` and `close`. `repaired`: runs that had crashed and were finished first. `verified` is present
    if the run was committed before and was replayed, else `compacted_seconds`. `names`: sentences on names of tables
    that do not read the live version."""

    repaired: list[str]
    names: NotRequired[list[str]]
    compacted_seconds: NotRequired[float | None]
    verified: NotRequired[ReplayRecord]


class TakenObject(TypedDict):
    """An object that a run would take; `modified` is its landing time."""

    source: str
    uri: str
    size: int
    modified: str


@final
class PlanRecord(TypedDict):
    """Record of `run --dry-run`: objects to take; `batches`, `watermarks`, `streams` and `quality` are empty."""

    run_id: None
    as_of: str
    dry_run: Literal[True]
    objects: int
    bytes: int
    micro_batches: int
    would_take: list[TakenObject]
    truncated: bool
    diagnostics: list[FindingSummary]
    batches: list[BatchSummary]
    watermarks: dict[str, WatermarkSummary]
    streams: dict[str, StreamSummary]
    quality: list[CheckSummary]
    notes: list[str]


class BlockedRecord(TypedDict):
    """Record of `process` if quality blocks the run: the reason."""

    run_id: str
    blocked: str


class PublishedRun(RowsByFate):
    """Watermarks of the last committed run, and counts of all `runs` since the previous event, for consumers of the
    tables."""

    run_id: str
    as_of: str
    runs: list[str]
    watermarks: dict[str, WatermarkSummary]
    streams: dict[str, StreamSummary]
    rows: int


class ReleaseRecord(RunSummary):
    """Record of `release`: the run that is now published."""

    released: Literal[True]


class AbandonRecord(TypedDict):
    """Record of `abandon`: the run's batches, and the number of its objects; the next run takes these objects."""

    run_id: str
    abandoned: Literal[True]
    reason: str | None
    batches: list[int]
    objects: int


class TableFiles(TypedDict):
    """Numbers of files of a table: all, files small enough to be merged, and files that nothing needs any more."""

    files: int
    small_files: int
    unneeded_files: int


@final
class MaintenancePlan(TypedDict):
    """Record of `maintain --dry-run`."""

    dry_run: Literal[True]
    tables: dict[str, TableFiles]


class MaintainRecord(TypedDict):
    """Record of `maintain`. `merged_seconds` is null if no run is committed."""

    dry_run: Literal[False]
    merged_seconds: float | None
    vacuumed_tables: int
    removed_versions: list[int]


class DemoRecord(RunRecord):
    """Record of `demo`: its last run with the batches of all runs, their replay, and the path of the report."""

    replay: ReplayRecord
    report: str
