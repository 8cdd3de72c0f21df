"""Rules for `lifetime: {until: next}`: rows that end where the next one starts.

As in `rules/sources.py`, each rule gives (key path, sentence) and is silent about keys that are wrong in themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.config.files.yaml import KeyFinding, KeyPath
from tidemark.config.models.stream_graph import ROW_COLUMNS
from tidemark.config.rules.joins import kept_below
from tidemark.config.rules.streams import CheckedStreams, Stream, sources_of_rows
from tidemark.config.sql.expressions import comparison_findings
from tidemark.config.sql.row import ReadableColumns
from tidemark.core.policy import Action


def next_row_errors(streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Problems of `until: next`, and of sources whose rows cannot end so."""
    for name, stream in streams.streams.items():
        for path, message in _of_one(stream, streams):
            yield ("streams", name, *path), message


def _of_one(stream: Stream, streams: CheckedStreams) -> Iterator[KeyFinding]:
    if not stream.sound("lifetime"):
        return
    if stream.spec.until is not None and stream.spec.until.by:
        yield ("lifetime", "by"), "is for until: next, whose rows end with the next one of equal values: remove it"
    until = stream.spec.until_next
    if until is None:
        return
    if stream.spec.from_ is not None and stream.sound("from"):
        yield from ((("from",), message) for message in _final(stream.spec.from_, streams))
    before = streams.columns.get(stream.spec.from_ or "")
    row = ReadableColumns(None if before is None else (*before, *ROW_COLUMNS), repr(stream.spec.from_))
    for index, text in enumerate(until.by):
        path: KeyPath = ("lifetime", "by") if len(until.by) == 1 else ("lifetime", "by", index)
        yield from ((path, message) for message in comparison_findings(text, row))


def _final(below: str, streams: CheckedStreams) -> Iterator[str]:
    """Require that no row can arrive, or turn out to be none, after the rows that it ends have been written."""
    for name in kept_below(below, streams):
        yield (
            f"{below!r} carries rows of the source {name!r}, which keeps what is out of order: such a row may come"
            " after the row that it ends was due; use drop or adjust there, or until: next over windows"
        )
    for name in sources_of_rows(streams, below, paired=True):
        source = streams.sources.get(name)
        punctuated = None if source is None else source.punctuated
        if source is not None and source.lifetimes.edges and punctuated and punctuated.violations is Action.ADJUST:
            yield (
                f"{below!r} carries rows of the source {name!r}, which adjusts violations: a start edge that was"
                " moved is no row if its lifetime ends there, after it has ended another row; use drop"
            )
