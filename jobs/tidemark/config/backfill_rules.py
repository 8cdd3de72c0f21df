"""Changes that a backfill allows in a pipeline: the judging of rows and the streams made from them, not the
reading."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tidemark.config.load import from_resolved
from tidemark.config.models.pipeline import PipelineSpec
from tidemark.config.models.stream_graph import all_columns
from tidemark.config.models.values import shown
from tidemark.config.secrets import everywhere, hidden
from tidemark.errors import ConfigError, Problem

_READING = (
    "landed_at",
    "format",
    "options",
    "schema",
    "header_columns",
    "rows",
    "rescue",
    "partition",
    "arrival_time",
    "landing_delay",
    "clock_skew",
    "timestamp_by",
    "shape",
)
"""Settings of a source that say what a row is and when it arrived. They cannot change: tables hold rows as they were
read."""
JUDGING = (
    "require",
    "deduplicate",
    "partitions",
    "over",
    "early_arrival",
    "late_arrival",
    "out_of_order",
    "punctuation",
    "shape",
    "timestamp_by",
)
"""Settings of a source by which its rows are judged."""
_HINT = "undo this, or read landing again: add --from-landing"


def check_rebuilding(recorded: Mapping[str, Any], spec: PipelineSpec) -> None:
    """Raise ConfigError with every change to a recorded `resolved()` that rows in the tables cannot follow."""
    then = from_resolved(recorded)
    old, new = then.resolved(), spec.resolved()
    found = list(_changes(old, new)) + list(_columns(then, spec))
    if found:
        raise ConfigError([Problem(str(spec.path), key, hidden(message)) for key, message in found], hint=_HINT)


def unchanged_sources(recorded: Mapping[str, Any], spec: PipelineSpec, but: Collection[str] = ()) -> frozenset[str]:
    """Sources whose rows are judged as before: none of their settings changed, nor those of sources that they import
    from. Sources in `but` count as changed."""
    old, new = from_resolved(recorded).resolved()["sources"], spec.resolved()["sources"]
    same = {name for name in new if name not in but and _judging(old.get(name)) == _judging(new[name])}
    while True:
        kept = {name for name in same if same.issuperset(_below(spec, name))}
        if kept == same:
            return frozenset(same)
        same = kept


def _below(spec: PipelineSpec, name: str) -> tuple[str, ...]:
    punctuation = spec.sources[name].punctuated
    return () if punctuation is None else punctuation.import_from


def _judging(source: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if source is None else {key: source.get(key) for key in JUDGING}


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if old.get("start") != new.get("start"):
        yield "start", f"was {shown(old.get('start'))}: rows before it are in no table"
    before, after = old["sources"], new["sources"]
    for name in sorted(before.keys() ^ after.keys()):
        message = (
            "the source is gone" if name in before else "the source has no rows yet: `tidemark run` takes it in first"
        )
        yield f"sources.{name}", message
    for name in before.keys() & after.keys():
        for key in _READING:
            if before[name].get(key) != after[name].get(key):
                was = shown(everywhere(before[name].get(key), hidden))
                yield f"sources.{name}.{key}", f"was {was}, and rows in the tables were read by it"
        if before[name].get("punctuation") != after[name].get("punctuation"):
            yield f"sources.{name}.punctuation", "a backfill cannot judge by other punctuations yet"
        for partition in set(before[name]["partitions"]) - set(after[name]["partitions"]):
            yield f"sources.{name}.partitions", f"partition {partition!r} is no longer declared"


def _columns(then: PipelineSpec, spec: PipelineSpec) -> Iterator[tuple[str, str]]:
    """Streams in both pipelines whose columns differ now: one table cannot hold both kinds of rows."""
    tables = [all_columns(each.streams, {n: s.columns for n, s in each.sources.items()}) for each in (then, spec)]
    for name in then.streams.keys() & spec.streams.keys():
        old, new = (sorted(each.get(name) or (), key=lambda column: column.name) for each in tables)
        kinds = [each.streams[name].windowed for each in (then, spec)]
        if old != new or kinds[0] != kinds[1] or then.streams[name].parts != spec.streams[name].parts:
            yield f"streams.{name}", "its columns are others now: give the changed stream a name of its own"
