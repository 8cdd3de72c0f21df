"""A pipeline and its commands, for Python: one short method a command, each carried out in `tidemark.commands`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from tidemark.arguments import RowName, alias, file_path, number, number_or_none, row, texts
from tidemark.commands import exclude, recover, replay, versions
from tidemark.commands import run as runs
from tidemark.commands.cases import verbs as cases
from tidemark.commands.filters import Filters, Moment, checked_filters, filters_shown, instant, instants
from tidemark.commands.names.register import RegisterOptions, register
from tidemark.commands.read import Reader
from tidemark.commands.repair.verify import VerifyOptions, verify
from tidemark.commands.run import RunRequest
from tidemark.commands.summaries import validation
from tidemark.config import Loaded, PipelineSpec, load_pipeline
from tidemark.context import RunContext
from tidemark.errors import Problem, UsageError
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import ensure_whole
from tidemark.notebook.html import pipeline_html
from tidemark.notebook.result import Result, WrittenPage
from tidemark.notebook.spark_table import spark_table
from tidemark.quality.suite_checks import check_suites
from tidemark.records import LONGEST_LIST
from tidemark.records.advice import AdviseRecord
from tidemark.records.causes import WhyRecord
from tidemark.records.failures import ValidateRecord
from tidemark.records.rows import EVENT_COLUMNS, ExplainRecord, ExportRecord, TablePathRecord
from tidemark.records.runs import AbandonRecord, PlanRecord, ReleaseRecord, ReplayRecord, RunRecord, RunSummary
from tidemark.records.status import StatusRecord
from tidemark.records.verify import VerifyRecord
from tidemark.records.versions import BackfillRecord, ExcludeRecord, PromoteRecord, RepairRecord, VersionsRecord
from tidemark.runner.planner import analyse
from tidemark.storage import Location
from tidemark.verbs import explained

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

    from tidemark.commands.advise.advise import Wanted
    from tidemark.records.versions import RegisterRecord


class Pipeline:
    """One pipeline. `Pipeline.load(path)` reads its file.

    Hooks are fields of its context: `progress(phase, done, all)` is called as long work goes on;
    `on_checkpoint(step)` at each step of a run that a crash may follow; `clock` gives microseconds UTC.
    """

    def __init__(self, spec: PipelineSpec, warnings: Sequence[Problem] = (), **hooks: Any) -> None:
        if not isinstance(spec, PipelineSpec):
            raise UsageError(f"a pipeline is not made from {spec!r}", hint="use Pipeline.load('toll.yml') for a file")
        self.warnings = list(warnings)
        self.context = RunContext(spec, **hooks)

    @classmethod
    def load(
        cls, path: Path | str, environ: Mapping[str, str] | None = None, **hooks: Callable[..., Any]
    ) -> Pipeline:
        """Load the pipeline of a configuration file. Raises ConfigError with everything that is wrong in the file."""
        loaded: Loaded = load_pipeline(file_path("path", path), environ)
        return cls(loaded.spec, loaded.warnings, environ=environ, **hooks)

    @property
    def spec(self) -> PipelineSpec:
        """The configuration."""
        return self.context.spec

    @property
    def root(self) -> Location:
        """Location of the pipeline: its lock, its versions and their tables."""
        return self.context.root

    @property
    def ledger(self) -> Ledger:
        """The ledger of the live version."""
        return self.context.ledger

    @property
    def reader(self) -> Reader:
        """Reads the live version's tables."""
        return Reader(self.context.spec, self.context.ledger, self.context.clock)

    def validate(self, deep: bool = False) -> ValidateRecord:
        """Check configuration and suites; raises ConfigError. `deep`: Spark analyses expressions, tries suites."""
        check_suites(self.spec)
        if deep:
            analyse(self.spec, deep=True)
        return validation([], self.warnings)

    @overload
    def run(
        self,
        as_of: Moment = None,
        run_id: str | None = None,
        max_files: int | None = None,
        dry_run: Literal[False] = False,
        wait: bool = False,
        quality: str | None = None,
    ) -> RunRecord: ...

    @overload
    def run(
        self,
        as_of: Moment = None,
        run_id: str | None = None,
        max_files: int | None = None,
        dry_run: bool = False,
        wait: bool = False,
        quality: str | None = None,
    ) -> RunRecord | PlanRecord: ...

    @explained
    def run(
        self,
        as_of: Moment = None,
        run_id: str | None = None,
        max_files: int | None = None,
        dry_run: bool = False,
        wait: bool = False,
        quality: str | None = None,
    ) -> RunRecord | PlanRecord:
        """Take what landed by `as_of` (default: now; an age counts back from this call) and judge it; first recover
        a run that crashed. A `run_id` that is committed already is verified and changes nothing. `quality` (block,
        warn or record) overrides the configuration's `on_failure`. Raises Held if another run holds the pipeline,
        UsageError for an `as_of` in the future, Blocked if quality blocks this run or an earlier one."""
        request = RunRequest(instant(as_of, self.context.clock()), run_id, max_files, (), quality)
        return runs.dry_run(self.context, request) if dry_run else runs.run(self.context, request, wait)

    @explained
    def close(self, source: str | None = None, as_of: Moment = None, wait: bool = False) -> RunRecord:
        """Do a last run, after which the source (default: all) is complete: it takes no more objects."""
        sources = [*self.spec.sources] if source is None else [self.reader.known(source)]
        return runs.run(self.context, RunRequest(instant(as_of, self.context.clock()), closing=sources), wait)

    @explained
    def replay(
        self,
        run: str | None = None,
        from_batch: int | None = None,
        to_batch: int | None = None,
        all_batches: bool = False,
        input: str | None = None,  # noqa: A002 # the option's name
        **named: bool,
    ) -> ReplayRecord:
        """Compute recorded batches again (default: those of the last run) and compare; writes nothing. `all` is
        another name of `all_batches`."""
        every = alias(named, verb="replay", instead_of={"all": "all_batches"}).get("all_batches", all_batches)
        return replay.replay(self.context, run, (from_batch, to_batch), bool(every), input)

    @explained
    def summary(self, run_id: str) -> RunSummary:
        """The record of a committed run, as it was when the run ended."""
        return runs.summary(self.context, run_id)

    @explained
    def advise(self, source: str | None = None, **wanted: Unpack[Wanted]) -> Result[AdviseRecord]:
        """Compute what other tolerances would have cost (default: each source), and recommend the smallest ones."""
        from tidemark.commands.advise.advise import Advising  # imported here, since only this command needs it

        names = [*self.spec.sources] if source is None else [self.reader.known(source)]
        ensure_whole(self.ledger)
        advising = Advising(self.spec, self.ledger, lambda: self.context.engine, self.context.progress)
        return Result(advising.answer(names, wanted), "grid", "Tolerances, and what each would have cost")

    @explained
    def release(self, run: str, reason: str, wait: bool = False) -> ReleaseRecord:
        """Publish a run that quality blocked, and record why. Raises UsageError if no such run is blocked."""
        return runs.release(self.context, run, reason, wait)

    @explained
    def abandon(self, run: str, reason: str, wait: bool = False, published: bool = False) -> AbandonRecord:
        """Set aside a planned run that cannot be finished, and record why. Raises UsageError if there is no such run,
        or if it has published to streams; with `published`, the published rows are withdrawn instead."""
        return recover.abandon(self.context, run, reason, wait, published)

    @explained
    def repair(self, wait: bool = False) -> RepairRecord:
        """Rebuild damaged tables: events from landing, others from events, each batch proven by its digest."""
        from tidemark.commands.repair.command import repair

        return repair(self.context, wait)

    @explained
    def verify(self, **asked: Unpack[VerifyOptions]) -> VerifyRecord:
        """Check the live version with code that shares nothing with the writer."""
        return verify(self.context, **asked)

    @explained
    def backfill(
        self,
        from_: str | int | datetime,
        to: Moment = None,
        settings_: Sequence[str] = (),
        from_landing: bool = False,
        wait: bool = False,
        label: str | None = None,
        **named: Sequence[str],
    ) -> BackfillRecord:
        """Build a version beside the live one, with its outputs in [from_, to) computed again. `set` (KEY=VALUE each,
        also `settings_`) overrides the file; `from_landing` reads landing again; `versions` shows the `label`."""
        from tidemark.commands.backfill.build import BackfillRequest, build

        for values in alias(named, verb="backfill", instead_of={"set": "settings_"}).values():
            settings_ = texts("set", values)
        begin, end = instants(self.context.clock(), from_, to)
        return build(self.context, BackfillRequest(begin or 0, end, tuple(settings_), from_landing, label), wait)

    @explained
    def versions(self) -> Result[VersionsRecord]:
        """All versions, and the number of the live one."""
        return Result(versions.list_versions(self.root, self.ledger), "versions", "Versions")

    @explained
    def promote(self, version: int, wait: bool = False) -> PromoteRecord:
        """Make a version live, once it has the live one's last run. The earlier one can be promoted again."""
        from tidemark.commands.promote import promote

        return promote(self.context, number("version", version, 1), wait)

    @explained
    def register(self, catalog: str | None = None, **asked: Unpack[RegisterOptions]) -> RegisterRecord:
        """Make names of tables that always show the live version: a link for paths, views in a catalog's schema."""
        return register(self.context, catalog, **asked)

    @explained
    def exclude(self, uri: str, reason: str, wait: bool = False) -> ExcludeRecord:
        """Record that an object is wrong; the next backfill quarantines its rows. `uri`: within its landing."""
        with self.context.hold(wait):
            return exclude.exclude(self.ledger, self.spec.sources, uri, reason, self.context.clock())

    @filters_shown
    @explained
    def rows(
        self, limit: int | None = 100, by: str | Iterable[str] | None = None, **filters: Unpack[Filters]
    ) -> Result[Any]:
        """Rows with their fates and reasons, newest first: at most `limit` (None: as many as a record may have). With
        `by` their counts by partition, reason, fate, hour, day, file, run, source; with `dead_letters` a stream's."""
        most = LONGEST_LIST if limit is None else number("limit", limit, 0)
        checked = checked_filters("rows", filters)
        if by is not None:
            return Result(self.reader.groups(texts("by", by, "partition"), most, **checked), "groups", "Rows")
        return Result(self.reader.rows(most, **checked), "rows", "Rows, newest first", EVENT_COLUMNS)

    @explained
    def export_rows(
        self, target: Path | str, kind: str, limit: int | None = None, **filters: Unpack[Filters]
    ) -> ExportRecord:
        """Write all rows that match (or the newest `limit`) as a CSV or Parquet file."""
        file, most = file_path("target", target), number_or_none("limit", limit, 0)
        return self.reader.export(file, kind, most, **checked_filters("export_rows", filters))

    @explained
    def explain(
        self, source: RowName, partition: str | int | None = None, offset: int | None = None
    ) -> ExplainRecord:
        """Explain a row (an item of `rows`, or source, partition and offset): its times, steps and watermark."""
        return self.reader.explain(*row(source, partition, offset))

    @explained
    def status(self) -> Result[StatusRecord]:
        """Watermarks, delays, idle partitions, last runs."""
        return Result(self.reader.status(), "partitions", "Partitions as of the last run")

    @explained
    def why(self, since: Moment = None, until: Moment = None, run: str | None = None) -> WhyRecord:
        """What is abnormal in a run (default: the last) or among rows that arrive in [since, until), and why."""
        from tidemark.commands.explain.why import why

        return why(self.reader, since, until, run)

    @explained
    def report(
        self, out: Path | str | None = None, since: Moment = None, until: Moment = None, samples: bool = True
    ) -> WrittenPage:
        """Write an HTML page of the runs in [since, until), by execution or as_of; `samples` shows text of rows."""
        from tidemark.commands.report import write_report  # imported here: only a report draws

        target = None if out is None else file_path("out", out)
        return WrittenPage(write_report(self.reader, target, samples, *instants(self.context.clock(), since, until)))

    def path(self, table: str) -> TablePathRecord:
        """The folder of a table in the live version, and names that always show the live version."""
        return self.reader.path(table)

    @explained
    def table(self, name: str) -> Dataset:
        """A table up to the last committed batch, as a pyarrow dataset; an empty table has its schema, too."""
        return self.reader.table(name)

    test = explained(cases.test)
    record_case = explained(cases.record_case)
    spark_table = explained(spark_table)
    _repr_html_ = explained(pipeline_html)
