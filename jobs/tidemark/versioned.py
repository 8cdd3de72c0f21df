"""The verbs of a pipeline about versions of its outputs: backfill, versions, promote, exclude."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidemark import excluding, versioning
from tidemark.arguments import alias, number, texts
from tidemark.auditing import ensure_not_blocked
from tidemark.config import PipelineSpec, load_pipeline
from tidemark.core.slices import Range
from tidemark.errors import UsageError
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lock import hold
from tidemark.ledger.written import ensure_whole
from tidemark.places import Place
from tidemark.planning import analyse
from tidemark.reading import instant
from tidemark.summaries import Record
from tidemark.verbs import explained

if TYPE_CHECKING:
    from tidemark.spark.engine import Engine


class Versioned:
    """Builds versions beside the live one, lists them, and lets readers see another. What it needs of a pipeline is
    told there."""

    spec: PipelineSpec
    environ: Mapping[str, str] | None
    clock: Callable[[], int]
    progress: Callable[[str, int, int], None]
    _still_held: Callable[[], None] | None

    if TYPE_CHECKING:

        @property
        def root(self) -> Place: ...
        @property
        def ledger(self) -> Ledger: ...
        @property
        def engine(self) -> Engine: ...
        def _step(self, step: str) -> None: ...
        def _repair(self) -> list[str]: ...
        def _forget(self) -> None: ...

    @explained
    def backfill(
        self,
        from_: str | int,
        to: str | int | None = None,
        settings_: Sequence[str] = (),
        from_landing: bool = False,
        wait: bool = False,
        label: str | None = None,
        **named: Sequence[str],
    ) -> Record:
        """Build a version beside the live one, whose outputs in [from_, to) are made anew. `set` (KEY=VALUE each,
        also called `settings_`) wins over the file. `from_landing`: rows are read from landing again, as they are
        there now. `versions` tells the `label`, by which who asked for a version finds it."""
        from tidemark.backfilling import Backfill  # what a verb alone needs is loaded for it
        from tidemark.rereading import Rereading

        for values in alias(named, verb="backfill", instead_of={"set": "settings_"}).values():
            settings_ = texts("set", values)
        if from_landing and to is not None:
            raise UsageError(
                "a version from landing goes to the last run: rows after one that is new have other numbers",
                hint="leave out --to",
            )
        now = self.clock()
        asked = Range(instant(from_, now) or 0, instant(to, now))
        spec = load_pipeline(self.spec.path, self.environ, settings_).spec if settings_ else self.spec
        with self._settled(wait):
            analyse(spec)
            taken = excluding.excluded(self.ledger, spec.sources)
            tools = (lambda: self.engine), self._step, self.progress, taken, label
            if from_landing:
                return Rereading(spec, self.ledger, asked.begin, *tools).build(self.clock())
            return Backfill(spec, self.ledger, asked, *tools).build(self.clock())

    @explained
    def versions(self) -> Record:
        """The versions that there are, and which is live."""
        return versioning.told(self.root, self.ledger)

    @explained
    def promote(self, version: int, wait: bool = False) -> Record:
        """Make a version live, once it has the live one's last run; the earlier one can be promoted again."""
        from tidemark.promoting import Promotion

        number("version", version, 1)
        with self._settled(wait):
            asking = Promotion(self.spec, self.ledger, lambda: self.engine, self._step, self.progress)
            told = asking.promote(version, self.clock())
            self._forget()
            return told

    @explained
    def exclude(self, uri: str, reason: str, wait: bool = False) -> Record:
        """Record that an object is wrong, and why: the next backfill quarantines its rows. `uri` is relative to its
        source's landing."""
        with hold(self.root, wait) as self._still_held:
            return excluding.exclude(self.ledger, self.spec.sources, uri, reason, self.clock())

    @contextmanager
    def _settled(self, wait: bool) -> Iterator[None]:
        """Hold the pipeline, and finish a run that crashed. Raises Blocked while quality blocks one."""
        with hold(self.root, wait) as self._still_held:
            ensure_whole(self.ledger)
            ensure_not_blocked(self.ledger)
            self._repair()
            yield
