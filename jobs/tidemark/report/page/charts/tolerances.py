"""Heat maps of candidate tolerances: one square for each pair; a higher cost has a stronger colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidemark.report.advice import behind, share, tolerance
from tidemark.report.page.charts.vega import HOVER, INK, WATER, Picture, Spec, is_narrow, values
from tidemark.report.page.data.advised import Advised
from tidemark.report.page.data.tables import Row

_FRAMES = "The solid frame is what the source has, the dashed one what is recommended."
_STRONGEST = 0.55
"""Opacity of the costliest square: its number is still legible."""


def moved_picture(advised: Advised, fate: str) -> Picture:
    """Draw the share of rows that would get `fate` (adjusted or dropped); one chart for both if they are equal."""
    whole = "adjusted or dropped" if advised.alike else fate
    caption = (
        f"Rows that would be {whole} with each pair of tolerances, if that is what is done to late and out-of-order"
    )
    return Picture(
        f"Tolerances and rows {whole}: {advised.source}",
        f"{caption} rows. {_FRAMES}",
        f"Heat map of rows {whole} by late and out-of-order tolerance. {_listed(advised, lambda c: _share(c, fate))}",
        lambda width: _squares(
            advised,
            [cell[fate] / max(1, cell["rows"]) for cell in advised.cells],
            [_short(_share(cell, fate)) if is_narrow(width) else _share(cell, fate) for cell in advised.cells],
            f"var(--{fate})",
            width,
        ),
    )


def delay_picture(advised: Advised) -> Picture:
    """Draw the delay of output."""
    caption = "How far output would be behind the latest arrival, in the middle of the runs that brought rows."
    return Picture(
        f"Tolerances and output delay: {advised.source}",
        f"{caption} {_FRAMES}",
        f"Heat map of the delay by late and out-of-order tolerance. {_listed(advised, lambda c: behind(c['delay']))}",
        lambda width: _squares(
            advised,
            [cell["delay"] or 0 for cell in advised.cells],
            [
                behind(cell["delay"]).split()[0] if is_narrow(width) else behind(cell["delay"])
                for cell in advised.cells
            ],
            WATER,
            width,
        ),
    )


def _share(cell: Row, fate: str) -> str:
    return share(cell[fate], cell["rows"])


def _short(text: str) -> str:
    """Shorten a share for a narrow square: two digits, without the per cent sign."""
    number = text.rstrip("%")
    return number if number[0] in "<>" else f"{float(number):.2g}"


def _listed(advised: Advised, text_of: Callable[[Row], str]) -> str:
    best = advised.recommended
    shown = [("present", advised.present), *([("recommended", best)] if best is not None else [])]
    return "; ".join(
        f"{name}: late {tolerance(cell['late'])}, out_of_order {tolerance(cell['out_of_order'])}, {text_of(cell)}"
        for name, cell in shown
    )


def _candidates(advised: Advised, costs: Sequence[float], texts: Sequence[str]) -> list[Row]:
    """Data of the squares: each candidate with its cost, and the text in its square."""
    return [
        {
            "late": tolerance(cell["late"]),
            "order": tolerance(cell["out_of_order"]),
            "cost": cost,
            "hover": f"late {tolerance(cell['late'])}, out_of_order {tolerance(cell['out_of_order'])}: {text}",
            "text": text,
            "present": cell["present"],
            "recommended": cell["recommended"],
        }
        for cell, cost, text in zip(advised.cells, costs, texts, strict=True)
    ]


def _squares(advised: Advised, costs: Sequence[float], texts: Sequence[str], colour: str, width: int) -> Spec:
    rows = _candidates(advised, costs, texts)
    lates, orders = [[*dict.fromkeys(row[name] for row in rows)] for name in ("late", "order")]
    extent = max(costs) or 1
    opacity = {"type": "linear", "domain": [0, extent], "range": [0.03, _STRONGEST]}
    filled = {"field": "cost", "type": "quantitative", "scale": opacity, "legend": None}
    small = is_narrow(width)
    return {
        "width": width - (75 if small else 90),
        "height": {"step": 30},
        "data": values(rows),
        "encoding": {
            "x": _axis("order", orders, "out_of_order tolerance", -45 if small else 0),
            "y": _axis("late", lates, "late tolerance", 0),
        },
        "layer": [
            {"mark": {"type": "rect", "color": colour}, "encoding": {"fillOpacity": filled, **HOVER}},
            {"mark": {"type": "text", "fontSize": 10 if small else 12}, "encoding": {"text": {"field": "text"}}},
            _frame("present", []),
            _frame("recommended", [5, 3]),
        ],
    }


def _axis(field: str, order: Sequence[str], title: str, angle: int) -> dict[str, Any]:
    axis = {"title": title, "labelAngle": angle, "ticks": False, "domain": False}
    return {"field": field, "type": "ordinal", "sort": list(order), "axis": axis}


def _frame(which: str, dash: Sequence[int]) -> Spec:
    """Frame the square for which `which` (`present` or `recommended`) is true."""
    mark = {"type": "rect", "filled": False, "stroke": INK, "strokeWidth": 2, "strokeDash": list(dash)}
    return {"transform": [{"filter": f"datum.{which}"}], "mark": mark}
