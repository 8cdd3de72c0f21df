"""The commands that only read: rows, the story of one row, progress. None starts a JVM."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import dataset

from tidemark.commands.exclude import why
from tidemark.commands.filters import Filters, instant
from tidemark.commands.names.known import behind, fixed, lagging, names_of
from tidemark.commands.state import failed_checks, standing
from tidemark.commands.summaries import stream_summary
from tidemark.commands.versions import compared_spec, in_force
from tidemark.config import PipelineSpec
from tidemark.config.models.pipeline import tables_of_rows
from tidemark.core.batch_result import BatchRecord
from tidemark.core.watermarks import PartitionState
from tidemark.errors import UsageError
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import ensure_whole, losses
from tidemark.ledger.tables.rows import partition_state, uri_key
from tidemark.ledger.tables.schemas import batch_column
from tidemark.ledger.tail import ABANDONED, ABANDONING, BLOCKED
from tidemark.quality.metrics import limits_of
from tidemark.records.rows import BlockedRows, ExplainRecord, ExportRecord, GroupsRecord, RowsRecord, TablePathRecord
from tidemark.records.status import AbandonedRun, StatusRecord, StreamProgressSummary
from tidemark.report.attention import Limits
from tidemark.report.status import status
from tidemark.runner.checks import standing_in_the_way
from tidemark.runner.source_rules import rules_of
from tidemark.storage import Location, dataset_of, is_table

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

    from tidemark.report.selection import Filter

LAST_BATCHES = 30
SUBSTREAMS = "substreams"


@dataclass(frozen=True)
class RunRecords:
    """Records of runs in the ledger that explaining a row needs."""

    ledger: Ledger

    def states(self, source: str, partition: str) -> Sequence[tuple[int, PartitionState]]:
        """The recorded states of one partition, oldest first."""
        store, through = self.ledger.stores["watermarks"], self.ledger.last().committed_through
        rows = store.lookup("partition", pa.array([partition]), store.schema.names)
        mine = [row for row in rows if row["source"] == source and row["batch_id"] <= through]
        return sorted(((row["batch_id"], partition_state(row)) for row in mine), key=lambda item: item[0])

    def batch(self, batch_id: int) -> BatchRecord | None:
        """A recorded batch."""
        return next(iter(self.ledger.batches(batch_id, batch_id)), None)

    def before(self, first: int) -> BatchRecord | None:
        """The last batch before `first` that is not abandoned."""
        return self.ledger.before(first)

    def landed(self, source: str, uri: str) -> int | None:
        """Landing time of an object that was taken, microseconds UTC."""
        key = pa.array([uri_key(source, uri)], pa.int32())
        columns = ["batch_id", "source", "uri", "modified"]
        rows = self.ledger.stores["objects"].lookup("uri_key", key, columns, (uri, uri))
        mine = [row for row in rows if row["source"] == source and row["uri"] == uri]
        return max(mine, key=lambda row: row["batch_id"])["modified"] if mine else None

    def why_excluded(self, source: str, uri: str) -> str | None:
        """The reason why an object was excluded; None if it was not."""
        return why(self.ledger, source, uri)


@dataclass(frozen=True)
class Reader:
    """Reads the live tables of one pipeline, up to the last committed batch. Ages of rows are counted from
    `clock`."""

    spec: PipelineSpec
    ledger: Ledger
    clock: Callable[[], int] = lambda: time.time_ns() // 1000

    def table(self, name: str, through: int | None = None) -> Dataset:
        """A table as a dataset, without rows of batches after `through` (default: after the last committed batch)."""
        bound = self.ledger.last().committed_through if through is None else through
        if name in self.ledger.stores:
            ensure_whole(self.ledger, [name])
            return self.ledger.table(name, bound)
        location = self.folder_of(name)
        ensure_whole(self.ledger, [name])
        if not is_table(location):
            return self._empty(name, location)
        whole = dataset_of(location)
        return whole.filter(pc.field(batch_column(whole.schema.names)) <= bound)

    def events(self, source: str) -> Dataset:
        """The events of a source, of all batches. Raises TableNotFoundError if no row has been written yet."""
        ensure_whole(self.ledger, [f"events/{source}"])
        return dataset_of(self.ledger.folder / "events" / source)

    def _empty(self, name: str, location: Location) -> Dataset:
        """A table that no row has been written to yet. Raises UsageError if its schema is not known without rows."""
        from tidemark.config.table_schema import schema_of  # only a table without rows needs it

        schema = schema_of(self.spec if name.startswith("streams/") else self.declared, name)
        if schema is None:
            raise UsageError(f"table {name} is empty: no row has been written to it yet", where=str(location))
        return dataset(schema.empty_table())

    def judged_through(self) -> int:
        """The last batch whose fates are final: the last committed batch, or a later one that quality blocks."""
        tail = self.ledger.last()
        blocked = [record.batch_id for record in tail.pending if record.status == BLOCKED]
        return max([tail.committed_through, *blocked])

    @cached_property
    def declared(self) -> PipelineSpec:
        """The pipeline with the sources of its last run, and sources that the file has added since."""
        if not in_force(self.ledger):
            return self.spec
        then = compared_spec(self.ledger, self.spec)
        return self.spec.model_copy(update={"sources": {**self.spec.sources, **then.sources}})

    def tables(self) -> list[str]:
        """Names of the live version's tables."""
        return [*tables_of_rows(self.spec.streams, self.declared.sources), *self.ledger.stores, SUBSTREAMS]

    def folder_of(self, table: str) -> Location:
        """The folder of a table in the live version. Raises UsageError if there is no such table."""
        known = self.tables()
        if table not in known:
            raise UsageError(f"there is no table {table!r}", hint=f"tables: {', '.join(sorted(known))}")
        return self.ledger.folder / table

    def path(self, table: str) -> TablePathRecord:
        """The folder of a table in the live version, and names that always show the live version."""
        location = self.folder_of(table)
        names = names_of(table, self.ledger.root, self.ledger.version)
        return {"path": str(location), "names": names, "warnings": [fixed(location, names, str(self.spec.path))]}

    def rows(self, limit: int, **filters: Unpack[Filters]) -> RowsRecord:
        """Matching rows, newest first, and the number of all matching rows."""
        from tidemark.report.rows import find_rows  # imported here, since only this method needs it

        found = find_rows(self._events(filters), self._filter(filters), limit, self._letters(filters))
        return {**found, **self._blocked(filters)}

    def groups(self, by: Sequence[str], limit: int, **filters: Unpack[Filters]) -> GroupsRecord:
        """Numbers of matching rows by dimensions, the largest groups first."""
        from tidemark.report.groups import count_rows

        events, batches = self._events(filters), self.ledger.table("batches", self.judged_through())
        found = count_rows(events, self._filter(filters), by, limit, batches, self._letters(filters))
        return {**found, **self._blocked(filters)}

    def export(self, target: Path, kind: str, limit: int | None, **filters: Unpack[Filters]) -> ExportRecord:
        """Write the newest `limit` matching rows (None: all) as a CSV or Parquet file."""
        from tidemark.report.export import export_rows

        letters = self._letters(filters)
        found = export_rows(self._events(filters), self._filter(filters), target, kind, limit, letters)
        return {**found, **self._blocked(filters)}

    def _blocked(self, filters: Filters) -> BlockedRows:
        """A note on batches that are left out because quality blocks their run; empty if there are none."""
        pending = self.ledger.last().pending
        if filters.get("batch") is not None or not pending or pending[-1].status != BLOCKED:
            return {}
        first, last = pending[0].batch_id, pending[-1].batch_id
        others = "" if first == last else f" (of batches {first:,} to {last:,})"
        return {"blocked": f"quality blocks run {pending[-1].run_id}: `--batch {last}` shows its rows{others}"}

    def explain(self, source: str, partition: str, offset: int) -> ExplainRecord:
        """The story of one row."""
        from tidemark.commands.explain.explain import explained_row

        return explained_row(self, self.known(source), partition, offset)

    def status(self) -> StatusRecord:
        """Progress of each partition and source, and the results of the last runs."""
        tail = self.ledger.last()
        through = tail.committed_through
        records = self.ledger.batches(max(1, through - LAST_BATCHES + 1), through)
        found = status(
            self.ledger.states(through + 1),
            tail.combined,
            records[-1].as_of if records else None,
            records,
            sources=rules_of(self.declared),
            limits={name: self._limits(name) for name in self.declared.sources},
            config=str(self.spec.path),
        )
        pending = [record.batch_id for record in tail.pending]
        obstacle = standing_in_the_way(self.ledger, tail.pending)
        return {
            "pipeline": self.spec.name,
            "version": self.ledger.version,
            "streams": self._streams(records),
            "pending": pending,
            "standing": standing(self.ledger, str(self.spec.path)),
            "blocked": None if obstacle is None else obstacle.message,
            "failed": failed_checks(self.ledger, tail.last_run),
            "abandoned": self._abandoned(through),
            "chain": self._head(),
            "damaged": [{"table": name, "why": str(loss)} for name, loss in losses(self.ledger).items()],
            "names": lagging(self.ledger, behind(self.ledger, self.tables), str(self.spec.path)),
            **found,
        }

    def _limits(self, source: str) -> Limits:
        quality = limits_of(self.declared, source)
        return Limits(quality.max_watermark_delay, quality.max_output_delay)

    def _head(self) -> str | None:
        last = self.ledger.settled_before((self.ledger.stores["batches"].newest() or 0) + 1)
        return None if last is None else last.chain

    def _abandoned(self, through: int) -> list[AbandonedRun]:
        """Runs that were abandoned lately or are being abandoned, and why."""
        newest = self.ledger.stores["batches"].newest() or 0
        found: dict[str, AbandonedRun] = {}
        for record in self.ledger.recorded(max(1, through - LAST_BATCHES + 1), newest):
            if record.status in (ABANDONING, ABANDONED):
                run: AbandonedRun = {
                    "run_id": record.run_id,
                    "status": record.status,
                    "reason": record.reason,
                    "batches": [],
                }
                found.setdefault(record.run_id, run)["batches"].append(record.batch_id)
        return list(found.values())

    def _streams(self, records: Sequence[BatchRecord]) -> list[StreamProgressSummary]:
        """Progress of each stream, and numbers of rows that the last run wrote to it."""
        ended = next((record for record in reversed(records) if record.ends_run), None)
        if ended is None:
            return []
        return [
            {
                "stream": name,
                "published": name in self.spec.streams and self.spec.streams[name].published,
                **stream_summary(end),
                "output_delay_micros": None if end.state.watermark is None else ended.as_of - end.state.watermark,
            }
            for name, end in ended.streams.items()
        ]

    def known(self, source: str) -> str:
        """The name of a declared source; raises UsageError for any other name."""
        if source not in self.declared.sources:
            raise UsageError(f"there is no source {source!r}", hint=f"sources: {', '.join(self.declared.sources)}")
        return source

    def _events(self, filters: Filters) -> dict[str, Dataset]:
        """Events tables that the filters select; includes a blocked batch if it is selected by its number."""
        source = filters.get("source")
        names = list(self.declared.sources) if source is None else [self.known(source)]
        ensure_whole(self.ledger, [f"events/{name}" for name in names])
        present = [name for name in names if is_table(self.ledger.folder / "events" / name)]
        through = None if filters.get("batch") is None else self.judged_through()
        return {name: self.table(f"events/{name}", through) for name in present}

    def _letters(self, filters: Filters) -> Dataset | None:
        """Dead letters that the filters select. Raises UsageError if there is no such stream or if it has no
        windows."""
        name = filters.get("dead_letters")
        if name is None:
            return None
        windowed = [each for each, step in self.spec.streams.items() if step.windowed]
        if name not in windowed:
            what = f"stream {name!r} has no windows" if name in self.spec.streams else f"there is no stream {name!r}"
            hint = f"streams with windows: {', '.join(windowed)}" if windowed else "no stream has windows"
            raise UsageError(f"{what}, so that no row can be late for one", hint=hint)
        return self.table(f"dead_letters/{name}")

    def _filter(self, filters: Filters) -> Filter:
        from tidemark.report.selection import Filter

        now = self.clock()
        return Filter(
            filters.get("source"),
            filters.get("fate"),
            filters.get("reason"),
            None if filters.get("partition") is None else str(filters["partition"]),
            instant(filters.get("since"), now),
            instant(filters.get("until"), now),
            filters.get("batch"),
        )
