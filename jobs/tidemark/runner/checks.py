"""Checks a run after judging and before publishing, and decides if quality blocks it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from tidemark.config import PipelineSpec
from tidemark.config.secrets import hidden
from tidemark.core.advance import States
from tidemark.core.batch_result import Account, BatchRecord, Outcome
from tidemark.core.quality import RELEASED, Check, Severity, compared
from tidemark.core.shell import command
from tidemark.errors import Blocked, UsageError
from tidemark.ledger.data_docs import keep_page
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tail import BLOCKED, Accounted
from tidemark.quality import docs, metrics
from tidemark.quality.metrics import Line, limits_of
from tidemark.quality.run_facts import Gathered
from tidemark.quality.suites import Suite, shipped
from tidemark.runner.stream_progress import Ending

if TYPE_CHECKING:
    from tidemark.quality.validate import Validation

HISTORY = 100
"""Number of earlier batches with which a run is compared."""
_KEYS = ("_window_start", "_window_end", "_partition", "_offset")
"""Columns that identify a row for people, those of windows first."""


class Checked(Protocol):
    """Rows of a run, as its checks read them."""

    def judged(self, table: str, first: int, last: int) -> Any:  # noqa: ANN401 # a data frame
        """The rows of an events table from batches first..last that streams may take; None if there is no table."""
        ...

    def stage(self, ending: Ending, made: dict[str, Any]) -> dict[str, int]:
        """Compute the rows that the run's end adds to streams, by table in `made`. Returns the number of rows that
        are not due, by stream."""
        ...


@dataclass
class Audit:
    """The checks of one run. `suites` are the users' suites of its plan; `made` holds stream rows, by table, that are
    checked before they are published."""

    spec: PipelineSpec
    ledger: Ledger
    suites: Sequence[Suite] = ()
    gathered: Gathered = field(default_factory=Gathered)
    made: dict[str, Any] = field(default_factory=dict)
    _importing: threading.Thread | None = field(default=None, repr=False)
    _judging: Validation | None = field(default=None, repr=False)
    _drawing: Future[None] | None = field(default=None, repr=False)

    @property
    def apart(self) -> bool:
        """True if the checks cannot block and read nothing in Spark, so that they may run while the run publishes."""
        return bool(self.spec.streams) and not self._made_first() and not self.suites

    def begin(self) -> None:
        """Import the validation library in a thread while Spark works."""
        if self._importing is None:
            self._importing = threading.Thread(target=_import, daemon=True)
            self._importing.start()

    def add(self, outcomes: Mapping[str, Outcome], before: States, after: States) -> None:
        """Take in one micro-batch, with the states of partitions before and after it."""
        self.gathered.add(outcomes, before, after)

    def of_run(self, record: BatchRecord, ending: Ending, tables: Checked) -> tuple[Check, ...]:
        """The checks of the run that a batch ends; none if the run has no rows. They are computed once, and recorded
        before they have an effect."""
        if known := self.ledger.checks(record.batch_id):
            return known
        first = record.run_first  # may belong to a run whose rest was abandoned: this run publishes its rows
        recorded = self.ledger.accounts(first - HISTORY, record.batch_id - 1)
        accounts = [account for each in recorded if each.batch_id >= first for account in each.accounts]
        accounts += record.accounts
        earlier = [each for each in recorded if each.batch_id < first]
        if not sum(account.rows for account in accounts):
            return ()
        judging = self._judge()
        lines = self._lines(record, ending, accounts, _by_run(earlier))
        checks = [check for name, found in lines.items() for check in judging.lines(shipped(name), found)]
        checks += self._of_rows(judging, record, ending, tables)
        checks = [replace(check, message=hidden(check.message)) for check in checks]
        self.ledger.record_checks(record, checks)
        if self._complete():
            self._draw(record)
        return tuple(checks)

    def of_streams(self, record: BatchRecord, not_due: Mapping[str, int]) -> None:
        """Check the rows that a checked run has published to streams, if they were not checked before. This blocks
        nothing."""
        if self._complete() or not self.ledger.checks(record.batch_id):
            return
        begun = self._judging is not None
        checks = list(self._judge().lines(shipped("streams"), list(metrics.streams(not_due))))
        self.ledger.record_checks(record, checks, "streams")
        if begun:
            self._draw(record)

    def _judge(self) -> Validation:
        """The validation of this run, which also keeps its results for Data Docs."""
        from tidemark.quality.validate import Validation  # slow to import: `begin` started that earlier

        if self._importing is not None:
            self._importing.join()
        if self._judging is None:
            self._judging = Validation(self._severity)
        return self._judging

    def _lines(
        self, record: BatchRecord, ending: Ending, run: Sequence[Account], history: Sequence[Sequence[Account]]
    ) -> dict[str, list[Line]]:
        """Lines that shipped suites validate, by suite."""
        standing = self.ledger.digests(record.batch_id)
        advised = metrics.advised_targets(self.spec, self.ledger.stores["advice"].read(1, record.batch_id))
        states, combined = (ending.before, ending.after), (ending.combined_before, ending.combined)
        return {
            "events": list(metrics.events(self.gathered)),
            "batches": list(metrics.batches(self.spec, run, history, self.gathered, advised)),
            "watermarks": list(metrics.watermarks(self.spec, states, combined, record.as_of)),
            "digests": list(metrics.digests(record.digests, standing)),
        }

    def _of_rows(self, judging: Validation, record: BatchRecord, ending: Ending, tables: Checked) -> Iterator[Check]:
        """Checks of rows that are about to be published, and checks by users' suites. A suite without rows gives no
        check."""
        if self._made_first():
            yield from judging.lines(shipped("streams"), list(metrics.streams(tables.stage(ending, self.made))))
        for suite in self.suites:
            if suite.table in self.made:
                rows = self.made[suite.table]
            elif suite.table.startswith("events/"):
                rows = tables.judged(suite.table, record.run_first, record.run_last)
            else:
                continue
            if rows is not None and not rows.isEmpty():
                yield from judging.rows(suite, rows, [key for key in _KEYS if key in rows.columns][:2])

    def _draw(self, record: BatchRecord) -> None:
        """Begin to write the Data Docs page of the results, while the run goes on."""
        results = tuple(self._judge().results)

        def keep() -> None:
            held = all(result.success for result in results)
            keep_page(self.ledger.folder, record, hidden(docs.page(results, record.run_id)), held)

        pool = ThreadPoolExecutor(1)
        self._drawing = pool.submit(keep)
        pool.shutdown(wait=False)

    def let_go(self) -> None:
        """Release the rows that were made to be checked, after the Data Docs page is written."""
        if self._drawing is not None:
            self._drawing.result()
        for rows in self.made.values():
            rows.unpersist()
        self.made.clear()

    def _complete(self) -> bool:
        """True if all checks are made before the run publishes anything."""
        return not self.spec.streams or self._made_first()

    def _made_first(self) -> bool:
        """True if rows for streams are computed before they are published: a check may block, or a user's suite reads
        them."""
        own = any(suite.table.startswith("streams/") for suite in self.suites)
        return own or any(
            self._severity(table) is Severity.BLOCK for table in ("", *(f"events/{s}" for s in self.spec.sources))
        )

    def _severity(self, table: str) -> Severity:
        source = table.removeprefix("events/")
        found = limits_of(self.spec, source if source in self.spec.sources else None).on_failure
        return Severity(found or Severity.RECORD)


class Unchecked(Audit):
    """Audit without any checks, for runs whose quality nobody reads."""

    def begin(self) -> None:
        """Do nothing: no checks, no imports."""

    def of_run(self, record: BatchRecord, ending: Ending, tables: Checked) -> tuple[Check, ...]:  # noqa: ARG002
        """Return no checks."""
        return ()

    def of_streams(self, record: BatchRecord, not_due: Mapping[str, int]) -> None:
        """Check no streams either."""


def blocks(ledger: Ledger, checks: Sequence[Check], record: BatchRecord) -> bool:
    """True if a check blocks the run that a batch ends and nobody has released it."""
    if not any(check.blocks for check in checks):
        return False
    return not released(ledger, record)


def released(ledger: Ledger, record: BatchRecord) -> bool:
    """True if somebody has released the run that a batch ends."""
    return any(check.expectation == RELEASED for check in ledger.checks(record.batch_id))


def standing_in_the_way(ledger: Ledger, pending: Sequence[BatchRecord]) -> Blocked | None:
    """Reason why no run may start: quality blocks the last one, and nobody has released it. None if there is no such
    reason."""
    if not pending or pending[-1].status != BLOCKED or released(ledger, pending[-1]):
        return None
    return blocked(pending[-1], ledger.checks(pending[-1].batch_id))


def ensure_not_blocked(ledger: Ledger) -> None:
    """Raise Blocked while quality blocks the last run."""
    obstacle = standing_in_the_way(ledger, ledger.last().pending)
    if obstacle is not None:
        raise obstacle


def blocked_run(ledger: Ledger, run: str) -> BatchRecord:
    """The last batch of a run that quality blocks. Raises UsageError if no such run is blocked."""
    pending = ledger.last().pending
    if pending and pending[-1].status == BLOCKED and pending[-1].run_id == run:
        return pending[-1]
    other = f"; run {pending[-1].run_id} is" if pending and pending[-1].status == BLOCKED else ""
    raise UsageError(f"run {run!r} is not blocked{other}", hint="`tidemark status` lists the last runs")


def blocked(record: BatchRecord, checks: Sequence[Check]) -> Blocked:
    """The error of a blocked run, with the failed checks and the likely causes."""
    failed = [check for check in checks if check.blocks]
    causes = dict.fromkeys(check.message for check in failed)
    return Blocked(
        f"quality blocks run {record.run_id}, which has published nothing: {'; '.join(map(failure_text, failed))}. "
        + " ".join(causes),
        hint=f"look at it, then `{command('release', 'CONFIG', record.run_id, options=('--reason', '...'))}`",
    )


def failure_text(check: Check) -> str:
    """Text of a failed check, without its cause."""
    rows = f" (such as {', '.join(check.examples)})" if check.examples else ""
    return f"{check.table}: {check.expectation}{compared(check.observed, check.limit)}{rows}"


def _by_run(records: Sequence[Accounted]) -> list[list[Account]]:
    runs = groupby(records, lambda record: record.run_id)
    return [[account for record in of_run for account in record.accounts] for _, of_run in runs]


def _import() -> None:
    from tidemark.quality.validate import imported

    imported()
