"""Data of a dashboard: one page of a table at a time, newest first. Starts no JVM and writes nothing.

A page costs equally much however many batches there are. Only quality and dead letters read one narrow column of all
their rows, to count the pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.commands.read import Reader
from tidemark.commands.state import standing
from tidemark.config import PipelineSpec
from tidemark.core.batch_result import BatchRecord, Finding
from tidemark.core.policy import Fate
from tidemark.core.watermarks import Combined
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tail import Tail
from tidemark.records.rows import ExplainRecord, RowsRecord
from tidemark.records.status import StandingRecord, StatusRecord
from tidemark.report.page.data.delays import Delay, Idle, delays_of, ends_of, idle_of
from tidemark.report.page.data.fates import FatesOverTime, step_of
from tidemark.report.page.data.tables import Row, Scope, Tables, ask
from tidemark.report.scan import both
from tidemark.report.values import plain
from tidemark.storage import delta_table, is_table, place_of
from tidemark.verbs import explained

T_co = TypeVar("T_co", covariant=True)

SIZE = 50
"""Rows on one page."""
DRAWN = 1_000
"""Number of newest batches that charts show."""


@dataclass(frozen=True)
class ListPage(Generic[T_co]):
    """One page of a list. Pages are numbered from 1, `pages` is at least 1, and a page beyond the last is empty."""

    rows: Sequence[T_co]
    page: int
    pages: int
    total: int


@dataclass(frozen=True)
class PipelineSummary:
    """A pipeline in one line. `version` is None before the first run; `pending` counts batches that are planned or
    blocked; `standing` is the state of the pipeline; `rows` are the rows by fate of the newest committed run."""

    version: int | None
    as_of: int | None
    run_id: str | None
    pending: int
    combined: Mapping[str, Combined]
    fates: Mapping[Fate, int]
    standing: StandingRecord | None = None


@dataclass(frozen=True)
class BatchHistory:
    """Data for charts of the newest `batches` batches; each bar is at the as_of of its run."""

    batches: int
    fates: Mapping[str, FatesOverTime]
    ends: Sequence[Row]
    delays: Sequence[Delay]
    idle: Sequence[Idle]


@dataclass(frozen=True)
class Pages:
    """One pipeline, page by page. A new instance sees what has been committed since the last one was opened."""

    spec: PipelineSpec
    ledger: Ledger

    @classmethod
    @explained
    def open(cls, spec: PipelineSpec) -> Pages:
        """Open the tables of the live version."""
        root = place_of(spec.warehouse) / spec.name
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
        state = standing(self.ledger, str(self.spec.path))
        return PipelineSummary(version, as_of, run, len(tail.pending), tail.combined, fates, state)

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
        total = max(0, last - first + 1)
        return ListPage(found[::-1], page, _pages(total), total)

    @explained
    def batch(self, batch_id: int) -> BatchRecord | None:
        """The record of one batch; None if there is no such batch."""
        return next(iter(self.ledger.batches(batch_id, batch_id)), None)

    @explained
    def findings(self, batch_id: int) -> tuple[Finding, ...]:
        """Findings of a batch."""
        return self.ledger.findings(batch_id)

    @explained
    def moved(self, batch_id: int, fate: str, limit: int = SIZE) -> RowsRecord:
        """The newest rows of a batch with a fate, and the number of all rows with that fate."""
        return self.reader.rows(limit, batch=batch_id, fate=fate)

    @explained
    def explain(self, source: str, partition: str, offset: int) -> ExplainRecord:
        """The story of one row. Raises UsageError if there is no such row."""
        self.reader.known(source)
        return self.reader.explain(source, partition, offset)

    @explained
    def checks(self, page: int, failed: bool) -> ListPage[Row] | None:
        """Results of quality checks, newest batch first, with values in JSON's types; None if nothing is checked.
        Includes runs that quality blocks."""
        place = self.ledger.folder / "quality"
        if not is_table(place):
            return None
        whole = delta_table(place).to_pyarrow_dataset()
        where = ~pc.field("success") if failed else None
        count = "SELECT batch_id AS batch, count(*) AS n FROM t GROUP BY 1 ORDER BY 1 DESC"
        found = _cut(ask(whole, ["batch_id"], count, where=where), page)
        table = whole.to_table(filter=both(pc.field("batch_id").isin(found.batches), where))
        rows: list[Row] = [
            {name: plain(table[name][n]) for name in table.schema.names} for n in range(table.num_rows)
        ]
        rows.sort(key=lambda row: (-row["batch_id"], bool(row["success"])))
        return ListPage(rows[found.skipped : found.skipped + SIZE], page, _pages(found.total), found.total)

    @property
    def windowed(self) -> list[str]:
        """Names of the streams that may have dead letters."""
        return [name for name, stream in self.spec.streams.items() if stream.published and stream.windowed]

    @explained
    def letters(self, stream: str, page: int) -> ListPage[Row]:
        """Dead letters of a stream, newest batch first; times in microseconds UTC."""
        if not is_table(self.ledger.folder / "dead_letters" / stream):
            return ListPage([], page, 1, 0)
        whole = self.reader.table(f"dead_letters/{stream}")
        count = "SELECT _batch_id AS batch, count(*) AS n FROM t GROUP BY 1 ORDER BY 1 DESC"
        found = _cut(ask(whole, ["_batch_id"], count), page)
        return ListPage(_letters(whole, found), page, _pages(found.total), found.total)

    @explained
    def versions(self) -> list[Row]:
        """All versions, newest first; times in microseconds UTC."""
        return [asdict(version) for version in reversed(versions.listed(self.ledger.root))]

    @explained
    def history(self) -> BatchHistory:
        """The newest batches, as data for charts."""
        through = self.ledger.last().committed_through
        scope = Scope(max(1, through - DRAWN + 1), through)
        names = ("batches", "watermarks", "diagnostics")
        batches, marks, found = (self.ledger.table(name, through) for name in names)
        tables = Tables(self.spec.name, str(self.spec.path), scope, [], batches, marks, found)
        ends = ends_of(tables)
        fates = self._fates(tables.batches, scope)
        return BatchHistory(through - scope.first + 1, fates, ends, delays_of(tables, ends), idle_of(tables, ends))

    @staticmethod
    def _fates(batches: Dataset, scope: Scope) -> dict[str, FatesOverTime]:
        """Rows by fate at the as_of of their run, as the ledger counts them."""
        counts = ", ".join(f"CAST(sum(c.{fate}) AS BIGINT) AS {fate}" for fate in Fate)
        found = ask(
            batches,
            ["batch_id", "as_of", "counts"],
            f"SELECT c.source AS source, epoch_us(as_of) AS at, {counts} FROM "  # noqa: S608 - the names are our own
            "(SELECT as_of, unnest(counts) AS c FROM t) GROUP BY 1, 2 ORDER BY 1, 2",
            where=scope.of("batch_id"),
        )
        by_source: dict[str, list[Row]] = {}
        for row in found:
            by_source.setdefault(row["source"], []).append(row)
        return {source: _binned(rows) for source, rows in by_source.items()}


@dataclass(frozen=True)
class _Cut:
    """Batches that hold the rows of one page, and the number of their rows that are on earlier pages."""

    batches: list[int]
    skipped: int
    total: int


def _pages(total: int) -> int:
    return max(1, -(-total // SIZE))


def _cut(counted: Sequence[Row], page: int) -> _Cut:
    """Find the batches that hold the rows of a page; `counted` has the number of rows of each batch, newest first."""
    begin, batches, skipped, seen = (page - 1) * SIZE, list[int](), 0, 0
    for row in counted:
        if seen < begin + SIZE and seen + row["n"] > begin:
            skipped = skipped if batches else begin - seen
            batches.append(row["batch"])
        seen += row["n"]
    return _Cut(batches, skipped, seen)


def _letters(whole: Dataset, found: _Cut) -> list[Row]:
    times = ("_event_time", "_system_timestamp", "_watermark", "_window_start", "_window_end")
    named = ", ".join(f"epoch_us({name}) AS {name[1:]}" for name in times)
    keys = ("_batch_id", "_source", "_partition", "_offset")
    listed = ", ".join(f"{key} AS {key[1:]}" for key in keys)
    order = "_batch_id DESC, _source, _partition, _offset DESC, _window_start"
    return ask(
        whole,
        [*keys, *times],
        f"SELECT {listed}, {named} FROM t ORDER BY {order} LIMIT {SIZE} OFFSET {found.skipped}",  # noqa: S608
        where=pc.field("_batch_id").isin(found.batches),
    )


def _binned(rows: Sequence[Row]) -> FatesOverTime:
    """Rows of one source by fate, in steps of time."""
    first, last = rows[0]["at"], rows[-1]["at"]
    step, bars = step_of(last - first), dict[tuple[int, Fate], int]()
    for row in rows:
        for fate in Fate:
            if row[fate.value]:
                bar = (row["at"] - row["at"] % step, fate)
                bars[bar] = bars.get(bar, 0) + row[fate.value]
    return FatesOverTime({}, first, last, 0, step, bars)
