"""Tolerance policies: how far an event may stray from its arrival and from its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """Action on a row outside a tolerance; `keep` exists for out of order only."""

    DROP = "drop"
    ADJUST = "adjust"
    KEEP = "keep"


class Fate(StrEnum):
    """Outcome of judging a row; every input row has exactly one fate (conservation)."""

    ON_TIME = "on_time"
    ADJUSTED = "adjusted"
    DROPPED = "dropped"
    QUARANTINED = "quarantined"


FATES = tuple(fate.value for fate in Fate)
"""Names of the fates, in the order in which texts and tables show them."""


class Reason(StrEnum):
    """Why a row was moved, dropped or quarantined, in the order the steps act."""

    DUPLICATE = "duplicate"
    EARLY = "early"
    LATE = "late"
    OUT_OF_ORDER = "out_of_order"
    EMPTY = "empty"
    VIOLATION = "violation"
    UNMATCHED = "unmatched"
    INVALID_TIME = "invalid_time"
    INVALID_ROW = "invalid_row"
    EXCLUDED = "excluded"


REQUIREMENT = "require."
"""Beginning of the reason of a row that a requirement refuses; the requirement's name follows."""


def reason_of(text: str) -> str:
    """The `Reason` of this name; the text itself if it names a requirement. Raises ValueError for any other text."""
    return text if text.startswith(REQUIREMENT) and text != REQUIREMENT else Reason(text)


@dataclass(frozen=True)
class Tolerance:
    """A bound in microseconds, and the action beyond it."""

    micros: int
    action: Action


@dataclass(frozen=True)
class Policy:
    """The three tolerances of one source; None means `off` (time rules: judging a row).

    Without a `timestamp_by` column arrival is the event time. Then no step acts: late counts as 0 and out of order as
    0 s adjust, which only rows of a late-started partition can meet.
    """

    early: Tolerance | None
    late: Tolerance | None
    out_of_order: Tolerance

    @classmethod
    def of_arrival(cls) -> Policy:
        """The policy in force when arrival is the event time."""
        return cls(None, Tolerance(0, Action.ADJUST), Tolerance(0, Action.ADJUST))

    @classmethod
    def of_punctuations(cls) -> Policy:
        """The policy of a source that goes by punctuations: no tolerance acts, nothing moves by arrivals."""
        return cls(None, None, Tolerance(0, Action.ADJUST))

    @property
    def tolerances(self) -> tuple[int | None, int]:
        """The late tolerance (None: off) and the out-of-order tolerance, microseconds."""
        return None if self.late is None else self.late.micros, self.out_of_order.micros

    @property
    def disorder(self) -> int:
        """Microseconds the watermark trails the highest time: min(out_of_order, late), or out_of_order
        alone when late is off or the action is `keep`."""
        if self.late is None or self.out_of_order.action is Action.KEEP:
            return self.out_of_order.micros
        return min(self.out_of_order.micros, self.late.micros)
