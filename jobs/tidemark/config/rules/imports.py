"""Order of sources by `import_from`, and cycles in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from tidemark.config.files.messages import instead
from tidemark.config.files.yaml import KeyPath
from tidemark.config.models.sources import SourceSpec
from tidemark.core.punctuation import imports_first


def import_order(sources: Mapping[str, SourceSpec]) -> tuple[str, ...]:
    """Sources in an order in which each follows those that it imports from; otherwise the file's order."""
    return imports_first({name: imported(sources, name) for name in sources})


def import_errors(
    sources: Mapping[str, SourceSpec], bad: Mapping[str, Collection[str]]
) -> Iterator[tuple[KeyPath, str]]:
    """Problems of imports: from names that are no sources, and cycles, each shown once."""
    shown: set[frozenset[str]] = set()
    known = [*dict.fromkeys([*sources, *bad])]
    for name in sources:
        if "punctuation" in bad.get(name, ()):
            continue
        for path, below in _imports(sources, name):
            if below not in known:
                others = [each for each in known if each != name]
                yield path, f"{below!r} is not a source: {instead(below, others)}"
                continue
            circle = _way(sources, below, name)
            if circle and frozenset(circle) not in shown:
                shown.add(frozenset(circle))
                yield path, f"{' -> '.join([name, *circle])} is a circle: a source cannot follow itself"


def imported(sources: Mapping[str, SourceSpec], name: str) -> tuple[str, ...]:
    """The sources that a source imports from."""
    punctuation = sources[name].punctuation if name in sources else None
    return () if punctuation is None else punctuation.import_from


def _imports(sources: Mapping[str, SourceSpec], name: str) -> Iterator[tuple[KeyPath, str]]:
    """Key paths with the names of the sources that a source imports from."""
    path: KeyPath = ("sources", name, "punctuation", "import_from")
    below = imported(sources, name)
    for index, each in enumerate(below):
        yield (*path, index) if len(below) > 1 else path, each


def _way(sources: Mapping[str, SourceSpec], start: str, end: str) -> list[str]:
    """A shortest way by imports from one source to another, both included; empty if there is none."""
    ways, reached = [[start]], {start}
    for way in ways:
        if way[-1] == end:
            return way
        for below in imported(sources, way[-1]):
            if below not in reached:
                reached.add(below)
                ways.append([*way, below])
    return []
