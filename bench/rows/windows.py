"""Row `windows`: closing all 1-minute windows of the judged rows, against Spark's plain aggregate of the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench.clock import alternate, seconds
from bench.data import LANES, landed
from bench.figures import Figure, Section
from bench.place import Place
from bench.subject import EVENTS, SOURCE, fresh
from tidemark.config import PipelineSpec, StreamSpec
from tidemark.config.models.stream_graph import has_pairs
from tidemark.core.stream_output import Due
from tidemark.core.streams import StreamState
from tidemark.runner.stream_progress import rules_of_streams
from tidemark.spark.streams.writer import Outputs

GROUP = "device"


@dataclass(frozen=True)
class Kind:
    """A windowed stream, what its aggregates need of the order of rows, and how much they may cost."""

    name: str
    what: str
    select: dict[str, str]
    most: float


KINDS = (
    Kind(
        "summed",
        "sum and average of doubles",
        {"s": "sum(speed)", "a": "avg(speed)"},
        3.0,
    ),
    Kind(
        "counted",
        "count, greatest, sum of integers",
        {"n": "count(*)", "m": "max(speed)", "i": "sum(id)"},
        1.2,
    ),
)


def measure(place: Place) -> Section:
    """Judges once; then closes all windows of each kind in turns with its peer, each to a fresh table."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    pipeline = fresh(place.work / "windows", data)
    pipeline.run(data.end)
    events, last = Path(pipeline.ledger.folder) / EVENTS, pipeline.ledger.last().committed_through
    spec = pipeline.spec.model_copy(update={"streams": {kind.name: _stream(kind) for kind in KINDS}})
    figures, notes = [], []
    for kind in KINDS:
        ours, theirs = place.work / "ours", place.work / "theirs"
        cases = {
            f"{kind.name}, tidemark": timed(partial(closed, place.spark, spec, kind.name, events, ours, last), ours),
            f"{kind.name}, plain": timed(partial(_plain, place.spark, kind, events, theirs), theirs),
        }
        mine, others = alternate(cases, place.repeats, place.say).values()
        what = f"{kind.what}; {place.rows:,} rows, 1 minute by {GROUP}"
        figures.append(
            Figure.of(what, "bare Spark: the plain aggregate of the same windows", mine, others, kind.most)
        )
        notes.append(_compared(place.spark, kind, ours / "streams" / kind.name, theirs))
        shutil.rmtree(ours)
        shutil.rmtree(theirs)
    return Section("windows", "Windows", figures, notes)


def _stream(kind: Kind) -> StreamSpec:
    keys = {"name": kind.name, "from": SOURCE, "tumbling": "1m", "group_by": [GROUP], "select": kind.select}
    return StreamSpec.model_validate(keys)


def closed(spark: SparkSession, spec: PipelineSpec, name: str, events: Path, root: Path, last: int) -> None:
    """All rows of a stream as the run writes them that completes it, with their digest."""
    (root / "events").mkdir(parents=True)
    (root / EVENTS).symlink_to(events)
    step = next(step for step in rules_of_streams(spec) if step.name == name)
    before = StreamState()
    due = Due(
        step, before, replace(before, complete=True), 1, last, brought=True, joined=has_pairs(spec.streams, name)
    )
    Outputs(spark, str(root), spec).write(due, recovering=False)


def _plain(spark: SparkSession, kind: Kind, events: Path, root: Path) -> None:
    rows = spark.read.format("delta").load(str(events)).where("_system_timestamp IS NOT NULL")
    told = [F.expr(text).alias(name) for name, text in kind.select.items()]
    found = rows.groupBy(F.window("_system_timestamp", "1 minute").alias("w"), GROUP).agg(*told)
    columns = ["w.start AS _window_start", "w.end AS _window_end", "1L AS _batch_id", GROUP, *kind.select]
    found.selectExpr(*columns).write.format("delta").save(str(root))


def timed(action: Callable[[], None], root: Path) -> Callable[[], float]:
    """The time of what writes to a folder that is not there yet."""

    def case() -> float:
        shutil.rmtree(root, ignore_errors=True)
        return seconds(action)

    return case


def _compared(spark: SparkSession, kind: Kind, ours: Path, theirs: Path) -> str:
    """The tables of the last turn have the same windows and groups, with the same values where these do not depend on
    order."""
    exact = [] if kind.name == "summed" else list(kind.select)
    columns = ["_window_start", "_window_end", GROUP, *exact]
    mine, other = (spark.read.format("delta").load(str(place)).select(*columns) for place in (ours, theirs))
    differing = mine.exceptAll(other).count() + other.exceptAll(mine).count()
    assert differing == 0, f"{differing} windows of {kind.name} differ"
    return f"{kind.what}: {mine.count():,} rows, " + ("values equal." if exact else "windows and groups equal.")
