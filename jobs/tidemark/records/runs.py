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
    """Combined watermark of a source, and that of each partition (null: none yet). If `truncated`, there are more
    partitions."""

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
    """Results of a committed run. Objects and bytes are those of all its batches; if `truncated`, `batches` are only
    the first. `notes` are about changes of the pipeline's file since the run before, and about objects that landed in
    the future. `chain` is the head of the chain of batches when the run ended (null: its batches are of no chain)."""

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
    """Result of computing a batch again. `input` is `landing`, `events`, or `stored` (a backfill made the batch);
    `digest_version` is null if the batch has no rows. `identical` is null if nothing differs, but tables could not be
    compared, for the reasons in `not_compared`: retention has deleted rows that they were made from."""

    batch_id: int
    identical: bool | None
    input: str
    digest_version: int | None
    differences: list[str]
    not_compared: list[str]


class ReplayRecord(TypedDict):
    """Record of `replay`. `rebuilt` says how batches that a backfill made are proven; `engine_changed` names versions
    and settings that are others now. `identical` is null if no batch differs, but some could not be compared."""

    rebuilt: str | None
    identical: bool | None
    batches: list[ReplayedBatch]
    engine_changed: list[str]


class RunRecord(RunSummary):
    """Record of `run` and `close`. `repaired` are runs that had crashed and were finished first. `verified` is there
    if the run was committed before and has been replayed, `compacted_seconds` if it was not. `names` are sentences on
    names of tables that do not read the live version."""

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
    """Record of `run --dry-run`: the objects that a run would take. It has the keys of a run, without contents."""

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
    """Watermarks of the last committed run, and counts of all `runs` since the event before, for the consumers of
    their tables."""

    run_id: str
    as_of: str
    runs: list[str]
    watermarks: dict[str, WatermarkSummary]
    streams: dict[str, StreamSummary]
    rows: int


class ReleaseRecord(RunSummary):
    """Record of `release`: the run, which is published now."""

    released: Literal[True]


class AbandonRecord(TypedDict):
    """Record of `abandon`: the run's batches, and the number of its objects, which the next run takes."""

    run_id: str
    abandoned: Literal[True]
    reason: str | None
    batches: list[int]
    objects: int


class TableFiles(TypedDict):
    """Files of a table: all, those small enough to be merged, and those that nothing needs any more."""

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
