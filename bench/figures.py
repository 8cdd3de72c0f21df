"""Figures as a table on the terminal and as marked blocks of docs/performance.md."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.clock import Spread, ratios

HEADINGS = ("what", "against", "cores", "ratio", "spread", "reach", "ours", "theirs")
MIB = "MiB"


@dataclass(frozen=True)
class Figure:
    """One comparison. `ratio` is ours over theirs, `reach` the most it should be (None: only told); what is compared
    has a unit: seconds, or memory. `cores` are those of both sides (None: not said yet)."""

    what: str
    against: str
    ratio: Spread
    ours: Spread
    theirs: Spread
    reach: float | None = None
    unit: str = "s"
    cores: int | None = None

    @classmethod
    def of(
        cls, what: str, against: str, ours: Sequence[float], theirs: Sequence[float], reach: float | None = None
    ) -> Figure:
        """The figure of measurements taken in turns."""
        return cls(what, against, ratios(ours, theirs), Spread.of(ours), Spread.of(theirs), reach)

    @classmethod
    def apart(cls, what: str, against: str, ours: Sequence[float], theirs: Sequence[float]) -> Figure:
        """The figure of measurements not taken in turns: the ratio of medians, with its extremes."""
        mine, other = Spread.of(ours), Spread.of(theirs)
        ratio = Spread(mine.median / other.median, mine.low / other.high, mine.high / other.low)
        return cls(what, against, ratio, mine, other)

    def cells(self) -> tuple[str, ...]:
        """The figure as texts, in the order of HEADINGS."""
        reach = "told"
        if self.reach is not None:
            met = "reached" if self.ratio.median <= self.reach else "not reached"
            reach = f"at most {self.reach:g}: {met}"
        return (
            self.what,
            self.against,
            "" if self.cores is None else str(self.cores),
            f"{self.ratio.median:.2f}",
            f"{self.ratio.low:.2f}-{self.ratio.high:.2f}",
            reach,
            self._amount(self.ours),
            self._amount(self.theirs),
        )

    def _amount(self, amount: Spread) -> str:
        return f"{amount.median:.{2 if self.unit == 's' else 0}f} {self.unit}"


@dataclass(frozen=True)
class Section:
    """What one row of the bench measured, with sentences on what else it saw."""

    row: str
    title: str
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def on(self, cores: int) -> Section:
        """The same, each figure with the number of cores that it was measured on."""
        return replace(self, figures=[replace(figure, cores=cores) for figure in self.figures])


def machine() -> str:
    """The machine and the versions, in general terms."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "delta-spark", "deltalake"))
    return f"a machine with {os.cpu_count()} cores, {memory:.0f} GiB of memory; {packages}"


def show(sections: Sequence[Section], scale: str) -> None:
    """Print one table, and below it what else is to be told."""
    console = Console() if sys.stdout.isatty() else Console(width=160)
    table = Table(title=f"tidemark on {machine()}; {scale}", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading)
    for section in sections:
        table.add_section()
        for figure in section.figures:
            table.add_row(*figure.cells())
    console.print(table)
    for section in sections:
        for note in section.notes:
            console.print(f"[bold]{section.row}[/bold]: {note}", highlight=False)


def write_docs(page: Path, section: Section, scale: str) -> None:
    """Replace the marked block of a section; a page without one is wrong and left as it is."""
    begin, end = f"<!-- bench: {section.row} -->", f"<!-- end of {section.row} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    text = page.read_text()
    if not pattern.search(text):
        raise ValueError(f"{page} has no block {begin} ... {end} to write to")
    block = f"{begin}\n{_markdown(section, scale)}\n{end}"
    page.write_text(pattern.sub(block.replace("\\", r"\\"), text))


def _markdown(section: Section, scale: str) -> str:
    lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(figure.cells()) + " |" for figure in section.figures]
    lines += ["", *[f"- {note}" for note in section.notes], ""]
    lines.append(f"Measured {datetime.now(UTC):%Y-%m-%d} on {machine()}; {scale}.")
    return "\n".join(lines)
