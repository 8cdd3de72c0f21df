"""The watermarks that a source imports from others while its rows are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidemark.core.advance import Imported, Opening, SourceRules, States, open_source
from tidemark.core.watermarks import Combined


def imported_by(
    sources: Mapping[str, SourceRules],
    name: str,
    states: States,
    combined: Mapping[str, Combined],
    batches: tuple[int, int],
) -> tuple[Imported, ...]:
    """States that `name` imports in the run that began with these states and combined watermarks, while the last of
    the run's `batches` so far (first, last) is judged."""
    found = []
    for below in (sources[each] for each in sources[name].import_from):
        recorded = combined.get(below.name, Combined(None))
        opening = with_imported(
            open_source(below, states, combined, None), sources, below.name, states, combined, batches
        )
        found.append(Imported(below, recorded.watermark, recorded.complete, opening, *batches))
    return tuple(found)


def with_imported(
    opening: Opening,
    sources: Mapping[str, SourceRules],
    name: str,
    states: States,
    combined: Mapping[str, Combined],
    batches: tuple[int, int],
) -> Opening:
    """The opening of a source with what it imports."""
    return replace(opening, imported=imported_by(sources, name, states, combined, batches))
