"""The verbs of a pipeline that lead out of what a fault or a check has left, and how a planned run is carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tidemark import versioning
from tidemark.abandonment import Abandonment, stuck
from tidemark.auditing import Audit, blocked_run
from tidemark.config import PipelineSpec
from tidemark.core.account import BatchRecord
from tidemark.errors import TidemarkError, UsageError
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lock import hold
from tidemark.ledger.tail import ABANDONING
from tidemark.ledger.written import ensure_whole
from tidemark.places import Place
from tidemark.places.faults import known_fault
from tidemark.places.synced import sync_tree
from tidemark.quality.suites import of_run
from tidemark.recorded import spec_of
from tidemark.replaying import Replay, located
from tidemark.running import Run
from tidemark.summaries import Record
from tidemark.verbs import explained

if TYPE_CHECKING:
    from tidemark.planning import Planning
    from tidemark.spark.engine import Engine


class Recovered:
    """Finishes, publishes or sets aside runs that stopped, and rebuilds tables. What it needs of a pipeline is told
    there."""

    spec: PipelineSpec
    clock: Callable[[], int]
    progress: Callable[[str, int, int], None]
    _still_held: Callable[[], None] | None

    if TYPE_CHECKING:

        @property
        def root(self) -> Place: ...
        @property
        def ledger(self) -> Ledger: ...
        @property
        def planning(self) -> Planning: ...
        @property
        def engine(self) -> Engine: ...
        def _step(self, step: str) -> None: ...
        def _outputs(self, spec: PipelineSpec, ahead: Any = None, recompute: bool = False) -> Any: ...  # noqa: ANN401
        def _replay(self, made: range | None) -> Replay: ...
        def _finished(self, records: Sequence[BatchRecord], notes: Sequence[str]) -> Record: ...

    @explained
    def release(self, run: str, reason: str, wait: bool = False) -> Record:
        """Publish a run that quality blocked, and record why. UsageError: no such run is blocked."""
        if not reason.strip():
            raise UsageError("a release needs a reason", hint="say with --reason why the run may be published")
        with hold(self.root, wait) as self._still_held:
            record = blocked_run(self.ledger, run)
            ensure_whole(self.ledger)
            self.ledger.release(record, reason)
            self._step("released")
            self._repair()
            return self._finished(self.ledger.batches(record.batch_id, record.batch_id), []) | {"released": True}

    @explained
    def abandon(self, run: str, reason: str, wait: bool = False, published: bool = False) -> Record:
        """Set a planned run aside that cannot be finished, and record why. UsageError: there is none, or it has
        published to streams and `published` does not ask for these rows to be withdrawn."""
        with hold(self.root, wait) as self._still_held:
            return self._abandonment().abandon(run, reason, published)

    @explained
    def repair(self, wait: bool = False) -> Record:
        """Rebuild damaged tables: events from landing, others from events, each batch proven by its digest."""
        from tidemark.ledger.versions_again import mend
        from tidemark.repairing import Repairing, ensure_batches

        with hold(self.root, wait) as self._still_held:
            listed = mend(self.root, self.clock())
            ensure_batches(self.ledger)
            made, _ = versioning.rebuilt(self.ledger, str(self.spec.path))
            replay = self._replay(made)
            repairing = Repairing(self.spec, self.ledger, replay, lambda: self.engine, self.progress, made)
            if listed is not None:
                repairing.tell_versions(*listed)
            found = repairing.repair()
            if found["repaired"] or found["rewritten"]:
                sync_tree(self.ledger.folder)
            self._forget()
            return found

    def _repair(self) -> list[str]:
        """Finish a run that crashed, from its recorded plan and configuration."""
        pending = self.ledger.last().pending
        if not pending:
            return []
        if pending[0].status == ABANDONING:
            self._abandonment().finish(pending)
            return []
        then = located(spec_of(pending[0].configuration, self.spec, self.ledger.root), self.spec)
        self._execute(then, pending, repairing=True)
        return [pending[0].run_id]

    def _execute(self, spec: PipelineSpec, records: Sequence[BatchRecord], *, repairing: bool) -> list[BatchRecord]:
        run = Run(
            spec,
            self.ledger,
            lambda: self.engine,
            self._outputs,
            self.planning.place,
            self._step,
            self.progress,
            Audit(spec, self.ledger, of_run(records[-1].suites, self.spec)),
        )
        try:
            return run.execute(records, repairing)
        except TidemarkError:
            raise
        except Exception as error:
            raise known_fault(error) or stuck(error, records, str(self.spec.path)) from error

    def _abandonment(self) -> Abandonment:
        return Abandonment(self.ledger, list(self.spec.sources), lambda: self.engine, self._step)

    def _forget(self) -> None:
        """Open the version anew when it is asked for: another one is live, or its tables were made again."""
        for known in ("ledger", "planning", "engine"):
            self.__dict__.pop(known, None)
