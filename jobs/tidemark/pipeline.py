"""A pipeline and its verbs: the only module that knows all rooms."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from tidemark import versioning
from tidemark.answering import Answering
from tidemark.arguments import alias, file_path
from tidemark.auditing import ensure_not_blocked
from tidemark.config import Loaded, PipelineSpec, load_pipeline, with_on_failure
from tidemark.core.account import BatchRecord, Finding
from tidemark.core.batch import RunPlan
from tidemark.core.times import format_time
from tidemark.errors import Problem, UsageError
from tidemark.keeping import Keeping
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lock import hold
from tidemark.ledger.written import ensure_whole
from tidemark.places import Place, place_of
from tidemark.planning import Planning, analyse, on_s3
from tidemark.quality import trying
from tidemark.quality.suites import of_users, record_of
from tidemark.reading import Reader, instant
from tidemark.recovered import Recovered
from tidemark.replaying import Replay, chosen, replayed
from tidemark.spark import settings
from tidemark.summaries import LONGEST_LIST, Record, plan_summary, run_summary
from tidemark.verbs import explained
from tidemark.versioned import Versioned

if TYPE_CHECKING:
    from tidemark.advising import Wanted
    from tidemark.spark.engine import Engine
    from tidemark.spark.outputs import Outputs
    from tidemark.spark.upkeep import Upkeep


def _silent(phase: str, done: int, count: int) -> None:
    """No progress is shown."""


def _nothing(step: str) -> None:
    """No step is watched."""


@dataclass
class Pipeline(Answering, Recovered, Versioned):
    """One pipeline. `progress(phase, done, all)` is told how far long work has come; `reached(step)` each
    step of a run that a crash may follow; `clock` gives microseconds UTC."""

    spec: PipelineSpec
    warnings: list[Problem] = field(default_factory=list)
    progress: Callable[[str, int, int], None] = _silent
    reached: Callable[[str], None] = _nothing
    clock: Callable[[], int] = lambda: time.time_ns() // 1000
    environ: Mapping[str, str] | None = field(default=None, repr=False)
    _still_held: Callable[[], None] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.spec, PipelineSpec):
            raise UsageError(
                f"a pipeline is not made from {self.spec!r}", hint="use Pipeline.load('toll.yml') for a file"
            )

    @classmethod
    def load(
        cls, path: Path | str, environ: Mapping[str, str] | None = None, **hooks: Callable[..., Any]
    ) -> Pipeline:
        """The pipeline of a configuration file; raises ConfigError with everything that is wrong in it."""
        loaded: Loaded = load_pipeline(file_path("path", path), environ)
        return cls(loaded.spec, loaded.warnings, environ=environ, **hooks)

    @property
    def root(self) -> Place:
        """Place of the pipeline: its lock, its versions and their tables."""
        return place_of(self.spec.warehouse) / self.spec.name

    @property
    def on_s3(self) -> bool:
        """Whether its tables or a landing lie on S3."""
        return on_s3(self.spec)

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of the live version."""
        versions.ensure_whole(self.root)
        return Ledger(self.root)

    @cached_property
    def planning(self) -> Planning:
        """Finds what landed and cuts it into micro-batches."""
        return Planning(self.spec, self.ledger, self.progress)

    @property
    def reader(self) -> Reader:
        """Reads the live version's tables."""
        return Reader(self.spec, self.ledger, self.clock)

    @cached_property
    def engine(self) -> Engine:
        """The Spark room, which starts a JVM: asked for only when there are rows to judge."""
        from tidemark.spark.engine import Engine  # a run without rows never imports it
        from tidemark.spark.session import open_session

        return Engine(open_session(on_s3=self.on_s3), self.ledger.folder, reached=self._step)

    def validate(self, deep: bool = False) -> Record:
        """That configuration and suites hold, if `deep` by Spark's own analysis and by trying each suite on its
        table without rows; raises ConfigError."""
        trying.check(self.spec)
        if deep:
            analyse(self.spec, suites=True)
        return {"valid": True, "errors": [], "warnings": [asdict(problem) for problem in self.warnings]}

    @explained
    def run(
        self,
        as_of: str | int | None = None,
        run_id: str | None = None,
        max_files: int | None = None,
        dry_run: bool = False,
        wait: bool = False,
        quality: str | None = None,
    ) -> Record:
        """Take what landed by `as_of` (default: now) and judge it; first finish a run that crashed.

        A `run_id` that is committed already is verified and changes nothing. Raises Held when another
        run holds the pipeline, UsageError for an `as_of` in the future, Blocked when quality blocks this run or an
        earlier one. `quality` (block, warn or record) wins over what the configuration does on failure.
        """
        asked = instant(as_of, self.clock())  # an age counts from the call, however long the run waits
        with nullcontext() if dry_run else hold(self.root, wait) as self._still_held:
            return self._run(asked, run_id, max_files, dry_run, (), quality)

    @explained
    def close(self, source: str | None = None, as_of: str | int | None = None, wait: bool = False) -> Record:
        """A run after which the source (default: all) is complete: it takes no more objects."""
        if source is not None:
            self.reader.known(source)
        asked = instant(as_of, self.clock())
        with hold(self.root, wait) as self._still_held:
            return self._run(asked, None, None, False, tuple(self.spec.sources) if source is None else (source,))

    @explained
    def replay(
        self,
        run: str | None = None,
        from_batch: int | None = None,
        to_batch: int | None = None,
        all_batches: bool = False,
        input: str | None = None,  # noqa: A002 # the option's name
        **named: bool,
    ) -> Record:
        """Compute recorded batches again (default: of the last run) and compare; writes nothing. `all` is
        `all_batches`."""
        every = alias(named, verb="replay", instead_of={"all": "all_batches"}).get("all_batches", all_batches)
        ensure_whole(self.ledger)
        records = chosen(self.ledger, run, from_batch, to_batch, bool(every))
        made, proof = versioning.rebuilt(self.ledger, str(self.spec.path))
        return replayed(self._replay(made).verdicts(records, input, self.progress), proof)

    def _replay(self, made: range | None) -> Replay:
        again = partial(self._outputs, recompute=True)
        return Replay(self.spec, self.ledger, lambda: self.engine, again, self.planning.place, settings.changed, made)

    @explained
    def summary(self, run_id: str) -> Record:
        """What a committed run did, as it told when it ended."""
        return self._finished(chosen(self.ledger, run_id, None, None, False), [])

    @explained
    def advise(self, source: str | None = None, **wanted: Unpack[Wanted]) -> Record:
        """What other tolerances would have cost a source (default: each), and the smallest that meet the targets."""
        from tidemark.advising import Advising  # what a verb alone needs is loaded for it

        names = [*self.spec.sources] if source is None else [self.reader.known(source)]
        ensure_whole(self.ledger)
        return Advising(self.spec, self.ledger, lambda: self.engine, self.progress).answer(names, wanted)

    def _run(
        self,
        asked: int | None,
        run_id: str | None,
        max_files: int | None,
        dry_run: bool,
        closing: Sequence[str],
        quality: str | None = None,
    ) -> Record:
        now = self.clock()
        given = now if asked is None else asked
        if given > now:
            raise UsageError(f"as_of {format_time(given)} is later than the clock, {format_time(now)}")
        self.ledger.open()
        ensure_whole(self.ledger)
        if not dry_run:
            versions.first(self.root, now)
        notes = versioning.differing(self.ledger, self.spec)
        suites = record_of(of_users(self.spec), self.spec)
        ensure_not_blocked(self.ledger)
        repaired = [] if dry_run else self._repair()
        if run_id is not None and (known := self.ledger.run(run_id)) is not None:
            return self._repeated(run_id, run_id in repaired, range(known.first, known.last + 1))
        tail = self.ledger.last()
        time_ = given if tail.as_of is None else max(given, tail.as_of)
        landed = self.planning.discover(time_, tail)
        self.planning.ensure_few_partitions(landed, tail)
        batches = self.planning.cut(landed.objects, tail.next_batch_id, max_files)
        if dry_run:
            return plan_summary(landed.objects, time_, len(batches), landed.findings)
        self.planning.prove(landed, tail)
        plan = RunPlan(run_id or f"{format_time(time_)}-{tail.next_batch_id}", time_, batches, tuple(closing))
        spec = self.spec if quality is None else with_on_failure(self.spec, quality)
        records = self.planning.records(plan, spec, suites, tail.unended)
        self.ledger.plan(plan, records, landed.noticed)
        self._step("planned")
        done = self._execute(spec, records, repairing=False)
        return self._finished(done, notes) | {"repaired": repaired, "compacted_seconds": self._keep(done)}

    def _step(self, step: str) -> None:
        if self._still_held is not None:
            self._still_held()
        self.reached(step)

    def _outputs(
        self, spec: PipelineSpec, ahead: Mapping[str, Any] | None = None, recompute: bool = False
    ) -> Outputs:
        from tidemark.spark.outputs import Outputs

        return Outputs(self.engine.spark, str(self.ledger.folder), spec, recompute, ahead or {})

    def _repeated(self, run_id: str, repaired: bool, batches: range) -> Record:
        """A run that is committed already: verified, unless it has only just been finished."""
        summary = self._finished(self.ledger.batches(batches[0], batches[-1]), [])
        if not repaired:
            summary["verified"] = self.replay(run=run_id)
        return summary | {"repaired": [run_id] if repaired else []}

    def _keep(self, records: Sequence[BatchRecord]) -> float | None:
        """Upkeep after a commit, as far as it can be done without starting a JVM for it alone."""
        running = "engine" in self.__dict__
        return Keeping(self.spec, self.ledger, self.tables if running else None).after(records)

    def tables(self) -> Upkeep:
        """Upkeep of the tables that Spark writes; starts a JVM."""
        from tidemark.spark.upkeep import Upkeep

        return Upkeep(self.engine.spark, self.ledger.folder)

    def _finished(self, records: Sequence[BatchRecord], notes: Sequence[str]) -> Record:
        findings: list[Finding] = []
        for record in records[:LONGEST_LIST]:
            findings += self.ledger.findings(record.batch_id)
        first, last = records[-1].run_first, records[-1].run_last
        whole = records if len(records) == last - first + 1 else self.ledger.batches(first, last)
        return run_summary(whole, self.ledger.states(last + 1), findings, notes, self.ledger.checks(last))
