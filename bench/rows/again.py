"""Rows `replay` and `backfill`: what is computed again, against what it would cost to compute all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.clock import Spread, alternate, ratios, seconds
from bench.data import BASE, LANES, SPAN, Landed, Shape, landed
from bench.figures import Figure, Section
from bench.place import Place
from bench.subject import check, fresh, timed
from tidemark.core.times import format_time
from tidemark.pipeline import Pipeline

DAYS, RUNS = 100, 10
FIXED_ROWS = 100_000
"""Of a history as long in which every day is small: what is left of a backfill is what any of them costs."""
TURNS = 7
"""Of a backfill at least: what it costs besides its fixed cost is a difference of two times, of which three say
little."""


def replay(place: Place) -> Section:
    """A first run and a replay of it, in turns."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    made: list[Pipeline] = []

    def first() -> float:
        folder = place.work / "replayed"
        shutil.rmtree(folder, ignore_errors=True)
        made[:] = [fresh(folder, data)]
        took = seconds(lambda: made[0].run(data.end))
        check(made[0], data)
        return took

    def again() -> float:
        told: list[dict[str, Any]] = []
        took = seconds(lambda: told.append(made[0].replay()))
        assert told[0]["identical"], f"a replay differs: {told}"
        return took

    taken = alternate({"first run": first, "replay": again}, place.repeats, place.say)
    figure = Figure.of(f"replay of {place.rows:,} rows", "their first run", taken["replay"], taken["first run"], 0.8)
    return Section("replay", "Replays", [figure])


def backfill(place: Place) -> Section:
    """One day of a hundred made again, against a run over all of them; and the same of a history of small days."""
    large, small = (_history(place, rows) for rows in (place.rows, FIXED_ROWS))
    turns = max(place.repeats, TURNS)
    taken = alternate(
        {
            "one day of a hundred": _one_day(*large),
            "all anew": lambda: timed(place.work / "all", large[1]),
            "one day of a hundred small ones": _one_day(*small),
        },
        turns,
        place.say,
    )
    mine, all_, fixed = taken.values()
    day = f"backfill of one day of {DAYS}, {place.rows:,} rows"
    shares = [(one - least) / whole for one, least, whole in zip(mine, fixed, all_, strict=True)]
    least = Spread.of(fixed)
    return Section(
        "backfill",
        "Backfills",
        [
            Figure(f"{day}, less the fixed cost", "a run over all of it", Spread.of(shares), Spread.of(mine),
                   Spread.of(all_), 0.05),
            Figure(day, "the same", ratios(mine, all_), Spread.of(mine), Spread.of(all_)),
        ],
        [
            f"Of any backfill of one day: {least.median:.2f} s ({least.low:.2f}-{least.high:.2f}), measured on "
            f"{FIXED_ROWS:,} rows over as many days and runs ({RUNS}).",
            f"In {turns} turns: a difference of two times needs more of them than a time.",
            "The difference to the live version was empty each time.",
        ],
    )  # fmt: skip


def _history(place: Place, rows: int) -> tuple[Pipeline, Landed]:
    """A pipeline that has run every ten days for a hundred; each day has a hundredth of the rows, in an object of its
    own."""
    data = landed(place.spark, place.cache, rows, LANES, Shape(files=DAYS, days=DAYS))
    place.say(f"{RUNS} runs over {DAYS} days of {rows // DAYS:,} rows each")
    folder: Path = place.work / f"days-{rows}"
    pipeline = fresh(folder, data)
    for path in data.files[DAYS // RUNS - 1 :: DAYS // RUNS]:
        pipeline.run(path.stat().st_mtime_ns // 1000)
    return pipeline, data


def _one_day(pipeline: Pipeline, data: Landed) -> Callable[[], float]:
    begin = (BASE + SPAN * DAYS // 2) // SPAN * SPAN

    def case() -> float:
        told: list[dict[str, Any]] = []
        between = format_time(begin), format_time(begin + SPAN)
        took = seconds(lambda: told.append(pipeline.backfill(*between)))
        assert told[0]["identical"], f"the same policies came to something else: {told[0]['difference']}"
        day = data.rows // DAYS
        assert day <= told[0]["input_rows"] <= 4 * day, f"{told[0]['input_rows']:,} rows were read for {day:,}"
        shutil.rmtree(pipeline.root / f"v{told[0]['version']}")
        return took

    return case
