"""A difference between a source's settings and the rows that land now."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Drift:
    """One difference. `kind`: what differs. `key`: the setting. `rows`: sampled rows or lines with this difference.
    `effect`: the fate of these rows, `unread` (values are not read), or `none`. `proposed`: a value of the setting
    that would fit."""

    kind: str
    key: str
    message: str
    rows: int = 0
    effect: str = "none"
    column: str | None = None
    proposed: str | None = None
