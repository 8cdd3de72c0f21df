"""What lies in a landing place on S3: every object with its landing time, without opening any.

As in a folder, hidden and `_`-prefixed names and those of copies under way are no objects, nor are keys that end in
`/`, which stand for empty folders. Objects come page by page, and of dated prefixes only those that may hold young
enough objects are asked for. Nothing else is skipped by name: what sorts before taken objects is found too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from tidemark.config.address import S3Place
from tidemark.storage import s3
from tidemark.storage.s3 import Found

HOUR = "{HH}"
DAY = "{dd}"
COPYING = "._COPYING_"
"""How the name of a file ends that Hadoop is still copying: it gets its own name when it is whole."""


def objects_below(
    root: str, folders: Collection[str] | None, levels: Sequence[str], patterns: Sequence[str]
) -> Iterator[tuple[str, Found]]:
    """The objects below `root`, by URI relative to it.

    `folders` are the dated folders that count (each ending in `/`); None: all whose names fit `patterns`, one for
    each of the landing's dated `levels`. Without levels everything below the root counts.
    """
    place = S3Place(root)
    dated = re.compile("".join(f"{level}/" for level in patterns))
    for prefix in [""] if folders is None else _prefixes(folders, _depth(levels)):
        for found in s3.listed(place, prefix):
            uri = found.key[len(place.prefix) :]
            folder = dated.match(uri)
            if folder is None or (folders is not None and folder[0] not in folders):
                continue
            if _is_object(uri[folder.end() :]):
                yield uri, found


def is_hidden(name: str) -> bool:
    """Whether a file or folder of this name is none of landing's."""
    return name.startswith((".", "_"))


def unreadable(uri: str) -> str | None:
    """Why Spark cannot address an object of this name; None when it can."""
    if {"", ".", ".."} & set(uri.split("/")):
        return "its name has a part that is empty or made of dots: rename the object"
    return None


def _prefixes(folders: Collection[str], depth: int) -> list[str]:
    return list(dict.fromkeys("".join(f"{part}/" for part in folder.split("/")[:depth]) for folder in folders))


def _depth(levels: Sequence[str]) -> int:
    """How many levels a prefix has: hours are not asked for one by one where a folder holds their day."""
    hours = next((number for number, level in enumerate(levels) if HOUR in level), len(levels))
    days = next((number for number, level in enumerate(levels) if DAY in level), len(levels))
    return days + 1 if days < hours else len(levels)


def _is_object(rest: str) -> bool:
    return bool(rest) and not rest.endswith(("/", COPYING)) and not any(map(is_hidden, rest.split("/")))
