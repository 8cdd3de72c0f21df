"""Record of `status`. Times are ISO 8601 UTC with Z; keys that end in `_micros` are microseconds."""

from __future__ import annotations

from typing import final

from typing_extensions import TypedDict

from tidemark.records.runs import RowsByFate, StreamSummary


class PartitionSummary(TypedDict):
    """Progress of a partition. Delays are measured from the last `as_of`. `why`: how it holds its source back (null:
    it does not)."""

    source: str
    partition: str
    watermark: str | None
    watermark_delay: str | None
    watermark_delay_micros: int | None
    high: str | None
    last_arrival: str | None
    last_seen: str | None
    idle_for: str | None
    idle_for_micros: int | None
    estimated_arrival: str | None
    floor: str | None
    complete: bool
    rows: int
    open_lifetimes: int
    holds_back: bool
    why: str | None


class SourceSummary(TypedDict):
    """Progress of a source: combined watermark, delays of its largest watermark and of its output, partitions that
    hold it back, and sentences on delays beyond the limits of quality (`attention`)."""

    source: str
    watermark: str | None
    watermark_delay: str | None
    watermark_delay_micros: int | None
    output_delay: str | None
    output_delay_micros: int | None
    complete: bool
    held_back_by: list[str]
    attention: list[str]


class PastRunSummary(RowsByFate):
    """Results of a recent run; `command` lists the dropped rows of its batch with most of them (null: no row was
    dropped)."""

    run_id: str
    as_of: str | None
    status: str
    first_batch: int
    last_batch: int
    objects: int
    bytes: int
    rows: int
    by_reason: dict[str, int]
    command: str | None


class ProgressRecord(TypedDict):
    """Progress of all partitions and sources as of the last run, and the recent runs, newest first. If `truncated`,
    there are more partitions."""

    as_of: str | None
    partitions: list[PartitionSummary]
    sources: list[SourceSummary]
    runs: list[PastRunSummary]
    truncated: bool


class StreamProgressSummary(StreamSummary):
    """Progress of a stream, and the results of the last run for it."""

    stream: str
    published: bool
    output_delay_micros: int | None


class StandingRecord(TypedDict):
    """State of the pipeline, the run and checks that block it, and the commands for the next step."""

    state: str
    run_id: str | None
    as_of: str | None
    failed: list[str]
    sentence: str | None
    commands: list[str]


class AbandonedRun(TypedDict):
    """A run that was abandoned, or is being abandoned (`status`), and the reason."""

    run_id: str
    status: str
    reason: str | None
    batches: list[int]


@final
class TableDamage(TypedDict):
    """A table that is damaged or was not rebuilt, and why."""

    table: str
    why: str


class StatusRecord(ProgressRecord):
    """Record of `status`. `pending`: batches that are not committed. `blocked`: the reason why no run can go on
    (null: none). `chain`: head of the chain of batches (null: there is none yet). `failed`: sentences on failed
    checks of the newest committed run. `names`: sentences on names of tables that do not read the live version."""

    pipeline: str
    version: int
    streams: list[StreamProgressSummary]
    pending: list[int]
    standing: StandingRecord
    blocked: str | None
    failed: list[str]
    abandoned: list[AbandonedRun]
    chain: str | None
    damaged: list[TableDamage]
    names: list[str]
