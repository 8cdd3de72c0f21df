"""Counterexamples of the model in the real code: with a guard switched off what the model says happens, with it on it
does not. The engine keeps its rows in memory, so that no JVM starts."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, write_deltalake

import oracle
import plain_checks
import power
import tidemark.context
from ledger_samples import commit_run, landed, taken
from product import Product
from row_engine import RowEngine, without_spark
from strategies import BASE
from tidemark.commands import abandon, recover, run
from tidemark.commands.backfill import from_events
from tidemark.commands.versions import recorded_difference
from tidemark.context import RunContext
from tidemark.core.backfill.ranges import Range
from tidemark.core.watermarks import PartitionState
from tidemark.errors import Held, TidemarkError, UsageError
from tidemark.ledger import ledger as ledgers
from tidemark.ledger import maintenance, versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables import store as stores
from tidemark.ledger.tables.clone import clone
from tidemark.ledger.tables.commits import commit_properties
from tidemark.ledger.tables.store import Store
from tidemark.ledger.versions import Made, Reserved
from tidemark.quality import validate
from tidemark.records.versions import nothing_differs
from tidemark.storage.folders import tables_below

SECOND = oracle.SECOND
guards = pytest.mark.parametrize("guarded", [pytest.param(True, id="guarded"), pytest.param(False, id="unguarded")])


class Crash(BaseException):
    """Stands for the sudden end of a process."""


def at(seconds: int) -> int:
    return BASE + seconds * SECOND


def obj(name: str, seconds: int) -> oracle.Obj:
    """An object of three rows."""
    rows = tuple(oracle.Row("p", at(seconds) - n, at(seconds)) for n in (3, 2, 1))
    return oracle.Obj(name, at(seconds), rows)


@dataclass
class World:
    """One pipeline, as several processes see it; `stall` has one of them wait while others go on."""

    product: Product
    patch: pytest.MonkeyPatch
    engine: RowEngine = field(default_factory=RowEngine)

    def run(self, seconds: int = 100, **options: Any) -> dict[str, Any]:
        return self.product.run(at(seconds), **options)

    def crash_at(self, step: str, seconds: int = 100, **options: Any) -> None:
        """A run ends at a checkpoint."""
        with pytest.raises(Crash):
            self.stopped_at(step).run(at(seconds), **options)

    def stopped_at(self, step: str) -> Product:
        def on_checkpoint(name: str) -> None:
            if name == step:
                raise Crash(step)

        return Product(self.product.folder, self.product.sources, hooks={"on_checkpoint": on_checkpoint})

    def stall(
        self,
        owner: Any,
        name: str,
        meanwhile: Callable[[], object],
        when: Callable[..., bool] = lambda *_, **__: True,
    ) -> None:
        """Whoever first calls a function, with arguments that `when` takes, waits until `meanwhile` is done."""
        function, waiting = getattr(owner, name), [True]

        def stalled(*given: Any, **named: Any) -> Any:
            if waiting and when(*given, **named):
                waiting.clear()
                meanwhile()
            return function(*given, **named)

        self.patch.setattr(owner, name, stalled)

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.product.folder / "warehouse" / "tested")

    def taken(self) -> Counter[str]:
        """How many committed batches have taken each object."""
        done = [record for record in self.ledger.recorded(1, 99) if record.status == "committed"]
        return Counter(item.uri for record in done for item in self.ledger.objects_of(record))

    def rows(self) -> Counter[str]:
        """How many rows of each object committed batches have."""
        done = {record.batch_id for record in self.ledger.recorded(1, 99) if record.status == "committed"}
        return Counter(e.file for (_, number), rows in self.engine.rows.items() if number in done for e in rows)

    def states(self) -> list[int]:
        """The batches of the recorded states."""
        return [row["batch_id"] for row in self.product.table("watermarks")]

    def offsets(self) -> list[int]:
        """Offsets of the rows of committed batches."""
        done = {record.batch_id for record in self.ledger.recorded(1, 99) if record.status == "committed"}
        return sorted(e.offset for (_, number), rows in self.engine.rows.items() if number in done for e in rows)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A pipeline with two landed objects. Nobody waits for a lock: leases are lost."""
    product = Product(tmp_path, {"s": oracle.Source()})
    product.land("s", [obj("a", 10), obj("b", 20)])
    with pytest.MonkeyPatch.context() as patch:
        without_spark(patch)
        patch.setattr(validate.Validation, "lines", plain_checks.judged)
        patch.setattr(from_events, "with_examples", lambda difference, *_: difference)
        patch.setattr(tidemark.context, "hold", lambda *_: nullcontext())
        found = World(product, patch)
        patch.setattr(RunContext, "engine", property(lambda _: found.engine))
        yield found


