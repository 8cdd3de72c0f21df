"""Merges the results of a slice into the tables and the ledger of a version, and reports what changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tidemark.commands.backfill.rejudge import EventsRerun
from tidemark.commands.exclude import Taken
from tidemark.commands.versions import differs, fates_of
from tidemark.config import PipelineSpec
from tidemark.config.backfill_rules import unchanged_sources
from tidemark.config.models.pipeline import relevant
from tidemark.core.backfill.ranges import Range
from tidemark.core.batch_result import FINDINGS, BatchRecord, Finding, LastWrite, Outcome, TableDigest
from tidemark.core.findings import row_findings
from tidemark.core.streams import StreamEnd
from tidemark.ledger.chain.links import chained_again
from tidemark.ledger.digest import digest_findings, digest_rows
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.clone import clone
from tidemark.ledger.tables.rows import Row, batch_row, finding_rows, state_rows
from tidemark.records.versions import DifferenceRecord, OutputDifference, nothing_differs
from tidemark.runner.source_rules import rules_of
from tidemark.storage import is_table
from tidemark.storage.folders import remove_tree

if TYPE_CHECKING:
    from tidemark.spark.rebuild.merge import ChangedRows, ChangedTable, TableMerge

OF_ROWS = frozenset(FINDINGS.values())
_STATE = frozenset({"substreams", "lifetimes", "open_lifetimes", "seen"})
"""Tables with state from which later runs go on."""


@dataclass(frozen=True)
class Merged:
    """Result of a backfill: the first batch that changed, the number of rows judged again, and the difference."""

    rebuilt: int | None = None
    input_rows: int = 0
    difference: DifferenceRecord = field(default_factory=nothing_differs)

    @property
    def differs(self) -> bool:
        """True if any row, output or dead letter changed."""
        return differs(self.difference)


@dataclass(frozen=True)
class SliceMerge:
    """Merges a `slice`, batches first..last of `live` executed again, into `target`, whose tables are still clones of
    the live tables. `then` and `spec` are the configurations before and now. Rows of `excluded` objects are now
    quarantined."""

    then: PipelineSpec
    spec: PipelineSpec
    live: Ledger
    slice: Ledger
    target: Ledger
    asked: Range
    again: EventsRerun
    first: int
    last: int
    through: int
    excluded: Taken

    @property
    def going_on(self) -> bool:
        """True if later runs go on from the state after the slice."""
        return self.asked.end is None

    def merge(self, checkpoint: Callable[[str], None], progress: Callable[[str, int, int], None]) -> Merged:
        """Merge table by table, then the ledger."""
        from tidemark.spark.rebuild.merge import TableMerge

        spark = self.again.context.engine.spark
        tables = TableMerge(spark, self.live.folder, self.slice.folder, self.target.folder, self.asked, self.last)
        try:
            rows = self._rows(tables, checkpoint)
            outputs = self._outputs(tables, rows, checkpoint, progress)
            otherwise = bool(rows or outputs) or (
                self.going_on and relevant(self.spec.resolved()) != relevant(self.then.resolved())
            )
            if otherwise:
                self._record(tables, rows, outputs)
                checkpoint("recorded")
            difference = self._difference(tables, rows, outputs)
        finally:
            tables.release()
        return Merged(self.first if otherwise else None, self._input_rows(), difference)

    def _rows(self, tables: TableMerge, checkpoint: Callable[[str], None]) -> dict[str, ChangedRows]:
        found, same = {}, unchanged_sources(self.then.resolved(), self.spec, self.excluded)
        for name, source in self.spec.sources.items():
            old = self.again.engine().recorded(source, self.first, self.last)
            changed = tables.rows(source, old, anew=name not in same)
            if changed is not None:
                tables.put_rows(source, changed)
                found[name] = changed
                checkpoint("events")
        return found

    def _outputs(
        self,
        tables: TableMerge,
        rows: dict[str, ChangedRows],
        checkpoint: Callable[[str], None],
        progress: Callable[[str, int, int], None],
    ) -> dict[str, ChangedTable]:
        published = [name for name, step in self.spec.streams.items() if step.published]
        names = [f"streams/{name}" for name in published]
        names += [f"dead_letters/{name}" for name in published if self.spec.streams[name].windowed]
        found = {}
        for number, table in enumerate(names):
            progress("merge", number, len(names))
            kind, _, stream = table.partition("/")
            one = tables.of_one(self.spec, stream) if kind == "streams" else None
            changed = tables.outputs(table, rows[one].rows if one in rows else None, self._passed(stream))
            if changed is not None:
                found[table] = changed
                checkpoint(kind)
        progress("merge", len(names), len(names))
        return found

    def _passed(self, stream: str) -> int | None:
        """Time that a stream has passed in the live version, if later runs go on from that state; None if it does not
        matter."""
        end = self.live.batches(self.through, self.through)[0].streams.get(stream)
        return None if self.going_on or end is None or end.state.complete else end.state.passed

    def _input_rows(self) -> int:
        records = self.slice.batches(self.first, self.last)
        return sum(account.rows for record in records for account in record.accounts)

    def _difference(
        self, tables: TableMerge, rows: dict[str, ChangedRows], outputs: dict[str, ChangedTable]
    ) -> DifferenceRecord:
        changes = {name: tables.record_rows(name, changed) for name, changed in rows.items() if changed.reported}
        return {
            "rows": changes,
            "streams": _of_kind("streams", outputs),
            "dead_letters": _of_kind("dead_letters", outputs),
            "fates": {
                "before": fates_of(self.live.batches(self.first, self.last)),
                "after": fates_of(self.target.batches(self.first, self.last)),
            },
            "excluded": [
                {"source": name, "uri": uri, "rows": rows, "left": rows - out}
                for name, objects in self.excluded.items()
                for uri, (rows, out) in sorted(tables.excluded(name, objects).items())
            ],
        }

    # -- the ledger

    def _record(self, tables: TableMerge, rows: dict[str, ChangedRows], outputs: dict[str, ChangedTable]) -> None:
        """Record in the version's ledger the counts, digests and findings of its tables now, and the state to go on
        from."""
        sliced = {record.batch_id: record for record in self.slice.batches(self.first, self.through)}
        digests = {table: tables.digests(table, changed.first, changed.last) for table, changed in outputs.items()}
        if self.going_on:
            self._go_on(tables)
        tables.put_seen(self.spec.sources, self.target.states(self.through + 1), self.through + 1)
        made, findings = [], []
        for record in self.live.batches(self.first, self.through):
            sources = {name for name, changed in rows.items() if record.batch_id in changed.batches}
            again = self._going_on(record, sliced.get(record.batch_id))
            again, found = self._recounted(again, sources)
            again = _with_outputs(again, digests, outputs)
            findings += finding_rows(record.batch_id, found)
            made.append(_with_digest(again, digest_findings(record.batch_id, found)))
        self._replace("diagnostics", findings)
        self._replace("batches", list(map(batch_row, chained_again(self.target, made))))

    def _replace(self, table: str, rows: list[Row]) -> None:
        """Replace rows from the first batch on, once for the version: its base may know a batch of this number."""
        self.target.stores[table].replace(f"batch_id >= {self.first}", rows, "version", self.target.version)

    def _go_on(self, tables: TableMerge) -> None:
        """Replace the recorded watermarks by the slice's watermarks, from which later runs go on."""
        store = self.slice.stores["watermarks"]
        rows = [row for row in store.read(self.first + 1, self.last) if row["batch_id"] > self.first]
        rows += state_rows(self.first, self.slice.states(self.first + 1))
        self._replace("watermarks", rows)
        tables.put_substreams(self.first)
        for name, source in self.spec.sources.items():
            if source.lifetimes.edges:
                self._put_lifetimes(name)

    def _put_lifetimes(self, source: str) -> None:
        """Replace the lifetimes of a source with edges by the slice's lifetimes: the slice reads the whole source."""
        from tidemark.spark.punctuation.lifetimes import ended_table, open_table

        for table in (ended_table(source), open_table(source)):
            if is_table(str(self.slice.folder / table)):
                remove_tree(self.target.folder / table)
                clone(self.slice.folder / table, self.target.folder / table)

    def _going_on(self, record: BatchRecord, sliced: BatchRecord | None) -> BatchRecord:
        """A batch with the slice's recorded states, if later runs go on from them; else the batch unchanged."""
        if not self.going_on or sliced is None:
            return record
        own = [digest for digest in sliced.digests if digest.table.partition("/")[0] in _STATE]
        kept = [digest for digest in record.digests if digest.table.partition("/")[0] not in _STATE]
        standing = self.target.stores["watermarks"].read(record.batch_id, record.batch_id)
        again = replace(
            record,
            configuration=sliced.configuration,
            fingerprint=sliced.fingerprint,
            engine=sliced.engine,
            combined=sliced.combined,
            streams={name: self._counted(end, record.streams.get(name)) for name, end in sliced.streams.items()},
            digests=(*kept, *own),
            written=_written(record, sliced),
        )
        return _with_digest(again, digest_rows("watermarks", standing))

    def _counted(self, end: StreamEnd, before: StreamEnd | None) -> StreamEnd:
        """The end of a stream after the slice, with its numbers of rows and dead letters from before the backfill. A
        new stream has no outputs that end by the begin of the range."""
        since = self.asked.begin
        if before is None:
            return StreamEnd(replace(end.state, begins=since), 0, end.outside, 0)
        begins = None if before.state.begins is None else min(before.state.begins, since)
        return StreamEnd(replace(end.state, begins=begins), before.rows, end.outside, before.dead_letters)

    def _recounted(self, record: BatchRecord, sources: set[str]) -> tuple[BatchRecord, list[Finding]]:
        """A batch with counts, digests and findings of its present rows in the events tables of `sources`."""
        findings = list(self.live.findings(record.batch_id))
        findings = [item for item in findings if item.source not in sources or item.type not in OF_ROWS]
        objects = self.live.objects_of(record)
        for name in sorted(sources):
            partitions, digest = self._count(name, record, [item for item in objects if item.source == name])
            kept = tuple(account for account in record.accounts if account.source != name)
            found = [report.account for report in partitions.partitions.values()]
            accounts = sorted((*kept, *found), key=lambda account: (account.source, account.partition))
            record = _with_digest(replace(record, accounts=tuple(accounts)), digest)
            findings += row_findings(rules_of(self.spec)[name], partitions)
        return record, findings

    def _count(self, name: str, record: BatchRecord, objects: list) -> tuple[Outcome, TableDigest]:  # type: ignore[type-arg]
        from tidemark.spark.judge import events
        from tidemark.spark.tables import accounts

        source, engine = self.spec.sources[name], self.again.context.engine
        location = str(self.target.folder / f"events/{name}")
        rows = events.appended(engine.spark, source, location, record.batch_id)
        if rows is None:
            raise ValueError(f"batch {record.batch_id} has no rows of {name}")
        counts = engine.count(source, rows, objects)
        return Outcome(partitions=accounts.partitions_of(counts, name)), counts.digest(f"events/{name}")


