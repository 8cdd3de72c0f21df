"""Abandons a planned run that cannot be finished: deletes what it appended and frees its objects.

planned -> abandoning -> no table has any of its rows -> abandoned

Readers that end at the last committed batch never saw the deleted rows. Others may have seen rows of streams, so a
run that has published to a stream is abandoned only on request. The numbers of its batches are not used again, since
logs of tables hold them. Every step may be repeated; the next run finishes an interrupted abandonment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidemark.arguments import reason_for
from tidemark.context import RunContext
from tidemark.core.batch_result import APPLICATION, BatchRecord, LastWrite, writer_of
from tidemark.core.shell import command
from tidemark.core.stream_output import OUTPUTS
from tidemark.errors import TidemarkError, UsageError
from tidemark.ledger.abandoned import set_aside
from tidemark.ledger.durability import lasting
from tidemark.ledger.full_states import records_all
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import WRITERS, Loss, must_know
from tidemark.ledger.tables.rows import state_rows
from tidemark.ledger.tail import ABANDONED, ABANDONING
from tidemark.records.runs import AbandonRecord
from tidemark.storage.folders import tables_below

_STATE = ("events", "lifetimes", "open_lifetimes", "seen")
_SUBSTREAMS = "substreams"


@dataclass(frozen=True)
class Abandonment:
    """Abandons runs of the live version. Asks for its engine, which starts a JVM, only if Spark has appended rows."""

    context: RunContext

    @property
    def ledger(self) -> Ledger:
        """The ledger of the live version."""
        return self.context.ledger

    def abandon(self, run: str, reason: str, published: bool = False) -> AbandonRecord:
        """Abandon a run and record the reason. Raises UsageError if no such run is planned, or if it has published to
        streams and `published` is false."""
        reason = reason_for("abandoning a run", reason, "say with --reason why it cannot be finished")
        pending = self.ledger.last().pending
        if not pending or pending[0].run_id != run:
            other = f"; run {pending[0].run_id} is" if pending else ""
            raise UsageError(
                f"run {run!r} is not planned and uncommitted{other}", hint="`tidemark status` lists the last runs"
            )
        if not published and (table := next(self._published(pending[0].batch_id), None)):
            raise UsageError(
                f"run {run!r} has published to {table}",
                hint="remove what stops it, then `tidemark run`; if that cannot be, `--published` withdraws its "
                "rows: readers that do not end at the last committed batch may have seen them",
            )
        if pending[0].status != ABANDONING:
            set_aside(self.ledger, pending, ABANDONING, reason.strip())
            self.context.checkpoint("abandoning")
        return self.finish(self.ledger.last().pending)

    def finish(self, pending: Sequence[BatchRecord]) -> AbandonRecord:
        """Delete every row of a run whose abandonment has begun, then record it as abandoned."""
        first, last = pending[0].batch_id, pending[-1].batch_id
        names = {*tables_below(self.ledger.folder), *WRITERS}  # a withdrawal creates missing small tables
        with lasting(*(self.ledger.folder / name for name in sorted(names))):
            self.withdraw(first, last)
        self.context.checkpoint("withdrawn")
        set_aside(self.ledger, pending, ABANDONED, pending[0].reason or "", tuple(self._known(first, last)))
        self.context.checkpoint("abandoned")
        return {
            "run_id": pending[0].run_id,
            "abandoned": True,
            "reason": pending[0].reason,
            "batches": [record.batch_id for record in pending],
            "objects": sum(record.objects for record in pending),
        }

    def withdraw(self, first: int, last: int) -> None:
        """Delete the rows of batches first..last in commits that record the withdrawal. If the lock is a lease, the
        run may be stalled and go on later: then first record these batches as written in every table."""
        if self.context.holds_lease:
            self._fence(first, last)
        for table in self._appended(first, last):
            from tidemark.spark.rebuild.repair import (
                withdraw,  # starts a JVM: only if there is something to delete
            )

            withdraw(self.context.engine.spark, str(self.ledger.folder / table), first, last, ABANDONED)
            self.ledger.store(table).close()
        for name in WRITERS:
            self.ledger.stores[name].withdraw(first, last, ABANDONED, WRITERS[name])
        states = self.ledger.states(first)
        for batch_id in filter(records_all, range(first, last + 1)):
            self.ledger.stores["watermarks"].put_back(batch_id, state_rows(batch_id, states), "record")

    def _fence(self, first: int, last: int) -> None:
        """Record batches first..last as appended in the log of every table that Spark writes, so that a stalled run
        cannot append them."""
        from tidemark.spark.rebuild.repair import know  # starts a JVM: only where a run may be stalled

        for table in self._of_spark():
            for writer in self._writers(table, first, last):
                if self.ledger.store(table).number(writer) < last:
                    know(self.context.engine.spark, str(self.ledger.folder / table), writer, last)
            self.ledger.store(table).close()

    def withdraw_again(self, lost: Iterable[Loss]) -> list[str]:
        """Delete the rows of abandoned runs again from tables that lost those deletions; returns these tables."""
        found = [each for each in lost if each.writer == ABANDONED]
        for each in found:
            for record in self.ledger.recorded(1, each.recorded):
                if record.status == ABANDONED:
                    self.withdraw(record.batch_id, record.batch_id)
        return [each.table for each in found]

    def _appended(self, first: int, last: int) -> list[str]:
        """Tables to which Spark has appended rows of batches first..last, or later ones."""
        return [
            name
            for name in self._of_spark()
            if any(self.ledger.store(name).number(writer) >= first for writer in self._writers(name, first, last))
        ]

    def _of_spark(self) -> list[str]:
        kinds = (*_STATE, *OUTPUTS, _SUBSTREAMS)
        return [name for name in tables_below(self.ledger.folder) if name.partition("/")[0] in kinds]

    def _published(self, first: int) -> Iterator[str]:
        """Output tables to which the run has already published: readers may follow them."""
        for name in tables_below(self.ledger.folder):
            if name.partition("/")[0] in OUTPUTS and self.ledger.store(name).number(APPLICATION) >= first:
                yield name

    def _writers(self, table: str, first: int, last: int) -> list[str]:
        """Names under which batches first..last append to a table. The sources come from the batches' own
        configurations, since the file may have been edited."""
        if table != _SUBSTREAMS:
            return [APPLICATION]
        plans = {record.configuration for record in self.ledger.recorded(first, last)}
        return sorted({writer_of(source) for plan in plans for source in json.loads(plan)["sources"]})

    def _known(self, first: int, last: int) -> Iterator[LastWrite]:
        """Last writes that tables' logs must have from now on: the earlier ones, and the withdrawal of the
        batches."""
        before = must_know(self.ledger, self.ledger.settled_before(first))
        yield from (each for each in before if each.writer != ABANDONED)
        withdrawn = {each.table: each.batch_id for each in before if each.writer == ABANDONED}
        kinds = (*_STATE, *OUTPUTS)
        names = [*WRITERS, *(name for name in tables_below(self.ledger.folder) if name.partition("/")[0] in kinds)]
        for table in sorted({*names, _SUBSTREAMS, *withdrawn}):
            known = self.ledger.store(table).number(ABANDONED)
            if known and known in (last, withdrawn.get(table)):
                yield LastWrite(table, ABANDONED, known)


def stuck(error: Exception, records: Sequence[BatchRecord], config: str) -> TidemarkError:
    """Error of a planned run that fails without a fault of a disk, of a service or of a table; its hint says what
    to do next."""
    run = records[0].run_id
    aside = command("abandon", config, run, options=("--reason", "..."))
    return TidemarkError(
        f"run {run} is planned and fails: {type(error).__name__}: {_said(error)}"[:1000],
        where=config,
        hint=f"remove the cause and run again; if it is the configuration or an object, `{aside}` sets the run "
        "aside: then edit the file, or move the object away, and run again",
    )


def _said(error: Exception) -> str:
    """The first line of an error. An error of the JVM begins with the failed call: its exception and innermost cause
    are added."""
    first, *others = str(error).splitlines() or [""]
    raised = [line.removeprefix(": ") for line in others if line.startswith(": ")]
    causes = [line.removeprefix("Caused by: ") for line in others if line.startswith("Caused by: ")]
    return " ".join([first, *raised[:1], *(f"({cause})" for cause in causes[-1:])])
