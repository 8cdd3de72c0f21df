"""Rules for expressions that read `_end_time` of rows whose end a later row gives.

Such a row may be read before its end has come: what an expression makes of it would depend on how the log was cut
into runs. As in `rules/sources.py`, each rule gives (key path, sentence) and is silent about keys that are wrong in
themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tidemark.config.files.yaml import KeyFinding, KeyPath
from tidemark.config.models.stream_graph import later_ends, walked
from tidemark.config.models.streams import StreamSpec
from tidemark.config.rules.streams import CheckedStreams

_END = re.compile(r"(?<!\w)_end_time(?!\w)", re.IGNORECASE)


def unknown_end_errors(streams: CheckedStreams) -> Iterator[KeyFinding]:
    """Problems of expressions that read an end that may not be known yet.

    An end can be read in the `select` of a window, which takes one that it does not reach as null, and in steps whose
    rows go into tables only, since a row is written when its end is known.
    """
    later = later_ends(streams.specs, streams.sources)
    written = _only_written(streams.specs)
    for name, spec in streams.specs.items():
        below = [each for each in spec.inputs if each in later]
        for path, text in _early(spec, name in written):
            own = spec.until_next is not None and path[0] == "select"
            whose = _read(text, [name] if own else below, joined=bool(spec.join))
            if whose is not None:
                yield ("streams", name, *path), _NOT_YET.format("this step" if own else repr(whose))


_NOT_YET = (
    "_end_time of rows of {} is not known yet where this is computed, since a later row gives it: read it in the"
    " select of a window over them (null there if the window ends before), or in a published stream that nothing"
    " else reads"
)


def _only_written(streams: Mapping[str, StreamSpec]) -> set[str]:
    """Steps from which rows go, with the ends that they came with, into tables only."""
    found: set[str] = set()
    for name in reversed(walked(streams)[0]):
        spec = streams[name]
        kept = not (spec.windowed or spec.join or spec.own_ends is not None or spec.lasts is not None)
        readers = [each for each in streams.values() if name in each.inputs]
        if kept and all(each.name in found and each.preceding is None for each in readers):
            found.add(name)
    return found


def _early(spec: StreamSpec, written: bool) -> Iterator[tuple[KeyPath, str]]:
    """Expressions of a step, with their keys, that may see rows before these are `written`."""
    if spec.preceding is not None:
        yield from ((("preceding",), text) for text in (spec.preceding.where or "true", *spec.preceding.by))
        yield from ((("preceding", "select", name), text) for name, text in spec.preceding.select.items())
    if spec.own_ends is not None:
        yield ("lifetime", "until"), spec.own_ends.until
        yield from ((("lifetime", "by"), text) for text in spec.own_ends.by)
    if written:
        return
    if spec.where is not None:
        yield ("where",), spec.where
    yield from ((("group_by",), text) for text in spec.computed_groups.values())
    if not spec.windowed:
        yield from ((("select", name), text) for name, text in spec.select.items())


def _read(text: str, inputs: list[str], *, joined: bool) -> str | None:
    """The first input whose `_end_time` an expression reads: of a join one that it names."""
    if not inputs or not _END.search(text):
        return None
    from tidemark.config.sql.checks import PARSER_ERRORS, columns_read  # its parser is slow to load

    try:
        columns = [[part.lower() for part in names] for names in columns_read(text)]
    except PARSER_ERRORS:
        return None
    if joined:
        return next((each for each in inputs if [each.lower(), "_end_time"] in columns), None)
    return inputs[0] if any(names[0] == "_end_time" for names in columns) else None
