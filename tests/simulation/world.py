"""One pipeline on a simulated disk, with processes that take turns: commands meet faults, others act meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import conformance
import pytest
import simulated_tables
from deltalake.exceptions import DeltaError
from simulated_tables import Crash, Disk

import oracle
from oracle import SECOND, Obj, Row
from product import Product
from row_engine import RowEngine, without_spark
from strategies import BASE
from tidemark.commands import abandon
from tidemark.context import RunContext
from tidemark.core.batch_result import BatchRecord
from tidemark.errors import Held, TidemarkError
from tidemark.ledger import durability, versions
from tidemark.ledger.ledger import Ledger
from tidemark.storage import Location

SOURCES = (
    oracle.Source(early=None, late=(4 * SECOND, "drop"), out_of_order=(2 * SECOND, "adjust")),
    oracle.Source(early=(3 * SECOND, "adjust"), late=(4 * SECOND, "adjust"), out_of_order=(SECOND, "drop")),
    oracle.Source(early=(3 * SECOND, "drop"), late=None, out_of_order=(2 * SECOND, "keep"), partitions=("p", "q")),
)


@dataclass
class World:
    """A pipeline with one source. `now` is the time of the next run, seconds after BASE."""

    folder: Path
    dice: Random
    patch: pytest.MonkeyPatch
    disk: Disk = field(default_factory=Disk)
    now: int = 10
    landed: list[Obj] = field(default_factory=list)
    holder: object | None = None
    expired: bool = False

    def __post_init__(self) -> None:
        self.source = self.dice.choice(SOURCES)
        self.product = Product(self.folder, {"s": self.source})
        self.engine = RowEngine()
        simulated_tables.use(self.patch, self.disk)
        self.patch.setattr(RunContext, "engine", property(lambda _: self.engine))
        self.patch.setattr("tidemark.context.hold", self.hold)
        self.patch.setattr(abandon, "tables_below", self.names_below)
        for module in (durability, versions, abandon, "ledger.ledger", "ledger.abandoned", "runner.maintenance"):
            where = f"tidemark.{module}" if isinstance(module, str) else module.__name__
            self.patch.setattr(f"{where}.lasting", self.lasting)
        self.patch.setattr("tidemark.ledger.ledger.settle", self.settle)
        self.patch.setattr("tidemark.ledger.chain.links.files_of", lambda *_: ())  # there are no files

    def names_below(self, folder: Location) -> list[str]:
        """Names of the tables in a folder."""
        return [path.removeprefix(f"{folder}/") for path in self.disk.tables if path.startswith(f"{folder}/")]

    # -- the disk and the lease

    @contextmanager
    def lasting(self, *tables: Location) -> Iterator[None]:
        """What is committed in here outlasts a loss of power."""
        yield
        for table in tables:
            self.disk.sync(table)

    def settle(self, tables: Sequence[Location], _: int) -> None:
        for table in tables:
            self.disk.sync(table)

    @contextmanager
    def hold(self, root: Location, _: bool = False) -> Iterator[Callable[[], None]]:
        """A lease: a stalled or crashed holder loses it to whoever comes next, who changes the versions first."""
        if self.holder is not None and not self.expired:
            raise Held("another process holds the pipeline")
        mine, taken_over = object(), self.holder is not None
        self.holder, self.expired = mine, False

        def check() -> None:
            if self.holder is not mine:
                raise Held("the lease on the pipeline was lost")

        try:
            if taken_over:
                versions.fence(root)
            yield check
        except Crash:
            self.expired = True  # nobody released it
            raise
        finally:
            if self.holder is mine and not self.expired:
                self.holder = None

    # -- what happens

    def land(self) -> None:
        """An object with a few rows lands now."""
        time, name = BASE + self.now * SECOND, f"{len(self.landed):04d}"
        rows = tuple(self._row(time) for _ in range(self.dice.randint(1, 4)))
        self.landed.append(Obj(name, time, rows))
        self.product.land("s", self.landed[-1:])

    def _row(self, time: int) -> Row:
        arrival = time - self.dice.randint(0, 4) * SECOND
        event = arrival + self.dice.randint(-6, 4) * SECOND
        return Row(self.dice.choice("pq"), event, arrival, broken=self.dice.random() < 0.1)

    def run(self) -> None:
        """A run at the present time, of as many micro-batches as it likes."""
        self.product.run(BASE + self.now * SECOND, max_files=self.dice.choice((None, 1, 2)))

    def abandon(self) -> None:
        """Abandon the pending run, if there is one."""
        pipeline = self.product.pipeline()
        pending = pipeline.ledger.last().pending
        if pending:
            pipeline.abandon(pending[0].run_id, "it is in the way")

    def command(self, abandoning: float = 0.1) -> None:
        """A run, or now and then an abandonment."""
        (self.abandon if self.dice.random() < abandoning else self.run)()

    def faulty(self) -> None:
        """A command that meets a fault at one of its commits."""
        kind = self.dice.choice(simulated_tables.FAULTS)
        self.disk.faults = {self.disk.commits + self.dice.randint(1, 8): kind}
        self.disk.stall = self.meanwhile
        with suppress(Crash, TidemarkError, DeltaError):
            self.command()
        self.disk.faults = {}
        if self.dice.random() < 0.2:
            self.disk.lose_power(self.dice.randint)
        self.now += self.dice.choice((0, 0, 1, 5, -2))

    def meanwhile(self) -> None:
        """Other processes take the lease over while its holder stalls."""
        for _ in range(self.dice.choice((1, 1, 2))):
            self.expired = True
            with suppress(TidemarkError):
                self.command(abandoning=0.5)

    # -- what must hold

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.folder / "warehouse" / "tested")

    def committed(self) -> list[BatchRecord]:
        return [each for each in self.ledger.recorded(1, 10_000) if each.status == "committed"]

    def hold_laws(self) -> None:
        """Each object is taken at most once, and the rows of committed batches are those of the oracle for the runs
        that are recorded."""
        ledger, records = self.ledger, self.committed()
        taken = {record.batch_id: ledger.objects_of(record) for record in records}
        counts = Counter(item.uri.rpartition("/")[2] for items in taken.values() for item in items)
        assert set(counts.values()) <= {1}, counts
        known = {obj.uri: obj for obj in self.landed}
        runs: dict[str, tuple[int, list[Obj]]] = {}
        for record in records:
            objects = runs.setdefault(record.run_id, (record.as_of, []))[1]
            objects += [known[item.uri.rpartition("/")[2]] for item in taken[record.batch_id]]
        outcome = oracle.judge(self.source, [oracle.Run(as_of, tuple(objects)) for as_of, objects in runs.values()])
        wanted = [(v.partition, v.offset, v.system_timestamp, v.disposition, v.reasons) for v in outcome.verdicts]
        events = [each for record in records for each in self.engine.rows.get(("s", record.batch_id), ())]
        found = [(e.partition, e.offset, e.stamp, e.fate.value, tuple(e.reasons)) for e in events]
        assert sorted(found, key=str) == sorted(wanted, key=str)

    def end(self) -> None:
        """Without faults a command leads out: all that landed is taken."""
        self.now += 60
        self.product.run(BASE + self.now * SECOND)
        self.hold_laws()
        taken = {item.uri.rpartition("/")[2] for each in self.committed() for item in self.ledger.objects_of(each)}
        assert taken == {obj.uri for obj in self.landed}
        if not self.disk.lost:  # what is made again then stands later in its log than it was written
            found, _ = conformance.check(
                partial(simulated_tables.history_of, self.disk, self.ledger.root), leases=True
            )
            assert not found, found


def simulate(folder: Path, seed: int, steps: int, **more: Any) -> World:
    """A random story of a pipeline; the world at its end."""
    with pytest.MonkeyPatch.context() as patch:
        without_spark(patch)
        world = World(folder, Random(seed), patch, **more)  # noqa: S311 - repeats from its seed
        for _ in range(steps):
            world.now += world.dice.randint(0, 5)
            for _ in range(world.dice.choice((0, 1, 1, 2))):
                world.land()
            if world.dice.random() < 0.5:
                world.faulty()
                world.hold_laws()
            else:
                with suppress(Held):
                    world.command()
        world.end()
        return world
