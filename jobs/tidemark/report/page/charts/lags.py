"""The chart of a whole scope: distances from event time to arrival, for a sample of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tidemark.core.policy import Fate
from tidemark.report.page.charts.vega import (
    FAINT,
    HOVER,
    INK,
    Picture,
    Spec,
    by_fate,
    millis,
    time_axis,
    unit_of,
    values,
    words,
)
from tidemark.report.page.data.lags import EXTREMES, Lags
from tidemark.report.page.data.tables import SourceTable
from tidemark.report.words import away, duration, moment


def lag_picture(source: SourceTable, lags: Lags) -> Picture | None:
    """Draw rows over the whole scope, with the early and the late limit; None without rows."""
    if not lags.points:
        return None
    drawn = Counter(point.fate for point in lags.points)
    listed = ", ".join(f"{drawn[fate]:,} {words(fate)}" for fate in Fate if drawn[fate])
    caption = (
        f"All {lags.rows:,} rows are drawn: {listed}."
        if len(lags.points) == lags.rows
        else f"A sample of {len(lags.points):,} of {lags.rows:,} rows: {listed}. Each fate is sampled by itself, "
        f"and of each the {EXTREMES} rows farthest from their arrival are always drawn. "
        "Counts elsewhere are of all rows."
    )
    caption += " Zero is a row that arrives when it happens; below it is late, above it early. " + _limits(source)
    return Picture(
        f"How late rows are: {source.name}",
        caption,
        f"Event time less arrival of {len(lags.points):,} rows, by arrival: {listed}.",
        lambda width: _spec(source, lags, width),
    )


def _limits(source: SourceTable) -> str:
    if source.punctuated:
        return "Punctuations judge this source, not tolerances."
    if source.others:
        return "Tolerances have changed within these runs: no limit is drawn."
    early, late = source.policy.early, source.policy.late
    above = "off" if early is None else duration(early.micros)
    below = "off" if late is None else duration(late.micros)
    return f"Early limit: {above}; late limit: {below}."


def _spec(source: SourceTable, lags: Lags, width: int) -> Spec:
    unit, name = unit_of(max(abs(point.lag) for point in lags.points))
    first, last = min(p.arrival for p in lags.points), max(p.arrival for p in lags.points)
    pad = max((last - first) // 40, 1_000)
    x = {
        "field": "arrival",
        "type": "temporal",
        "axis": time_axis(first, last, width, "arrival (UTC)"),
        "scale": {"type": "utc", "domain": [millis(first - pad), millis(last + pad)], "nice": False},
    }
    y = {"field": "lag", "type": "quantitative", "axis": {"title": f"event time less arrival ({name})"}}
    rows = [
        {"arrival": millis(p.arrival), "lag": p.lag / unit, "fate": words(p.fate)}
        | {"hover": f"{moment(p.arrival)}: {away(p.lag)}, {words(p.fate)}"}
        for p in lags.points
    ]
    dots = {
        "data": values(rows),
        "mark": {"type": "point", "filled": True, "size": 26, "opacity": 0.75},
        "encoding": {"x": x, "y": y, **by_fate(point.fate for point in lags.points), **HOVER},
    }
    return {"width": width - 70, "height": 240, "layer": [*_rules(source, lags, unit, y, last + pad, x), dots]}


def _rules(source: SourceTable, lags: Lags, unit: int, y: Spec, right: int, x: Spec) -> Iterator[Spec]:
    """Yield lines for zero and for each limit that is on, unless it is far beyond all rows."""
    far = 3 * max(abs(point.lag) for point in lags.points) + 1
    limits = [(0, "", "bottom")]
    if not source.punctuated and not source.others:
        if source.policy.early is not None:
            limits.append((source.policy.early.micros, "early limit", "bottom"))
        if source.policy.late is not None:
            limits.append((-source.policy.late.micros, "late limit", "top"))
    for at, name, baseline in limits:
        if abs(at) > far:
            continue
        rule = {"type": "rule", "color": FAINT, "strokeDash": [5, 4] if name else [1, 0], "strokeWidth": 1.2}
        yield {"data": values([{"lag": at / unit}]), "mark": rule, "encoding": {"y": y}}
        if name:
            text = {"type": "text", "text": name, "align": "right", "baseline": baseline, "dx": -3, "color": INK}
            text |= {"dy": 4 if baseline == "top" else -4}
            where = values([{"lag": at / unit, "arrival": millis(right)}])
            yield {"data": where, "mark": text, "encoding": {"x": x, "y": y}}
