"""Charts by run or window: watermark delay, idle partitions, late rows, quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.core.times import SECOND
from tidemark.report.page.charts.vega import (
    HOVER,
    WATER,
    Picture,
    Spec,
    count_axis,
    durations,
    is_narrow,
    millis,
    name_axis,
    time_axis,
    unit_of,
    values,
)
from tidemark.report.page.data.dead_letters import DeadLetters
from tidemark.report.page.data.delays import MOST_RUNS, Delay, Idle
from tidemark.report.page.data.tables import Row
from tidemark.report.page.measures import bounded, measured, once
from tidemark.report.text import safe
from tidemark.report.words import counted, duration, moment, span

MOST_IDLE = 20
"""Most partitions in the chart of idle ones; those idle most often come first."""

_LETTERS = 21
"""Most letters of a label in a narrow chart."""
_LINES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_HUES = ("var(--water)", "var(--adjusted)", "var(--dropped)", "var(--on-time)", "var(--quarantined)", "var(--ink)")


def delay_picture(delays: Sequence[Delay]) -> Picture | None:
    """Draw one line for each source: `as_of` less its largest watermark, at the end of each run. None for a single
    run: the table shows it."""
    known = [delay for delay in delays if delay.largest is not None]
    if len({delay.as_of for delay in known}) < 2:
        return None
    names = list(dict.fromkeys(delay.source for delay in known))
    newest = {delay.source: delay.largest for delay in known}
    listed = "; ".join(f"{name} {duration(newest[name] or 0)}" for name in names)
    caption = (
        "How far the furthest watermark of each source was behind the time of the run, when the run ended. "
        f"Newest: {listed}. At most {MOST_RUNS} runs are drawn; a complete source has no delay."
    )
    return Picture(
        "Watermark delay",
        caption,
        f"Watermark delay by run. Newest: {listed}.",
        lambda width: _delays(known, names, width),
    )


def _delays(delays: Sequence[Delay], names: Sequence[str], width: int) -> Spec:
    behind = [delay.largest or 0 for delay in delays]
    unit, y = _behind(min(behind), max(behind))
    rows = [
        {"at": millis(d.as_of), "behind": (d.largest or 0) / unit, "source": d.source}
        | {"hover": f"{d.source}, as of {moment(d.as_of)}: {duration(d.largest or 0)}"}
        for d in delays
    ]
    shown = [safe(name) for name in names]
    legend = {"title": None, "columns": 2 if is_narrow(width) else 5}
    scale = {"domain": shown, "range": [_HUES[n % len(_HUES)] for n in range(len(shown))]}
    marks = {"domain": shown, "range": [_LINES[n % len(_LINES)] for n in range(len(shown))]}
    x = _instants([delay.as_of for delay in delays], width, "as_of of the run (UTC)")
    source = {"field": "source", "type": "nominal"}
    colour, shape = (source | {"scale": each, "legend": legend} for each in (scale, marks))
    return {
        "width": width - 70,
        "height": 180,
        "data": values(rows),
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": {"x": x, "y": y, "color": colour}},
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"x": x, "y": y, "color": colour, "shape": shape, **HOVER},
            },
        ],
    }


def _behind(low: int, high: int) -> tuple[int, Spec]:
    """Return the unit and the axis of delays; the axis is logarithmic where delays differ 30-fold or more."""
    if low <= 0 or high < 30 * low:
        unit, name = unit_of(max(abs(low), abs(high)))
        return unit, {"field": "behind", "type": "quantitative", "axis": {"title": name, "tickCount": 5}}
    return SECOND, {"field": "behind"} | durations(low / SECOND / 1.5, high / SECOND * 1.5, None)


def _instants(times: Sequence[int], width: int, title: str) -> Spec:
    """Return an axis of run times, padded on both sides."""
    low, high = min(times), max(times)
    pad = max((high - low) // 30, 1_000_000)
    domain = [millis(low - pad), millis(high + pad)]
    return {
        "field": "at",
        "type": "temporal",
        "axis": time_axis(low - pad, high + pad, width, title),
        "scale": {"type": "utc", "domain": domain, "nice": False},
    }


def idle_picture(idle: Sequence[Idle], ends: Sequence[Row]) -> Picture | None:
    """Draw one line for each partition that was ever idle, one mark for each run without
    rows; None for a single run."""
    if not idle or len(ends) < 2:
        return None
    counts: dict[tuple[str, str], int] = {}
    for each in idle:
        counts[each.source, each.partition] = counts.get((each.source, each.partition), 0) + 1
    shown = sorted(counts, key=lambda key: (-counts[key], key))[:MOST_IDLE]
    listed = "; ".join(f"{source}/{partition} {counts[source, partition]:,}" for source, partition in shown)
    caption = f"A mark is a run that brought the partition no row. Of {len(ends):,} runs: {listed}."
    if len(counts) > len(shown):
        caption += f" {len(counts) - len(shown):,} more partitions were idle at times."
    return Picture(
        "Idle partitions",
        caption,
        f"Runs without rows, by partition: {listed}.",
        lambda width: _idle(idle, shown, ends, width),
    )


def _idle(idle: Sequence[Idle], shown: Sequence[tuple[str, str]], ends: Sequence[Row], width: int) -> Spec:
    y, room = name_axis([f"{source}/{partition}" for source, partition in shown], width)
    rows = [
        {"at": millis(each.as_of), "name": f"{each.source}/{each.partition}"}
        | {"hover": f"{each.source}/{each.partition}: no row in the run as of {moment(each.as_of)}"}
        for each in idle
        if (each.source, each.partition) in shown
    ]
    return {
        "width": width - room - 25,
        "height": {"step": 22},
        "data": values(rows),
        "mark": {"type": "point", "shape": "square", "filled": True, "size": 70, "color": WATER, "opacity": 1},
        "encoding": {
            "x": _instants([end["as_of"] for end in ends], width, "as_of of the run (UTC)"),
            "y": y,
            **HOVER,
        },
    }


def letters_picture(letters: DeadLetters) -> Picture | None:
    """Draw late rows by the start of the window that they missed."""
    if not letters.letters:
        return None
    bars, step = letters.bars, letters.step
    caption = (
        f"Rows that came when their window was closed, by the start of that window, {duration(step)} a bar. "
        f"{counted(letters.letters, 'time')} a row was late for one of {counted(letters.windows, 'window')}."
    )
    alternative = f"Bars of {letters.letters:,} dead letters from {moment(min(bars))} to {moment(max(bars) + step)}."
    return Picture(
        f"Late for a window: {letters.stream}", caption, alternative, lambda width: _letters(letters, width)
    )


def _letters(letters: DeadLetters, width: int) -> Spec:
    low, high = min(letters.bars), max(letters.bars) + letters.step
    rows = [
        {"from": millis(bar), "to": millis(bar + letters.step), "rows": count}
        | {"hover": f"{span(bar, bar + letters.step)}: {count:,} late"}
        for bar, count in letters.bars.items()
    ]
    return {
        "width": width - 70,
        "height": 110,
        "data": values(rows),
        "mark": {"type": "bar", "color": "var(--dropped)", "binSpacing": 0.5},
        "encoding": {
            "x": {
                "field": "from",
                "type": "temporal",
                "axis": time_axis(low, high, width, "start of the window (UTC)") | {"grid": False},
                "scale": {"type": "utc", "domain": [millis(low), millis(high)], "nice": False},
            },
            "x2": {"field": "to"},
            "y": {
                "field": "rows",
                "type": "quantitative",
                "axis": count_axis(max(letters.bars.values()), 3, "late rows"),
            },
            "y2": {"datum": 0},
            **HOVER,
        },
    }


def quality_picture(checks: Sequence[Row], most: int = 20) -> Picture | None:
    """Draw one line for each expectation, with a mark for each run: held or failed."""
    if not checks:
        return None
    names = list(dict.fromkeys(_expectation(check) for check in once(checks)))
    checks = [check for check in checks if _expectation(check) in set(names)]
    runs = list(dict.fromkeys(str(check["run_id"]) for check in checks))
    failing = {_expectation(check) for check in checks if not check["success"]}
    shown = sorted(names, key=lambda name: (name not in failing, names.index(name)))[:most]
    rows = [
        {"run": runs.index(str(check["run_id"])) + 1, "name": _expectation(check), "held": _held(check)}
        | {"hover": f"{_expectation(check)} {_held(check)} in run {check['run_id']}{_seen(check)}"}
        for check in checks
        if _expectation(check) in set(shown)
    ]
    failed = sum(not check["success"] for check in checks)
    caption = (
        f"{counted(len(checks), 'check')} in {counted(len(runs), 'run')}, oldest on the left: {failed:,} failed."
    )
    if len(names) > len(shown):
        left = len(names) - len(shown)
        caption += f" {counted(left, 'more expectation')} {'is' if left == 1 else 'are'} in the table."
    return Picture("Quality over time", caption, caption, lambda width: _quality(rows, shown, width))


def _expectation(check: Mapping[str, Any]) -> str:
    return f"{check['table']}: {check['expectation']}"


def _labels(names: Sequence[str]) -> dict[str, str]:
    """Return labels for a narrow chart: expectations (long ones cut in the middle), with tables if two are equal."""
    found: dict[str, str] = {}
    for name in names:
        table, _, expectation = name.partition(": ")
        short = expectation if len(expectation) <= _LETTERS else f"{expectation[:9]}…{expectation[-11:]}"
        found[name] = short if short not in found.values() else f"{table}: {expectation}"
    return found


def _seen(check: Row) -> str:
    name = str(check["expectation"])
    seen, limit = measured(name, check["observed"]), bounded(name, check["limit"])
    return "" if seen is None else f": {seen}" if limit is None else f": {seen} of {limit}"


def _held(check: Row) -> str:
    return "held" if check["success"] else "failed"


def _quality(rows: Sequence[dict[str, Any]], shown: Sequence[str], width: int) -> Spec:
    labels = _labels(shown) if is_narrow(width) else {name: name for name in shown}
    rows = [row | {"name": labels[row["name"]]} for row in rows]
    y, room = name_axis(list(labels.values()), width)
    states, legend = ["held", "failed"], {"title": None}
    colour = {"domain": states, "range": ["var(--on-time)", "var(--dropped)"]}
    shape = {"domain": states, "range": ["circle", "cross"]}
    held = {"field": "held", "type": "nominal", "legend": legend}
    axis = {"title": "run, oldest first", "labelAngle": 0, "labelOverlap": True}
    return {
        "width": width - room - 25,
        "height": {"step": 22},
        "data": values(rows),
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {
            "x": {"field": "run", "type": "ordinal", "axis": axis},
            "y": y,
            "color": held | {"scale": colour},
            "shape": held | {"scale": shape},
            **HOVER,
        },
    }
