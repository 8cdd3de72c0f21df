"""`python -m bench [ROW ...]`: measure, print one table, and at full size write docs/performance.md."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console

from bench import advise, batch, dashboard, engines, hot, joins, judge, quality, windows
from bench.data import FULL_ROWS
from bench.figures import Section, show, write_docs
from bench.place import Place
from tidemark.spark.session import open_session

ROWS = {
    "judge": judge.measure,
    "hot": hot.measure,
    "quality": quality.measure,
    "windows": windows.measure,
    "joins": joins.measure,
    "history": batch.measure,
    "advise": advise.measure,
    "dashboard": dashboard.measure,
    "engines": engines.measure,
}
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


@click.command()
@click.argument("chosen", metavar="[ROW]...", nargs=-1, type=click.Choice(list(ROWS)))
@click.option("--rows", default=FULL_ROWS, show_default=True, help="Rows to judge; fewer also shorten the past.")
@click.option("--repeats", default=3, show_default=True, help="Repeats after the warm-up.")
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Where data is kept between runs (default: temporary)."
)
def main(chosen: tuple[str, ...], rows: int, repeats: int, folder: Path | None) -> None:
    """Measure the rows named (default: all). Only a run of full size replaces the figures of the docs."""
    say = Console(stderr=True, highlight=False, soft_wrap=True).print
    cache = folder or Path(tempfile.gettempdir()) / "tidemark-bench"
    cache.mkdir(parents=True, exist_ok=True)
    scale = f"{rows:,} rows, {repeats} repeats in turns after a warm-up"
    sections: list[Section] = []
    with tempfile.TemporaryDirectory(prefix="work-", dir=cache) as work:
        for name in dict.fromkeys(chosen or ROWS):
            begun = time.perf_counter()
            say(f"[bold]{name}[/bold]")
            place = Place(open_session(), cache, Path(work) / name, rows, repeats, lambda text: say(f"  {text}"))
            sections.append(ROWS[name](place))
            shutil.rmtree(place.work, ignore_errors=True)
            say(f"  {name} took {time.perf_counter() - begun:.0f} s")
    show(sections, scale)
    if rows == FULL_ROWS:
        write_docs(PAGE, sections, scale)


if __name__ == "__main__":
    main()
