"""Settings of commits to small tables: how files are written, and the writer's number in the log."""

from __future__ import annotations

from collections.abc import Mapping

from deltalake import ColumnProperties, CommitProperties, DeltaTable, Transaction, WriterProperties

from tidemark.ledger.tables.schemas import ALL_DIFFERENT, GROUP_ROWS, bounded

FORGOTTEN = "forgotten"
"""Writer under which the log of `objects` has the time (microseconds UTC) before which objects were forgotten."""


def writer_properties(table: str) -> WriterProperties:
    """Settings for writing files. Row groups have bounds only for look-up columns: bounds of the others would be half
    of a file of wide rows, and be read each time."""
    kept = {name: ColumnProperties(statistics_enabled="CHUNK") for name in bounded(table)}
    plain = ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE")
    return WriterProperties(
        compression="ZSTD",
        max_row_group_size=GROUP_ROWS.get(table, 4096),
        default_column_properties=ColumnProperties(statistics_enabled="NONE"),
        column_properties=kept | dict.fromkeys(ALL_DIFFERENT.get(table, ()), plain),
    )


def has_recorded(table: DeltaTable, writer: str | None, version: int) -> bool:
    """True if a table's log has this version, or a later one, of a writer."""
    known = None if writer is None else table.transaction_version(writer)
    return known is not None and known >= version


def commit_properties(
    writer: str | None, version: int, retries: int | None = None, also: Mapping[str, int] | None = None
) -> CommitProperties:
    """Settings of a commit that records `version` for `writer` (if any), and `also` for other writers."""
    written = {} if writer is None else {writer: version, **(also or {})}
    transactions = [Transaction(*each) for each in written.items()] or None
    return CommitProperties(max_commit_retries=retries, app_transactions=transactions)
