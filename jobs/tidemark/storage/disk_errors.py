"""Errors for faults of a disk: one sentence for each fault, whether Python, Spark or delta-rs met it."""

from __future__ import annotations

import re
from typing import NamedTuple

from tidemark.errors import TidemarkError

_AGAIN = "then run again: what was begun is finished, and nothing is done twice"


class _DiskFault(NamedTuple):
    signs: re.Pattern[str]
    message: str
    hint: str


_FAULTS = (
    _DiskFault(
        re.compile(r"No space left on device|Disk quota exceeded|File too large|os error (?:28|122)\b"),
        "there is no space left to write to",
        f"make space where the warehouse is (and where Spark keeps what it spills: SPARK_LOCAL_DIRS), {_AGAIN}",
    ),
    _DiskFault(
        re.compile(r"Read-only file system|os error 30\b"),
        "the warehouse is on a file system that is read-only",
        f"mount it for writing, {_AGAIN}",
    ),
    _DiskFault(
        re.compile(r"Permission denied|Operation not permitted|Mkdirs failed to create|os error 13\b"),
        "files cannot be written or read because of their permissions",
        f"let this user write to the warehouse and read the landing folders, {_AGAIN}",
    ),
)
_PATH = re.compile(r"(?<![\w./])(?:file:)?(/[^\s'\":,]+)")
"""A path, but not the end of a name such as java.base/java.io.FileOutputStream."""


def disk_fault_of(error: BaseException) -> TidemarkError | None:
    """The error for people if an exception is the fault of a disk; else None."""
    text = str(error)
    for known in _FAULTS:
        if found := known.signs.search(text):
            near = [each[1] for each in _PATH.finditer(text) if abs(each.start() - found.start()) < 600]
            return TidemarkError(known.message, where=near[0] if near else "", hint=known.hint)
    return None
