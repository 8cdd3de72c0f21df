"""Plans runs: what landed, cut into micro-batches, as records that say everything the run will do."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from tidemark.config import PipelineSpec
from tidemark.config.address import is_s3
from tidemark.config.rules.imports import import_order
from tidemark.config.rules.partition_limit import ensure_few
from tidemark.core.batch import Batch, LandedObject, RunPlan, cut
from tidemark.core.batch_result import BatchRecord, Finding
from tidemark.landing.discover import Discovery, discover
from tidemark.landing.listing import LandingPlace
from tidemark.ledger.ledger import Ledger, Noticed
from tidemark.ledger.tail import PLANNED, Tail
from tidemark.quality import trial
from tidemark.runner.recorded import key_of
from tidemark.spark.session import settings
from tidemark.spark.session.jars import require_s3
from tidemark.storage import Place

AUTO_BYTES_A_CORE = 256 << 20
AUTO_FILES = 10_000
"""Objects of a micro-batch that is not told otherwise: what Spark knows of each of them takes memory."""


@dataclass(frozen=True)
class Discovered:
    """What discovery found in all sources."""

    objects: tuple[LandedObject, ...]
    findings: tuple[Finding, ...]
    reported: tuple[LandedObject, ...]

    @property
    def noticed(self) -> Noticed:
        """What goes to the ledger besides the objects to take."""
        return Noticed(self.findings, self.reported)


@dataclass(frozen=True)
class Planning:
    """Plans the runs of one pipeline; reads landing and the ledger, writes nothing."""

    spec: PipelineSpec
    ledger: Ledger
    progress: Callable[[str, int, int], None]

    def discover(self, as_of: int, tail: Tail) -> Discovered:
        """What landed by `as_of` and no run has taken, source by source in log order."""
        found: list[Discovery] = []
        waiting = [item for record in tail.pending for item in self.ledger.objects_of(record)]
        for name in import_order(self.spec.sources):
            source = self.spec.sources[name]
            self.progress("discover", len(found), len(self.spec.sources))
            recorded = tail.combined.get(name)
            listed = discover(
                self.ledger,
                self._places[name],
                name,
                as_of=as_of,
                previous_as_of=None if recorded is None else tail.as_of,
                settle=source.settle,
                closed=recorded is not None and recorded.closed,
                pending=waiting,
            )
            found.append(listed)
        self.progress("discover", len(found), len(found))
        return Discovered(
            tuple(item for each in found for item in each.new),
            tuple(finding for each in found for finding in each.findings),
            tuple(item for each in found for item in each.reported),
        )

    def ensure_few_partitions(self, landed: Discovered, tail: Tail) -> None:
        """That what landed comes to a source with few partitions; TidemarkError says what to do."""
        if landed.objects:
            ensure_few(self.ledger.states(tail.next_batch_id))

    def prove(self, landed: Discovered, tail: Tail) -> None:
        """That the run can be carried out: Spark has what S3 needs, and understands the configuration, which it
        analyses where it has not before. Raises TidemarkError, ConfigError."""
        if landed.objects and on_s3(self.spec):
            require_s3()
        if self._unproven(landed, tail):
            analyse(self.spec)

    def _unproven(self, landed: Discovered, tail: Tail) -> bool:
        """Whether Spark has not analysed this configuration before, and the run may need it to: a first run with
        objects has it do so, and any run under another configuration or engine once there are rows."""
        through = tail.committed_through
        rows = through > 0 and any(state.next_offset for state in self.ledger.states(through + 1).values())
        if not rows:
            return bool(landed.objects)
        (last,) = self.ledger.batches(through, through)
        now = judged_under(self.spec, self.ledger.root)
        return (last.fingerprint, last.engine) != (now["fingerprint"], now["engine"])

    def cut(self, objects: Sequence[LandedObject], first: int, max_files: int | None) -> tuple[Batch, ...]:
        """The micro-batches, from batch `first` on; `max_files` wins over the configuration's."""
        declared = self.spec.micro_batch
        files = max_files or declared.max_files or AUTO_FILES
        size = declared.max_bytes
        if size is None and declared.max_files is None:
            size = AUTO_BYTES_A_CORE * (os.cpu_count() or 1)
        return cut(objects, first, files, size)

    def records(
        self, plan: RunPlan, spec: PipelineSpec, suites: str | None = None, unended: int | None = None
    ) -> list[BatchRecord]:
        """The rows of `batches` that a run of this configuration begins with; the last has the users' suites. The run
        ends, too, the batches from `unended` on, whose own run was abandoned."""
        token, under = uuid.uuid4().hex, judged_under(spec, self.ledger.root)
        return [
            BatchRecord(
                batch_id=batch.batch_id,
                run_id=plan.run_id,
                run_first=unended or plan.first,
                run_last=plan.last,
                as_of=plan.as_of,
                status=PLANNED,
                configuration=under["configuration"],
                fingerprint=under["fingerprint"],
                engine=under["engine"],
                plan=token,
                suites=suites if batch.batch_id == plan.last else None,
                closing=plan.closing,
                objects=len(batch.objects),
                bytes=sum(item.size for item in batch.objects),
            )
            for batch in plan.batches
        ]

    def place(self, item: LandedObject) -> LandedObject:
        """A recorded object with the path to read it at now, or why its name forbids that."""
        place = self._places.get(item.source)
        return item if place is None else replace(item, path=place.path(item.uri), refusal=place.refusal(item.uri))

    @cached_property
    def _places(self) -> dict[str, LandingPlace]:
        return {
            name: LandingPlace(source.landing, source.landed_at, source.max_object_age)
            for name, source in self.spec.sources.items()
        }


def judged_under(spec: PipelineSpec, root: Place) -> dict[str, str]:
    """What a batch records of the configuration that it is judged under, and of the engine that judges it. Values of
    the environment are recorded as references, with hashes under the key of the pipeline at `root`."""
    key = key_of(root, make=bool(spec.taken.paths))
    return {
        "configuration": json.dumps(spec.recorded(key), sort_keys=True),
        "fingerprint": spec.fingerprint(key),
        "engine": settings.engine(),
    }


def analyse(spec: PipelineSpec, suites: bool = False) -> None:
    """That Spark understands and plans all of a configuration, with `suites` that users' suites can be evaluated on
    its tables; raises ConfigError. Starts a JVM."""
    from tidemark.spark import analysis
    from tidemark.spark.session.session import open_session

    rows = analysis.analyse(open_session(on_s3=on_s3(spec)), spec)
    if suites:
        trial.check(spec, partial(analysis.table, rows))


def on_s3(spec: PipelineSpec) -> bool:
    """Whether its tables or a landing lie on S3."""
    return any(map(is_s3, [spec.warehouse, *(source.landing for source in spec.sources.values())]))
