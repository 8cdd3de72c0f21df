"""Charts of where and by how much: shares by partition over time, and distances of dropped rows from a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidemark.core.policy import Fate
from tidemark.report.page.charts.vega import (
    COLOURS,
    HOVER,
    Picture,
    Spec,
    count_axis,
    is_narrow,
    millis,
    name_axis,
    time_axis,
    values,
    words,
)
from tidemark.report.page.data.lost.missed import BOUNDS, Missed
from tidemark.report.page.data.lost.shares import Shares
from tidemark.report.words import counted, duration, percent, span


def shares_picture(source: str, shares: Shares | None) -> Picture | None:
    """Draw a line of squares for each partition; a larger share has a stronger colour."""
    if shares is None or not shares.cells:
        return None
    fate = words(shares.fate)
    (name, bar), (hit, rows) = max(shares.cells.items(), key=lambda cell: (cell[1][0] / cell[1][1], cell[1][0]))
    most = f"{percent(hit, rows)} ({hit:,} of {rows:,}) of partition {name}, {span(bar, bar + shares.step)}"
    caption = (
        f"The stronger, the larger the share of rows that were {fate} among those that arrived within "
        f"{duration(shares.step)}. The largest: {most}. Where nothing is drawn, no row was {fate}."
    )
    if shares.others:
        caption += f" {shares.others:,} more partitions with such rows are in the table."
    alternative = f"Shares of rows {fate} by partition and arrival. The largest: {most}."
    return Picture(
        f"Share {fate} by partition: {source}", caption, alternative, lambda width: _squares(shares, width)
    )


def _squares(shares: Shares, width: int) -> Spec:
    y, room = name_axis(shares.partitions, width)
    rows: list[dict[str, Any]] = [
        {"name": name, "from": millis(bar), "to": millis(bar + shares.step), "share": hit / rows}
        | {"hover": f"{name}, {span(bar, bar + shares.step)}: {hit:,} of {rows:,} ({percent(hit, rows)})"}
        for (name, bar), (hit, rows) in shares.cells.items()
    ]
    largest = max(row["share"] for row in rows)
    opacity = {"type": "linear", "domain": [0, largest], "range": [0.08, 1]}
    return {
        "width": width - room - 25,
        "height": {"step": 24},
        "data": values(rows),
        "mark": {"type": "bar", "color": COLOURS[shares.fate], "height": {"band": 0.8}},
        "encoding": {
            "x": {
                "field": "from",
                "type": "temporal",
                "axis": time_axis(shares.first, shares.last, width, "arrival (UTC)") | {"grid": False},
                "scale": {"type": "utc", "domain": [millis(shares.first), millis(shares.last)], "nice": False},
            },
            "x2": {"field": "to"},
            "y": y,
            "fillOpacity": {"field": "share", "type": "quantitative", "scale": opacity, "legend": None},
            **HOVER,
        },
    }


def missed_picture(source: str, missed: Sequence[Missed]) -> Picture | None:
    """Draw a row of bars for each reason: dropped rows by their distance from the limit."""
    if not missed:
        return None
    said = "; ".join(f"{_reason(each)}: {_said(each)}" for each in missed)
    caption = (
        "How far dropped rows were beyond the limit that dropped them. A tolerance longer by as much would have let "
        f"them pass that step. {said}."
    )
    return Picture(
        f"By how much dropped rows missed: {source}",
        caption,
        f"Bars of dropped rows by distance. {said}.",
        lambda width: {"vconcat": [_bars(each, _range(missed), width) for each in missed], "spacing": 10},
    )


def _reason(missed: Missed) -> str:
    return missed.reason.replace("_", " ")


def _said(missed: Missed) -> str:
    rows = counted(missed.rows, "row")
    return (
        f"half of {rows} by at most {duration(missed.sizes.median)}, all by at most {duration(missed.sizes.largest)}"
    )


def _range(missed: Sequence[Missed]) -> range:
    """Return the classes from the first to the last that has rows."""
    hit = [number for each in missed for number, rows in enumerate(each.classes) if rows]
    return range(min(hit), max(hit) + 1)


def _class(number: int) -> str:
    if number == len(BOUNDS):
        return f"over {duration(BOUNDS[-1])}"
    return f"{duration(BOUNDS[number])}" if number else f"up to {duration(BOUNDS[0])}"


def _bars(missed: Missed, numbers: range, width: int) -> Spec:
    names = [_class(number) for number in numbers]
    rows: list[dict[str, Any]] = [
        {"name": _class(number), "rows": missed.classes[number], "hover": _hover(missed, number)}
        for number in numbers
    ]
    most = max(missed.classes)
    axis = {"title": "missed by at most", "labelAngle": -45 if is_narrow(width) and len(names) >= 7 else 0}
    return {
        "title": f"{_reason(missed)}: {missed.rows:,}",
        "width": width - 75,
        "height": 70,
        "data": values(rows),
        "mark": {"type": "bar", "color": COLOURS[Fate.DROPPED]},
        "encoding": {
            "x": {"field": "name", "type": "ordinal", "sort": names, "axis": axis},
            "y": {
                "field": "rows",
                "type": "quantitative",
                "axis": count_axis(most, 2, None) | {"minExtent": 38},
            },
            **HOVER,
        },
    }


def _hover(missed: Missed, number: int) -> str:
    within = sum(missed.classes[: number + 1])
    least = duration(BOUNDS[number - 1]) if number else "0s"
    rest = f" to {duration(BOUNDS[number])}" if number < len(BOUNDS) else ""
    return (
        f"{missed.classes[number]:,} missed by {least}{rest or ' or more'}; {within:,} of {missed.rows:,} up to here"
    )
