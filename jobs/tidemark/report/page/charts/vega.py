"""Vega-Lite specifications drawn as SVG for a page. Colours come from the page's style, so that one chart serves
light, dark and paper. Every chart is drawn twice: for wide pages, where marks show their values on hover (titles, no
script), and for phones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from tidemark.core.policy import Fate
from tidemark.core.times import DAY, HOUR, MILLISECOND, MINUTE, SECOND, TICK
from tidemark.report.text import safe
from tidemark.report.words import moment

Spec = dict[str, Any]

WIDE, NARROW = 1000, 340
"""Widths of the two drawings, axes included; each is shown as wide as the page."""
HOVER: Spec = {"description": {"field": "hover"}}
"""The encoding of a mark's title: the text `hover` of its row."""

INK, FAINT, GRID, WATER = "var(--ink)", "var(--faint)", "var(--grid)", "var(--water)"
COLOURS = {
    Fate.ON_TIME: "var(--on-time)",
    Fate.ADJUSTED: "var(--adjusted)",
    Fate.DROPPED: "var(--dropped)",
    Fate.QUARANTINED: "var(--quarantined)",
}
SHAPES = {Fate.ON_TIME: "circle", Fate.ADJUSTED: "diamond", Fate.DROPPED: "cross", Fate.QUARANTINED: "square"}

_CONFIG: Spec = {
    "background": None,
    "font": "Arial, 'Liberation Sans', Helvetica, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "gridColor": GRID,
        "domainColor": FAINT,
        "tickColor": FAINT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 150,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "symbolSize": 80, "orient": "top"},
    "title": {"color": INK, "anchor": "start", "fontSize": 13, "fontWeight": "normal", "offset": 4},
    "text": {"color": INK, "fontSize": 12},
    "aria": False,
}
_UNITS = ((DAY, "days"), (HOUR, "hours"), (MINUTE, "minutes"), (SECOND, "seconds"), (MILLISECOND, "milliseconds"))


@dataclass(frozen=True)
class Picture:
    """A chart for a page: its title, a caption in plain words, its text alternative, and a function from a width to
    its specification."""

    title: str
    caption: str
    alternative: str
    spec: Callable[[int], Spec]

    def svg(self, width: int, name: str) -> str:
        """Return the drawing as an element of a page; `name` makes the ids in it unique on the page."""
        spec = self.spec(width) | {"config": _CONFIG, "padding": 2}
        import vl_convert  # the dashboard's pages without pictures need none of it

        return _inlined(vl_convert.vegalite_to_svg(spec), name, titled=width == WIDE)


_TAG = re.compile(r"<[a-z][^>]*>")
_UNNEEDED = re.compile(r' (?:role|class|aria-[a-z]+|pointer-events)="[^"]*"')
_TITLE = re.compile(r'^<path aria-label="([^"]+)"')
_NAMED = re.compile(r'(id="|url\(#)([^")]+)')


def _inlined(drawing: str, name: str, titled: bool) -> str:
    """Return the SVG without the parts that only a file needs: the page sets the width and the description. With
    `titled`, marks have titles. Vega numbers ids across all drawings; here they start from 0, so that equal numbers
    give an equal page."""
    head, _, body = drawing.partition(">")
    box = re.search(r'viewBox="0 0 [\d.]+ [\d.]+"', head)
    size = f" {box[0]}" if box else ""
    known: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        return found[1] + known.setdefault(found[2], f"{name}-{len(known)}")

    def lean(found: re.Match[str]) -> str:
        bare = _NAMED.sub(renamed, _UNNEEDED.sub("", found[0]))
        title = _TITLE.match(found[0]) if titled else None
        return bare if title is None else f"{bare.removesuffix('/>')}><title>{title[1]}</title></path>"

    return f'<svg class="drawing"{size} aria-hidden="true" focusable="false">{_TAG.sub(lean, body)}'


def words(fate: Fate) -> str:
    """Return a fate as people write it."""
    return fate.value.replace("_", " ")


def millis(micros: int) -> float:
    """Return a time in milliseconds, as Vega counts it."""
    return micros / 1000


def values(rows: Sequence[Mapping[str, Any]]) -> Spec:
    """Return rows as inline data; texts are escaped by `safe`."""
    cleaned = [{key: safe(value) if isinstance(value, str) else value for key, value in row.items()} for row in rows]
    return {"values": cleaned}


