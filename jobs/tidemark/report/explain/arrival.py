"""A row's own arrival, and the cause of the arrival in force for it (time rules: the log)."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.core.times import MAX_TIME, MIN_TIME
from tidemark.records.rows import ArrivalRecord
from tidemark.report.events import EventRow
from tidemark.report.explain.origin import Past, row_of_arrival
from tidemark.report.words import iso, moment


@dataclass(frozen=True)
class Arrival:
    """The arrival of a row; times in microseconds UTC.

    `own` is None if the tables lack it: it is an expression, or cannot be read. `column`: value of the arrival
    column, if the landing time `landed` of the row's object is earlier and counts instead. `raised_by`: the earlier
    row with the arrival in force. `estimated_in`: the batch with the estimated arrival in force.
    """

    in_force: int | None
    own: int | None = None
    column: int | None = None
    landed: int | None = None
    raised_by: EventRow | None = None
    estimated_in: int | None = None

    @property
    def raised(self) -> bool:
        return self.own is not None and self.in_force is not None and self.own < self.in_force

    def record(self) -> ArrivalRecord:
        other = self.raised_by
        return {
            "in_force": iso(self.in_force),
            "own": iso(self.own),
            "column": iso(self.column),
            "landed": iso(self.landed),
            "raised_by": None if other is None else other.reference(),
            "estimated_in": self.estimated_in,
        }

    def sentences(self, day: str | None) -> list[str]:
        """Return sentences on an own arrival other than the arrival in force; empty if there is nothing to say."""
        found = []
        if self.column is not None and self.own is not None:
            found.append(
                f"Its arrival column says {moment(self.column, day)}, but its object had landed at "
                f"{moment(self.own, day)}: the earlier of the two counts."
            )
        if self.raised:
            found.append(
                f"By itself it arrived at {moment(self.own, day)}; arrival never goes back within a partition, "
                f"so {moment(self.in_force, day)} is in force, {self._cause()}."
            )
        elif self.own is None and self.raised_by is not None:
            found.append(f"The same arrival was in force for row {self.raised_by.offset} before it.")
        return found

    def _cause(self) -> str:
        if self.raised_by is not None:
            other = self.raised_by
            return f"that of row {other.offset} ({other.file}, batch {other.batch_id})"
        if self.estimated_in is not None:
            return f"the arrival estimated for its partition at the end of the run of batch {self.estimated_in}"
        return "that of an earlier row that is not in the table"


def arrival_of(past: Past) -> Arrival:
    """Return the arrival of a row and its cause, as far as the tables record them."""
    row = past.row
    landed = past.recorded.landed(row.source, row.file) if row.file is not None else None
    column = _column(past)
    own = landed if past.facts.arrival_time is None else column
    clipped = own is not None and landed is not None and own > landed
    if clipped:
        own = landed
    if row.arrival_time is None or (own is not None and own > row.arrival_time):
        return Arrival(row.arrival_time, landed=landed)
    found = Arrival(row.arrival_time, own, column if clipped else None, landed)
    if own == row.arrival_time:
        return found
    other = row_of_arrival(past)
    estimated = _estimated(past) if other is None and found.raised else None
    return Arrival(row.arrival_time, own, found.column, landed, other, estimated)


def _column(past: Past) -> int | None:
    """Return the value of the arrival column, if `arrival_time` names a timestamp column; None outside the valid
    years."""
    name = (past.facts.arrival_time or "").strip().strip("`").lower()
    value = next((time for column, time in past.row.times.items() if column.lower() == name), None)
    return value if value is not None and MIN_TIME <= value <= MAX_TIME else None


def _estimated(past: Past) -> int | None:
    if past.facts.timestamp_by is not None:
        return None
    used = (batch for batch, state in past.floors() if state.estimated_high == past.row.arrival_time)
    return next(used, None)
