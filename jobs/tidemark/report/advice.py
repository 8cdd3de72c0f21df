"""Advice on tolerances in words: shares of rows, the cost of a candidate, the recommendation and its reason."""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.core.quality import figure
from tidemark.core.times import format_duration
from tidemark.report.words import brief, counted


def share(count: int, rows: int) -> str:
    """Return `count` of `rows` in per cent, to three digits; 0% and 100% only if it is exactly none or all."""
    if count in {0, rows}:
        return "100%" if count else "0%"
    percent = 100 * count / rows
    return "<0.01%" if percent < 0.01 else ">99.9%" if percent > 99.9 else f"{percent:.3g}%"


def tolerance(micros: int | None) -> str:
    """Return a tolerance as the configuration writes it: a duration, or `off` for None."""
    return "off" if micros is None else format_duration(micros)


def behind(delay: int | None) -> str:
    """Return in words how far output lags behind the latest arrival; None: there is no output."""
    return "no output" if delay is None else brief(delay)


def target(dropped: float | None, adjusted: float | None) -> str:
    """Return in words the shares of rows that the targets allow; empty without targets."""
    parts = [("dropped", dropped), ("adjusted", adjusted)]
    return " and ".join(f"at most {figure(100 * most)}% {fate}" for fate, most in parts if most is not None)


def cost(rows: int, adjusted: int, dropped: int, delay: int | None) -> str:
    """Return in words how many rows tolerances adjust and drop, and how late they make output."""
    counts = (
        f"{counted(adjusted, 'row')} adjusted ({share(adjusted, rows)}), {dropped:,} dropped ({share(dropped, rows)})"
    )
    if delay is None:
        return f"{counts}; there is no output, since some partition never has a watermark"
    return f"{counts}; output {brief(delay)} behind the latest arrival"


def yaml_of(late: int | None, out_of_order: int, actions: Iterable[str]) -> str:
    """Return both settings as YAML, to be pasted into the source's declaration."""
    first, second = actions
    whole = "off" if late is None else f"{{tolerance: {tolerance(late)}, action: {first}}}"
    return f"late_arrival: {whole}\nout_of_order: {{tolerance: {tolerance(out_of_order)}, action: {second}}}"