@guards
def test_put_if_absent_of_two_plans_at_once_one_is_refused(world, guarded):
    def blind(table: DeltaTable, *given: Any, **named: Any) -> None:
        table.update_incremental()
        write_deltalake(table, *given, **named)

    if not guarded:
        world.patch.setattr(stores, "write_deltalake", blind)
    world.stall(Store, "_write", lambda: world.crash_at("planned"), lambda store, *_: store.path.name == "batches")
    with pytest.raises(Held if guarded else Crash):
        world.stopped_at("planned").run(at(100))
    assert len(world.ledger.recorded(1, 1)) == (1 if guarded else 2)


@guards
def test_next_number_a_stale_plan_is_refused(world, guarded):
    def unchecked(store: Store, rows: Any, writer: str, _: int, last: int) -> None:
        store._write(store._ready(), rows, commit_properties(writer, last, retries=0))

    if not guarded:
        world.patch.setattr(Store, "append_next", unchecked)
    world.stall(Ledger, "plan", world.run)
    with pytest.raises(Held if guarded else Crash):
        world.stopped_at("planned").run(at(100))
    assert [record.batch_id for record in world.ledger.recorded(1, 99)] == ([1] if guarded else [1, 1])


@guards
def test_plan_token_objects_of_a_void_plan_do_not_count(world, guarded):
    def any_token(ledger: Ledger, batch_id: int, _: str) -> list[Any]:
        return ledger.stores["plans"].read(batch_id, batch_id)

    def dies(*_: Any) -> None:
        raise Crash

    if not guarded:
        world.patch.setattr(Ledger, "_planned", any_token)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "append_next", dies)
        with pytest.raises(Crash):
            world.run(max_files=1)
    world.run()
    assert world.taken() == ({"a": 1, "b": 1} if guarded else {"a": 2, "b": 1})


@guards
def test_recover_first_a_crashed_run_is_in_nobodys_way(world, guarded):
    world.crash_at("planned")
    if not guarded:
        world.patch.setattr(recover, "recover", lambda _: [])
    for _ in range(2):
        with nullcontext() if guarded else pytest.raises(Held):
            world.run()
    assert set(world.taken()) == ({"a", "b"} if guarded else set())


@guards
def test_none_pending_a_run_planned_meanwhile_is_finished_first(world, guarded):
    def plans() -> None:
        world.crash_at("planned")
        world.product.land("s", [obj("c", 30)])

    if not guarded:
        world.patch.setattr(run, "ensure_none_pending", lambda *_: None)
    world.stall(run, "_discovered", plans)
    with pytest.raises(Held) if guarded else nullcontext():
        world.run()
    assert {r.batch_id: r.status for r in world.ledger.recorded(1, 99)} == (
        {1: "planned"} if guarded else {1: "planned", 2: "committed"}
    )


@guards
def test_tables_first_a_committed_batch_has_its_states(world, guarded):
    def early(ledger: Ledger, *_: Any) -> None:
        if not guarded:
            (record,) = ledger.last().pending
            ledger.commit(record, taken(ledger, record))
        raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "record", early)
        with pytest.raises(Crash):
            world.run()
    world.product.land("s", [obj("c", 30)])
    world.run()
    assert world.offsets() == (list(range(9)) if guarded else [0, 0, 1, 1, 2, 2, 3, 4, 5])


@guards
def test_records_once_a_repeated_record_changes_nothing(world, guarded):
    if not guarded:
        world.patch.setattr(stores, "has_recorded", lambda *_: False)
    world.crash_at("watermarks")
    world.run()
    assert world.states().count(1) == (1 if guarded else 2)


