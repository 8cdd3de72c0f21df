"""Reads commit times of batches from a table's log: batches do not record them, so that a replay is identical.

A log keeps its newest commits only. Commits are read from newest to oldest, and no further than needed.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tidemark.storage import LOG, Location, at_once, read_if_there
from tidemark.storage.folders import files_below

MOST = 1_000
"""Maximum number of commits that are read without `since`."""
_COMMIT = re.compile(r"(\d{20})\.json")
_AT_ONCE = 16


class _Commit(NamedTuple):
    """A commit: its time in microseconds UTC (0: unknown) and the number that the writer recorded (None: none)."""

    time: int
    number: int | None


def commit_times(
    table: Location, writer: str, through: int, since: int | None = None, lowest: int | None = None
) -> dict[int, int]:
    """Return the times of a writer's commits up to number `through`, by number, as far as the log goes back.

    With `since`, earlier commits are left out, except from number `lowest` on; without it, the newest 1,000 are read.
    Times in microseconds UTC.
    """
    read = partial(_read, table / LOG, writer)
    names = (_COMMIT.fullmatch(name) for name in files_below(table / LOG))
    entries = sorted(int(name[1]) for name in names if name)
    end = bisect_right(range(len(entries)), through, key=lambda at: _number_at(entries, at, read))
    newest_first = entries[:end][::-1]
    found: dict[int, int] = {}
    seen = through
    for commit in _each(newest_first if since is not None else newest_first[:MOST], read, isinstance(table, Path)):
        seen = seen if commit.number is None else commit.number
        past = since is not None and commit.time < since
        if not commit.time or (past and (lowest is None or seen < lowest)):
            break
        if commit.number is not None:
            found[commit.number] = commit.time
    return found


def _each(entries: Sequence[int], read: Callable[[int], _Commit], local: bool) -> Iterator[_Commit]:
    """Yield commits in order; a few are read at a time, so that few are read in vain."""
    for first in range(0, len(entries), _AT_ONCE):
        yield from at_once(read, entries[first : first + _AT_ONCE], remote=not local)


def _number_at(entries: Sequence[int], at: int, read: Callable[[int], _Commit]) -> int:
    """The last number recorded at or before the index `at` of `entries`; 0 if there is none."""
    numbers = (read(entry).number for entry in reversed(entries[: at + 1]))
    return next((number for number in numbers if number is not None), 0)


def _read(log: Location, writer: str, entry: int) -> _Commit:
    """Read a commit; one that has been deleted meanwhile, or is damaged, has no time and no number."""
    time, number = 0, None
    try:
        for line in (read_if_there(log / f"{entry:020d}.json") or b"").splitlines():
            if line.startswith(b'{"commitInfo"'):
                time = json.loads(line)["commitInfo"].get("timestamp", 0) * 1000
            elif line.startswith(b'{"txn"') and (txn := json.loads(line)["txn"])["appId"] == writer:
                number = txn["version"]
    except ValueError:
        return _Commit(0, None)
    return _Commit(time, number)
