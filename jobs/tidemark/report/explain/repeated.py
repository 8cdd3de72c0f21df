"""The earlier row that a duplicate repeats."""

from __future__ import annotations

import pyarrow.compute as pc

from tidemark.config.secrets import hidden
from tidemark.config.sql.names import plain_names
from tidemark.core.policy import Reason
from tidemark.report.events import EventRow, payload_columns, read_row
from tidemark.report.explain.origin import Past
from tidemark.report.scan import between, both, single, sql, stream
from tidemark.report.words import duration, moment


def repeated_row(past: Past) -> EventRow | None:
    """Return the last earlier row that makes this row a duplicate.

    None if this row is no duplicate, if `deduplicate.by` has an expression, which only Spark can compute, or if
    retention has removed the earlier row.
    """
    row, known = past.row, past.facts.duplicates
    if Reason.DUPLICATE not in row.reasons or known is None or row.arrival_time is None:
        return None
    by, within = known
    columns = _columns(past, by)
    if columns is None:
        return None
    earlier = past.earlier() & (pc.field("_disposition") != "quarantined")
    recent = both(earlier, between("_arrival_time", row.arrival_time - within + 1, row.arrival_time))
    itself = (pc.field("_partition") == row.partition) & (pc.field("_offset") == row.offset)
    with sql() as connection:
        connection.register("earlier", stream(past.events, ["_offset", *columns], recent))
        connection.register("itself", past.events.to_table(columns=columns, filter=itself))
        equal = " AND ".join(f"earlier.{name} = itself.{name}" for name in map(_quoted, columns))
        offset = single(connection, f"SELECT max(_offset) FROM earlier, itself WHERE {equal}")  # noqa: S608
    return None if offset is None else read_row(past.facts.name, past.events, row.partition, offset)


def sentence(past: Past, earlier: EventRow | None, day: str | None) -> str:
    """Say in a sentence which row a duplicate repeats, as far as that is known."""
    if past.facts.duplicates is None:
        return "It repeats an earlier row of its partition, and was dropped before any step."
    by, within = past.facts.duplicates
    kept = "It was dropped before any step: no tolerance would have kept it."
    equal = f"has equal {hidden(', '.join(by))} (deduplicate). {kept}"
    if earlier is None:
        arrived = f"which arrived less than {duration(within)} before it"
        return f"It is a duplicate: an earlier row of its partition, {arrived}, {equal}"
    came = f"which came from {earlier.file} in batch {earlier.batch_id} and arrived at"
    arrived = f"{moment(earlier.arrival_time, day)}, less than {duration(within)} before it"
    return f"It is a duplicate: row {earlier.offset}, {came} {arrived}, {equal}"


def _columns(past: Past, by: tuple[str, ...]) -> list[str] | None:
    """The columns that `by` names, in any case; None if `by` has an expression."""
    known = {name.lower(): name for name in payload_columns(past.events.schema)}
    parts = [plain_names(text) for text in by]
    found = [known.get(each[0].lower()) if len(each) == 1 else None for each in parts]
    return None if None in found else [name for name in found if name is not None]


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
