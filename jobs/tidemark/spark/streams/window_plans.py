"""Plans that close windows, built once and bound to later runs, as plans of micro-batches are (`judge.plan_cache`).

Runs differ in the files that are read, in the times that the step had passed before and after, and in the number of
the last batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession

from tidemark.config import PipelineSpec
from tidemark.core.stream_output import Due
from tidemark.core.streams import StreamState
from tidemark.spark.compat.plain import Way, plain
from tidemark.spark.judge.plan_cache import Plans
from tidemark.spark.plans.bind import bound, simplified
from tidemark.spark.plans.parameters import PlanParameters
from tidemark.spark.streams.paths import paths_into
from tidemark.spark.tables import delta
from tidemark.spark.tables.file_pruning import SelectedFiles, few_of
from tidemark.spark.tables.row_counter import Counting
from tidemark.spark.tables.time_range import Span

_ALONE_BYTES = 16 << 20
"""Most bytes of events that one task reads for the windows of a run."""


@dataclass(frozen=True)
class WindowPlanKey:
    """Key of a cached plan: all that it depends on besides its files and parameters.

    `due` has no times and batch numbers; `behind` is the run's. `alone`: one task reads all files.
    """

    spec: PipelineSpec
    due: Due
    behind: bool
    alone: bool
    schema: str


@dataclass(frozen=True)
class Closing:
    """A plan of the windows that a run closes, counted as they pass, and its plan parameters."""

    counting: Counting
    parameters: PlanParameters

    def bound(self, due: Due, files: SelectedFiles) -> Closing:
        """The plan bound to another run of its shape."""
        self.parameters.set(numbers_of(due))
        self.counting.begin()
        rows = bound(self.counting.rows, files.whole, base=files.base)
        return replace(self, counting=replace(self.counting, rows=rows))


Build = Callable[[DataFrame, bool, PlanParameters], tuple[DataFrame, Column] | None]
"""Builds the rows of closed windows from given event rows, and a column that is true for rows not due.

The arguments are the event rows, true if one task reads all of them, and the plan parameters. None if there are no
rows.
"""

_PLANS: WeakKeyDictionary[SparkContext, Plans[WindowPlanKey, Closing]] = WeakKeyDictionary()


def files_for(spec: PipelineSpec, root: str, due: Due, span: Span) -> SelectedFiles | None:
    """Files with the rows of windows that a run closes; None if the plan cannot be used for other runs.

    That is so for windows by part, session windows, rows of several paths or without a longest lifetime, a complete
    stream, and too many files to be named one by one; and always if plans cannot be bound here (`Way.PLANS`).
    """
    if plain(Way.PLANS):
        return None
    step = spec.streams[due.step.name]
    if step.fixed is None or step.partition_by is not None or due.after.complete or due.after.reached is None:
        return None
    paths = paths_into(spec, step)
    source = spec.sources.get(paths[0].origin)
    if len(paths) > 1 or source is None or source.lifetimes.edges or paths[0].open_:
        return None
    if (source.longest or paths[0].lasts) is None:
        return None
    location = f"{root}/events/{source.name}"
    if not delta.exists(location):
        return None
    [path] = paths
    return few_of(location, "_system_timestamp", path.begin, path.lasts or 1, span, due.last_batch)


@contextmanager
def closing(
    spark: SparkSession, spec: PipelineSpec, due: Due, files: SelectedFiles, build: Build
) -> Iterator[Counting | None]:
    """Context manager: the counted rows of windows that a run closes, for one job; None if there are none.

    The plan is the one cached for its shape, or else a new one, which is cached if the job succeeds.
    """
    shape = WindowPlanKey(spec, _without_times(due), due.behind, _alone(files), files.schema)
    plans = _PLANS.setdefault(spark.sparkContext, Plans())
    known = plans.take(shape)
    plan = _built(spark, due, files, build) if known is None else known.bound(due, files)
    yield None if plan is None else plan.counting
    if plan is not None:
        plans.put(shape, plan)


def numbers_of(due: Due) -> dict[str, int | None]:
    """Plan parameters of a run: times passed before and after it (microseconds), and its last batch."""
    return {"before": due.before.reached, "after": due.after.reached, "last": due.last_batch}


def _built(spark: SparkSession, due: Due, files: SelectedFiles, build: Build) -> Closing | None:
    parameters, rows, alone = PlanParameters(), files.read(spark), _alone(files)
    made = build(rows.coalesce(1) if alone else rows, alone, parameters)
    if made is None:
        return None
    parameters.set(numbers_of(due))
    counting = Counting.of(*made)
    return Closing(replace(counting, rows=simplified(counting.rows)), parameters)


def _alone(files: SelectedFiles) -> bool:
    """True if one task reads the files: that saves a shuffle."""
    return files.size <= _ALONE_BYTES


def _without_times(due: Due) -> Due:
    before, after = _bare(due.before), _bare(due.after)
    return replace(due, before=before, after=after, first_batch=0, last_batch=0, states=({}, {}))


def _bare(state: StreamState) -> StreamState:
    """State reduced to two facts: if it has passed any time, and if it is complete."""
    return StreamState(complete=state.complete, reached=None if state.reached is None else 0)
