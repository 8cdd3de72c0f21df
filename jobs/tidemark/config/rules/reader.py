"""Rules for the keys that say how files name and nest their values: `header_columns`, `rows`, `rescue`."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidemark.config.files.yaml import KeyFinding
from tidemark.config.formats import names_where
from tidemark.config.models.sources import SourceSpec
from tidemark.config.models.values import shown
from tidemark.config.types import SYSTEM_COLUMNS, unstorable


def reader_errors(spec: SourceSpec, bad: Collection[str]) -> Iterator[KeyFinding]:
    """Contradictions among these keys; `bad` names keys whose values cannot be relied on."""
    if "format" in bad or "schema" in bad:
        return
    if "header_columns" not in bad and spec.header_columns:
        yield from _names(spec, "options" in bad)
    if "rows" not in bad and spec.rows is not None and not spec.file_format.documents:
        those = names_where(lambda each: each.documents)
        yield ("rows",), f"is for format {those}: the rows of {spec.format} are not nested; remove it"
    if "rescue" not in bad and spec.rescue is not None:
        yield from _rescue(spec)


def _names(spec: SourceSpec, options_unknown: bool) -> Iterator[KeyFinding]:
    at = "header_columns"
    options = {name.lower(): value.lower() for name, value in spec.options.items()}
    if not spec.file_format.renamed:
        those = names_where(lambda each: each.renamed)
        yield (at,), f"is for {those}: {spec.format} files name their columns themselves, as the schema must"
    elif spec.file_format.by_position and options.get("header") != "true" and not options_unknown:
        yield (at,), 'needs options: {header: "true"}: without a header columns go by their positions'
    columns = [column.name for column in spec.columns if not spec.rescues(column.name)]
    taken: dict[str, str] = {}
    for name, column in spec.header_columns.items():
        if column not in columns:
            yield (at, name), f"{shown(column)} is no column of the schema: there are {', '.join(columns)}"
        elif taken.setdefault(column, name) != name:
            yield (at, name), f"column {column!r} has a name in files already, {taken[column]!r}: remove one"
    seen: dict[str, str] = {}
    for column, name in spec.names_in_files.items():
        key = name.strip().lower() if spec.file_format.by_position else name
        if seen.setdefault(key, column) != column:
            yield (at,), f"columns {seen[key]!r} and {column!r} would both be named {name!r} in files"


def _rescue(spec: SourceSpec) -> Iterator[KeyFinding]:
    name = spec.rescue or ""
    if not spec.file_format.members:
        those = names_where(lambda each: each.members)
        yield (
            ("rescue",),
            f"is for format {those}: {spec.format} has no members outside the schema to keep; remove it",
        )
    declared = next((column for column in spec.columns if spec.rescues(column.name)), None)
    if not name.strip() or name.lower() in SYSTEM_COLUMNS:
        yield ("rescue",), f"{name!r} is no name of a payload column: choose another, such as _rescued"
    elif findings := list(unstorable(name)):
        yield ("rescue",), "; ".join(findings)
    elif declared is not None and (declared.name, declared.type) != (name, "STRING"):
        yield ("rescue",), f"column {declared.name!r} is {declared.type} in the schema: it must be {name} STRING"
