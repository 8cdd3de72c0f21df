"""Records of commands that look at rows and tables: `rows`, `explain`, `path`, `report`. Times are ISO 8601 UTC with
Z; times outside the calendar are numbers of microseconds, in words."""

from __future__ import annotations

from typing import Any, NotRequired, Required

from typing_extensions import TypedDict


class PathRecord(TypedDict):
    """Record of `report` (the page) and of `setup` (the folder of jars)."""

    path: str


class TablePathRecord(PathRecord):
    """Record of `path`: a table's folder in the live version. `names`: a path and views that follow `promote`; the
    folder does not, and `warnings` says so."""

    names: list[str]
    warnings: list[str]


class CompletionRecord(TypedDict):
    """Record of `completion`: the script that completes commands in a shell."""

    shell: str
    script: str


class EventRecord(TypedDict):
    """A row of `events/<source>`. `moved_by` and `moved_micros` are the system timestamp less the event time;
    `payload` has the user's columns as JSON."""

    source: str
    partition: str
    offset: int
    disposition: str
    reasons: list[str]
    event_time: str | None
    arrival_time: str | None
    system_timestamp: str | None
    end_time: str | None
    watermark: str | None
    substream: str | None
    moved_by: str | None
    moved_micros: int | None
    batch_id: int
    file: str | None
    raw: str | None
    payload: dict[str, Any]


EVENT_COLUMNS = tuple(name for name in EventRecord.__annotations__ if name != "payload")
"""Keys of a row except `payload`."""


class WindowBounds(TypedDict, total=False):
    """The window that a dead letter is late for."""

    window_start: str | None
    window_end: str | None


class FoundRow(EventRecord, WindowBounds):
    """A row that was found; for a dead letter, with its window."""


class ListedRow(TypedDict):
    """A row of a list, without its content. `moved_by` and `moved_micros` are the system timestamp less the event
    time, `lag_micros` is the arrival less the event time."""

    source: str
    partition: str
    offset: int
    arrival_time: str | None
    event_time: str | None
    system_timestamp: str | None
    reasons: list[str]
    moved_by: str | None
    moved_micros: int | None
    lag_micros: int | None
    file: str | None


class BlockedRows(TypedDict):
    """`blocked` says which batches were not searched, since quality blocks their run."""

    blocked: NotRequired[str]


class RowsRecord(BlockedRows):
    """Record of `rows`. `total` counts all matches; `gone` counts dead letters whose row was removed by retention."""

    rows: list[FoundRow]
    total: int
    truncated: bool
    gone: NotRequired[int]


class RowGroup(TypedDict, total=False):
    """A group of rows: the requested dimensions, and the number of rows. Rows without a reason count under null."""

    source: str
    partition: str | None
    reason: str | None
    fate: str
    hour: str | None
    day: str | None
    file: str | None
    run: str | None
    rows: Required[int]


class GroupsRecord(BlockedRows):
    """Record of `rows --by`. `total` counts each row once."""

    groups: list[RowGroup]
    by: list[str]
    total: int
    truncated: bool


class ExportRecord(BlockedRows):
    """Record of `rows --format csv` and `parquet`: the file, and the number of rows in it."""

    path: str
    format: str
    rows: int


class RowReference(TypedDict):
    """A row of the same source and partition."""

    offset: int
    batch_id: int
    file: str | None


class ArrivalRecord(TypedDict):
    """Arrivals of a row: in force, its own, from its arrival column, and the landing time of its object. The arrival
    in force was `raised_by` an earlier row, or `estimated_in` a batch."""

    in_force: str | None
    own: str | None
    column: str | None
    landed: str | None
    raised_by: RowReference | None
    estimated_in: int | None


class StepRecord(TypedDict):
    """One step of judging a row: the compared times, their difference, and the row's time after the step."""

    step: str
    outcome: str
    tolerance: str | None
    tolerance_micros: int | None
    action: str | None
    time: str | None
    reference: str | None
    difference: str | None
    difference_micros: int | None
    after: str | None
    sentence: str


class OriginRecord(TypedDict):
    """Cause of a watermark. `kind`: `row` (with its times), `floor`, `late_start` or `imported` (with the batch that
    ended a run and the partition's state then), or `unknown`."""

    kind: str
    watermark: str | None
    offset: NotRequired[int]
    batch_id: NotRequired[int]
    file: NotRequired[str | None]
    event_time: NotRequired[str | None]
    arrival_time: NotRequired[str | None]
    system_timestamp: NotRequired[str | None]
    substream: NotRequired[str | None]
    as_of: NotRequired[str | None]
    last_arrival: NotRequired[str | None]
    estimated_arrival: NotRequired[str | None]
    last_seen: NotRequired[str | None]
    idle: NotRequired[bool]


class NeedRecord(TypedDict):
    """A setting and the smallest value with which the row would be on time: in words, in microseconds, and as written
    in a configuration."""

    setting: str
    at_least: str
    micros: int
    value: str
    possible: bool


class LateRecord(TypedDict):
    """A window that a row is late for: the watermark that had passed it, whose watermark that is (`row` or `step`),
    and the smallest `allowed_lateness` that keeps the row."""

    stream: str
    window_start: str | None
    window_end: str | None
    watermark: str | None
    passed_by: str | None
    allowed_lateness: str | None
    allowed_lateness_micros: int | None
    sentence: str


class ExplainRecord(TypedDict):
    """Record of `explain`. `set_by`: the cause of the watermark before the row. `on_time_with` is null if no
    tolerance keeps the row. `repeats`: the earlier row that it duplicates (null: none, or not known)."""

    row: EventRecord
    arrival: ArrivalRecord
    steps: list[StepRecord]
    set_by: OriginRecord | None
    on_time_with: list[NeedRecord] | None
    late_for: list[LateRecord]
    repeats: RowReference | None
    sentences: list[str]
