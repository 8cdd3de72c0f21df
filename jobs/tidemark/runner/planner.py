"""Plans runs: cuts landed objects into micro-batches, as records that fix everything the run will do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from tidemark.config import PipelineSpec
from tidemark.config.address import RemoteLocation, is_remote
from tidemark.config.rules.imports import import_order
from tidemark.config.rules.partition_limit import ensure_few
from tidemark.core.batch import Batch, LandedObject, RunPlan, cut, stored_uri
from tidemark.core.batch_result import BatchRecord, Finding
from tidemark.core.times import format_time
from tidemark.landing.discover import Discovery, discover
from tidemark.landing.listing import Listed
from tidemark.landing.source_log import SourceLog, log_of
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.plans import Noticed, new_token
from tidemark.ledger.tail import PLANNED, Tail
from tidemark.quality.suite_checks import check_suites
from tidemark.runner.recorded import key_of
from tidemark.storage import Location

AUTO_BYTES_A_CORE = 256 << 20
AUTO_FILES = 10_000
"""Maximum number of objects in a micro-batch if the configuration sets none: Spark needs memory for each object."""


@dataclass(frozen=True)
class Discovered:
    """Results of discovery for all sources."""

    objects: tuple[LandedObject, ...]
    findings: tuple[Finding, ...]
    reported: tuple[LandedObject, ...]
    notes: tuple[str, ...]

    @property
    def noticed(self) -> Noticed:
        """Findings and reported objects that go to the ledger besides the objects to take."""
        return Noticed(self.findings, self.reported)


@dataclass(frozen=True)
class Planning:
    """Plans the runs of one pipeline. Reads landing and the ledger, writes nothing."""

    spec: PipelineSpec
    ledger: Ledger
    progress: Callable[[str, int, int], None]

    def discover(self, as_of: int, tail: Tail, now: int) -> Discovered:
        """Find the objects that landed by `as_of` and that no run has taken, source by source in log order. `now` is
        the clock's time, microseconds UTC."""
        found: list[Discovery] = []
        waiting = [item for record in tail.pending for item in self.ledger.objects_of(record)]
        names = import_order(self.spec.sources)
        for name in names:
            source = self.spec.sources[name]
            self.progress("discover", len(found), len(self.spec.sources))
            recorded = tail.combined.get(name)
            listed = discover(
                self.ledger,
                self._logs[name],
                name,
                as_of=as_of,
                previous_as_of=None if recorded is None else tail.as_of,
                settle=source.settle,
                closed=recorded is not None and recorded.closed,
                pending=waiting,
                now=now,
            )
            found.append(listed)
        self.progress("discover", len(found), len(found))
        return Discovered(
            tuple(item for each in found for item in each.new),
            tuple(finding for each in found for finding in each.findings),
            tuple(item for each in found for item in each.reported),
            tuple(note for name, each in zip(names, found, strict=True) for note in _notes(name, each)),
        )

    def ensure_few_partitions(self, landed: Discovered, tail: Tail) -> None:
        """Raise TidemarkError, which says what to do, if landed objects belong to a source with too many
        partitions."""
        if landed.objects:
            ensure_few(self.ledger.states(tail.next_batch_id))

    def prove(self, landed: Discovered, tail: Tail) -> None:
        """Check that the run can be carried out: a supported Spark is installed, with the jars that it may need, and
        accepts the configuration. It analyses the configuration unless the last run had it, too. Raises
        TidemarkError, ConfigError."""
        rows = self._has_rows(tail)
        if landed.objects or rows:
            _require_engine(buckets_of(self.spec) if landed.objects else ())
        if self._unproven(tail) if rows else landed.objects:
            analyse(self.spec)

    def _has_rows(self, tail: Tail) -> bool:
        """True if an earlier run has judged rows."""
        through = tail.committed_through
        return through > 0 and any(state.next_offset for state in self.ledger.states(through + 1).values())

    def _unproven(self, tail: Tail) -> bool:
        """True if the last committed batch had another configuration or engine: Spark must analyse this one."""
        through = tail.committed_through
        (last,) = self.ledger.batches(through, through)
        now = judged_under(self.spec, self.ledger.root)
        return (last.fingerprint, last.engine) != (now["fingerprint"], now["engine"])

    def cut(self, objects: Sequence[LandedObject], first: int, max_files: int | None) -> tuple[Batch, ...]:
        """Cut objects into micro-batches, numbered from `first` on; `max_files` overrides the configuration's
        setting."""
        declared = self.spec.micro_batch
        files = max_files or declared.max_files or AUTO_FILES
        size = declared.max_bytes
        if size is None and declared.max_files is None:
            size = AUTO_BYTES_A_CORE * (os.cpu_count() or 1)
        return cut(objects, first, files, size)

    def records(
        self, plan: RunPlan, spec: PipelineSpec, suites: str | None = None, unended: int | None = None
    ) -> list[BatchRecord]:
        """The rows of `batches` for a planned run of this configuration; the last one has the users' suites. With
        `unended`, the run also ends the committed batches of an abandoned run, from that one on."""
        token, under = new_token(), judged_under(spec, self.ledger.root)
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

    def locate(self, item: LandedObject) -> LandedObject:
        """A recorded object with its present path, or with the reason why its name cannot be read."""
        log = self._logs.get(item.source)
        return item if log is None else replace(item, path=log.path(item.uri), refusal=log.refusal(item.uri))

    @cached_property
    def _logs(self) -> dict[str, SourceLog]:
        return {name: log_of(source) for name, source in self.spec.sources.items()}


