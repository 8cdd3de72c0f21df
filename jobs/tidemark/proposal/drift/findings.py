"""A difference between a source's settings and the rows that land now."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Drift:
    """One difference. `kind`: what differs; `key`: the setting that it is about; `rows`: the sampled rows or lines
    that it concerns. `effect`: the fate that they get, `unread` (values are not read), or `none`. `proposed`: the
    value of the setting that would fit."""

    kind: str
    key: str
    message: str
    rows: int = 0
    effect: str = "none"
    column: str | None = None
    proposed: str | None = None
