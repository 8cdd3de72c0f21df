"""Reconstructs, from the logs of a pipeline, the steps that must have made its tables, in order.

Commits of one table are in the order of its log, steps of several tables in that of the times of their commits,
unless the chain of batches says otherwise. docs/protocol.md says what is not seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from state import ABANDONED, COMMITTED, PASSED, PLANNED, RELEASED, Batch
from table_logs import Commit, Rows, TableLog
from written import FIELDS, OF_BATCHES, Change, Step, Written

from tidemark_verify.delta import tables_below

READ = (*FIELDS, "batches", "plans")
"""Kinds of tables that are read."""
RETAKEN = ("quarantined", "vanished")
"""States of objects that are taken again: then they count as others."""
Spans = list[tuple[float, float]]
Key = tuple[Any, ...]


class Objects:
    """Landed objects as bits of a mask."""

    def __init__(self) -> None:
        self._bits: dict[Key, int] = {}

    def mask(self, keys: Iterable[Key]) -> int:
        """The mask of some objects."""
        return sum(1 << self._bits.setdefault(key, len(self._bits)) for key in set(keys))

    @property
    def landed(self) -> int:
        """All of them, and at least one that is never taken."""
        return (1 << max(4, len(self._bits) + 1)) - 1


def rows_at(log: TableLog, time: float) -> Rows:
    """The rows of a table at a time."""
    rows = log.base.copy()
    for commit in log.commits:
        if commit.time <= time:
            rows.update(commit.gained)
            rows.subtract(commit.lost)
    return +rows


class VersionHistory:
    """The record of a version: its logs by table, and its objects by batch, as taken and as planned."""

    written: Written

    def __init__(self, number: int, logs: Mapping[str, TableLog], objects: Objects) -> None:
        self.number, self.objects, self.logs = number, objects, logs
        self._keys = self._named_objects()

    def _named_objects(self) -> dict[Key, set[Key]]:
        found: dict[Key, set[Key]] = defaultdict(set)
        again = set()
        for number, source, uri, state in self._ever("objects"):
            again |= {(number, source, uri)} if state in RETAKEN else set()
            found[(number,)] |= {(number, source, uri)} if state != "changed" else set()
        for number, source, uri, state, plan in self._ever("plans"):
            found[plan, number] |= {(number, source, uri)} if uri is not None and state != "changed" else set()
        return {of: {key if key in again else key[1:] for key in keys} for of, keys in found.items()}

    def _ever(self, table: str) -> Iterator[Key]:
        """Rows that a table has had."""
        if table in self.logs:
            yield from self.logs[table].base
            for commit in self.logs[table].commits:
                yield from commit.gained

    def batch(self, row: Key) -> Batch:
        """A row of `batches` as the model has it, with its objects as planned or else as taken."""
        number, status, first, last, plan = row
        keys = self._keys.get((plan, number)) or self._keys.get((number,), ())
        return Batch(number, status, self.objects.mask(keys), first, last)

    def at(self, time: float) -> list[Batch]:
        """The rows of `batches` at a time."""
        return sorted(map(self.batch, rows_at(self.logs["batches"], time)))

    def optional(self, last: int) -> Iterator[Change]:
        """Changes that may have been without a commit."""
        for field, number in self.written.optional(last):
            for sign in "+-":
                yield self._checked(sign, number, PASSED) if field == "quality" else self._change(field, sign, number)

    def steps(self, since: float, live: Spans) -> Iterator[Step]:
        """The steps after a time; `live` are the spans in which the version was live."""
        self.written = Written(self.number, self.logs, since)
        yield from self.written.others
        skipped: set[Change] = set()
        runs: dict[int, list[Batch]] = {}
        for commit in self.logs["batches"].commits:
            gained, lost = (sorted(map(self.batch, rows)) for rows in (commit.gained, commit.lost))
            if commit.time <= since or not (gained or lost):
                continue
            while_live = any(begin <= commit.time < end for begin, end in live)
            changes = {(self.number, "batches", "+", each) for each in gained}
            changes |= {(self.number, "batches", "-", each) for each in lost}
            if not lost and all(each.status == ABANDONED for each in gained):
                skipped = changes
            elif not lost:
                cut = tuple(each.objects for each in gained)
                yield self._step(commit, gained[0].number, "plan", changes | skipped, cut=cut)
                new, skipped = [each for each in gained if each.number not in runs], set()
                runs |= dict.fromkeys([each.number for each in gained], gained)
                for batch in new if while_live else ():
                    yield from self._of_batch(batch)
            else:
                yield from self._turned(commit, gained, lost, changes, while_live, runs)

    def _turned(
        self,
        commit: Commit,
        gained: list[Batch],
        lost: list[Batch],
        changes: set[Change],
        while_live: bool,
        runs: Mapping[int, list[Batch]],
    ) -> Iterator[Step]:
        """Steps of a commit that changes rows of batches."""
        if not gained:
            gone = frozenset(each.number for each in lost)
            yield self._step(commit, lost[0].number, "retained", set(), gone=gone)
        elif while_live:
            if gained[-1].status == ABANDONED:
                yield from self._withdrawal(commit, gained)
            yield self._step(commit, gained[-1].number, gained[-1].status, changes)
        elif gained[-1].number == (planned := runs.get(gained[-1].number, gained))[-1].number:
            yield self._brought(commit, planned)

    def _step(self, commit: Commit, number: int, kind: str, changes: set[Change], **more: Any) -> Step:
        return Step(commit.time, number, kind, self.number, "batches", frozenset(changes), **more)

    def _of_batch(self, batch: Batch) -> Iterator[Step]:
        """What a batch has written to tables but `batches`."""
        number, shown, verdicts = batch.number, self.written.shown, self.written.verdicts.get(batch.number, ())
        times = {field: max(shown[field, number]) for field in OF_BATCHES if (field, number) in shown}
        if "taken" in times and "states" in times and number != batch.last:  # written side by side
            times["taken"] = max(times["taken"][0], times["states"][0]), times["taken"][1]
        passed = min((time for time, verdict in verdicts if verdict == PASSED), default=0.0)
        if "streams" in times:  # a check that stops nothing runs beside
            times["streams"] = max(times["streams"][0], passed), times["streams"][1]
        for field, (time, table) in times.items():
            yield Step(time, number, field, self.number, table, frozenset({self._change(field, "+", number)}))
        for time, verdict in verdicts:
            kind = "released" if verdict == RELEASED else "quality"
            changes = frozenset({self._checked("+", number, verdict)})
            yield Step(time, number, kind, self.number, "quality", changes)

    def _change(self, field: str, sign: str, number: int) -> Change:
        taken = field == "taken"
        return (
            self.number,
            field,
            sign,
            (number, self.objects.mask(self._keys.get((number,), ()))) if taken else number,
        )

    def _checked(self, sign: str, number: int, verdict: int) -> Change:
        return self.number, "quality", sign, (number, verdict)

    def _withdrawal(self, commit: Commit, gained: list[Batch]) -> Iterator[Step]:
        """The withdrawal of a run's rows: where the last of its commits is."""
        last = gained[-1].number
        made = [(name, *each) for name, of in self.written.withdrawn.items() for each in of]
        ends = {name: time for name, time, number in made if number == last and time <= commit.time}
        changes: set[Change] = set()
        for number in (batch.number for batch in gained):
            for field in OF_BATCHES:
                tables = {name for _, name in self.written.shown.get((field, number), ())}
                changes |= {self._change(field, "-", number)} if tables and tables <= ends.keys() else set()
            verdicts = self.written.verdicts.get(number, ()) if "quality" in ends else ()
            changes |= {self._checked("-", number, verdict) for _, verdict in verdicts}
        if changes:
            place = max(ends.values())
            yield Step(place, last, "withdrawn", self.number, "batches", frozenset(changes))

    def _brought(self, commit: Commit, run: list[Batch]) -> Step:
        """A plan that a promotion has executed in a version that is not live: one step."""
        changes: set[Change] = set()
        for batch in run:
            changes.add((self.number, "batches", "-", batch._replace(status=PLANNED)))
            changes.add((self.number, "batches", "+", batch._replace(status=COMMITTED)))
            for step in self._of_batch(batch):
                changes |= step.changes if step.time <= commit.time else frozenset()
        return self._step(commit, run[-1].number, "brought", changes)


