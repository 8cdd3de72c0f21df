"""Divides the objects of a landing folder into sources. A source takes a whole folder, so it has all objects of one
kind below that folder."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidemark.proposal.detect import Look, suffix
from tidemark.proposal.objects import ListedObject

MOST_CLASSES = 60
_COMMON = 0.5
"""Share of columns that files of one folder must have in common."""
_MOST = 0.9
"""Share of a folder's objects that must be of one kind to form a source in spite of others."""
_DATED = re.compile(r"[0-9][0-9T:._-]*|[^=]+=.*|[0-9a-f]{8}-[0-9a-f-]{27}")


@dataclass(frozen=True)
class Group:
    """Objects of one kind below the folder `prefix` (empty, or ending in `/`; URIs begin with it). `folders`: names
    of its folders, if rows of this kind are in several of them. `strays`: objects of other kinds among them."""

    prefix: str
    look: Look
    objects: Sequence[ListedObject]
    folders: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()


@dataclass(frozen=True)
class SkippedFiles:
    """Files below a folder that cannot form a source: a description, their number and an example."""

    what: str
    objects: int
    example: str

    def __str__(self) -> str:
        return f"{self.what}: {self.objects:,} {'file' if self.objects == 1 else 'files'} ({self.example})"


@dataclass(frozen=True)
class Grouped:
    """The groups found, and by folder the files that cannot form a source."""

    groups: tuple[Group, ...]
    rest: Mapping[str, tuple[SkippedFiles, ...]]


_Class = tuple[tuple[str, ...], Look, list[ListedObject]]
"""Names of folders, the content of objects in them, and the objects assumed to have that content."""


def grouped(objects: Sequence[ListedObject], look: Callable[[ListedObject], Look]) -> Grouped:
    """Group objects, which are in log order.

    In each folder and for each ending, the first and the last object are read. Folders that are dates or named like
    `p=0` count as the folder above them. After MOST_CLASSES combinations of folder and ending, an object is assumed
    to have the content found first for its ending.
    """
    classes: dict[tuple[tuple[str, ...], str], list[ListedObject]] = defaultdict(list)
    for item in objects:
        classes[_folders(item.uri), suffix(item.uri)].append(item)
    looked: list[_Class] = []
    known: dict[str, Look] = {}
    for (folders, ending), items in classes.items():
        if len(looked) < MOST_CLASSES or ending not in known:
            found = [(folders, seen, alike) for seen, alike in _looked(items, look)]
            looked += found
            if found:
                known.setdefault(ending, found[0][1])
        else:
            looked.append((folders, known[ending], items))
    groups: list[Group] = []
    rest: dict[str, tuple[SkippedFiles, ...]] = {}
    for part in _divided("", 0, looked):
        if isinstance(part, Group):
            groups.append(part)
        else:
            rest |= part
    return Grouped(tuple(groups), rest)


def _looked(
    items: Sequence[ListedObject], look: Callable[[ListedObject], Look]
) -> Iterator[tuple[Look, list[ListedObject]]]:
    """Yield each content of objects with the objects assumed to have it. Empty objects are not looked at."""
    full = [item for item in items if item.size]
    if not full:
        return
    ends = [full[0], full[-1]] if len(full) > 1 else full
    first, last = look(ends[0]), look(ends[-1])
    if len(full) == 1 or first.like(last, _COMMON):
        yield first, list(items)
        return
    looks = [(item, look(item)) for item in (full if len(full) <= MOST_CLASSES else [*full[:20], *full[-20:]])]
    kinds: list[tuple[Look, list[ListedObject]]] = []
    for item, seen in looks:
        alike = next((each for kind, each in kinds if kind == seen or kind.like(seen, _COMMON)), None)
        kinds.append((seen, [item])) if alike is None else alike.append(item)
    yield from kinds


def _folders(uri: str) -> tuple[str, ...]:
    """Return the folders of an object up to the first one that is a date or a partition."""
    found = []
    for name in uri.split("/")[:-1]:
        if _DATED.fullmatch(name):
            break
        found.append(name)
    return tuple(found)


def _divided(
    prefix: str, depth: int, classes: Sequence[_Class]
) -> Iterator[Group | dict[str, tuple[SkippedFiles, ...]]]:
    """Yield the groups below a folder: the whole folder as one group, or the groups of the folders in it."""
    below: dict[str, list[_Class]] = defaultdict(list)
    for each in classes:
        below[each[0][depth] if len(each[0]) > depth else ""].append(each)
    whole = _as_one(prefix, below)
    if whole is not None:
        yield whole
        return
    direct = below.pop("", [])
    mixed = _mostly(prefix, classes) if direct else None
    if mixed is not None:
        yield mixed
        return
    if not below:
        yield {prefix: _kinds(direct)}
        return
    if direct:
        yield {prefix: _kinds(direct)}
    for name in sorted(below):
        yield from _divided(f"{prefix}{name}/", depth + 1, below[name])


def _as_one(prefix: str, below: Mapping[str, Sequence[_Class]]) -> Group | None:
    """Return everything below a folder as one group, or None. Objects in one folder must have most columns in common,
    objects in several folders nearly all."""
    classes = [each for found in below.values() for each in found]
    first = classes[0][1] if classes else None
    if first is None or not first.format:
        return None
    apart = len(below) > 1
    if not all(first.same(look) if apart else first.like(look, _COMMON) for _, look, _ in classes):
        return None
    if not apart and "" not in below:
        return None
    names = tuple(sorted(below)) if apart and "" not in below else ()
    return Group(prefix, first, [item for *_, items in classes for item in items], names)


def _mostly(prefix: str, classes: Sequence[_Class]) -> Group | None:
    """Return the objects of a folder as one group if nearly all are of one kind, with the others as strays; else
    None."""
    counts = [(len(items), look, items) for _, look, items in classes]
    most, look, _ = max(counts, key=lambda each: each[0])
    alike = [items for _, each, items in counts if each is look or look.like(each, _COMMON)]
    objects = [item for items in alike for item in items]
    if not look.format or len(objects) < _MOST * sum(count for count, *_ in counts) or most == 0:
        return None
    chosen = {item.uri for item in objects}
    strays = tuple(item.uri for *_, items in counts for item in items if item.uri not in chosen)
    return Group(prefix, look, objects, strays=strays)


def _kinds(classes: Sequence[_Class]) -> tuple[SkippedFiles, ...]:
    """Return the files by kind; within one format, by columns."""
    formats = Counter(look.format for _, look, _ in classes if look.format)
    found = []
    for _, look, items in classes:
        columns = f" with {_listed(look.columns)}" if look.format and formats[look.format] > 1 else ""
        found.append(SkippedFiles(look.what + columns, len(items), items[0].uri))
    return tuple(found)


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns[:4]) + (", ..." if len(columns) > 4 else "")
