"""Pictures of the figures that are kept: ratios against what people would use instead, and how cost grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import vl_convert

from bench import guard

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
FONT = "system-ui, sans-serif"
INK, FAINT, OURS, LIMIT = "#1f2933", "#cbd2d9", "#2563a8", "#b4531a"
LEAST = 0.01
"""Ratios that are less, or nothing, stand here: the axis is logarithmic."""
_GROWTH = "growth"
_LONGEST = 90


def draw(folder: Path) -> None:
    """Write performance-ratios.svg and performance-growth.svg into `folder`, from what is kept."""
    for name, picture in (("ratios", ratios()), ("growth", growth())):
        if picture["data"]["values"]:
            (folder / f"performance-{name}.svg").write_text(vl_convert.vegalite_to_svg(picture) + "\n")


def ratios() -> dict[str, Any]:
    """Each ratio with its spread, and how far it may go; a logarithmic axis, so that half and twice look alike."""
    values = [
        {
            "what": _short(figure.what),
            "ratio": max(figure.ratio.median, LEAST),
            "low": max(figure.ratio.low, LEAST),
            "high": max(figure.ratio.high, LEAST),
            "reach": figure.reach,
        }
        for row in guard.stored()
        if row != _GROWTH
        for figure in guard.figures(row)
        if figure.reach is not None
    ]
    what = {"field": "what", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 600}}
    seen = [value[name] for value in values for name in ("low", "high", "reach")] or [1.0]
    scale = {"type": "log", "nice": False, "domain": [0.9 * min(seen), 1.1 * max(seen)]}
    along = {"type": "quantitative", "scale": scale, "title": "times what it is compared with"}
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "color": OURS},
            "encoding": {"x": {"field": "low", **along}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "color": OURS},
            "encoding": {"x": {"field": "ratio", **along}},
        },
        {
            "mark": {"type": "tick", "thickness": 3, "size": 14, "color": LIMIT},
            "encoding": {"x": {"field": "reach", **along}},
        },
    ]
    title = ["Measured ratio (point: median, line: all repeats) and how far it may go (orange)"]
    return _picture(title, values, {"encoding": {"y": what}, "layer": layers, "width": 380, "height": {"step": 20}})


def growth() -> dict[str, Any]:
    """Seconds by size for each kind of thing there can be more of; both axes are logarithmic."""
    sizes: dict[str, float] = {}
    for figure in guard.figures(_GROWTH):
        sizes |= {figure.against: figure.theirs.median, figure.what: figure.ours.median}
    values = [{"size": int(first.replace(",", "")), "kind": kind, "seconds": seconds}
              for text, seconds in sizes.items() for first, _, kind in [text.partition(" ")]]  # fmt: skip
    log = {"type": "quantitative", "scale": {"type": "log"}}
    encoding = {
        "x": {"field": "size", "title": "how many", "axis": {"format": "~s"}, **log},
        "y": {"field": "seconds", "title": "seconds", **log},
        "color": {"field": "kind", "type": "nominal", "title": None, "legend": {"labelLimit": 300}},
    }
    mark = {"type": "line", "point": True}
    return _picture(["Time by size"], values, {"encoding": encoding, "mark": mark, "width": 420, "height": 260})


def _picture(title: list[str], values: list[dict[str, Any]], told: dict[str, Any]) -> dict[str, Any]:
    axis = {"labelColor": INK, "titleColor": INK, "gridColor": FAINT, "labelFont": FONT, "titleFont": FONT}
    texts = {"labelFont": FONT, "titleFont": FONT, "labelColor": INK}
    config = {"axis": axis, "legend": texts, "title": {"font": FONT, "color": INK, "fontSize": 13, "anchor": "start"}}
    return {
        "$schema": SCHEMA,
        "background": "white",
        "title": title,
        "config": config,
        "data": {"values": values},
        **told,
    }


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