class PipelineHistory:
    """The record of a pipeline: its list of versions, and the history of each version that is still there.

    It begins at `since`, with the versions `begin` and the last number `numbered`: before the first run, unless logs
    have been cut off since.
    """

    def __init__(self, versions: TableLog, logs: Mapping[int, Mapping[str, TableLog]]) -> None:
        self.list, self.objects = versions, Objects()
        ever = [row for rows in (versions.base, *(each.gained for each in versions.commits)) for row in rows]
        self.known = {row[0]: row for row in ever}
        there = sorted(logs.keys() & self.known.keys())
        self.versions = {number: VersionHistory(number, logs[number], self.objects) for number in there}
        begins = [log.first for log in (versions, *(each.logs["batches"] for each in self.versions.values()))]
        self.since = max((first for first in begins if first is not None), default=-1.0)
        self.begin = {row[0]: row for row in rows_at(versions, self.since)} or {1: (1, True, None, None)}
        numbers = [each.writers.get("numbers", 1) for each in versions.commits if each.time <= self.since]
        self.numbered = max(*self.begin, versions.known.get("numbers", 1), *numbers, 1)
        self.live = next(number for number, row in self.begin.items() if row[1])
        self.listed = dict.fromkeys(self.begin, self.since)

    @classmethod
    def of(cls, root: Path) -> PipelineHistory:
        """The history of the pipeline in a folder."""
        logs = {}
        for path in root.glob("v*/batches/_delta_log"):
            folder = path.parents[1]
            names = [name for name in tables_below(folder) if name.partition("/")[0] in READ]
            logs[int(folder.name[1:])] = {name: TableLog(folder, name) for name in names}
        return cls(TableLog(root, "versions"), logs)

    def line(self, number: int) -> int:
        """The version that began the numbering of a version's batches: `versions.line`."""
        while number in self.known and self.known[number][2] is not None and not self.known[number][3]:
            number = self.known[number][2]
        return number

    def steps(self) -> list[Step]:
        """All steps, in order. Of a version with other numbers of batches than the live one there are none."""
        found = list(self._of_list())
        spans = self._spans([each for each in found if each.kind == "live"])
        for number, version in self.versions.items():
            apart = [span for each, mine in spans.items() if self.line(each) != self.line(number) for span in mine]
            found += [
                step
                for step in version.steps(self.listed[number], spans.get(number, []))
                if step.time > self.listed[number] and not any(begin <= step.time < end for begin, end in apart)
            ]
        return sorted(found, key=lambda step: step.place)

    def _spans(self, switches: list[Step]) -> dict[int, Spans]:
        """When each version was live."""
        found: dict[int, Spans] = defaultdict(list)
        number, begin = self.live, float("-inf")
        for step in [*switches, Step(float("inf"), 0, "live", 0, "")]:
            found[number].append((begin, step.time))
            number, begin = step.version, step.time
        return found

    def _of_list(self) -> Iterator[Step]:
        """Steps of the list of versions."""
        numbered = self.numbered
        for commit in (each for each in self.list.commits if each.time > self.since):
            new, old = ({row[0]: row for row in rows} for rows in (commit.gained, commit.lost))
            added = sorted(new.keys() - old.keys() - self.listed.keys())
            if (number := max(commit.writers.get("numbers", 0), *added, 0)) > numbered:
                numbered = number
                yield _listing(commit, "reserved", number, ("numbered", "+", number))
            for number in added:
                self.listed[number] = commit.time
                yield _listing(commit, "listed", number, ("listed", "+", number))
            for number in (each for each, row in new.items() if row[1] and each in old):
                yield _listing(commit, "live", number, ("live", "+", number))
            for number in old.keys() - new.keys():
                yield _listing(commit, "forgotten", number)


def _listing(commit: Commit, kind: str, number: int, *changes: Change) -> Step:
    return Step(commit.time, 0, kind, number, "versions", frozenset(changes))
