"""Executes recorded runs again, from the events of one version into the tables of another."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tidemark.config import PipelineSpec, with_on_failure
from tidemark.context import RunContext, show_nothing
from tidemark.core.backfill.ranges import ReadRange
from tidemark.core.batch_result import BatchRecord
from tidemark.ledger.ledger import Ledger
from tidemark.quality.suites import of_run
from tidemark.runner.checks import Audit, Unchecked
from tidemark.runner.executor import Run

if TYPE_CHECKING:
    from tidemark.spark.rebuild.rejudge import SliceEngine


@dataclass(frozen=True)
class EventsRerun:
    """Executes runs of `base` again in `target`, under `spec`. `reads` bounds the arrivals to read, by source. Rows
    of `excluded` objects (stored URIs) are quarantined. With `checked`, quality results are recorded."""

    context: RunContext
    spec: PipelineSpec
    base: Ledger
    target: Ledger
    reads: Mapping[str, ReadRange] = field(default_factory=dict)
    excluded: Mapping[str, Collection[str]] = field(default_factory=dict)
    checked: bool = True
    progress: Callable[[str, int, int], None] = show_nothing

    def execute(self, records: Sequence[BatchRecord], recovering: bool = False) -> list[BatchRecord]:
        """Execute the planned batches of one run."""
        recorded, unchecked = with_on_failure(self.spec, "record"), Unchecked(self.spec, self.target)
        run = Run(
            self.spec,
            self.target,
            self.engine,
            partial(self.context.outputs, folder=self.target.folder),
            lambda item: item,
            self.context.checkpoint,
            self.progress,
            Audit(recorded, self.target, of_run(records[-1].suites, self.spec)) if self.checked else unchecked,
        )
        return run.execute(records, recovering)

    def engine(self) -> SliceEngine:
        """Open the engine that judges the recorded events again."""
        from tidemark.spark.judge.engine import Engine
        from tidemark.spark.rebuild.rejudge import SliceEngine

        spark, folder = self.context.engine.spark, self.target.folder
        engine = Engine(spark, folder, checkpoint=self.context.checkpoint, excluded=self.excluded)
        return SliceEngine(engine, self.base.folder, self.base.states, self.reads)