def fate_scale(fates: Sequence[Fate], of: Mapping[Fate, str]) -> Spec:
    """Return the scale of a colour or a shape by fate, always in the order of fates."""
    return {"domain": [words(fate) for fate in fates], "range": [of[fate] for fate in fates]}


def by_fate(found: Iterable[Fate]) -> Spec:
    """Return the encodings of these fates: a colour and a shape each, with one legend for both."""
    there = set(found)
    fates = [fate for fate in Fate if fate in there]
    channel = {"field": "fate", "type": "nominal", "legend": {"title": None}}
    return {
        "color": channel | {"scale": fate_scale(fates, COLOURS)},
        "shape": channel | {"scale": fate_scale(fates, SHAPES)},
    }


def unit_of(micros: int) -> tuple[int, str]:
    """Return the unit in which a duration is easy to read: its microseconds and its name."""
    return next(((unit, name) for unit, name in _UNITS if micros >= 2 * unit), (TICK, "microseconds"))


def is_narrow(width: int) -> bool:
    """Return True for a chart of a phone, which has less room for labels; the width is in pixels."""
    return width < 500


def name_axis(names: Sequence[str], width: int) -> tuple[Spec, int]:
    """Return the axis of names from top to bottom, in this order, and the width of its labels in pixels. The width
    has a margin, since a page's font may be slightly wider than expected."""
    limit = 130 if is_narrow(width) else 320
    room = min(limit + limit // 6, 8 * max(map(len, names)))
    axis = {"title": None, "grid": True, "labelLimit": limit, "minExtent": room, "ticks": False}
    return {"field": "name", "type": "nominal", "sort": [safe(name) for name in names], "axis": axis}, room


def count_axis(most: int, ticks: int, title: str | None) -> Spec:
    """Return an axis of counts from 0 to `most`: whole numbers, each once, at most `ticks` steps of 1, 2 or 5 times a
    power of ten."""
    sizes = (factor * 10**power for power in count() for factor in (1, 2, 5))
    size = next(size for size in sizes if most <= ticks * size)
    return {"title": title, "values": list(range(0, most + 1, size)), "format": ",d"}


def time_axis(low: int, high: int, width: int, title: str) -> Spec:
    """Return an axis of times from `low` to before `high`, in UTC; its title names the days, which labels do not."""
    span = high - low
    form = next(
        form
        for most, form in (
            (SECOND, "%H:%M:%S.%L"),
            (3 * MINUTE, "%H:%M:%S"),
            (2 * DAY, "%H:%M"),
            (300 * DAY, "%d %b"),
            (10_000 * DAY, "%b %Y"),
            (1 << 62, "%Y"),
        )
        if span <= most
    )
    most = max(2, width // 95)
    daily = form == "%d %b" and span < most * DAY  # or several ticks would have the label of one day
    ticks = {"interval": "day", "step": 1} if daily else most
    days = " to ".join(dict.fromkeys(moment(time)[:10] for time in (low, high - 1)))
    named = [title, days] if is_narrow(width) else f"{title}, {days}"
    return {"format": form, "title": named, "tickCount": ticks, "labelOverlap": True, "labelSeparation": 6}


def durations(low: float, high: float, title: str | None) -> Spec:
    """Return a logarithmic scale of durations in seconds, with its axis."""
    steps = {
        **{f"{n}us": n * TICK for n in (1, 10, 100)},
        **{f"{n}ms": n * MILLISECOND for n in (1, 10, 100)},
        **{f"{n}s": n * SECOND for n in (1, 2, 5, 10, 30)},
        **{f"{n}m": n * MINUTE for n in (1, 2, 5, 10, 30)},
        **{f"{n}h": n * HOUR for n in (1, 2, 6, 12)},
        **{f"{n}d": n * DAY for n in (1, 2, 7, 30, 365, 3650)},
    }
    cases = " : ".join(
        f"abs(datum.value - {size / SECOND}) < {size / SECOND / 100} ? '{name}'" for name, size in steps.items()
    )
    axis = {
        "values": [size / SECOND for size in steps.values() if low <= size / SECOND <= high],
        "labelExpr": f"{cases} : ''",
        "labelOverlap": True,
        "title": title,
    }
    return {"type": "quantitative", "scale": {"type": "log", "domain": [low, high], "nice": False}, "axis": axis}
