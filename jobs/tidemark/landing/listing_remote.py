"""Lists the objects in a landing prefix of object storage with their landing times, without opening any.

As in a folder, hidden and `_`-prefixed names and copies under way are no objects; nor are keys that end in `/`, which
mark empty folders. Listing goes page by page. Of dated prefixes, only those that may hold young enough objects are
requested. Nothing else is skipped, so objects that sort before taken ones are found, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from tidemark.config.address import RemoteLocation
from tidemark.storage.object_store import Found
from tidemark.storage.stores import store_of

HOUR = "{HH}"
DAY = "{dd}"
COPYING = "._COPYING_"
"""Suffix of a file that Hadoop is still copying; it is renamed when it is complete."""
UNFIT = "it does not fit the placeholders of `landing`"


def objects_below(
    root: str,
    folders: Collection[str] | None,
    levels: Sequence[str],
    patterns: Sequence[str],
    left_out: dict[str, str],
) -> Iterator[tuple[str, Found]]:
    """The objects below `root`, with their URI relative to it. `left_out` gets one name that does not fit, if any.

    `folders` are the dated folders to list (each ends in `/`); None: all folders that fit `patterns`, which has one
    pattern for each dated level. Without `levels` everything below the root is listed.
    """
    location = RemoteLocation(root)
    dated = re.compile("".join(f"{level}/" for level in patterns))
    for prefix in [""] if folders is None else _prefixes(folders, _depth(levels)):
        for found in store_of(location).listed(location, prefix):
            uri = found.key[len(location.prefix) :]
            folder = dated.match(uri)
            if folder is None and folders is None and not left_out and _is_object(uri):
                left_out[uri] = UNFIT
            if folder is None or (folders is not None and folder[0] not in folders):
                continue
            if _is_object(uri[folder.end() :]):
                yield uri, found


def is_hidden(name: str) -> bool:
    """True if a file or folder of this name is not part of the landing."""
    return name.startswith((".", "_"))


def unreadable(uri: str) -> str | None:
    """The reason why Spark cannot address an object of this name; None if it can."""
    if {"", ".", ".."} & set(uri.split("/")):
        return "its name has a part that is empty or made of dots: rename the object"
    return None


def _prefixes(folders: Collection[str], depth: int) -> list[str]:
    return list(dict.fromkeys("".join(f"{part}/" for part in folder.split("/")[:depth]) for folder in folders))


def _depth(levels: Sequence[str]) -> int:
    """Number of levels in a requested prefix: hours are not requested one by one if a folder holds their day."""
    hours = next((number for number, level in enumerate(levels) if HOUR in level), len(levels))
    days = next((number for number, level in enumerate(levels) if DAY in level), len(levels))
    return days + 1 if days < hours else len(levels)


def _is_object(rest: str) -> bool:
    return bool(rest) and not rest.endswith(("/", COPYING)) and not any(map(is_hidden, rest.split("/")))
