"""Judges rows again, one by one, by docs/time-rules.md: what a source's tolerances make of the recorded times."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Set
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from tidemark_verify.verify import Chain, Flaw, Row, grouped, micros, settings

FIRST_INSTANT = -62_135_596_800 * 10**6
COLUMNS = (
    "_partition", "_offset", "_batch_id", "_arrival_time", "_event_time", "_system_timestamp", "_disposition",
    "_reasons", "_watermark", "_substream", "_end_time")  # fmt: skip
Tolerance = tuple[int, str]
Verdict = tuple[int | None, str, list[str]]


class Rules(NamedTuple):
    """Tolerances of a source, each in microseconds with its action (None: off)."""

    early: Tolerance | None
    late: Tolerance | None
    order: Tolerance
    over: bool

    @classmethod
    def of(cls, source: Row) -> Rules:
        """Those of a source's settings; without `timestamp_by` only out of order may act."""
        if source["timestamp_by"] is None:
            return cls(None, (0, "adjust"), (0, "adjust"), False)
        steps = (source[name] for name in ("early_arrival", "late_arrival", "out_of_order"))
        early, late, order = (
            None if each == "off" else (micros(each["tolerance"]), each["action"]) for each in steps
        )
        return cls(early, late, order or (0, "keep"), bool(source["over"]))

    @property
    def disorder(self) -> int:
        """How far the watermark trails the highest time."""
        return self.order[0] if self.late is None or self.order[1] == "keep" else min(self.order[0], self.late[0])

    def judged(self, arrival: int, event: int, mark: int | None, end: int | None) -> Verdict:
        """Time, fate and reasons of a row. An interval whose start is moved to its `end` or past it is dropped."""
        steps = [("early", self.early, 1), ("late", self.late, -1)]
        bounds = [(name, each, arrival + sign * each[0], sign) for name, each, sign in steps if each is not None]
        if mark is not None and self.order[1] != "keep":
            bounds.append(("out_of_order", self.order, mark, -1))
        stamp, reasons = event, list[str]()
        for name, step, bound, sign in bounds:
            if sign * (stamp - bound) > 0:
                stamp, reasons = bound, [*reasons, name]
                if step[1] == "drop":
                    return None, "dropped", reasons
                if end is not None and stamp >= end:
                    return None, "dropped", [*reasons, "empty"]
        return stamp, "adjusted" if reasons else "on_time", reasons


class Judge:
    """Judges rows of one source, all rows of batches `judged`. After a batch that is left out, watermarks begin at
    the recorded state; with substreams, and after rows that retention has deleted, that of the first row is taken as
    it is."""

    def __init__(self, chain: Chain, source: str, judged: Set[int]) -> None:
        self.chain, self.source, self.left_out = chain, source, chain.committed.keys() - judged
        rows = sorted(chain.tables["watermarks"], key=itemgetter("batch_id"))
        self.states = grouped((row for row in rows if row["source"] == source), "partition")

    def flaws(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Flaw]:
        """The first wrong row of each batch and partition; rows are ordered by partition and offset."""
        for partition, mine in groupby(rows, key=itemgetter(0)):
            self.keys, self.whole, self.last, self.next, before = dict[str | None, int](), True, FIRST_INSTANT, 0, 0
            for batch, of_batch in groupby(mine, key=itemgetter(2)):
                gap, before = any(before < each < batch for each in self.left_out), batch
                if (why := self._batch(list(of_batch), gap)) is not None:
                    yield Flaw("judging", f"events/{self.source}", batch, None, f"partition {partition}, {why}")

    def _batch(self, rows: list[tuple[Any, ...]], gap: bool) -> str | None:
        """Judge a batch's rows of a partition, after a batch that is left out (`gap`): the first that is wrong."""
        source, wrong = settings(self.chain.committed[rows[0][2]])["sources"][self.source], None
        rules, (floor, reached, begin) = Rules.of(source), self._state(rows[0][2], rows[0][0], source["partitions"])
        if gap:
            self.keys, self.whole, self.next = {}, False, begin
        cut, deleted = rules.over, "events" in self.chain.horizons
        for _, offset, _, arrival, event, stamp, fate, reasons, mark, key, end in rows:
            if arrival is not None and arrival < self.last:
                wrong = wrong or f"offset {offset}: it arrived before the row ahead"
            self.last = self.last if arrival is None else arrival
            if offset != self.next and (deleted or not self.next):
                self.keys, self.whole, cut = {}, False, cut or (deleted and offset != begin)
            self.next = offset + 1
            if fate == "quarantined":
                continue
            seen = self.keys.get(key) if key in self.keys or self.whole else mark if cut else reached
            before = max((each for each in (floor, seen) if each is not None), default=None)
            repeats = source.get("deduplicate") and reasons == ["duplicate"]
            expected = (None, "dropped", reasons) if repeats else rules.judged(arrival, event, before, end)
            if mark != before or (stamp, fate, reasons) != expected:
                then = f"{expected[1]} at {expected[0]} under {before}"
                wrong = wrong or f"offset {offset}: {fate} at {stamp} under watermark {mark}, by the rules {then}"
            if stamp is not None:
                self.keys[key] = max(stamp - rules.disorder, FIRST_INSTANT if before is None else before)
        return wrong

    def _state(self, batch: int, partition: str, declared: list[str]) -> tuple[int | None, int | None, int]:
        """Floor, watermark and next offset of a partition before a batch; one that starts late has its source's."""
        rows = self.states.get((partition,), [])
        at = bisect_left(rows, batch, key=itemgetter("batch_id"))
        if at:
            return rows[at - 1]["floor"], rows[at - 1]["watermark"], rows[at - 1]["next_offset"]
        first = self.chain.committed[batch]["run_first"]
        ended = [row for number, row in self.chain.committed.items() if number < first and number == row["run_last"]]
        combined = {each["source"]: each["watermark"] for each in (ended[-1]["combined"] if ended else None) or ()}
        started = None if partition in declared else combined.get(self.source)
        return started, started, 0
