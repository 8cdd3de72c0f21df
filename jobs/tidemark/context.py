"""The context of a pipeline's commands: its specification, its ledger and engine, the clock, and the hooks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidemark.config import PipelineSpec
from tidemark.config.address import RemoteLocation
from tidemark.errors import TidemarkError
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lock import hold
from tidemark.ledger.tables.integrity import first_damage
from tidemark.runner.planner import Planning, buckets_of
from tidemark.storage import Location, location_of

if TYPE_CHECKING:
    from tidemark.spark.judge.engine import Engine
    from tidemark.spark.maintenance import TableMaintenance
    from tidemark.spark.streams.writer import Outputs


def show_nothing(phase: str, done: int, count: int) -> None:
    """Ignore progress: nobody watches it, or a larger step is shown."""


def _pass_on(step: str) -> None:
    """Ignore a checkpoint: nobody is watching."""


@dataclass
class RunContext:
    """One pipeline as its commands see it.

    `progress(phase, done, all)` is called as long work goes on; `on_checkpoint(step)` at each checkpoint, a step of a
    run that a crash may follow; `clock` gives microseconds UTC; `environ` replaces the process's environment. Quality
    of runs is recorded only if `checked`.
    """

    spec: PipelineSpec
    progress: Callable[[str, int, int], None] = show_nothing
    on_checkpoint: Callable[[str], None] = _pass_on
    clock: Callable[[], int] = lambda: time.time_ns() // 1000
    environ: Mapping[str, str] | None = field(default=None, repr=False)
    checked: bool = True
    _still_held: Callable[[], None] | None = field(default=None, init=False, repr=False)
    _opened: versions.Identity | None = field(default=None, init=False, repr=False)

    @property
    def root(self) -> Location:
        """Location of the pipeline: its lock, its versions and their tables."""
        return location_of(self.spec.warehouse) / self.spec.name

    @property
    def buckets(self) -> list[RemoteLocation]:
        """The buckets of object storage that have its tables or a landing."""
        return buckets_of(self.spec)

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of the live version."""
        versions.ensure_whole(self.root)
        self._opened = versions.identity(self.root)
        return Ledger(self.root, self._opened.live)

    @property
    def warehouse(self) -> str | None:
        """Identity of the warehouse when its tables were opened; None before the first run."""
        return self._opened.table if self._opened else None

    @cached_property
    def planning(self) -> Planning:
        """Finds what landed and cuts it into micro-batches."""
        return Planning(self.spec, self.ledger, self.progress)

    @cached_property
    def engine(self) -> Engine:
        """The Spark engine. Starts a JVM: commands ask for it only when there are rows to judge."""
        from tidemark.spark.judge.engine import Engine  # a run without rows never imports it
        from tidemark.spark.session.session import open_session

        return Engine(open_session(buckets=self.buckets), self.ledger.folder, checkpoint=self.checkpoint)

    def has_engine(self) -> bool:
        """True if a command has started the engine."""
        return "engine" in self.__dict__

    def release_engine(self) -> None:
        """Drop the engine; the next use opens a new Spark session. After a verb its session is no longer the active
        one, and the caller may stop Spark."""
        self.__dict__.pop("engine", None)

    def damage(self) -> TidemarkError | None:
        """The error that names a damaged table of the live version. None if there is none, if no command has opened
        the ledger, or if the tables are in object storage, where each look costs requests."""
        if "ledger" not in self.__dict__ or not isinstance(self.ledger.folder, Path):
            return None
        return first_damage(self.ledger.folder)

    def tables(self) -> TableMaintenance:
        """Maintenance of the tables that Spark writes; starts a JVM."""
        from tidemark.spark.maintenance import TableMaintenance

        return TableMaintenance(self.engine.spark, self.ledger.folder)

    def outputs(
        self,
        spec: PipelineSpec,
        ahead: Mapping[str, Any] | None = None,
        recompute: bool = False,
        folder: Location | None = None,
    ) -> Outputs:
        """Writes the streams of a specification into the folder of a version, by default the live one; starts a
        JVM."""
        from tidemark.spark.streams.writer import Outputs

        return Outputs(self.engine.spark, str(folder or self.ledger.folder), spec, recompute, ahead or {})

    @contextmanager
    def hold(self, wait: bool) -> Iterator[None]:
        """Hold the pipeline's lock. Raises Held if another run has it and `wait` is false."""
        with hold(self.root, wait) as self._still_held:
            self.renew()
            yield

    @property
    def holds_lease(self) -> bool:
        """True if the lock is a lease. A lease can end while its holder is stalled; the holder then goes on until its
        next checkpoint."""
        return self._still_held is not None

    def checkpoint(self, step: str) -> None:
        """Mark a step of a run: the lock must still be held, and `on_checkpoint` is called."""
        if self._still_held is not None:
            self._still_held()
        self.on_checkpoint(step)

    def renew(self) -> None:
        """Open the tables again if another process has promoted another version, or has deleted and created the
        warehouse, since they were opened. A pipeline that lives long (in a notebook, or waiting for the lock) must
        not use old tables."""
        if "ledger" not in self.__dict__ or self._opened is None:
            return
        try:
            now = versions.identity(self.root)
        except TidemarkError:
            self.forget()  # the command that opens them says what is damaged
            return
        begun = self._opened.table is None and now.live == self.ledger.version
        if now != self._opened and not begun:
            self.forget()
        self._opened = now

    def forget(self) -> None:
        """Drop everything that is open; the next use opens the live version. Needed after a promotion or a repair."""
        for known in ("ledger", "planning", "engine"):
            self.__dict__.pop(known, None)
