"""Parts of sentences about causes: owner, hours of arrival (UTC), distance, files, tolerances that keep the rows."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.core.times import HOUR, format_duration
from tidemark.report.words import brief, iso

_NAMED = 3
"""Most partitions or files that a sentence names."""


def who(partitions: Sequence[str], substream: str | None = None) -> str:
    """`G2's`, `G1's and G2's`, `of all partitions`, or `of substream 7 of G2`."""
    if substream is not None:
        return f"of substream {substream} of {listed(partitions) or 'all partitions'}"
    return "of all partitions" if not partitions else listed([f"{name}'s" for name in partitions])


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b, c and 4 more`."""
    shown = [*names[:_NAMED], *([f"{len(names) - _NAMED:,} more"] * (len(names) > _NAMED))]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else "".join(shown)


def when(first: int, last: int) -> str:
    """The whole hours from the first to the last arrival: `06:00-10:00 of 2026-03-05`."""
    begin, end = (iso(each) or "" for each in (first // HOUR * HOUR, (last // HOUR + 1) * HOUR))
    clock = begin[11:16], end[11:16]
    day = iso(last // HOUR * HOUR) or ""
    if begin[:10] == day[:10]:
        return f"{clock[0]}-{'24:00' if clock[1] == '00:00' else clock[1]} of {begin[:10]}"
    return f"{clock[0]} of {begin[:10]} to {clock[1]} of {end[:10]}"


def span_of(low: int, high: int) -> str:
    """`40m to 45m`, rounded outward, from ten minutes on to minutes; one duration if both are cut to it."""
    units = [60_000_000 if each >= 600_000_000 else 1_000_000 if each >= 10_000_000 else 1 for each in (low, high)]
    least, most = low // units[0] * units[0], -(-high // units[1]) * units[1]
    return brief(least) if high // units[1] * units[1] == least else f"{brief(least)} to {brief(most)}"


def of_total(rows: int, total: int, what: str) -> str:
    """`82 of 90 dropped rows`, `all 90 dropped rows`, or `the only dropped row`."""
    if rows == total:
        return f"all {total:,} {what} rows" if total > 1 else f"the only {what} row"
    return f"{rows:,} of {total:,} {what} rows"


def kept_by(tolerances: Sequence[tuple[str, int]], kept: int) -> str:
    """`late_arrival 45m would have kept 82`."""
    settings = " with ".join(f"{name} {format_duration(micros)}" for name, micros in tolerances)
    return f"{settings} would have kept {kept:,}"


def capital(text: str) -> str:
    """The text with its first letter capital, as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def before(longest: int) -> str:
    """`before at most 40m`, or `never before`."""
    return f"before at most {brief(longest)}" if longest else "never before"