def second_version(world: World) -> int:
    """List a version that is a clone of the live one."""
    ledger, root = world.ledger, world.ledger.root
    reserved = versions.reserve(root)
    for name in tables_below(ledger.folder):
        clone(ledger.folder / name, root / f"v{reserved.number}" / name)
    (last,) = ledger.batches(1, 1)
    difference = recorded_difference(nothing_differs(), None)
    made = Made(at(0), None, last.fingerprint, last.configuration or "", 1, 1, None, 0, difference)
    return versions.add(root, at(50), made, reserved)


@guards
def test_lease_check_a_run_commits_nothing_to_a_version_that_is_no_longer_live(world, guarded):
    holders: list[object] = []

    @contextmanager
    def lease(*_: Any) -> Iterator[Callable[[], None]]:
        mine = object()
        holders.append(mine)

        def check() -> None:
            if guarded and holders[-1] is not mine:
                raise Held("the lease on the pipeline was lost")

        yield check

    world.run(50)
    world.product.land("s", [obj("c", 60)])
    number = second_version(world)
    world.patch.setattr(tidemark.context, "hold", lease)
    world.stall(Ledger, "plan", lambda: world.product.pipeline().promote(number))
    with pytest.raises(Held) if guarded else nullcontext():
        world.run(run_id="reported")
    statuses = [record.status for record in Ledger(world.ledger.root, 1).recorded(2, 2)]
    assert statuses == (["planned"] if guarded else ["committed"])
    assert world.ledger.version == number
    assert world.ledger.run("reported") is None


@guards
def test_status_check_a_stalled_run_does_not_commit_what_was_abandoned(world, guarded):
    def unchecked(store: Store, first: int, last: int, rows: Any, writer: str, _: Any) -> None:
        store.replace(f"batch_id >= {first} AND batch_id <= {last}", rows, writer, last)

    if not guarded:
        world.patch.setattr(Store, "turn", unchecked)
    world.stall(Ledger, "commit", lambda: world.product.pipeline().abandon("stalled", "it is stuck"))
    with pytest.raises(Held) if guarded else nullcontext():
        world.run(run_id="stalled")
    world.run()
    assert world.rows() == ({"a": 3, "b": 3} if guarded else {"a": 6, "b": 6})


@guards
def test_status_check_a_stalled_abandonment_does_not_withdraw_what_was_committed(world, guarded):
    def unchecked(store: Store, first: int, last: int, rows: Any, writer: str, _: Any) -> None:
        store.replace(f"batch_id >= {first} AND batch_id <= {last}", rows, writer, last)

    world.crash_at("diagnostics", run_id="slow")
    world.stall(abandon, "set_aside", lambda: world.run(run_id="slow"))
    if not guarded:
        world.patch.setattr(Store, "turn", unchecked)
    with pytest.raises(Held) if guarded else nullcontext():
        world.product.pipeline().abandon("slow", "it is stuck")
    assert [record.status for record in world.ledger.recorded(1, 1)] == ["committed" if guarded else "abandoned"]
    assert world.states() == ([1] if guarded else [])


@guards
def test_fence_a_stalled_run_records_nothing_of_what_was_abandoned(world, guarded):
    def unfenced(store: Store, first: int, last: int, *_: Any) -> None:
        if store.open() is not None:
            store.delete(f"batch_id >= {first} AND batch_id <= {last}")

    if not guarded:
        world.patch.setattr(Store, "withdraw", unfenced)
    world.stall(Ledger, "record", lambda: world.product.pipeline().abandon("stalled", "it is stuck"))
    with pytest.raises(Held):
        world.run(run_id="stalled")
    assert world.states() == ([] if guarded else [1])
    world.run()
    assert world.rows() == ({"a": 3, "b": 3} if guarded else {})


@guards
def test_abandon_first_a_run_that_is_being_abandoned_is_never_finished(world, guarded):
    def skipped(ledger: Ledger, pending: Any, status: str, *given: Any) -> None:
        if guarded or status != abandon.ABANDONING:
            set_aside(ledger, pending, status, *given)

    set_aside = abandon.set_aside
    world.patch.setattr(abandon, "set_aside", skipped)
    world.crash_at("diagnostics", run_id="slow")
    with pytest.raises(Crash):
        world.stopped_at("withdrawn").pipeline().abandon("slow", "it is stuck")
    world.run(run_id="slow")
    done = [record.batch_id for record in world.ledger.recorded(1, 99) if record.status == "committed"]
    assert done == ([2] if guarded else [1])
    assert world.states() == ([2] if guarded else [])


