"""A cause of abnormal rows: its kind, its rows, and the kinds of other causes that it explains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tidemark.core.policy import Fate
from tidemark.core.times import DAY, HOUR
from tidemark.core.watermarks import UNKNOWN
from tidemark.records.causes import CauseRecord
from tidemark.report.words import iso


class Kind(StrEnum):
    """What has happened."""

    LATE_SENDER = "late_sender"
    CLOCK_AHEAD = "clock_ahead"
    GROWING_SKEW = "growing_skew"
    REPLAYED_FILE = "replayed_file"
    BAD_FILE = "bad_file"
    SCHEMA_CHANGE = "schema_change"
    IDLE_PARTITION = "idle_partition"
    BURST = "burst"
    WRONG_PARTITION = "wrong_partition"
    DUPLICATES = "duplicates"
    CLOCK_CHANGE = "clock_change"
    SLOW_LANDING = "slow_landing"
    DISORDER = "disorder"


_VOLUME = frozenset({Kind.BURST, Kind.IDLE_PARTITION})
_FOLLOWS: dict[Kind, frozenset[Kind]] = {
    Kind.LATE_SENDER: frozenset({Kind.DISORDER}),
    Kind.CLOCK_AHEAD: frozenset({Kind.DISORDER}),
    Kind.GROWING_SKEW: frozenset({Kind.DISORDER, Kind.LATE_SENDER, Kind.CLOCK_AHEAD}),
    Kind.CLOCK_CHANGE: frozenset({Kind.DISORDER, Kind.DUPLICATES}),
    Kind.REPLAYED_FILE: frozenset(
        {Kind.SLOW_LANDING, Kind.DISORDER, Kind.DUPLICATES, Kind.REPLAYED_FILE, Kind.LATE_SENDER, *_VOLUME}
    ),
    Kind.DUPLICATES: frozenset({Kind.DISORDER, Kind.DUPLICATES, Kind.BURST}),
    Kind.BAD_FILE: _VOLUME,
    Kind.SCHEMA_CHANGE: _VOLUME,
    Kind.SLOW_LANDING: frozenset({Kind.SLOW_LANDING, Kind.DISORDER, Kind.LATE_SENDER, *_VOLUME}),
    Kind.WRONG_PARTITION: _VOLUME | {Kind.DISORDER},
    Kind.BURST: frozenset({Kind.DISORDER, Kind.DUPLICATES}),
}
"""For each kind, the kinds that it explains in the same partitions and hours: these are not reported beside it."""


@dataclass(frozen=True)
class Cause:
    """A cause, with its sentence. `first` and `last` are arrivals, microseconds UTC. Empty `partitions` mean all.
    `reason` and `fate` are empty if the rows were judged as usual. `beyond`: distance of its rows from their arrival
    or from the watermark, microseconds (median, 95 %)."""

    kind: Kind
    source: str
    partitions: tuple[str, ...]
    rows: int
    first: int
    last: int
    files: tuple[str, ...]
    sentence: str
    remedy: str
    fate: str = ""
    reason: str = ""
    kept: int | None = None
    beyond: tuple[int, int] | None = None
    substream: str | None = None

    def weight(self) -> tuple[int, int, int]:
        """Sort key, the heaviest cause last: rows lost, rows adjusted, all rows."""
        lost = self.rows if self.fate in (Fate.DROPPED, Fate.QUARANTINED) else 0
        return lost, self.rows if self.fate == Fate.ADJUSTED else 0, self.rows

    def brings(self, other: Cause) -> bool:
        """True if this cause explains the other one."""
        if self.source != other.source or other.kind not in _FOLLOWS.get(self.kind, ()):
            return False
        if {self.kind, other.kind} == {Kind.BURST, Kind.DUPLICATES}:
            again, burst = (self, other) if self.kind is Kind.DUPLICATES else (other, self)
            if (self is again) != (3 * again.rows >= burst.rows):
                return False
        same = {*self.partitions} & {*other.partitions} or not self.partitions or not other.partitions
        together = self.first - 2 * HOUR <= other.last and other.first <= self.last + 2 * HOUR
        return together and bool(same or UNKNOWN in self.partitions)

    def record(self) -> CauseRecord:
        """Return it as `why` prints it; `from` and `to` are whole hours of arrival, half-open."""
        median, high = self.beyond or (None, None)
        return {
            "sentence": self.sentence,
            "kind": self.kind.value,
            "source": self.source,
            "partition": self.partitions[0] if len(self.partitions) == 1 else None,
            "partitions": list(self.partitions),
            "substream": self.substream,
            "fate": self.fate or None,
            "reason": self.reason or None,
            "from": iso(self.first // HOUR * HOUR),
            "to": iso(-(-(self.last + 1) // HOUR) * HOUR),
            "files": list(self.files),
            "rows": self.rows,
            "kept": self.kept,
            "median_micros": median,
            "p95_micros": high,
            "remedy": self.remedy,
        }


def heaviest(causes: Iterable[Cause]) -> list[Cause]:
    """Causes that no other cause explains, the heaviest first.

    If two causes explain each other, the heavier one is kept.
    """
    kept: list[Cause] = []
    ordered = sorted(causes, key=Cause.weight, reverse=True)
    for number, cause in enumerate(ordered):
        others = [other for other in ordered if other is not cause and other.brings(cause)]
        if not any(ordered.index(other) < number or not cause.brings(other) for other in others):
            kept.append(cause)
    return kept


def clocks_change(micros: int) -> bool:
    """True if clocks change in Europe, America or Australia on a Sunday near a time (microseconds UTC)."""
    day, rest = divmod(micros, DAY)
    sunday = day - (day + 4) % 7  # 1970-01-04 was a Sunday
    near = [each for each in (sunday, sunday + 7) if -DAY // 2 <= (day - each) * DAY + rest <= 3 * DAY // 2]
    return any(_changes(*map(int, (iso(each * DAY) or "")[5:10].split("-"))) for each in near)


def _changes(month: int, day: int) -> bool:
    last, second, first = day >= 25, 8 <= day <= 14, day <= 7
    return {3: last or second, 10: last or first, 11: first, 4: first}.get(month, False)
