"""Round durations that people would choose, and measured ones as people read them."""

from __future__ import annotations

from tidemark.core.times import DAY, HOUR, MILLISECOND, MINUTE, SECOND

LADDER = (
    0,
    *(number * SECOND for number in (1, 2, 5, 10, 15, 30)),
    *(number * MINUTE for number in (1, 2, 5, 10, 15, 30)),
    *(number * HOUR for number in (1, 2, 3, 4, 6, 8, 12, 18)),
    *(number * DAY for number in (1, 2, 3, 5, 7, 10, 14, 20, 31, 45, 60, 90, 180, 365)),
)
"""Durations that people would write, in microseconds."""

_UNITS = (("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MILLISECOND), ("us", 1))


def rounded_up(micros: int) -> int:
    """Return the shortest duration of LADDER that is at least `micros`; beyond its end whole years of 365 days."""
    found = next((step for step in LADDER if step >= micros), None)
    return found if found is not None else -(-micros // LADDER[-1]) * LADDER[-1]


def brief(micros: int) -> str:
    """Return the two largest units, cut off toward zero: `2h 9m`."""
    rest, parts = abs(micros), []
    for unit, size in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
        if parts and (len(parts) == 2 or not count):
            break
    return "-" * (micros < 0) + " ".join(parts) if parts else "0s"
