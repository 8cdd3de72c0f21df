"""Records of commands on versions and on faults in them: `backfill`, `versions`, `promote`, `register`, `exclude`,
`repair`."""

from __future__ import annotations

from typing import Any, NotRequired, final

from typing_extensions import TypedDict

from tidemark.records.status import TableDamage


class FateSide(TypedDict):
    """Fate of a row in one of two versions."""

    disposition: str
    time: str | None
    reasons: list[str] | None


class ChangedRow(TypedDict):
    """A row whose fate a backfill changed (null: the version lacks the row). `crosses` names the end of the range
    (`T0`, `T1`) that the row's time crosses."""

    partition: str
    offset: int
    file: NotRequired[str | None]
    event_time: str | None
    crosses: str | None
    before: FateSide | None
    after: FateSide | None


class RowsDifference(TypedDict):
    """Changed rows of a source: their number, the number of rows that cross an end of the range, numbers by both
    fates (`late -> on_time`), and the first of these rows."""

    changed: int
    crossing: int
    fates: dict[str, int]
    examples: NotRequired[list[ChangedRow]]


class ChangedWindow(TypedDict):
    """A window with its values in both versions (null: the version lacks it). `about` has its other columns."""

    start: str | None
    end: str | None
    about: dict[str, Any]
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class OutputDifference(TypedDict):
    """Numbers of rows that a table lost and gained; for windows also the newest of these."""

    gone: int
    new: int
    windows: NotRequired[list[ChangedWindow]]


class FateSides(TypedDict):
    """Numbers of rows by source and fate, in both versions."""

    before: dict[str, dict[str, int]]
    after: dict[str, dict[str, int]]


class ExcludedObject(TypedDict):
    """An excluded object: the number of its rows, and of rows left since their time is outside the range."""

    source: str
    uri: str
    rows: int
    left: int


class DifferenceRecord(TypedDict):
    """Differences between a version and its base, by source and by stream; only names with differences."""

    rows: dict[str, RowsDifference]
    streams: dict[str, OutputDifference]
    dead_letters: dict[str, OutputDifference]
    fates: NotRequired[FateSides]
    excluded: NotRequired[list[ExcludedObject]]


def nothing_differs() -> DifferenceRecord:
    """A difference without any row, output or dead letter."""
    return {"rows": {}, "streams": {}, "dead_letters": {}}


OutputRange = TypedDict("OutputRange", {"from": str, "to": str | None})
"""Range of output times; `to` null: up to the last run. Written as a call, since `from` is a keyword."""

PossibleRange = TypedDict("PossibleRange", {"from": str | None, "to": str | None})
"""As OutputRange; `from` is null if no backfill made the version."""


class BackfillRecord(OutputRange):
    """Record of `backfill`: the version that was built from `base`, whose last batch was `through`."""

    version: int
    path: str
    base: int
    through: int
    fingerprint: str
    from_landing: bool
    input_rows: int
    identical: bool
    difference: DifferenceRecord


class VersionRecord(PossibleRange):
    """One version. If no backfill made it, the keys that a backfill sets are null."""

    version: int
    live: bool
    path: str
    created: str | None
    promoted: str | None
    fingerprint: str | None
    base: int | None
    through: int | None
    from_landing: bool | None
    label: str | None
    difference: DifferenceRecord | None


class VersionsRecord(TypedDict):
    """Record of `versions`. `live` is null before the first run."""

    live: int | None
    versions: list[VersionRecord]


class PromoteRecord(TypedDict):
    """Record of `promote`. `brought_up`: the batches that the version lacked. `edit`: the settings that the
    pipeline's file should have. `names`: sentences on names that do not follow by themselves."""

    version: int
    before: int
    live: int
    brought_up: list[int]
    edit: list[str]
    versions: list[VersionRecord]
    path: str
    names: list[str]


class NamedTable(TypedDict):
    """A table and its view, each part of its name in backquotes."""

    table: str
    name: str


class RegisterRecord(TypedDict):
    """Record of `register`: the views that follow (none without a catalog), the statements that a person has to run
    (else empty), the link for plain paths (null: none), and sentences on names that do not read the live version."""

    catalog: str | None
    schema: str | None
    version: int
    tables: list[NamedTable]
    statements: list[str]
    published: str | None
    names: list[str]


class TakenBy(TypedDict):
    """A source, and its batch that took the object."""

    source: str
    batch_id: int


class ExcludeRecord(TypedDict):
    """Record of `exclude`."""

    uri: str
    reason: str
    recorded: str
    sources: list[TakenBy]


class RebuiltRows(TypedDict):
    """Rows that were rebuilt, their batches, and the input that they were made from."""

    batches: list[int]
    rows: int
    input: str


class RebuiltTable(RebuiltRows):
    """A table that was rebuilt."""

    table: str


@final
class RewrittenTable(TypedDict):
    """A table with files that some readers could not read; these files were written again with equal content."""

    table: str
    files: int
    rows: int


class RepairRecord(TypedDict):
    """Record of `repair`: damage by table, tables that were rebuilt, rewritten or `left`, and the folder with
    unreadable files (`kept`; null: there are none)."""

    repaired: list[RebuiltTable]
    rewritten: list[RewrittenTable]
    left: list[TableDamage]
    damaged: dict[str, str]
    kept: str | None
