"""Data of a dashboard: one page of a table at a time, newest first. Starts no JVM and writes nothing.

The cost of a page does not grow with the number of batches. Only quality and dead letters read one narrow column of
all their rows, to count the pages.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tidemark.commands.dashboard.batch_rows import BatchRows, batch_rows
from tidemark.commands.dashboard.causes import Causes, causes_of_run
from tidemark.commands.dashboard.history import BatchHistory, history_of
from tidemark.commands.dashboard.paged import SIZE, ListPage, checks_of, letters_of, page_of
from tidemark.commands.dashboard.versions import ListedVersion, versions_of
from tidemark.commands.read import Reader
from tidemark.commands.state import blocking_checks, failed_checks, standing
from tidemark.config import PipelineSpec
from tidemark.core.batch_result import BatchRecord, Finding
from tidemark.core.policy import Fate
from tidemark.core.quality import Check
from tidemark.core.watermarks import Combined
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import ensure_whole
from tidemark.ledger.tail import Tail
from tidemark.records.rows import ExplainRecord
from tidemark.records.status import StandingRecord, StatusRecord
from tidemark.report.page.data.tables import Row
from tidemark.storage import dataset_of, is_table, location_of
from tidemark.verbs import explained


@dataclass(frozen=True)
class PipelineSummary:
    """A pipeline in one line. `version` is None before the first run; `pending` counts batches that are planned or
    blocked; `fates` are the rows by fate of the newest committed run."""

    version: int | None
    as_of: int | None
    run_id: str | None
    pending: int
    combined: Mapping[str, Combined]
    fates: Mapping[Fate, int]


@dataclass(frozen=True)
class Pages:
    """One pipeline, page by page. Open a new instance to see later commits."""

    spec: PipelineSpec
    ledger: Ledger

    @classmethod
    @explained
    def open(cls, spec: PipelineSpec) -> Pages:
        """Open the tables of the live version."""
        root = location_of(spec.warehouse) / spec.name
        versions.ensure_whole(root)
        return cls(spec, Ledger(root))

    @property
    def reader(self) -> Reader:
        """Reader of the live version's tables."""
        return Reader(self.spec, self.ledger)

    @explained
    def glance(self) -> PipelineSummary:
        """Summary of the pipeline, from its newest run alone."""
        tail = self.ledger.last()
        done = self._newest_run(tail)
        fates = {fate: sum(a.fates[fate] for record in done for a in record.accounts) for fate in Fate}
        run = tail.last_run.run_id if tail.last_run else None
        version = versions.live(self.ledger.root)
        as_of = done[-1].as_of if done else None
        return PipelineSummary(version, as_of, run, len(tail.pending), tail.combined, fates)

    @explained
    def standing(self) -> StandingRecord:
        """The state of the pipeline."""
        return standing(self.ledger, str(self.spec.path))

    def _newest_run(self, tail: Tail) -> list[BatchRecord]:
        return [] if tail.last_run is None else self.ledger.batches(tail.last_run.first, tail.last_run.last)

    @explained
    def status(self) -> StatusRecord:
        """Watermarks and delays of partitions, sources and streams, and the newest runs."""
        return self.reader.status()

    @explained
    def batches(self, page: int) -> ListPage[BatchRecord]:
        """Batches, newest first, including those that are planned or blocked."""
        files = self.ledger.stores["batches"].files()
        last = max((file.last for file in files if file.last is not None), default=0)
        first = min((file.first for file in files if file.first is not None), default=1)
        return self._between(first, last, page)

    @explained
    def run(self, run_id: str, page: int) -> ListPage[BatchRecord] | None:
        """Batches of a run, newest first; None if there is no such run."""
        known = self.ledger.run(run_id)
        return None if known is None else self._between(known.first, known.last, page)

    def _between(self, first: int, last: int, page: int) -> ListPage[BatchRecord]:
        high = last - (page - 1) * SIZE
        found = self.ledger.batches(max(first, high - SIZE + 1), high) if high >= first else []
        return page_of(found[::-1], page, max(0, last - first + 1))

    @explained
    def why(self, run_id: str | None = None) -> Causes:
        """Causes of abnormal values in a run (default: the last judged one); kept for the next call."""
        return causes_of_run(self.reader, run_id)

    @explained
    def batch(self, batch_id: int) -> BatchRecord | None:
        """The record of one batch; None if there is no such batch."""
        return next(iter(self.ledger.batches(batch_id, batch_id)), None)

    @explained
    def findings(self, batch_id: int) -> tuple[Finding, ...]:
        """Findings of a batch."""
        return self.ledger.findings(batch_id)

    @explained
    def moved(self, record: BatchRecord, fate: Fate, page: int) -> BatchRows:
        """A page of the rows of a batch with a fate, newest first; none if the batch's fates are not final yet."""
        names = {account.source for account in record.accounts if account.fates.get(fate)}
        if record.batch_id > self.reader.judged_through():
            names = set()
        ensure_whole(self.ledger, [f"events/{name}" for name in sorted(names)])
        tables = {name: self.ledger.folder / "events" / name for name in sorted(names)}
        there = {name: location for name, location in tables.items() if is_table(location)}
        return batch_rows(there, record.batch_id, fate, (page - 1) * SIZE, SIZE)

    def failed(self) -> Sequence[Check]:
        """The checks that block the last run."""
        return blocking_checks(self.ledger)

    @explained
    def failed_checks(self, run_id: str, told: Collection[Check]) -> list[str]:
        """Sentences on the failed checks of a run, without the given ones, which are shown elsewhere."""
        return failed_checks(self.ledger, self.ledger.run(run_id), told)

    @explained
    def explain(self, source: str, partition: str, offset: int) -> ExplainRecord:
        """The story of one row. Raises UsageError if there is no such row."""
        self.reader.known(source)
        return self.reader.explain(source, partition, offset)

    @explained
    def checks(self, page: int, failed: bool) -> ListPage[Row] | None:
        """Results of quality checks, newest batch first, with values in JSON's types; None if nothing is checked.
        Includes runs that quality blocks."""
        location = self.ledger.folder / "quality"
        return checks_of(dataset_of(location), page, failed) if is_table(location) else None

    @property
    def windowed(self) -> list[str]:
        """Names of the streams that may have dead letters."""
        return [name for name, stream in self.spec.streams.items() if stream.published and stream.windowed]

    @explained
    def lettered(self) -> dict[str, int]:
        """Numbers of dead letters of the streams that may have any."""
        return {name: self._letters_of(name) for name in self.windowed}

    def _letters_of(self, stream: str) -> int:
        there = is_table(self.ledger.folder / "dead_letters" / stream)
        return self.reader.table(f"dead_letters/{stream}").count_rows() if there else 0

    @explained
    def letters(self, stream: str, page: int) -> ListPage[Row]:
        """Dead letters of a stream, newest batch first; times in microseconds UTC."""
        if not is_table(self.ledger.folder / "dead_letters" / stream):
            return page_of([], page, 0)
        return letters_of(self.reader.table(f"dead_letters/{stream}"), page)

    @explained
    def versions(self) -> list[ListedVersion]:
        """All versions, newest first."""
        return versions_of(self.ledger)

    @explained
    def history(self) -> BatchHistory:
        """The newest batches, as data for charts."""
        return history_of(self.spec, self.ledger)
