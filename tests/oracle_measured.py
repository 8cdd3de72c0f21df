"""Sessions and snapshots in literal Python, from whole lists of rows: what every other engine must equal.

A *life* is (start, end, row), alive in [start, end), microseconds. Sources of the rules: semantics section 5
(session, snapshot, sliding) and the decision on rows that are late for windows whose bounds come from rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

Life = tuple[int, int, Any]
Bounds = tuple[int, int]


def _count(items: Sequence[Any]) -> Mapping[str, Any]:
    return {"n": len(items)}


@dataclass(frozen=True)
class Measured:
    """`session` is (gap, max_duration), this None if sessions may last for ever; without it windows are snapshots,
    and with `size` sliding ones. `group_by` names columns of the payload, `aggregate` sees the rows of one window and
    group in sort-key order."""

    session: tuple[int, int | None] | None = None
    size: int | None = None
    group_by: tuple[str, ...] = ()
    aggregate: Callable[[Sequence[Any]], Mapping[str, Any]] = _count
    allowed_lateness: int = 0
    idle_timeout: int | None = None
    partition_by: str | None = None

    def windows(self, lives: Sequence[Life]) -> dict[Bounds, list[Any]]:
        """Every window that has rows, of one group."""
        return snapshots(lives) if self.session is None else sessions(lives, *self.session)

    def end_of(self, item: Any) -> int:
        """Until when a row lives."""
        return int(item.end if self.size is None else item.start + self.size)


def sessions(lives: Sequence[Life], gap: int, max_duration: int | None) -> dict[Bounds, list[Any]]:
    """Row after row by start: into the session of the row before it, or into a new one."""
    found: list[list[Life]] = []
    for life in sorted(lives, key=lambda each: each[0]):
        if found and life[0] < session_end(found[-1], gap, max_duration):
            found[-1].append(life)
        else:
            found.append([life])
    spans = [(rows[0][0], session_end(rows, gap, max_duration)) for rows in found]
    return {span: [row for _, _, row in rows] for span, rows in zip(spans, found, strict=True)}


def session_end(lives: Sequence[Life], gap: int, max_duration: int | None) -> int:
    end = max(end for _, end, _ in lives) - 1 + gap
    return end if max_duration is None else min(end, lives[0][0] + max_duration)


def snapshots(lives: Sequence[Life]) -> dict[Bounds, list[Any]]:
    """Between two successive starts or ends, the rows that are alive."""
    bounds = sorted({time for start, end, _ in lives for time in (start, end)})
    whole = {
        (begin, until): [row for start, end, row in lives if start < until and end > begin]
        for begin, until in pairwise(bounds)
    }
    return {span: rows for span, rows in whole.items() if rows}


def divided(item: Any, end: int, settled: float | None) -> tuple[Bounds | None, Life | None]:
    """The part of a row that came late, behind what was settled, and the life that it takes part with."""
    if settled is None or settled <= item.start:
        return None, ((item.start, end, item) if item.start < end else None)
    bound = int(min(settled, end))
    return (item.start, bound), ((bound, end, item) if bound < end else None)


@dataclass(frozen=True)
class Kept:
    """What a step has: the lives that take part, by group, and the windows it wrote, with their rows."""

    lives: Mapping[tuple[Any, ...], tuple[Life, ...]]
    written: Mapping[tuple[tuple[Any, ...], Bounds], list[Any]]

    def taking(self, group: tuple[Any, ...], life: Life) -> Kept:
        return replace(self, lives={**self.lives, group: (*self.lives.get(group, ()), life)})

    def closing(self, measured: Measured, settled: float) -> tuple[Kept, list[tuple[Any, ...]], list[int]]:
        """The windows that are now closed and were not (group, bounds, rows), and the starts of those left open.

        What was written before must come out again with the same rows: a closed window never changes.
        """
        whole = {
            (group, span): rows
            for group, lives in self.lives.items()
            for span, rows in measured.windows(lives).items()
        }
        closed = {key: rows for key, rows in whole.items() if key[1][1] <= settled}
        for key, rows in self.written.items():
            assert closed.get(key) == rows, f"a closed window has changed: {key}"
        new = [(*key, rows) for key, rows in closed.items() if key not in self.written]
        return replace(self, written=closed), new, [span[0] for _, span in whole.keys() - closed.keys()]

    def ends(self, measured: Measured) -> set[int]:
        """When each window that is not written would end and close, as its rows stand."""
        found = set()
        for group, lives in self.lives.items():
            for span in measured.windows(lives):
                if (group, span) not in self.written:
                    found |= {span[1], span[1] + measured.allowed_lateness}
        return found


NOTHING = Kept({}, {})
