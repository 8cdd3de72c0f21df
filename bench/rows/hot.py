"""Row `hot`: all rows in one partition against the same rows in 16, and how evenly tasks share one partition."""

from __future__ import annotations

import math
import shutil

from bench.clock import alternate
from bench.data import FULL_ROWS, Landed, landed
from bench.figures import Figure, Section
from bench.place import Place
from bench.subject import check, fresh, timed
from bench.tasks import last_stage, stages_since
from tidemark.pipeline import Pipeline
from tidemark.spark.judge.engine import Engine
from tidemark.spark.partitioning.layout import CELL_BITS

MOST_SKEW = 2.0


def measure(place: Place) -> Section:
    """Two cases in turns; then one partition, of an eighth of the rows, with given numbers of tasks."""
    one, many = (landed(place.spark, place.cache, place.rows, lanes) for lanes in (1, 16))
    folder = place.work / "hot"
    cases = {"1 partition": lambda: timed(folder, one), "16 partitions": lambda: timed(folder, many)}
    taken = alternate(cases, place.repeats, place.say)
    what = f"judge {place.rows:,} rows in 1 partition"
    figure = Figure.of(what, "tidemark, 16 partitions", taken["1 partition"], taken["16 partitions"], 1.2)
    part = landed(place.spark, place.cache, place.rows // 8, 1)
    return Section("hot", "One hot partition", [figure], [_shared(place, part, tasks) for tasks in (2, 8, 32)])


def _shared(place: Place, data: Landed, tasks: int) -> str:
    """One run with so many tasks, and how evenly its judging stages shared the rows."""
    folder = place.work / "hot"
    pipeline = fresh(folder, data)
    _with_tasks(place, pipeline, data.rows, tasks)
    before = last_stage(place.spark)
    pipeline.run(data.end)
    check(pipeline, data)
    shutil.rmtree(folder)
    stages = stages_since(place.spark, before, data.rows)
    assert stages, "no judging stage was found among Spark's metrics"
    worst = max(stages, key=lambda stage: stage.skew)
    verdict = "reached" if worst.skew <= MOST_SKEW else "not reached"
    note = (
        f"{tasks} tasks: the largest task of {len(stages)} judging stages has {worst.skew:.2f} times the mean rows "
        f"({max(worst.rows):,} rows; at most {MOST_SKEW:g}: {verdict})."
    )
    place.say(note)
    return note


def _with_tasks(place: Place, pipeline: Pipeline, rows: int, tasks: int) -> None:
    """Give the pipeline an engine with so many tasks; with fewer rows than the full number, cells shrink alike."""
    bits = CELL_BITS - max(0, round(math.log2(FULL_ROWS / rows)))
    engine = Engine(place.spark, pipeline.ledger.folder, tasks=tasks, cell_bits=max(bits, 4))
    pipeline.context.__dict__["engine"] = engine
