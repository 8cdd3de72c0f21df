"""Executes recorded runs again, from the present landing into the tables of another version."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from tidemark.commands.versions import blank
from tidemark.config import PipelineSpec, with_on_failure
from tidemark.config.rules.imports import import_order
from tidemark.context import RunContext, show_nothing
from tidemark.core.backfill.landing import Key, PastRun, Sources, missing, reread
from tidemark.core.batch import Batch, LandedObject, RunPlan
from tidemark.core.batch_result import LISTED, BatchRecord
from tidemark.errors import UsageError
from tidemark.landing.discover import known_objects
from tidemark.landing.source_log import log_of
from tidemark.ledger.abandoned import skip
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.plans import Noticed, new_token
from tidemark.ledger.tail import PLANNED
from tidemark.quality.suites import of_run
from tidemark.runner.checks import Audit
from tidemark.runner.executor import Run
from tidemark.runner.planner import Planning, judged_under

if TYPE_CHECKING:
    from tidemark.spark.judge.engine import Engine

_SHOWN = 5


@dataclass(frozen=True)
class LandingRerun:
    """Executes runs of `base` again in `target`, under `spec`, from landing. Rows of `excluded` objects (stored URIs)
    are quarantined."""

    context: RunContext
    spec: PipelineSpec
    base: Ledger
    target: Ledger
    excluded: Mapping[str, Collection[str]] = field(default_factory=dict)

    def make(self, runs: Sequence[Sequence[BatchRecord]], *, late: bool) -> list[BatchRecord]:
        """Execute recorded runs, or single plans of them, each on its objects that the target has not taken yet.

        With `late`, also on objects that landed in time for the run but were taken by no run. Raises UsageError if an
        object that a run took is no longer in landing.
        """
        past = list(self._past(runs))
        there = self._there(runs[-1][-1].as_of)
        known = self._known(runs, past, there, late=late)
        if lost := [key for key in missing(past, there) if key not in known]:
            raise _gone(lost)
        before = self.base.before(runs[0][0].batch_id)
        planned = reread(past, there, before.as_of if before else None, self._sources, known)
        done = []
        for number, (run, batches) in enumerate(zip(runs, planned, strict=True)):
            self.context.progress("backfill", number, len(runs))
            done += self.execute(self._planned(run, batches))
        self.context.progress("backfill", len(runs), len(runs))
        return done

    def execute(self, records: Sequence[BatchRecord], recovering: bool = False) -> list[BatchRecord]:
        """Execute the planned batches of one run."""
        recorded = with_on_failure(self.spec, "record")
        run = Run(
            self.spec,
            self.target,
            lambda: self._engine,
            partial(self.context.outputs, folder=self.target.folder),
            Planning(self.spec, self.target, show_nothing).locate,
            self.context.checkpoint,
            show_nothing,
            Audit(recorded, self.target, of_run(records[-1].suites, self.spec)),
        )
        return run.execute(records, recovering)

    @cached_property
    def _sources(self) -> Sources:
        ordered = {name: self.spec.sources[name] for name in import_order(self.spec.sources)}
        return Sources(
            {name: source.settle for name, source in ordered.items()},
            {name: source.max_object_age for name, source in ordered.items()},
        )

    @cached_property
    def _engine(self) -> Engine:
        from tidemark.spark.judge.engine import Engine

        spark = self.context.engine.spark
        return Engine(spark, self.target.folder, checkpoint=self.context.checkpoint, excluded=self.excluded)

    def _past(self, runs: Sequence[Sequence[BatchRecord]]) -> Iterator[PastRun]:
        before = self.base.before(runs[0][0].batch_id)
        combined = before.combined if before else {}
        for run in runs:
            batches = tuple(Batch(record.batch_id, self._taken(record)) for record in run)
            yield PastRun(run[0].as_of, batches, frozenset(name for name, each in combined.items() if each.closed))
            combined = run[-1].combined or combined

    def _taken(self, record: BatchRecord) -> tuple[LandedObject, ...]:
        return tuple(item for item in self.base.objects_of(record) if item.source in self.spec.sources)

    def _there(self, as_of: int) -> dict[Key, LandedObject]:
        """All objects that are in landing now, of any age."""
        found = {}
        for name, source in self.spec.sources.items():
            for item in log_of(source, any_age=True).pieces(as_of):
                found[name, item.uri] = LandedObject(name, item.uri, item.size, item.modified, item.tag)
        return found

    def _known(
        self,
        runs: Sequence[Sequence[BatchRecord]],
        past: Sequence[PastRun],
        there: Collection[Key],
        *,
        late: bool,
    ) -> set[Key]:
        """Objects that must not be read: objects that the target has taken and, without `late`, objects that no run
        took."""
        recorded = {key for run in past for key in run.taken}
        known = set() if late else {key for key in there if key not in recorded}
        for name in self.spec.sources:
            mine = [uri for of, uri in {*there, *recorded} if of == name]
            known |= {(name, uri) for uri, each in known_objects(self.target, name, mine).items() if each.taken}
            if runs[0][0].batch_id > 1:
                others = [uri for uri in mine if (name, uri) not in recorded]
                known |= {(name, uri) for uri, each in known_objects(self.base, name, others).items() if each.taken}
        return known

    def _planned(self, run: Sequence[BatchRecord], batches: Sequence[Batch]) -> list[BatchRecord]:
        """Plan a run of the base in the target, with these objects."""
        under, token = judged_under(self.spec, self.target.root), new_token()
        records = [
            replace(
                blank(record, under, token),
                objects=len(batch.objects),
                bytes=sum(item.size for item in batch.objects),
                status=PLANNED,
            )
            for record, batch in zip(run, batches, strict=True)
        ]
        plan = RunPlan(records[0].run_id, records[0].as_of, tuple(batches), records[0].closing)
        taken = {(item.source, item.uri) for batch in batches for item in batch.objects}
        skip(self.target, self.base, run[0].batch_id)
        self.target.plan(plan, records, self._noticed(run[0], taken))
        self.context.checkpoint("planned")
        return records

    def _noticed(self, record: BatchRecord, taken: Collection[Key]) -> Noticed:
        """Findings of the recorded run about objects that are not read now either."""
        found = [item for item in self.base.findings(record.batch_id) if item.type in LISTED]
        left = (item for item in found if item.sample is None or (item.source, item.sample.file) not in taken)
        return Noticed(tuple(item for item in left if item.source in self.spec.sources))


def _gone(lost: Sequence[Key]) -> UsageError:
    names = ", ".join(f"{uri!r} of source {name}" for name, uri in lost[:_SHOWN])
    more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
    return UsageError(
        f"landing no longer has {len(lost)} of the objects that runs took: {names}{more}",
        hint="put them back, begin later with --from, or run `tidemark backfill` without --from-landing: the events "
        "tables have every row",
    )