def _of_kind(kind: str, outputs: Mapping[str, ChangedTable]) -> dict[str, OutputDifference]:
    """Numbers of rows gone and new in the tables of a kind, by name."""
    found: dict[str, OutputDifference] = {}
    for table, changed in outputs.items():
        folder, _, name = table.partition("/")
        if folder == kind:
            found[name] = {"gone": changed.gone, "new": changed.new}
    return found


def _written(record: BatchRecord, sliced: BatchRecord) -> tuple[LastWrite, ...] | None:
    """Last writes that logs must have: the slice's for tables taken from the slice, else the batch's own."""
    if record.written is None or sliced.written is None:
        return None

    def of_slice(each: LastWrite) -> bool:
        return each.table.partition("/")[0] in {"lifetimes", "open_lifetimes", "seen"}

    kept = [each for each in record.written if not of_slice(each)]
    return (*kept, *filter(of_slice, sliced.written))


def _with_digest(record: BatchRecord, digest: TableDigest) -> BatchRecord:
    """A batch with the digest in place of its earlier digest of that table."""
    kept = [each for each in record.digests if each.table != digest.table]
    return replace(record, digests=(*kept, digest))


def _with_outputs(
    record: BatchRecord, digests: dict[str, dict[int, TableDigest]], outputs: dict[str, ChangedTable]
) -> BatchRecord:
    """A batch with digests and counts of the outputs that belong to it now."""
    for table, changed in outputs.items():
        if not changed.first <= record.batch_id <= changed.last:
            continue
        digest = digests[table].get(record.batch_id)
        kept = tuple(each for each in record.digests if each.table != table)
        record = replace(record, digests=kept if digest is None else (*kept, digest))
        kind, _, name = table.partition("/")
        end = record.streams.get(name)
        if end is not None:
            count = 0 if digest is None else digest.rows
            end = replace(end, rows=count) if kind == "streams" else replace(end, dead_letters=count)
            record = replace(record, streams={**record.streams, name: end})
    return record