def judged_under(spec: PipelineSpec, root: Location) -> dict[str, str]:
    """The configuration and engine that a batch records. Values from the environment are recorded as references, with
    hashes under the key of the pipeline at `root`."""
    from tidemark.spark.session import settings

    key = key_of(root, make=bool(spec.taken.paths))
    return {
        "configuration": json.dumps(spec.recorded(key), sort_keys=True),
        "fingerprint": spec.fingerprint(key),
        "engine": settings.engine(),
    }


def _require_engine(buckets: Collection[RemoteLocation]) -> None:
    from tidemark.spark.session.jars import require_stores
    from tidemark.spark.session.versions import require_engine

    require_stores({bucket.service for bucket in buckets})
    require_engine()


def analyse(
    spec: PipelineSpec, deep: bool = False, kept: Location | None = None, returned: Collection[str] = ()
) -> None:
    """Have Spark analyse and plan the whole configuration; if `deep`, strictly, and try users' suites on its tables.
    With `kept`, a version's folder, compare the columns of its tables; `returned`: streams that were removed before.
    Raises ConfigError. Starts a JVM."""
    from tidemark.spark import analysis
    from tidemark.spark.session.session import open_session

    rows = analysis.analyse(open_session(buckets=buckets_of(spec)), spec, deep)
    if deep:
        check_suites(spec, partial(analysis.table, rows))
    if kept is not None:
        analysis.require_columns(rows, spec, kept, returned)


def buckets_of(spec: PipelineSpec) -> list[RemoteLocation]:
    """The buckets of object storage that have its tables or a landing."""
    locations = [spec.warehouse, *(source.landing for source in spec.sources.values())]
    return sorted({RemoteLocation(text).root for text in locations if is_remote(text)})


def _notes(source: str, found: Discovery) -> Iterator[str]:
    """Notes about what is in the landing of a source and is not taken."""
    if found.ahead:
        yield _ahead(source, found.ahead)
    for reason in sorted(set(found.left_out.values())):
        names = sorted(name for name, why in found.left_out.items() if why == reason)
        yield f"{source}: not listed ({len(names):,}, the first {stored_uri(names[0])!r}): {reason}"


def _ahead(source: str, objects: Sequence[Listed]) -> str:
    """The note about objects of a source whose landing times are later than the clock."""
    first = min(objects, key=lambda item: item.modified)
    times = f"{len(objects):,}, the first {stored_uri(first.uri)!r} at {format_time(first.modified)}"
    return (
        f"{source}: objects have landing times in the future ({times}): each is taken once its time has come. Set the"
        " clock of the machine that writes them, or `touch` them"
    )
