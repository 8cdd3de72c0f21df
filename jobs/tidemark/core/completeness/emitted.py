"""Periods of a stream that have been emitted as complete, and those that are due.

The record that holds after events is part of their transaction. So a period is emitted exactly once, however often
and whenever it is asked for: what is due follows from the newest record and the stream's watermark alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice, takewhile
from typing import Any

from tidemark.core.completeness.periods import Period, Periods

Range = tuple[int, int]
"""A range [first, last) of output times, in microseconds UTC."""


@dataclass(frozen=True)
class Emitted:
    """The record after an event of an asset. It is about the outputs of `version`, whose last committed batch then
    was `batch`. Of a stream, all periods from `since` on that end by `through` are emitted, except for those in the
    ranges `again`, which have changed since. `warehouse` is the identity of the warehouse's table of versions: one
    that was made anew has another (None: it was not recorded)."""

    version: int
    batch: int
    since: int = 0
    through: int = 0
    again: tuple[Range, ...] = ()
    warehouse: str | None = None

    @classmethod
    def of(cls, record: object) -> Emitted | None:
        """Read a record; None if there is none."""
        if not isinstance(record, Mapping):
            return None
        known = {name: record[name] for name in cls.__dataclass_fields__ if name in record}
        return cls(**known | {"again": tuple((first, last) for first, last in known.get("again", ()))})

    @property
    def record(self) -> dict[str, Any]:
        """The record as JSON."""
        return asdict(self) | {"again": [list(each) for each in self.again]}

    def switched(self, version: int, changed: Iterable[Range], periods: Periods, watermark: int) -> Emitted:
        """The record once another version is live, of which the stream has a `watermark`, and whose outputs differ in
        the ranges `changed`: emitted periods that differ, or are not complete any more, are due again."""
        through = min(self.through, watermark)
        behind = [(watermark, self.through)] if watermark < self.through else []
        cut = [(max(first, self.since), min(last, self.through)) for first, last in (*changed, *behind)]
        around = [periods.whole(first, last) for first, last in cut if first < last]
        again = [(max(first, self.since), min(last, through)) for first, last in (*self.again, *around)]
        return replace(self, version=version, through=through, again=tuple(_merged(again)))


@dataclass(frozen=True)
class DuePeriods:
    """Periods to emit: those that are due `again`, then those that are complete for the first time; `after` is the
    record that holds once they are emitted."""

    again: tuple[Period, ...]
    new: tuple[Period, ...]
    after: Emitted


def due(emitted: Emitted, periods: Periods, watermark: int, most: int) -> DuePeriods:
    """The oldest `most` periods that are complete at a watermark and not emitted."""
    through = emitted.through
    repeated = chain.from_iterable(_within(each, periods, min(through, watermark)) for each in emitted.again)
    again = tuple(islice(repeated, most))
    new = tuple(islice(periods.ended(through, watermark), most - len(again)))
    passed = again[-1].end if again and len(again) == most else min(through, watermark)
    left = tuple((max(first, passed), last) for first, last in emitted.again if last > passed)
    return DuePeriods(again, new, replace(emitted, through=new[-1].end if new else through, again=left))


def _within(each: Range, periods: Periods, through: int) -> Iterator[Period]:
    first, last = each
    return takewhile(lambda period: period.start < last, periods.ended(first, through))


def _merged(ranges: Iterable[Range]) -> Iterator[Range]:
    """Ranges in order, those that touch or overlap as one; empty ones are left out."""
    kept: list[Range] = []
    for first, last in sorted(each for each in ranges if each[0] < each[1]):
        if kept and first <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(kept[-1][1], last))
        else:
            kept.append((first, last))
    return iter(kept)
