"""Makes commits to tables durable: log entries, added files and their folders are on the disk before anything relies
on them. The cost depends on the size of new commits, not on the size of the table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from tidemark.storage import LOG, Location
from tidemark.storage.sync import sync

_OF_VERSION = re.compile(r"\.?(\d{20})\.")
_LAST_CHECKPOINT = ("_last_checkpoint", "._last_checkpoint.crc")


@contextmanager
def lasting(*tables: Location) -> Iterator[None]:
    """Context manager: commits made to the tables inside are on the disk at its end."""
    locations = [table for table in tables if isinstance(table, Path)]
    newest = {location: max(_Log.of(location).entries, default=-1) for location in locations}
    yield
    _sync([_Commits.after(location, newest[location]) for location in locations])


def settle(tables: Iterable[Location], first: int) -> None:
    """Return when all commits to the tables since the last batch before `first` are on the disk, whoever wrote them,
    also commits that belong to no batch."""
    _sync([_Commits.of_batches(table, first) for table in dict.fromkeys(tables) if isinstance(table, Path)])


@dataclass
class _Log:
    """The files of a table's log by version; `entries` are the versions with a commit."""

    files: dict[int, list[Path]] = field(default_factory=dict)
    entries: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, table: Path) -> _Log:
        found, log = cls(), table / LOG
        for path in log.iterdir() if log.is_dir() else ():
            if match := _OF_VERSION.match(path.name):
                found.files.setdefault(int(match[1]), []).append(path)
                if path.name == f"{match[1]}.json":
                    found.entries.add(int(match[1]))
        return found


@dataclass
class _Commits:
    """Commits to one table: their files and the folders that name these."""

    table: Path
    files: list[Path] = field(default_factory=list)
    folders: set[Path] = field(default_factory=set)

    @classmethod
    def after(cls, table: Path, version: int) -> _Commits:
        """The commits after a version of the table."""
        found, log = cls(table), _Log.of(table)
        for number in sorted(each for each in log.entries if each > version):
            found._take(number, log, _lines(table, number))
        return found

    @classmethod
    def of_batches(cls, table: Path, first: int) -> _Commits:
        """The newest commits, back to the last commit of batches before `first`, which is left out."""
        found, log = cls(table), _Log.of(table)
        for number in sorted(log.entries, reverse=True):
            lines = _lines(table, number)
            written = [json.loads(line)["txn"]["version"] for line in lines if line.startswith(b'{"txn"')]
            if written and max(written) < first:
                break
            found._take(number, log, lines)
        return found

    def _take(self, number: int, log: _Log, lines: list[bytes]) -> None:
        self.files += log.files[number]
        if any(".checkpoint" in path.name for path in log.files[number]):
            self.files += [self.table / LOG / name for name in _LAST_CHECKPOINT]
        self.folders |= {self.table / LOG, self.table}
        for line in lines:
            if line.startswith(b'{"add"'):
                path = self.table / unquote(json.loads(line)["add"]["path"])
                self.files += [path, path.with_name(f".{path.name}.crc")]
                self.folders |= {each for each in path.parents if each.is_relative_to(self.table)}
        if number == 0:  # the table is new, and so may be the folders that it is in
            self.folders |= set(self.table.absolute().parents)


def _lines(table: Path, number: int) -> list[bytes]:
    return (table / LOG / f"{number:020d}.json").read_bytes().splitlines()


def _sync(commits: Iterable[_Commits]) -> None:
    found = list(commits)
    sync((path for each in found for path in each.files), (path for each in found for path in each.folders))
