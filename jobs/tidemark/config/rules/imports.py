"""Order of sources by `import_from`, and cycles in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches

from tidemark.config.files.yaml import KeyPath
from tidemark.config.models.sources import SourceSpec


def import_order(sources: Mapping[str, SourceSpec]) -> tuple[str, ...]:
    """Sources in an order in which each follows the one that it imports from; otherwise the file's order."""
    done: dict[str, None] = {}
    for name in sources:
        for each in reversed(_chain(sources, name)):
            done.setdefault(each)
    return tuple(done)


def import_errors(
    sources: Mapping[str, SourceSpec], bad: Mapping[str, Collection[str]]
) -> Iterator[tuple[KeyPath, str]]:
    """Problems of imports: from a name that is no source, and cycles, each shown once."""
    shown: set[frozenset[str]] = set()
    for name in sources:
        below = imported(sources, name)
        if below is None or "punctuation" in bad.get(name, ()):
            continue
        path: KeyPath = ("sources", name, "punctuation", "import_from")
        known = [*dict.fromkeys([*sources, *bad])]
        if below not in known:
            close = get_close_matches(below, known, 3, 0.6)
            others = ", ".join(each for each in known if each != name) or "no others"
            asked = f"did you mean {' or '.join(close)}?" if close else f"there are {others}"
            yield path, f"{below!r} is not a source: {asked}"
            continue
        chain = _chain(sources, name)
        following = imported(sources, chain[-1])
        if following == name and frozenset(chain) not in shown:
            shown.add(frozenset(chain))
            circle = " -> ".join([*chain, name])
            yield path, f"{circle} is a circle: a source cannot follow itself"


def imported(sources: Mapping[str, SourceSpec], name: str) -> str | None:
    """The source that a source imports from."""
    punctuation = sources[name].punctuation if name in sources else None
    return None if punctuation is None else punctuation.import_from


def _chain(sources: Mapping[str, SourceSpec], name: str) -> list[str]:
    """A source, the one it imports from, and so on, until a name repeats."""
    found = [name]
    below = imported(sources, name)
    while below is not None and below in sources and below not in found:
        found.append(below)
        below = imported(sources, below)
    return found
