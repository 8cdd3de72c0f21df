"""Which objects of a landing folder make a source: those of one kind below one folder, since a source takes a whole
folder.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidemark.proposal.detect import Look, suffix
from tidemark.proposal.objects import ListedObject

MOST_CLASSES = 60
_COMMON = 0.5
"""The share of columns that files of one folder have in common."""
_MOST = 0.9
"""The share of a folder's objects that must be of one kind to be taken for its source in spite of others."""
_DATED = re.compile(r"[0-9][0-9T:._-]*|[^=]+=.*|[0-9a-f]{8}-[0-9a-f-]{27}")


@dataclass(frozen=True)
class Group:
    """Objects of one kind below the folder `prefix` (empty, or ending in `/`; URIs begin with it). `folders`: the
    names of folders in it that rows of the one kind are spread over. `strays` are others that lie among them."""

    prefix: str
    look: Look
    objects: Sequence[ListedObject]
    folders: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()


@dataclass(frozen=True)
class SkippedFiles:
    """What was found below a folder that no source can be made of: how many, with an example."""

    what: str
    objects: int
    example: str

    def __str__(self) -> str:
        return f"{self.what}: {self.objects:,} {'file' if self.objects == 1 else 'files'} ({self.example})"


@dataclass(frozen=True)
class Grouped:
    """The groups found, and by folder what no source can be made of."""

    groups: tuple[Group, ...]
    rest: Mapping[str, tuple[SkippedFiles, ...]]


_Class = tuple[tuple[str, ...], Look, list[ListedObject]]
"""Named folders, what objects in them are, and the objects that are taken to be alike."""


def grouped(objects: Sequence[ListedObject], look: Callable[[ListedObject], Look]) -> Grouped:
    """Groups of objects, which are in log order.

    Of those in one folder with one ending two are looked at, the first and the last; of folders that say a date or
    are named like `p=0`, the one above them counts. Beyond MOST_CLASSES, objects are what the first of their ending
    are.
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
    """Objects that may be alike, by what those that were looked at are. Empty ones say nothing."""
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
    """The folders of an object up to the first that is dated or of a partition."""
    found = []
    for name in uri.split("/")[:-1]:
        if _DATED.fullmatch(name):
            break
        found.append(name)
    return tuple(found)


def _divided(
    prefix: str, depth: int, classes: Sequence[_Class]
) -> Iterator[Group | dict[str, tuple[SkippedFiles, ...]]]:
    """The groups below a folder: the folder as a whole, or else those of its folders."""
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
    """All below a folder as one group: alike where it lies together, the same where folders keep it apart."""
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
    """The one kind that nearly all objects of a folder are, with the others as strays."""
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
    """What there is, by kind; of one format, by columns."""
    formats = Counter(look.format for _, look, _ in classes if look.format)
    found = []
    for _, look, items in classes:
        columns = f" with {_listed(look.columns)}" if look.format and formats[look.format] > 1 else ""
        found.append(SkippedFiles(look.what + columns, len(items), items[0].uri))
    return tuple(found)


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns[:4]) + (", ..." if len(columns) > 4 else "")