@guards
def test_last_commit_check_no_run_goes_on_from_an_older_copy_of_a_table(world, guarded):
    world.run(50)
    states, copy = world.product.folder_of("watermarks"), world.product.folder / "copy"
    shutil.copytree(states, copy)
    for seconds in (60, 70):
        world.product.land("s", [obj(str(seconds), seconds)])
        if seconds == 60:
            world.run(65)
            shutil.rmtree(states)
            shutil.copytree(copy, states)
    if not guarded:
        world.patch.setattr(run, "ensure_whole", lambda *_: None)
    with pytest.raises(TidemarkError, match="newest commits are lost") if guarded else nullcontext():
        world.run()
    assert world.offsets() == (list(range(9)) if guarded else [*range(6), 6, 6, 7, 7, 8, 8])


@guards
def test_settle_what_a_committed_batch_wrote_outlasts_a_loss_of_power(world, guarded, tmp_path):
    disk = power.watched(world.patch)
    if not guarded:
        world.patch.setattr(ledgers, "settle", lambda *_: None)
    world.run()
    left = Ledger(disk.left(world.ledger.root, tmp_path / "left", emptied=False), 1)
    assert left.last().committed_through == 1
    assert len(left.stores["watermarks"].read(1, 1)) == (1 if guarded else 0)


@guards
def test_switch_check_a_stalled_promotion_loses_no_run(world, guarded):
    def taken_over() -> None:
        if guarded:
            versions.fence(world.ledger.root)
        world.run(run_id="reported")

    world.run(50)
    world.product.land("s", [obj("c", 60)])
    number = second_version(world)
    world.stall(versions, "promote", taken_over)
    with pytest.raises(Held) if guarded else nullcontext():
        world.product.pipeline().promote(number)
    assert (world.ledger.run("reported") is not None) == guarded


def test_a_version_is_not_promoted_if_retention_has_deleted_runs_that_it_lacks(world):
    world.run(50)
    number = second_version(world)
    for seconds in (60, 70, 80):
        world.run(seconds)
    maintenance.retain(world.ledger, 4, None)
    with pytest.raises(UsageError, match="runs that version 2 lacks are older than retention keeps"):
        world.product.pipeline().promote(number)
    assert world.ledger.version == 1


@guards
def test_number_once_a_stalled_build_removes_no_listed_version(world, guarded):
    def unreserved(root: Path) -> Reserved:
        return Reserved(max(each.version for each in versions.listed(root)) + 1, versions.commits(root))

    def build(product: Product) -> None:
        context = product.pipeline().context
        from_events.Backfill(context, context.spec, Range(at(10_000), None)).build(at(100))

    world.run(50)
    if not guarded:
        world.patch.setattr(versions, "reserve", unreserved)
        world.patch.setattr(versions, "unlisted", lambda _, before: [before])
    world.patch.setattr(from_events.Backfill, "first", None)
    world.stall(versions, "unlisted", lambda: build(world.product))
    with pytest.raises(Crash):
        build(world.stopped_at("cleared"))
    listed = [each.version for each in versions.listed(world.ledger.root)]
    through = [Ledger(world.ledger.root, version).last().committed_through for version in listed]
    assert (listed, through) == (([1, 3], [1, 1]) if guarded else ([1, 2], [1, 0]))


@guards
def test_replay_kept_the_oldest_run_begins_with_what_the_batch_before_it_left(tmp_path, monkeypatch, guarded):
    ledger = Ledger(tmp_path)
    for number in range(1, 5):
        commit_run(ledger, [[landed(f"{number}.json")]], run_id=str(number))
        ledger.record_states(number, {("readings", "0"): PartitionState(high=number)})
    if not guarded:
        monkeypatch.setattr(Ledger, "before", lambda *_: None)
    maintenance.retain(ledger, 4, None)
    monkeypatch.undo()
    assert (Ledger(tmp_path).before(4) is not None) == guarded
