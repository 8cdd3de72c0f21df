"""The chart of the watermark: arrival across, event time up, one point for each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tidemark.core.policy import Fate, Tolerance
from tidemark.core.times import SECOND
from tidemark.report.page.charts.vega import (
    COLOURS,
    FAINT,
    HOVER,
    INK,
    WATER,
    Picture,
    Spec,
    by_fate,
    millis,
    time_axis,
    values,
    words,
)
from tidemark.report.page.data.stretch import Key, Mark, Point, Stretch, named
from tidemark.report.words import away, duration, moment

_HEIGHT = 330
_DASHES = ([1, 0], [6, 3], [2, 3], [9, 3, 2, 3], [4, 4], [1, 4])


def watermark_picture(source: str, stretch: Stretch) -> Picture | None:
    """Draw a stretch; None if no row has both times."""
    points = [point for point in stretch.points if point.drawable]
    if not points:
        return None
    frame = Frame.of(stretch, points)
    counts = Counter(point.fate for point in points)
    listed = ", ".join(f"{counts[fate]:,} {words(fate)}" for fate in Fate if counts[fate])
    return Picture(
        f"The watermark: {source}{_of(stretch)}",
        _caption(stretch, points, listed),
        f"Arrival against event time of {len(points):,} rows: {listed}. {' '.join(_lines(stretch))}",
        lambda width: _spec(stretch, points, frame, width),
    )


def _of(stretch: Stretch) -> str:
    if stretch.whole or not stretch.keys:
        return ""
    return f", {named(stretch.keys[0])}"


def _caption(stretch: Stretch, points: Sequence[Point], listed: str) -> str:
    first, last = points[0].offset, points[-1].offset
    what = (
        f"All {len(points):,} rows that have both times"
        if stretch.whole
        else f"A close look at {len(points):,} rows, from offset {first:,} to {last:,}: every row of that stretch"
    )
    missing = len(stretch.points) - len(points)
    left = f" {missing:,} more without an arrival or event time can't be drawn." if missing else ""
    return (
        f"{what}: {listed}.{left} A row on the thin diagonal arrives when it happens; the further below, the later "
        f"it is. The stepped line is the watermark. {_rules(stretch)}"
    )


def _rules(stretch: Stretch) -> str:
    """Return in words how the tolerances treat rows beyond them."""
    if stretch.punctuated:
        return "It is set by punctuations: what lies below it violates a promise."
    if stretch.mixed:
        return (
            "These rows were judged under several tolerances, which are not drawn: `tidemark explain` gives a row's."
        )
    policy = stretch.policy
    clauses = [_limit("above the band is early", policy.early), _limit("below the band is late", policy.late)]
    if stretch.order_acts:
        act = "dropped" if policy.out_of_order.action == "drop" else "moved up to it"
        behind = f" (it trails the latest row by {duration(policy.disorder)})" if policy.disorder else ""
        clauses.append(f"a row below the watermark{behind} is {act}")
    else:
        clauses.append("rows below the watermark stay where they are, and windows judge them")
    return _sentence("; ".join(each for each in clauses if each))


def _limit(where: str, tolerance: Tolerance | None) -> str:
    if tolerance is None:
        return ""
    act = {"drop": "dropped", "adjust": "moved to its edge"}.get(tolerance.action.value, "kept")
    return f"a row {where} ({duration(tolerance.micros)}) and is {act}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _lines(stretch: Stretch) -> Iterator[str]:
    for key in stretch.keys:
        line = stretch.line(key)
        if line:
            yield f"The watermark of {named(key)} goes from {moment(line[0][1])} to {moment(line[-1][1])}."


@dataclass(frozen=True)
class Frame:
    """The range of the chart in microseconds: arrivals from `left` to `right`, times from `low` to `high`."""

    left: int
    right: int
    low: int
    high: int

    @classmethod
    def of(cls, stretch: Stretch, points: Sequence[Point]) -> Frame:
        """Include all rows and marks, and each tolerance band up to half the span of the rows."""
        arrivals = [point.arrival for point in points if point.arrival is not None]
        times = [time for p in points for time in (p.event, p.system) if time is not None]
        times += [mark for key in stretch.keys for _, mark in stretch.line(key)]
        left, right, low, high = min(arrivals), max(arrivals), min(times), max(times)
        span = max(high - low, right - left, SECOND)
        early, late = stretch.policy.early, stretch.policy.late
        top = right + (0 if early is None else early.micros)
        bottom = left - (0 if late is None else late.micros)
        if not stretch.punctuated and not stretch.mixed:
            high = max(high, min(top, high + span // 2))
            low = min(low, max(bottom, low - span // 2))
        pad = max(right - left, SECOND) // 25
        return cls(left - pad, right + pad, low - span // 25, high + span // 25)


def _spec(stretch: Stretch, points: Sequence[Point], frame: Frame, width: int) -> Spec:
    x = {
        "field": "arrival",
        "type": "temporal",
        "axis": time_axis(frame.left, frame.right, width, "arrival (UTC)"),
        "scale": {"type": "utc", "domain": [millis(frame.left), millis(frame.right)], "nice": False},
    }
    y = {
        "type": "temporal",
        "axis": time_axis(frame.low, frame.high, 480, "event time (UTC)") | {"titlePadding": 11},
        "scale": {"type": "utc", "domain": [millis(frame.low), millis(frame.high)], "nice": False},
    }
    layers = [*_band(stretch, points, frame, x, y), *_watermarks(stretch, x, y), *_rows(points, x, y)]
    return {"width": width - 83, "height": _HEIGHT, "layer": layers}


def _band(stretch: Stretch, points: Sequence[Point], frame: Frame, x: Spec, y: Spec) -> Iterator[Spec]:
    """Yield the band where rows are neither early nor late, the limits that are on, and the diagonal."""
    ends = (frame.left, frame.right)
    diagonal = [{"arrival": millis(at), "time": millis(at)} for at in ends]
    yield _line(diagonal, x, y, {"color": FAINT, "strokeWidth": 1})
    if stretch.punctuated or stretch.mixed:
        return
    early, late = stretch.policy.early, stretch.policy.late
    far = frame.high - frame.low + frame.right - frame.left
    above, below = (far if each is None else each.micros for each in (early, late))
    area = [{"arrival": millis(at), "from": millis(at - below), "to": millis(at + above)} for at in ends]
    mark = {"type": "area", "color": FAINT, "opacity": 0.16, "clip": True, "line": False}
    yield {
        "data": values(area),
        "mark": mark,
        "encoding": {"x": x, "y": {"field": "from"} | y, "y2": {"field": "to"}},
    }
    taken = [_resting(line)[0] for line in map(stretch.line, stretch.keys) if line]
    for tolerance, sign, name in ((early, 1, "early limit"), (late, -1, "late limit")):
        if tolerance is not None:
            limit = [{"arrival": millis(at), "time": millis(at + sign * tolerance.micros)} for at in ends]
            yield _line(limit, x, y, {"color": FAINT, "strokeDash": [5, 4], "strokeWidth": 1.3})
            at = _room(frame, sign * tolerance.micros, taken, points)
            if at is not None:
                yield _label(at, sign * tolerance.micros, name, x, y)


def _room(frame: Frame, away: int, taken: Sequence[int], points: Sequence[Point]) -> int | None:
    """Return the arrival at which the label of a limit covers fewest rows and, if possible, no label of a watermark;
    None if too little of the limit is inside the chart."""
    first, last = max(frame.left, frame.low - away), min(frame.right, frame.high - away)
    if last - first < (frame.right - frame.left) // 4:
        return None
    candidates = [first + (last - first) * part // 12 for part in (6, 5, 7, 4, 8, 3, 9, 2, 10, 1)]
    room = (frame.right - frame.left) // 5
    free = [each for each in candidates if all(abs(each - other) > room for other in taken)] or candidates
    wide, high = (frame.right - frame.left) // 8, (frame.high - frame.low) // 14

    def covered(at: int) -> int:
        left, low = (at - wide, at + away) if away > 0 else (at, at + away - high)
        return sum(left <= (p.arrival or 0) <= left + wide and low <= (p.event or 0) <= low + high for p in points)

    return min(free, key=covered)


def _label(at: int, away: int, name: str, x: Spec, y: Spec) -> Spec:
    """Return the name of a limit, on its outer side and pointing away from it."""
    above, below = {"align": "right", "baseline": "bottom", "dy": -3}, {"align": "left", "baseline": "top", "dy": 4}
    where = [{"arrival": millis(at), "time": millis(at + away)}]
    text = {"type": "text", "text": name, "color": INK, "clip": True} | (above if away > 0 else below)
    return {"data": values(where), "mark": text, "encoding": {"x": x, "y": {"field": "time"} | y}}


def _line(rows: Sequence[dict[str, float]], x: Spec, y: Spec, style: Spec) -> Spec:
    return {
        "data": values(rows),
        "mark": {"type": "line", "clip": True} | style,
        "encoding": {"x": x, "y": {"field": "time"} | y},
    }


def _watermarks(stretch: Stretch, x: Spec, y: Spec) -> Iterator[Spec]:
    """Yield a stepped line for each key, and the area in which rows may be out of order without consequence."""
    several = len(stretch.keys) > 1
    for number, key in enumerate(stretch.keys):
        line = stretch.line(key)
        if not line:
            continue
        rows = [{"arrival": millis(at), "time": millis(mark)} for at, mark in line]
        if stretch.order_acts and stretch.policy.disorder and not several:
            beyond = stretch.policy.disorder
            area = [row | {"upper": millis(mark + beyond)} for row, (_, mark) in zip(rows, line, strict=True)]
            yield {
                "data": values(area),
                "mark": {
                    "type": "area",
                    "color": WATER,
                    "opacity": 0.16,
                    "interpolate": "step-before",
                    "clip": True,
                    "line": False,
                },
                "encoding": {"x": x, "y": {"field": "time"} | y, "y2": {"field": "upper"}},
            }
        dash = _DASHES[number % len(_DASHES)]
        yield _line(
            rows, x, y, {"color": WATER, "strokeWidth": 2.2, "interpolate": "step-before", "strokeDash": dash}
        )
        yield _watermark_label(key, line, several, x, y)


def _resting(line: Sequence[Mark]) -> Mark:
    """Return the middle of the longest stretch in which a watermark did not move."""
    flats = [(at - before, before + (at - before) // 2, mark) for (before, _), (at, mark) in pairwise(line)]
    _, at, mark = max(flats, default=(0, *line[0]))
    return at, mark


def _watermark_label(key: Key, line: Sequence[Mark], several: bool, x: Spec, y: Spec) -> Spec:
    """Return the label of a watermark, below the longest stretch in which it did not move."""
    at, mark = _resting(line)
    name = f"watermark of {key[0] if key[1] is None else key[1]}" if several else "watermark"
    text = {"type": "text", "align": "center", "baseline": "top", "dy": 5, "fontWeight": "bold", "color": WATER}
    return {
        "data": values([{"arrival": millis(at), "time": millis(mark), "name": name}]),
        "mark": text,
        "encoding": {"x": x, "y": {"field": "time"} | y, "text": {"field": "name"}},
    }


def _rows(points: Sequence[Point], x: Spec, y: Spec) -> Iterator[Spec]:
    """Yield each row by its fate, drawn over the lines of adjusted rows."""
    yield from _moved(points, x, y)
    rows = [
        {"arrival": millis(p.arrival), "event": millis(p.event), "fate": words(p.fate), "hover": _hover(p)}
        for p in points
        if p.arrival is not None and p.event is not None
    ]
    mark = {"type": "point", "filled": True, "size": 75 if len(points) <= 60 else 42, "opacity": 0.9, "clip": True}
    encoding = {"x": x, "y": {"field": "event"} | y, **by_fate(point.fate for point in points), **HOVER}
    yield {"data": values(rows), "mark": mark, "encoding": encoding}


def _hover(point: Point) -> str:
    lag = (point.event or 0) - (point.arrival or 0)
    return f"{point.key[0]} {point.offset:,}: arrival {moment(point.arrival)}, {away(lag)}, {words(point.fate)}"


def _moved(points: Sequence[Point], x: Spec, y: Spec) -> Iterator[Spec]:
    """Yield a line from each adjusted row to its system timestamp."""
    moved = [
        {"arrival": millis(p.arrival), "event": millis(p.event), "system": millis(p.system)}
        for p in points
        if p.fate is Fate.ADJUSTED and p.arrival is not None and p.event is not None and p.system is not None
    ]
    if not moved:
        return
    data, look = values(moved), {"color": COLOURS[Fate.ADJUSTED], "clip": True}
    event, system = {"field": "event"} | y, {"field": "system"}
    rule = {"type": "rule", "strokeWidth": 1.4} | look
    yield {"data": data, "mark": rule, "encoding": {"x": x, "y": event, "y2": system}}
    tick = {"type": "tick", "thickness": 2, "size": 11, "orient": "horizontal"} | look
    yield {"data": data, "mark": tick, "encoding": {"x": x, "y": system | y}}
