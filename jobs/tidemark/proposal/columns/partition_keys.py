"""Columns and folders that divide rows: partitions, each with its own order, and keys with many values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.config.types import quoted
from tidemark.proposal.columns.words import DATED, KEYS, PARTITION, weight, words_of
from tidemark.proposal.objects import ListedObject
from tidemark.proposal.samples import RowSample

MOST_PARTITIONS = 64
_FOLDER = re.compile(r"(?:^|/)([A-Za-z_][A-Za-z0-9_.-]*)=([^/]+)(?=/)")
_OFFSETS = r"(?:^|/)[^/+]+\+([0-9]+)\+[0-9]+[^/+]*$"
"""File names of Kafka Connect: topic, partition and first offset."""
_PLAIN = ("STRING", "BIGINT", "INT", "SMALLINT", "TINYINT", "BOOLEAN")
_ROWS_EACH = 5


@dataclass(frozen=True)
class Partition:
    """The proposed partition: a column (as SQL), or a regular expression over the object's name. `found`: its values
    in the sampled rows or in the objects' names."""

    column: str = ""
    path: str = ""
    found: tuple[str, ...] = ()
    why: str = ""

    def of(self, item: ListedObject) -> str:
        """Return the partition in an object's name; empty if there is none."""
        match = re.search(self.path, item.uri)
        return match[1] if match else ""


@dataclass(frozen=True)
class Keys:
    """The proposed partition, other columns that may be the partition, and columns for `over`."""

    partition: Partition | None
    others: tuple[str, ...] = ()
    over: tuple[str, ...] = ()


def keys_of(sample: RowSample, objects: Sequence[ListedObject], folders: Sequence[str] = ()) -> Keys:
    """Find the keys of a sample of `objects`. `folders`: names of the top folders of the objects, if rows of one kind
    are in several of them."""
    counts = {name: _distinct(sample, name) for name, kind in sample.types.items() if kind.type in _PLAIN}
    low = {name: found for name, found in counts.items() if found and 1 <= len(found) <= MOST_PARTITIONS}
    small = {name for name, found in low.items() if len(found) > 1 and len(found) * _ROWS_EACH <= sample.rows}
    named = [name for name in low if weight(name, PARTITION) and (name in small or weight(name, PARTITION) >= 5)]
    full = [name for name in named if None not in sample.values[name]]
    partition = _by_path(objects, folders)
    if partition is None and full:
        best = max(full, key=lambda name: (weight(name, PARTITION), -len(low[name])))
        rows = f"{len(low[best])} different values in {sample.rows:,} sampled rows, none of them null"
        partition = Partition(quoted(best), found=tuple(sorted(map(_text, low[best]))), why=f"named like one; {rows}")
    chosen = partition.column if partition else ""
    others = tuple(quoted(name) for name in small if quoted(name) != chosen and sample.types[name].type != "BOOLEAN")
    over = tuple(
        quoted(name)
        for name, found in counts.items()
        if quoted(name) != chosen and len(found) > 1 and KEYS & {*words_of(name), "".join(words_of(name))}
    )
    return Keys(partition, others, over)


def _distinct(sample: RowSample, name: str) -> Counter[object]:
    return Counter(value for value in sample.values[name] if value is not None)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _by_path(objects: Sequence[ListedObject], folders: Sequence[str]) -> Partition | None:
    """Return the partition found in paths: folders such as `p=0` that contain all objects, the partition in Kafka
    Connect's file names, or `folders`, the top folders that hold rows of one kind."""
    found: dict[str, set[str]] = {}
    for item in objects:
        for name, value in _FOLDER.findall(item.uri):
            found.setdefault(name, set()).add(value)
    everywhere = [
        name
        for name, values in found.items()
        if len(values) <= MOST_PARTITIONS
        and not DATED & set(words_of(name))
        and all(re.search(rf"(?:^|/){re.escape(name)}=[^/]+/", item.uri) for item in objects)
    ]
    if everywhere:
        name = max(everywhere, key=lambda each: weight(each, PARTITION))
        values = tuple(sorted(found[name]))
        return Partition(
            path=rf"(?:^|/){re.escape(name)}=([^/]+)/", found=values, why="all objects lie in such folders"
        )
    numbers = {match[1] if (match := re.search(_OFFSETS, item.uri)) else "" for item in objects}
    if "" not in numbers and len(numbers) <= MOST_PARTITIONS:
        why = "names of objects are topic, partition and offset"
        return Partition(path=_OFFSETS, found=tuple(sorted(numbers)), why=why)
    if 1 < len(folders) <= MOST_PARTITIONS:
        why = "rows of one kind lie in these folders"
        return Partition(path="^([^/]+)/", found=tuple(sorted(folders)), why=why)
    return None
