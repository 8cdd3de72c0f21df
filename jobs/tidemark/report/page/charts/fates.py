"""Charts of fates: over time, by reason and partition, and how far rows were moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidemark.core.policy import Fate
from tidemark.core.times import SECOND
from tidemark.report.page.charts.vega import (
    COLOURS,
    FAINT,
    HOVER,
    INK,
    Picture,
    Spec,
    count_axis,
    durations,
    fate_scale,
    is_narrow,
    millis,
    name_axis,
    time_axis,
    values,
    words,
)
from tidemark.report.page.data.fates import FatesOverTime
from tidemark.report.page.data.moves import Move
from tidemark.report.words import counted, duration, moment, span

MOST_BARS = 12
"""Most combinations of reason and partition in a chart; the table below it has all."""


ARRIVED = ("rows that arrived", "arrival")
OF_RUNS = ("rows of runs with an as_of", "as_of of the run")
"""Kinds of bars: in words the rows that they count, and the name of the time axis."""


def over_time(source: str, fates: FatesOverTime, by: tuple[str, str] = ARRIVED) -> Picture | None:
    """Draw one row of bars for each fate; each has its own scale, so that small counts stay visible."""
    if fates.first is None or fates.last is None:
        return None
    first, last, step = fates.first, fates.last, duration(fates.step)
    shown = [fate for fate in Fate if any(found is fate for _, found in fates.bars)]
    caption = (
        f"Each bar counts the {by[0]} within {step}. "
        "Every fate has a scale of its own: compare heights within a row of bars, not between rows."
    )
    if fates.untimed:
        caption += f" Without an arrival time, and so in no bar: {counted(fates.untimed, 'quarantined row')}."
    listed = ", ".join(f"{words(fate)} {sum(n for (_, f), n in fates.bars.items() if f is fate):,}" for fate in shown)
    alternative = f"Bars of rows by {by[1]} from {moment(first)} to {moment(last)}, a bar for {step}: {listed}."
    return Picture(
        f"Fates over time: {source}", caption, alternative, lambda width: _bars(fates, shown, by[1], width)
    )


def _bars(fates: FatesOverTime, shown: Sequence[Fate], time: str, width: int) -> Spec:
    times = [f"{time} (UTC)" if fate is shown[-1] else None for fate in shown]
    rows = [_row_of_bars(fates, fate, name, width) for fate, name in zip(shown, times, strict=True)]
    return {"vconcat": rows, "spacing": 10}


def _row_of_bars(fates: FatesOverTime, fate: Fate, time: str | None, width: int) -> Spec:
    """Return the bars of one fate; they have a time axis if a name for it is given."""
    low = min(bar for bar, _ in fates.bars)
    high = max(bar for bar, _ in fates.bars) + fates.step
    rows: list[dict[str, Any]] = [
        {"from": millis(bar), "to": millis(bar + fates.step), "rows": count}
        | {"hover": f"{span(bar, bar + fates.step)}: {count:,} {words(fate)}"}
        for (bar, found), count in fates.bars.items()
        if found is fate
    ]
    total = sum(row["rows"] for row in rows)
    counted = count_axis(max(row["rows"] for row in rows), 2, None) | {"minExtent": 38}
    across = {"labels": False, "title": None} if time is None else time_axis(low, high, width, time)
    scale = {"type": "utc", "domain": [millis(low), millis(high)], "nice": False}
    return {
        "title": f"{words(fate)}: {total:,}",
        "width": width - 75,
        "height": 56,
        "data": values(rows),
        "mark": {"type": "bar", "color": COLOURS[fate], "binSpacing": 0.5},
        "encoding": {
            "x": {"field": "from", "type": "temporal", "axis": across | {"grid": False}, "scale": scale},
            "x2": {"field": "to"},
            "y": {"field": "rows", "type": "quantitative", "axis": counted},
            "y2": {"datum": 0},
            **HOVER,
        },
    }


def names_of(moves: Sequence[Move]) -> list[str]:
    """Names that distinguish the moves of one chart: the reason, the partition, or both."""
    reasons = len({move.reason for move in moves}) > 1 or moves[0].reason is not None
    partitions = len({move.partition for move in moves}) > 1
    return [", ".join([*[_reason(move)] * reasons, *[move.partition or "all"] * partitions]) for move in moves]


def _reason(move: Move) -> str:
    return "all" if move.reason is None else move.reason.replace("_", " ")


def _by(moves: Sequence[Move]) -> str:
    return ", by partition" if moves[0].reason is None else ""


def adjusted_and_dropped(source: str, moves: Sequence[Move]) -> Picture:
    """Draw two bars for each move; there must be at least one move."""
    names = names_of(moves)
    listed = "; ".join(
        f"{name}: {move.adjusted:,} adjusted, {move.dropped:,} dropped"
        for name, move in zip(names, moves, strict=True)
    )
    caption = "Adjusted rows were kept at another time; dropped rows are in no stream, and still in the events table."
    rows = [
        {"name": name, "fate": words(fate), "rows": count, "text": f"{count:,}"}
        | {"hover": f"{name}: {count:,} {words(fate)}"}
        for name, move in zip(names, moves, strict=True)
        for fate, count in ((Fate.ADJUSTED, move.adjusted), (Fate.DROPPED, move.dropped))
        if count
    ]
    if len(moves) == MOST_BARS:
        caption += f" At most {MOST_BARS} are drawn, the largest first; the table has all."
    title = f"Adjusted and dropped{_by(moves)}: {source}"
    return Picture(title, caption, f"Bars of rows. {listed}.", lambda width: _counted(rows, names, width))


def _counted(rows: Sequence[dict[str, Any]], order: Sequence[str], width: int) -> Spec:
    fates = [Fate.ADJUSTED, Fate.DROPPED]
    y, room = name_axis(order, width)
    offset = {"field": "fate", "sort": [words(fate) for fate in fates]}
    x = {
        "field": "rows",
        "type": "quantitative",
        "axis": count_axis(max((row["rows"] for row in rows), default=0), width // 150, "rows"),
    }
    colour = {"field": "fate", "scale": fate_scale(fates, COLOURS), "legend": {"title": None}, "type": "nominal"}
    text = {"type": "text", "align": "left", "dx": 4}
    return {
        "width": width - room - 70,
        "height": {"step": 17},
        "data": values(rows),
        "layer": [
            {"mark": "bar", "encoding": {"x": x, "y": y, "yOffset": offset, "color": colour, **HOVER}},
            {"mark": text, "encoding": {"x": x, "y": y, "yOffset": offset, "text": {"field": "text"}}},
        ],
    }


_SIZES = (
    ("median", "median", "circle"),
    ("95 %", "p95", "square"),
    ("99 %", "p99", "triangle-up"),
    ("largest", "largest", "diamond"),
)


def shift_sizes(source: str, moves: Sequence[Move]) -> Picture | None:
    """Draw how far adjusted rows were moved, one line for each move, on a logarithmic scale."""
    shown = [move for move in moves if move.shifts is not None]
    if not shown:
        return None
    rows, listed, names = [], [], names_of(shown)
    for name, move in zip(names, shown, strict=True):
        found = [(label, getattr(move.shifts, field)) for label, field, _ in _SIZES]
        rows += [
            {"name": name, "size": max(size, 1) / SECOND, "what": label}
            | {"hover": f"{name}: {label} {duration(size)}"}
            for label, size in found
        ]
        listed.append(f"{name}: " + ", ".join(f"{label} {duration(size)}" for label, size in found))
    caption = (
        "Half of the adjusted rows were moved by at most the median, 95 and 99 of 100 by at most what is so named."
    )
    title = f"How far rows were moved{_by(moves)}: {source}"
    return Picture(title, caption, f"Shift sizes. {'; '.join(listed)}.", lambda width: _dots(rows, names, width))


def _dots(rows: Sequence[dict[str, Any]], order: Sequence[str], width: int) -> Spec:
    low, high = min(row["size"] for row in rows) / 1.5, max(row["size"] for row in rows) * 1.5
    y, room = name_axis(order, width)
    x = durations(low, high, "moved by")
    ends = {"x": {"aggregate": "min", "field": "size"} | x, "x2": {"aggregate": "max", "field": "size"}, "y": y}
    labels = [label for label, _, _ in _SIZES]
    scale = {"domain": labels, "range": [shape for _, _, shape in _SIZES]}
    shape = {"field": "what", "type": "nominal", "sort": labels, "scale": scale}
    shape["legend"] = {"title": None, "columns": 2 if is_narrow(width) else 4}
    point = {"type": "point", "filled": True, "size": 90, "opacity": 1, "color": INK}
    return {
        "width": width - room - 40,
        "height": {"step": 30},
        "data": values(rows),
        "layer": [
            {"mark": {"type": "rule", "color": FAINT}, "encoding": ends},
            {"mark": point, "encoding": {"x": {"field": "size"} | x, "y": y, "shape": shape, **HOVER}},
        ],
    }
