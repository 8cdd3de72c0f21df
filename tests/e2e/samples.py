"""Objects with rows of every fate, and what the tables of a pipeline hold, comparable between pipelines."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from threading import Condition
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from oracle import SECOND, Obj, Row, Source
from product import Product
from strategies import at
from tidemark.spark.tables import delta

T = TypeVar("T")
PARTITIONS = ("p0", "p1", "p2")
KEYED = Source(
    early=(3 * SECOND, "drop"),
    late=(4 * SECOND, "adjust"),
    out_of_order=(2 * SECOND, "adjust"),
    over=True,
    landing_delay=3 * SECOND,
    partitions=PARTITIONS,
)
"""A source with substreams."""
PLAIN = replace(KEYED, over=False, late=(4 * SECOND, "drop"), early=(3 * SECOND, "adjust"))
TABLES = ("watermarks", "substreams", "diagnostics", "objects", "batches")
_OF_ONE_ATTEMPT = {"timings", "plan", "configuration", "engine", "files", "ledger_digests", "chain_before", "chain"}


def rows(seed: int, count: int, modified: int, partitions: Sequence[str] = PARTITIONS) -> tuple[Row, ...]:
    """Rows that arrived up to 3 s before `modified`, most of them out of order, some of no use."""
    dice = Random(seed)  # noqa: S311 - the same rows each time
    made = []
    for _ in range(count):
        arrival = modified - dice.randint(0, 3) * SECOND
        event = arrival + dice.randint(-6, 4) * SECOND
        partition = dice.choice(partitions) if dice.random() > 0.05 else None
        row = Row(partition, event, arrival, dice.choice(("a", "b", "c", None)))
        made.append(replace(row, broken=True) if dice.random() < 0.05 else row)
    return tuple(made)


def obj(uri: str, seconds: float, count: int = 12, partitions: Sequence[str] = PARTITIONS) -> Obj:
    """An object of `count` rows that landed so many seconds after BASE; its name decides its rows."""
    return Obj(uri, at(seconds), rows(int.from_bytes(uri.encode()), count, at(seconds), partitions))


def fork(product: Product, folder: Path, **hooks: Any) -> Product:
    """A copy of a pipeline with everything that it has taken and written."""
    shutil.copytree(product.folder, folder)
    return Product(folder, product.sources, product.settings, hooks)


def contents(product: Product, through: int = 1000) -> dict[str, list[str]]:
    """The rows of every table, up to a batch, as sorted lines, without what is particular to one attempt."""
    found = {}
    for table in [*(f"events/{name}" for name in product.sources), *TABLES]:
        number = "_batch_id" if table.startswith("events/") else "batch_id"
        found[table] = lines(row for row in product.table(table) if row[number] <= through)
    return found


def lines(rows_: Iterable[dict[str, Any]]) -> list[str]:
    kept = [{key: value for key, value in row.items() if key not in _OF_ONE_ATTEMPT} for row in rows_]
    for row in kept:  # checks are not compared, nor how many there were: a released run has one more
        if row.get("written"):
            row["written"] = [each for each in row["written"] if each["table"] != "quality"]
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in kept)


def hold_conservation(product: Product) -> None:
    """Every row of every object has one fate: per batch, partition and in total, as counted and as kept."""
    kept: Counter[tuple[Any, ...]] = Counter()
    for name in product.sources:
        events = product.table(f"events/{name}")
        kept.update((row["_batch_id"], name, row["_partition"], row["_disposition"]) for row in events)
        places = [(row["_partition"], row["_offset"]) for row in events]
        assert len(places) == len(set(places))
    counted: Counter[tuple[Any, ...]] = Counter()
    for batch in product.table("batches"):
        assert batch["status"] == "committed"
        for count in batch["counts"]:
            fates = {fate: count[fate] for fate in ("on_time", "adjusted", "dropped", "quarantined")}
            assert count["rows"] == sum(fates.values())
            key = batch["batch_id"], count["source"], count["partition"]
            counted.update({(*key, fate): number for fate, number in fates.items() if number})
        assert batch["rows"] == sum(count["rows"] for count in batch["counts"])
    assert counted == kept
    taken = sum(item["rows"] for item in product.table("objects") if item["state"] in ("read", "quarantined"))
    assert taken == kept.total()


def hold_replay(product: Product, **options: Any) -> dict[str, Any]:
    """Every batch comes out as recorded."""
    found = product.pipeline().replay(all_batches=True, **options)
    assert found["identical"], [batch["differences"] for batch in found["batches"]]
    return found


def findings(product: Product, batch_id: int | None = None) -> Counter[tuple[str | None, str]]:
    """Counts of diagnostics by (partition, type), of all batches or of one."""
    found: Counter[tuple[str | None, str]] = Counter()
    for row in product.table("diagnostics"):
        if batch_id in (None, row["batch_id"]):
            found[row["partition"], row["type"]] += row["count"]
    return found


def plans_of(monkeypatch: pytest.MonkeyPatch, table: str, look: Callable[[Any], T]) -> list[T]:
    """What `look` finds in the plan of each append to a table from now on, in Java, as appends come."""
    whole, found = delta._appended, []

    def appended(rows_: Any, place: str, *more: Any) -> Any:
        if place.endswith(table):
            found.append(look(rows_._jdf.queryExecution().executedPlan()))
        return whole(rows_, place, *more)

    monkeypatch.setattr(delta, "_appended", appended)
    return found


def shuffled_into(plan: Any) -> tuple[bool, int]:
    """Whether a plan shuffles, and into how many tasks it writes."""
    return "Exchange" in plan.toString(), plan.execute().getNumPartitions()


def touch(path: Path, micros: int) -> None:
    """Set when a file was last modified, microseconds since the epoch."""
    os.utime(path, ns=(micros * 1000, micros * 1000))


def drawn(strategy: SearchStrategy[T], count: int) -> list[T]:
    """So many random values, the same each time, others with SEED=N in the environment; without the first that
    Hypothesis makes, the simplest of all."""
    found: list[T] = []

    plain = settings(deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))

    @seed(int(os.environ.get("SEED", "7")))
    @settings(plain, max_examples=count + 1)
    @given(strategy)
    def collect(value: T) -> None:
        found.append(value)

    collect()
    return found[1:]


class Crash(BaseException):
    """Stands for the sudden end of the process; no Exception, so that nobody handles it."""


@dataclass
class CrashAt:
    """Raises Crash when a run reaches its n-th step (never for 0), and at all that other threads reach later; keeps
    the names of the steps. With an `order` of them, a thread that is ahead of it waits for the others."""

    number: int = 0
    steps: list[str] = field(default_factory=list)
    order: Sequence[str] = ()
    _turn: Condition = field(default_factory=Condition, repr=False)

    def __call__(self, step: str) -> None:
        with self._turn:
            assert self._turn.wait_for(lambda: self._crashed() or self._next(step), 60), (step, self.steps)
            if not self._crashed():
                self.steps.append(step)
            self._turn.notify_all()
            if self._crashed():
                raise Crash(step)

    def _crashed(self) -> bool:
        return 0 < self.number <= len(self.steps)

    def _next(self, step: str) -> bool:
        return not self.order or self.order[len(self.steps)] == step


class WhileClosing(CrashAt):
    """Crashes when a run has written to its n-th stream."""

    def __call__(self, step: str) -> None:
        if step == "streams":
            super().__call__(step)


def feed(
    product: Product, logs: Mapping[str, tuple[Any, Sequence[Any]]], crashes: Sequence[CrashAt] = (), **options: Any
) -> list[dict[str, Any]]:
    """Land and run; returns what each run said. A close is of one source. The last run crashes that often before it
    comes to its end."""
    said = []
    rounds = list(zip(*(runs for _, runs in logs.values()), strict=True))
    for left, both in zip(reversed(range(len(rounds))), rounds, strict=True):
        for name, run in zip(logs, both, strict=True):
            product.land(name, run.objects)
        as_of = both[0].as_of
        closing = [name for name, run in zip(logs, both, strict=True) if run.close]

        def go() -> dict[str, Any]:
            return product.pipeline().close(closing[0], as_of) if closing else product.run(as_of, **options)  # noqa: B023 - called here

        said.append(go() if left else _finished(product, go, crashes))
    return said


def _finished(product: Product, go: Callable[[], dict[str, Any]], crashes: Sequence[CrashAt]) -> dict[str, Any]:
    for crash in crashes:
        product.hooks = {"on_checkpoint": crash}
        with pytest.raises(Crash):
            go()
    product.hooks = {}
    if not crashes:
        return go()
    (run,) = {record.run_id for record in product.pipeline().ledger.last().pending}
    return product.pipeline().run(run_id=run)
