"""What the logs of a version show of each batch: when its rows came to tables, when they left, what was done besides.

A step changes tables of the model (`state.Version`). Its `changes` are rows that these gain and lose, without
contents that no log shows. Several tables of Spark's are one table of the model, so that several commits may be one
step: it is where the last of them is.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from state import ABANDONED, ABANDONING, BLOCKED, COMMITTED, FAILED, PASSED, RELEASED
from table_logs import Commit, TableLog

from tidemark.config import from_resolved
from tidemark.core import quality
from tidemark.ledger.ledger import Ledger
from tidemark.runner.maintenance import Maintenance

FIELDS = {"events": "events", "watermarks": "states", "objects": "taken", "quality": "quality"}
FIELDS |= {"streams": "streams", "dead_letters": "streams"}
"""Tables of the model by the kind of a table."""
OF_BATCHES = ("events", "states", "streams", "taken")
RANKS = ("plan", "events", "states", "quality", "released", BLOCKED, "streams", "taken", COMMITTED)
RANKS += (ABANDONING, "withdrawn", ABANDONED)
"""Steps in the order of a run, for those of one millisecond."""
Change = tuple[Any, ...]
"""Version, table of the model, "+" or "-", and the batch or the row; "!" for what no step does."""


class Step(NamedTuple):
    """One step that the record shows. `cut` has the objects of the batches that it plans. `gone` are batches of which
    retention has deleted rows."""

    time: float
    batch: int
    kind: str
    version: int
    table: str
    changes: frozenset[Change] = frozenset()
    cut: tuple[int, ...] = ()
    gone: frozenset[int] = frozenset()

    @property
    def place(self) -> tuple[float, int, int]:
        """Its place among others."""
        return self.time, self.batch, RANKS.index(self.kind) if self.kind in RANKS else len(RANKS)


def kind_of(table: str) -> str | None:
    """The table of the model that a table is part of; None if it is of none."""
    return FIELDS.get(table.partition("/")[0])


class Written:
    """What the logs of a version show of its batches after a time.

    `shown` has, by table of the model and batch, when which tables got rows, `verdicts` those of the check by batch,
    `withdrawn` the withdrawals by table, each with the last batch of the run. `mended` are batches, by table of the
    model, whose rows were made again later: they count as never lost. `others` are steps that no run does.
    """

    def __init__(self, number: int, logs: Mapping[str, TableLog], since: float) -> None:
        self.number, self.logs = number, logs
        rows = logs["batches"].records(("batch_id", "status", "objects", "digests", "files"))
        self.committed = {row["batch_id"]: row for row in rows if row["status"] == COMMITTED}
        self.given_up = {row["batch_id"] for row in rows if row["status"] == ABANDONING}
        self.needed: dict[str, set[int]] = defaultdict(set)
        for of, row in self.committed.items():
            for each in (*(row["digests"] or ()), {"table": "objects", "rows": row["objects"]}):
                self.needed[each["table"]] |= {of} if each["rows"] else set()
        self.shown: dict[tuple[str, int], list[tuple[float, str]]] = defaultdict(list)
        self.verdicts: dict[int, list[tuple[float, int]]] = defaultdict(list)
        self.withdrawn: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self.mended: set[tuple[str, int]] = set()
        self.others: list[Step] = []
        for name, log in logs.items():
            if (field := kind_of(name)) is not None:
                self._look(field, log, since)

    def optional(self, last: int) -> Iterator[tuple[str, int]]:
        """Tables of the model and batches up to `last` that may have had rows without a commit: the batch says that
        it had nothing to write, its rows were made again later, or its abandonment has not ended."""
        needed = {(kind_of(table), number) for table, numbers in self.needed.items() for number in numbers}
        for number in range(1, last + 1):
            for field in OF_BATCHES:
                unseen = (field, number) not in self.shown and (field, number) not in needed
                if unseen or (field, number) in self.mended or number in self.given_up:
                    yield field, number
            if all(verdict == RELEASED for _, verdict in self.verdicts.get(number, ())):
                yield "quality", number

    def _look(self, field: str, log: TableLog, since: float) -> None:
        there, anew = {row[0] for row in log.base}, self._anew(log)
        for commit in log.commits:
            gained, lost = ({row[0] for row in rows} for rows in (commit.gained, commit.lost))
            if commit.time > since and not self._special(field, commit, gained, lost):
                self.mended |= {(field, number) for number in gained & anew}
                for number in gained & there - anew:
                    self._other("appended again", commit, number, {(self.number, field, "+", number)})
                for number in gained - there - anew:
                    self.shown[field, number].append((self._placed(commit, number), commit.table))
            there |= gained

    def _special(self, field: str, commit: Commit, gained: set[int], lost: set[int]) -> bool:
        """Take in a commit that does not append rows to a table; False if it does."""
        if commit.how == "withdraw":
            self.withdrawn[commit.table].append((commit.time, commit.writers["abandoned"]))
        elif commit.how == "put back":
            self.mended |= {(field, number) for number in gained}
        elif commit.how == "delete" and not commit.table.startswith("streams/"):
            self._other("retained", commit, min(lost, default=0), gone=frozenset(lost))
            self._spoiled(field, commit, self._open(commit))
        elif (lost and commit.how != "fsck") or commit.changed:
            self._spoiled(field, commit, lost | gained | commit.changed)
        elif field == "quality":
            self._judge(commit)
        else:
            return False
        return True

    def _spoiled(self, field: str, commit: Commit, batches: Iterable[int]) -> None:
        for number in sorted(batches):
            self._other("changed", commit, number, {(self.number, field, "!", number)})

    def _other(self, kind: str, commit: Commit, number: int, changes: Iterable[Change] = (), **more: Any) -> None:
        made = frozenset(changes)
        self.others.append(Step(commit.time, number, kind, self.number, commit.table, made, **more))

    def _open(self, commit: Commit) -> list[int]:
        """Batches of which a deletion from events has taken rows that the windows need which the last run left open:
        `Maintenance.needed`."""
        kind, _, source = commit.table.partition("/")
        log = self.logs["batches"]
        ended = [each.writers.get("commit") for each in log.commits if each.time <= commit.time]
        last = max((each for each in ended if each is not None), default=0)
        if kind != "events" or not last or not commit.ends:
            return []
        (record,) = Ledger(log.folder.parents[1], self.number).batches(last, last)
        needed = Maintenance(from_resolved(json.loads(record.configuration)), None, None).needed(record)
        bound = needed.get(source, max(commit.ends.values()) + 1)
        return [number for number, end in commit.ends.items() if bound is None or end >= bound]

    def _judge(self, commit: Commit) -> None:
        """Take in checks of runs, or a release."""
        for number in {row[0] for row in commit.gained}:
            rows = [row[1:] for row in commit.gained if row[0] == number]
            failed = any(not success and severity == quality.Severity.BLOCK for _, success, severity in rows)
            if any(name == quality.RELEASED for name, *_ in rows):
                self.verdicts[number].append((commit.time, RELEASED))
            elif "streams" not in commit.writers:
                self.verdicts[number].append((self._placed(commit, number), FAILED if failed else PASSED))

    def _anew(self, log: TableLog) -> set[int]:
        """Batches whose rows a table had under another identity: it was made again later."""
        return {
            number
            for number, row in self.committed.items()
            if any(each["table"] == log.name and each["log"] not in (None, log.id) for each in row.get("files") or ())
        }

    def _placed(self, commit: Commit, number: int) -> float:
        """The time of a commit that a batch has made. The chain says if it was before the batch was committed."""
        ends = [each.time for each in self.logs["batches"].commits if each.writers.get("commit") == number]
        files = self.committed.get(number, {}).get("files")
        if not files or not ends:
            return commit.time
        entry = commit.table, f"_delta_log/{commit.number:020d}.json"
        listed = any((each["table"], each["path"]) == entry for each in files)
        return min(commit.time, ends[0]) if listed else max(commit.time, ends[0] + 0.5)
