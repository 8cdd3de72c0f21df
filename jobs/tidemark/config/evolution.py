"""Changes of a pipeline from one run to the next: those that are free, and those that need a backfill.

Free: a new column (null in older rows), a declared partition, a source, a stream, the end of a stream, and every
setting that no result depends on. Anything else is refused, since rows of one table would follow two sets of rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from tidemark.config.formats import FORMATS, Format
from tidemark.config.load import from_resolved
from tidemark.config.models.pipeline import IRRELEVANT, IRRELEVANT_IN_SOURCES, PipelineSpec
from tidemark.config.models.values import shown
from tidemark.config.options import canonical
from tidemark.config.secrets import everywhere, hidden
from tidemark.config.types import Column, parse_schema
from tidemark.core.shell import command
from tidemark.errors import ConfigError, Problem

_Step = tuple[bool, str, str]
"""(accepted, key, sentence)."""


def changes(recorded: Mapping[str, Any], spec: PipelineSpec, returned: Collection[str] = ()) -> list[str]:
    """Sentences, each with its key, on the changes that `spec` makes to a recorded `resolved()`; empty if there are
    none.

    A key that the recorded configuration does not have counts as its default. `returned` streams were removed
    earlier: a run would leave a gap in their tables, or follow other rules than their rows of before.

    Raises ConfigError with every change that needs `tidemark backfill`; its hint names that command.
    """
    found = _pipeline(from_resolved(recorded).resolved(), spec.resolved(), returned)
    steps = [(accepted, key, _without_values(hidden(message))) for accepted, key, message in found]
    refused = [Problem(str(spec.path), key, message) for accepted, key, message in steps if not accepted]
    if refused:
        backfill = command("backfill", spec.path, options=("--from", "T0"))
        raise ConfigError(refused, hint=f"undo this, or build a new version under the new rules: {backfill}")
    return [f"{key}: {message}" for _, key, message in steps]


def _without_values(message: str) -> str:
    """A message without the former value of a setting that now refers to the environment: that value may be a secret
    that was written out."""
    was, now, after = message.partition(", is now ")
    return f"is now {after}, was another text" if now and "${" in after and "${" not in was else message


def _pipeline(old: Mapping[str, Any], new: Mapping[str, Any], returned: Collection[str]) -> Iterator[_Step]:
    for key in sorted((old.keys() | new.keys()) - {"sources", "streams"}):
        free = key in IRRELEVANT - {"pipeline"}
        yield from _values(key, old.get(key), new.get(key), free=free)
    before, after = old["sources"], new["sources"]
    for name in after:
        if name not in before:
            yield True, f"sources.{name}", "a new source"
        else:
            yield from _source(f"sources.{name}", before[name], after[name])
    for name in before.keys() - after.keys():
        message = "the source is gone: a source cannot be removed or renamed, its rows stand in the tables"
        yield False, f"sources.{name}", message
    yield from _streams(old["streams"], new["streams"], returned)


def _streams(old: Mapping[str, Any], new: Mapping[str, Any], returned: Collection[str]) -> Iterator[_Step]:
    for name in new:
        if name in old:
            yield from _values(f"streams.{name}", old[name], new[name], free=False)
        elif name in returned:
            yield False, f"streams.{name}", "it was removed, and its table has rows from before: give it another name"
        else:
            yield True, f"streams.{name}", "a new stream: it begins at its sources' present watermark"
    for name in old:
        if name not in new:
            yield True, f"streams.{name}", "the stream is removed: its table stays"


def _source(at: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[_Step]:
    for key in sorted(old.keys() | new.keys()):
        here = f"{at}.{key}"
        if key == "schema":
            yield from _columns(here, parse_schema(old[key]), parse_schema(new[key]), FORMATS[new["format"]])
        elif key == "partitions":
            yield from _partitions(here, old[key], new[key])
        elif key == "header_columns":
            yield from _names(here, old, new)
        elif key == "options" and canonical(old["format"], old[key]) == canonical(new["format"], new[key]):
            continue  # an earlier version recorded another spelling
        elif key == "rescue":
            added = old[key] is None and new[key] not in _column_names(old)
            yield from _values(here, old[key], new[key], free=added)
        else:
            yield from _values(here, old.get(key), new.get(key), free=key in IRRELEVANT_IN_SOURCES)


def _columns(at: str, old: tuple[Column, ...], new: tuple[Column, ...], form: Format) -> Iterator[_Step]:
    before = {column.name.lower(): column for column in old}
    after = {column.name.lower(): column for column in new}
    for lower, column in before.items():
        if lower not in after:
            yield False, at, f"column {column.name!r} is gone: a column cannot be removed or renamed"
        elif after[lower] != column:
            now = after[lower]
            yield False, at, f"column {column.name!r} was {column.type} and is now {now.name!r} {now.type}"
    for lower, column in after.items():
        if lower not in before:
            yield True, at, f"a new column {column.name!r} {column.type}, null in older rows"
    kept = [name for name in after if name in before]
    if kept != [name for name in before if name in after]:
        order = "the order of the columns is changed"
        says = f": in {form.name} it says which value is which" if form.by_position else ""
        yield not form.by_position, at, order + says


def _names(at: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[_Step]:
    """Changes of names in files. Names of new columns are free, since no row has been read by them."""
    before, after, known = old["header_columns"], new["header_columns"], _column_names(old)
    for name in sorted(before.keys() | after.keys()):
        free = name not in before and after[name] not in known
        yield from _values(f"{at}.{name}", before.get(name), after.get(name), free=free)


def _column_names(source: Mapping[str, Any]) -> set[str]:
    return {column.name for column in parse_schema(source["schema"])}


def _partitions(at: str, old: list[str], new: list[str]) -> Iterator[_Step]:
    for name in new:
        if name not in old:
            yield True, at, f"partition {name!r} is now declared"
    for name in old:
        if name not in new:
            yield False, at, f"partition {name!r} is no longer declared, but its progress has been counted on"


def _values(at: str, old: Any, new: Any, *, free: bool) -> Iterator[_Step]:  # noqa: ANN401 # JSON
    """A step for each value that differs, at the deepest key that both sides have."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _values(f"{at}.{key}", old.get(key), new.get(key), free=free)
    elif (was := _shown(old)) == (now := _shown(new)):
        yield free, at, f"its value from the environment, in {now}, is another one than that of the last run"
    else:
        yield free, at, f"was {was}, is now {now}"


def _shown(value: object) -> str:
    return "not given" if value is None else shown(everywhere(value, hidden))
