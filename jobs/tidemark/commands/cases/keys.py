"""Keys of a case file, and columns that its rows may have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

import pyarrow as pa

from tidemark.config import PipelineSpec, SourceSpec
from tidemark.config.models.pipeline import tables_of_rows
from tidemark.config.table_schema import schema_of
from tidemark.ledger.tables.schemas import TABLES

CASE_KEYS = ("case", "given", "runs", "expect", "set")
RUN_KEYS = ("as_of", "close")
ROW_KEYS = ("at", "landed", "file", "raw")
_SHOWN = 12
"""Maximum number of names that a message lists if no name is near."""


def missing_name(what: str, name: object, known: Iterable[str], where: str = "") -> str:
    """Message for a name that does not exist, with the nearest names, or else with the existing names."""
    names = list(known)
    lower = {each.lower(): each for each in names}
    close = [lower[each] for each in get_close_matches(str(name).lower(), lower, 3, 0.6)]
    if close:
        return f"there is no {what} {name!r}{where}: did you mean {' or '.join(close)}?"
    listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return f"there is no {what} {name!r}{where}: there are {listed or 'none'}"


def tables_of(spec: PipelineSpec) -> list[str]:
    """Names of the tables that a case may expect rows of."""
    return [*tables_of_rows(spec.streams, spec.sources), *(name for name in TABLES if name != "plans"), "substreams"]


def columns_of_table(spec: PipelineSpec, table: str) -> pa.Schema | None:
    """Columns of a table; None if they are known only once it has rows. A column has the type null if only Spark
    knows its type."""
    return TABLES.get(table) or schema_of(spec, table)


def row_keys(source: SourceSpec) -> Mapping[str, str]:
    """The keys of a given row beside its payload, by their meaning: `at`, or `_at` if the source has a column `at`,
    and so on."""
    columns = {column.name for column in source.columns}
    return {key: f"_{key}" if key in columns else key for key in ROW_KEYS}
