"""What a version holds that a backfill made, from what two whole runs come to: one under the policies before, one
under those now. Written from the rules (semantics section 6), with nothing of the product."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from oracle import Outcome, Verdict


class Ends(Protocol):
    """An output of a stream."""

    @property
    def end(self) -> int: ...


Output = TypeVar("Output", bound=Ends)


def in_range(time: int | None, begin: int, end: int | None) -> bool:
    return time is not None and time >= begin and (end is None or time < end)


def rows(old: Outcome, new: Outcome, begin: int, end: int | None) -> Outcome:
    """A row takes its new fate if its old or its new time lies in [begin, end), else the old one stands. Rows that
    the old run did not have yet are the new one's."""
    before = {(row.partition, row.offset): row for row in old.verdicts}

    def chosen(row: Verdict) -> Verdict:
        was = before.get((row.partition, row.offset))
        times = [row.system_timestamp, None if was is None else was.system_timestamp]
        return row if was is None or any(in_range(time, begin, end) for time in times) else was

    return Outcome(tuple(map(chosen, new.verdicts)), new.ends)


def outputs(old: Iterable[Output], new: Iterable[Output], begin: int, end: int | None) -> list[Output]:
    """Windows with begin < end of window <= end are the new ones, the others the old."""

    def ours(output: Output) -> bool:
        return output.end > begin and (end is None or output.end <= end)

    return [each for each in old if not ours(each)] + [each for each in new if ours(each)]


def passed_points(merged: Outcome, passed: int) -> list[Verdict]:
    """The rows of a published stream of points of one source, where later runs go on from what it had passed: those
    that stand and end by then, whatever their fate was before."""
    return [row for row in merged.verdicts if row.system_timestamp is not None and row.system_timestamp + 1 <= passed]


def points(old: Sequence[Output], new: Sequence[Output], merged: Outcome) -> list[Output]:
    """The rows of a stream of one source: those of the rows that stand, each as the run made it whose fate it has."""
    stands = {(row.partition, row.offset, row.system_timestamp) for row in merged.verdicts}
    found = {(each.partition, each.offset, each.start): each for each in [*old, *new]}  # type: ignore[attr-defined]
    return [each for key, each in found.items() if key in stands]
