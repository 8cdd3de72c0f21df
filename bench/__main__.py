"""`python -m bench [ROW ...]`: measure, print one table, keep the figures and write docs/performance.md.

With `--cores`, both sides run so many tasks or threads at once. Where the machine has fewer cores, seconds say little
then; ratios show whether they depend on the number.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from bench import guard
from bench.data import FULL_ROWS
from bench.figures import Section, show, write_docs
from bench.pictures import draw
from bench.place import Place
from bench.rows import (
    advise,
    again,
    batch,
    cold,
    dashboard,
    engines,
    growth,
    hot,
    joins,
    judge,
    landing,
    quality,
    rules,
    scale,
    substreams,
    warm,
    windows,
)
from tidemark.spark.session.session import open_session


@dataclass(frozen=True)
class Row:
    """One row of the bench: what measures it, of how many rows of the full size, and whether `make bench` does."""

    measure: Callable[[Place], Section]
    share: int = 1
    short: bool = True


ROWS = {
    "judge": Row(judge.measure),
    "cold": Row(cold.measure),
    "warm": Row(warm.measure),
    "landing": Row(landing.measure, share=8),
    "history": Row(batch.measure),
    "hot": Row(hot.measure),
    "substreams": Row(substreams.measure),
    "scale": Row(scale.measure, share=8),
    "backfill": Row(again.backfill, share=4),
    "replay": Row(again.replay, share=8),
    "advise": Row(advise.measure, share=8),
    "windows": Row(windows.measure, share=4),
    "engines": Row(engines.measure, share=16),
    "quality": Row(quality.measure, short=False),
    "joins": Row(joins.measure, short=False),
    "rules": Row(rules.measure, share=4, short=False),
    "dashboard": Row(dashboard.measure, short=False),
    "growth": Row(growth.measure, share=4, short=False),
}
CORES = (1, 2, 4, 8)
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


@click.command()
@click.argument("chosen", metavar="[ROW]...", nargs=-1, type=click.Choice(list(ROWS)))
@click.option("--full", is_flag=True, help="Every row, with all of its data, 5 times.")
@click.option("--rows", type=int, help="Rows to judge, for a look: docs and figures stay as they are.")
@click.option(
    "--cores",
    type=click.Choice(CORES),
    help="Cores that both sides use, for a look: docs and figures stay as they are. More than the machine has are "
    "threads that share its cores (default: those of TIDEMARK_MASTER, or all of the machine's).",
)
@click.option("--repeats", type=int, help="Repeats after the warm-up.")
@click.option("--check", is_flag=True, help="Compare with the figures that are kept; write nothing; fail if worse.")
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where data is kept between runs (default: temporary)."
)
def main(
    chosen: tuple[str, ...],
    full: bool,
    rows: int | None,
    cores: int | None,
    repeats: int | None,
    check: bool,
    folder: Path | None,
) -> None:
    """Measure the rows named, or all that `make bench` has, side by side with what people would use instead."""
    say = Console(stderr=True, highlight=False, soft_wrap=True).print
    cache = folder or Path(tempfile.gettempdir()) / "tidemark-bench"
    cache.mkdir(parents=True, exist_ok=True)
    names = chosen or [name for name, row in ROWS.items() if full or row.short]
    times = repeats or (5 if full else 3)
    scale, kept = f"{times} repeats in turns after a warm-up", rows is None and cores is None and not check
    if cores is not None:
        os.environ["TIDEMARK_MASTER"] = f"local[{cores}]"  # of processes that rows start, too
    sections: list[Section] = []
    with tempfile.TemporaryDirectory(prefix="work-", dir=cache) as work:
        for name in dict.fromkeys(names):
            begun = time.perf_counter()
            say(f"[bold]{name}[/bold]")
            size = rows or FULL_ROWS // (1 if full else ROWS[name].share)
            place = Place(open_session(), cache, Path(work) / name, size, times, lambda text: say(f"  {text}"), full)
            section = ROWS[name].measure(place).on(place.cores)
            shutil.rmtree(place.work, ignore_errors=True)
            say(f"  {name} took {time.perf_counter() - begun:.0f} s")
            sections.append(section)
            if kept:
                guard.store([section])
                write_docs(PAGE, section, scale)
    if kept:
        draw(PAGE.parent)
    show(sections, scale)
    if check and (problems := list(guard.worse(sections))):
        raise SystemExit("\n".join(["slower than it was:", *problems]))


if __name__ == "__main__":
    main()
