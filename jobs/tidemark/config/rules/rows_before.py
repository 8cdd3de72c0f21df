"""Rules for `preceding`: columns computed from the rows before each row.

As in `rules/sources.py`, each rule gives (key path, sentence) and is silent about keys that are wrong in themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.config.files.yaml import KeyFinding, KeyPath
from tidemark.config.models.rows_before import PrecedingSpec
from tidemark.config.models.stream_graph import ROW_COLUMNS
from tidemark.config.rules.expressions import name_findings
from tidemark.config.rules.joins import kept_below
from tidemark.config.rules.streams import CheckedStreams, Stream
from tidemark.config.sql.expressions import comparison_findings, predicate_findings
from tidemark.config.sql.row import ReadableColumns
from tidemark.config.types import doubled

_EXAMPLE = "{before: last(Speed), first: count(*) = 0}"


def preceding_errors(streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Problems of `preceding`, and of sources whose rows it cannot be over."""
    for name, stream in streams.streams.items():
        if stream.spec.preceding is None or not stream.sound("preceding"):
            continue
        if stream.spec.from_ is not None and stream.sound("from"):
            yield from ((("streams", name, "from"), message) for message in _nothing_behind(stream, streams))
        for path, message in _expressions(stream.spec.preceding, _row(stream, streams)):
            yield ("streams", name, "preceding", *path), message


def _nothing_behind(stream: Stream, streams: CheckedStreams) -> Iterator[str]:
    """Require that no row can arrive after rows that it precedes have been written."""
    below = str(stream.spec.from_)
    for source in kept_below(below, streams):
        yield (
            f"{below!r} carries rows of the source {source!r}, which keeps what is out of order: such a row may come"
            " after rows that it precedes were due; use drop or adjust there, or look back at windows over it"
        )


def _row(stream: Stream, streams: CheckedStreams) -> ReadableColumns:
    before = streams.columns.get(stream.spec.from_ or "")
    return ReadableColumns(None if before is None else (*before, *ROW_COLUMNS), repr(stream.spec.from_))


def _expressions(spec: PrecedingSpec, row: ReadableColumns) -> Iterator[KeyFinding]:
    for index, text in enumerate(spec.by):
        path: KeyPath = ("by",) if len(spec.by) == 1 else ("by", index)
        yield from ((path, message) for message in comparison_findings(text, row))
    if spec.where is not None:
        yield from ((("where",), message) for message in predicate_findings(spec.where, row))
    if not spec.select:
        yield ("select",), f"names no column: write aggregates over the rows before, such as {_EXAMPLE}"
    yield from ((("select", name), message) for name, message in doubled(spec.select))
    for name, text in spec.select.items():
        yield from ((("select", name), message) for message in _selected(name, text, row))


def _selected(name: str, text: str, row: ReadableColumns) -> Iterator[str]:
    from tidemark.config.sql.aggregates import aggregate_findings, outermost  # slow to import

    yield from name_findings(name)
    if (known := row.find(name)) is not None and known not in ROW_COLUMNS:
        yield f"{name!r} is a column of {row.of} already: name the new one otherwise"
    found = aggregate_findings(text, row, None)
    yield from found
    calls = [] if found else outermost(text)
    if not found and not calls:
        yield f"{text!r} reads no row before: write an aggregate, such as last({text}), or select it in `select`"
    for call in calls:
        if call.distinct:
            yield f"{call.name}(DISTINCT ...) cannot look back: write size(collect_set({call.arguments})) or so"
        if "within" in call.clauses:
            yield f"{call.name}() WITHIN GROUP cannot look back: rows are in the order of the stream"
