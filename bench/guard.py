"""The figures of the last full measurement, kept beside the code, and whether new ones are worse beyond the noise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.clock import Spread
from bench.figures import Figure, Section

STORED = Path(__file__).with_name("figures.json")
WORSE = 1.1
"""A ratio whose best repeat is beyond the worst of before has become worse, if its median has grown by so much."""


def store(sections: Sequence[Section]) -> None:
    """Keep figures; those of rows that were not measured stay."""
    known = stored() | {section.row: [asdict(figure) for figure in section.figures] for section in sections}
    STORED.write_text(json.dumps(known, indent=1) + "\n")


def stored() -> dict[str, list[dict[str, object]]]:
    """What is kept, by row of the bench."""
    found: dict[str, list[dict[str, object]]] = json.loads(STORED.read_text()) if STORED.is_file() else {}
    return found


def figures(row: str) -> list[Figure]:
    """The figures kept of a row."""
    return [_figure(told) for told in stored().get(row, [])]


def _figure(told: dict) -> Figure:  # type: ignore[type-arg] # as JSON has it
    spreads = {name: Spread(**told[name]) for name in ("ratio", "ours", "theirs")}
    return Figure(**{**told, **spreads})


def _key(figure: Figure) -> tuple[str, str, int | None]:
    """What a figure is compared by with one of before: ratios of other numbers of cores are others."""
    return figure.what, figure.against, figure.cores


def worse(sections: Sequence[Section]) -> Iterator[str]:
    """A sentence on each ratio that has become worse, and on what can't be told."""
    for section in sections:
        before = {_key(figure): figure for figure in figures(section.row)}
        for figure in section.figures:
            then = before.get(_key(figure))
            told = f"{section.row}: {figure.what}, against {figure.against} (cores: {figure.cores})"
            if then is None:
                yield f"{told}: no figure is kept to compare with; measure with `make bench`"
            elif figure.ratio.low > then.ratio.high and figure.ratio.median > WORSE * then.ratio.median:
                yield (
                    f"{told}: {figure.ratio.median:.2f} ({figure.ratio.low:.2f}-{figure.ratio.high:.2f}), "
                    f"was {then.ratio.median:.2f} ({then.ratio.low:.2f}-{then.ratio.high:.2f})"
                )
