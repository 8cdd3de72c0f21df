"""A crash at any point of a run is repaired by the next one, with the result that there would be without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from samples import (
    KEYED,
    PLAIN,
    Crash,
    CrashAt,
    at,
    contents,
    findings,
    fork,
    hold_conservation,
    hold_replay,
    obj,
    touch,
)

from oracle import Obj, Run, Source, judge
from product import Product, expected, verdicts
from tidemark.ledger.tables.store import Store

pytestmark = pytest.mark.usefixtures("quick")
END = ["watermarks", "diagnostics", "committed"]
LAST = ["watermarks", "diagnostics", "quality", "committed"]
STEPS = ["planned", "events", "substreams", *END, "events", "substreams", "events", *LAST]
"""What the second run reaches: a batch of the keyed source, then one of both sources."""
BESIDE = {
    "before": ["planned", "events", "substreams", "events", "substreams", "events", *END, *LAST],
    "amid": ["planned", "events", "substreams", *END[:1], "events", "substreams", *END[1:], "events", *LAST],
}
"""The same, when the second batch is judged before the first is recorded, or amid that."""
FIRST_STEPS = ["planned", "events", "substreams", "events", *LAST]
SECOND = at(30)
FOLLOWED = ("again", "later")
LONG = [pytest.mark.long]


@dataclass(frozen=True)
class Scene:
    """A pipeline before its second run, whose objects have landed, and copies that nothing disturbed, by what
    followed: a run at the same as_of, or a later one with new objects."""

    base: Product
    folder: Path
    twins: dict[str, Product]

    def undisturbed(self, how: str, through: int = 1000) -> dict[str, list[str]]:
        return contents(self.twins[how], through)


def follow(product: Product, how: str) -> None:
    """The run after the second, which has to repair that if it crashed."""
    if how == "later":
        product.land("keyed", [obj("e", 45)])
        product.land("plain", [obj("f", 46)])
    product.run(SECOND if how == "again" else at(50))


def begun(folder: Path) -> Product:
    product = Product(folder, {"keyed": KEYED, "plain": PLAIN})
    product.land("keyed", [obj("a", 10)])
    product.land("plain", [obj("x", 9)])
    return product


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Scene:
    folder = tmp_path_factory.mktemp("crashes")
    base = begun(folder / "base")
    base.run(at(12))
    base.land("keyed", [obj("b", 21), obj("c", 22), obj("d", 24)])
    base.land("plain", [obj("y", 23)])
    twins = {"again": fork(base, folder / "twin")}
    twins["again"].run(SECOND, max_files=2)
    twins["later"] = fork(twins["again"], folder / "later twin")
    for how, twin in twins.items():
        follow(twin, how)
        hold_conservation(twin)
    hold_replay(twins["later"])
    return Scene(base, folder, twins)


def crash(product: Product, number: int, as_of: int = SECOND, order: Sequence[str] = (), **options: int) -> list[str]:
    """Begin a run that ends at its `number`-th step; returns the steps, which come in this `order`."""
    hook = CrashAt(number, order=order)
    product.hooks = {"on_checkpoint": hook}
    with pytest.raises(Crash):
        product.run(as_of, **options)
    product.hooks = {}
    return hook.steps


def steps(names: list[str]) -> dict[str, Any]:
    return {"argvalues": range(1, len(names) + 1), "ids": [f"{n} {name}" for n, name in enumerate(names, 1)]}


@pytest.mark.parametrize("number", [pytest.param(n, id=f"{n} {STEPS[n - 1]}") for n in (2, 12)])
def test_the_run_after_a_crash_at_a_step_of_each_kind_leaves_what_there_would_be_without_it(scene, number):
    product = fork(scene.base, scene.folder / f"at-{number}")
    assert crash(product, number, order=STEPS, max_files=2) == STEPS[:number]
    follow(product, "later")
    assert contents(product) == scene.undisturbed("later")
    hold_conservation(product)


@pytest.mark.long
@pytest.mark.parametrize("number", **steps(STEPS))
def test_the_same_at_every_step_whatever_the_next_run_finds(scene, number):
    how = FOLLOWED[number % 2]
    product = fork(scene.base, scene.folder / f"at-{number}-{how}")
    crash(product, number, order=STEPS, max_files=2)
    follow(product, how)
    assert contents(product) == scene.undisturbed(how)
    hold_replay(product)


AMONG = [(how, n) for how, order in BESIDE.items() for n in range(4, len(order) - len(LAST) + 1)]


@pytest.mark.parametrize(
    ("how", "number"),
    [
        pytest.param(how, n, id=f"{how}, {n} {BESIDE[how][n - 1]}", marks=() if (how, n) == ("before", 6) else LONG)
        for how, n in AMONG
    ],
)
def test_a_batch_that_was_judged_before_the_one_ahead_of_it_was_recorded_stands_behind_that(scene, how, number):
    """Its events are found when the repair comes to it."""
    product = fork(scene.base, scene.folder / f"beside-{how}-{number}")
    assert crash(product, number, order=BESIDE[how], max_files=2) == BESIDE[how][:number]
    follow(product, "again")
    assert contents(product) == scene.undisturbed("again")
    hold_replay(product)


def test_repairs_that_crash_in_their_turn_are_repaired(scene):
    product = fork(scene.base, scene.folder / "again-and-again")
    for number in range(1, 6):
        crash(product, number, max_files=2)
    follow(product, "again")
    assert contents(product, 3) == scene.undisturbed("again", 3)
    hold_replay(product)


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, id=f"{n} {name}", marks=() if n == 2 else LONG) for n, name in enumerate(FIRST_STEPS, 1)],
)
def test_the_first_run_of_all_is_repaired(scene, number):
    """Also when the tables do not exist yet."""
    product = begun(scene.folder / f"first-{number}")
    assert crash(product, number, at(12)) == FIRST_STEPS[:number]
    product.run(at(12))
    assert contents(product, 1) == contents(scene.base)


def between(monkeypatch: pytest.MonkeyPatch, method: str, table: str) -> None:
    """Let the ledger crash where it would commit to a table."""
    write = getattr(Store, method)

    def crashing(store: Store, *given: object, **more: object) -> None:
        if store.path.name == table:
            raise Crash(table)
        write(store, *given, **more)

    monkeypatch.setattr(Store, method, crashing)


@pytest.mark.parametrize(
    ("method", "table", "planned"),
    [
        pytest.param("append", "plans", False, marks=LONG, id="before anything is planned"),
        pytest.param("append_next", "batches", False, id="objects planned, batches not"),
        pytest.param("append", "watermarks", True, marks=LONG, id="before the state"),
        pytest.param("append", "diagnostics", True, marks=LONG, id="before the findings"),
        pytest.param("append", "objects", True, marks=LONG, id="before anything is committed"),
        pytest.param("turn", "batches", True, id="objects committed, batches not"),
    ],
)
def test_a_crash_between_two_commits_of_the_ledger_is_repaired(scene, monkeypatch, method, table, planned):
    product = fork(scene.base, scene.folder / f"between-{method}-{table}")
    with monkeypatch.context() as patched:
        between(patched, method, table)
        with pytest.raises(Crash):
            product.run(SECOND, max_files=2)
    if not planned:
        product.run(SECOND, max_files=2)
    follow(product, "again")
    assert contents(product) == scene.undisturbed("again")


# landing files that are gone when the repair looks


def landed(folder: Path, source: Source = PLAIN) -> Product:
    product = Product(folder, {"s": source})
    product.land("s", [obj("a", 10), obj("b", 11), Obj("empty", at(11))])
    return product


def file_of(product: Product, uri: str) -> Path:
    return product.folder / "landing" / "s" / uri


def states(product: Product) -> list[tuple[int, str, str, int]]:
    return sorted((row["batch_id"], row["uri"], row["state"], row["rows"]) for row in product.table("objects"))


def test_what_was_appended_before_a_crash_is_kept_though_its_objects_are_gone(tmp_path):
    product = landed(tmp_path / "crashed")
    twin = fork(product, tmp_path / "twin")
    twin.run(at(12))
    crash(product, STEPS.index("events") + 1, at(12))
    for uri in ("a", "b"):
        file_of(product, uri).unlink()
    product.run(at(12))
    assert contents(product, 1) == contents(twin)
    replayed = hold_replay(product)
    assert [batch["input"] for batch in replayed["batches"]] == ["events", "landing"]


def test_objects_gone_before_they_were_read_are_taken_when_they_are_back(tmp_path):
    product = landed(tmp_path)
    crash(product, STEPS.index("planned") + 1, at(12))
    text = file_of(product, "b").read_text()
    file_of(product, "b").unlink()
    product.run(at(12))
    assert states(product) == [(1, "a", "read", 12), (1, "b", "vanished", 0), (1, "empty", "read", 0)]
    file_of(product, "b").write_text(text)
    touch(file_of(product, "b"), at(11))
    product.run(at(13))
    assert states(product)[3:] == [(3, "b", "read", 12)]
    runs = [Run(at(12), (obj("a", 10),)), Run(at(12)), Run(at(13), (obj("b", 11),))]
    assert verdicts(product.events("s")) == expected(judge(PLAIN, runs))
    hold_conservation(product)
    hold_replay(product)


def spoil(file: Path, how: str) -> Callable[[], None]:
    """Make an object one that is not what was planned; returns what undoes it."""
    text, times = file.read_text(), file.stat()
    file.unlink()
    if how == "changed":
        file.write_text("{}\n")

    def undo() -> None:
        file.write_text(text)
        touch(file, times.st_mtime_ns // 1000)

    return undo


@pytest.mark.parametrize(
    ("source", "how"),
    [
        pytest.param(PLAIN, "gone", id="gone"),
        pytest.param(replace(PLAIN, start=at(11)), "changed", id="changed, with a start"),
        pytest.param(PLAIN, "changed", id="changed", marks=LONG),
        pytest.param(replace(PLAIN, start=at(11)), "gone", id="gone, with a start", marks=LONG),
    ],
)
def test_an_object_missed_by_an_attempt_that_crashed_later_is_not_taken_for_read(tmp_path, source, how):
    """The crash comes after the events; by the time of the repair the object is back as it was planned."""
    product = landed(tmp_path, source)
    hook = CrashAt(STEPS.index("events") + 1)
    undone: list[Callable[[], None]] = []

    def on_checkpoint(step: str) -> None:
        if step == "planned":
            undone.append(spoil(file_of(product, "b"), how))
        hook(step)

    product.hooks = {"on_checkpoint": on_checkpoint}
    with pytest.raises(Crash):
        product.run(at(12))
    product.hooks = {}
    undone[0]()
    product.run(at(13))
    assert [(uri, state) for _, uri, state, _ in states(product)] == [
        ("a", "read"), ("b", "vanished"), ("empty", "read"), ("b", "read"),
    ]  # fmt: skip
    runs = [Run(at(12), (obj("a", 10),)), Run(at(13), (obj("b", 11),))]
    assert verdicts(product.events("s")) == expected(judge(source, runs))
    hold_conservation(product)
    hold_replay(product)


@pytest.mark.parametrize("source", [replace(KEYED, start=at(100)), KEYED], ids=["all rows skipped", "no row"])
def test_a_batch_that_appended_no_row_is_repaired(tmp_path, source):
    """Nothing waits for what an append that stands already would have told."""
    product = Product(tmp_path, {"s": source})
    product.land("s", [Obj("a", at(10), ()) if source is KEYED else obj("a", 10)])
    crash(product, 2, at(12))
    product.run(at(12))
    assert states(product) == [(1, "a", "read", 0)]
    offsets = sum(row["next_offset"] for row in product.table("watermarks") if row["batch_id"] == 1)
    assert offsets == (0 if source is KEYED else 12)
    hold_replay(product)


def test_a_log_that_a_crash_left_without_a_commit_is_no_table(tmp_path):
    product = landed(tmp_path)
    crash(product, STEPS.index("planned") + 1, at(12))
    for table in ("events/s", "watermarks", "diagnostics"):
        (product.folder_of(table) / "_delta_log" / "_staged_commits").mkdir(parents=True)
    assert product.pipeline().rows()["total"] == 0
    assert product.pipeline().table("events/s").count_rows() == 0
    product.run(at(12))
    assert verdicts(product.events("s")) == expected(judge(PLAIN, [Run(at(12), (obj("a", 10), obj("b", 11)))]))
    hold_replay(product)


def test_a_close_that_crashed_is_finished_by_a_run(tmp_path):
    product = landed(tmp_path)
    product.hooks = {"on_checkpoint": CrashAt(STEPS.index("events") + 1)}
    with pytest.raises(Crash):
        product.pipeline().close(as_of=at(12))
    product.hooks = {}
    product.land("s", [obj("c", 13)])
    done = product.run(at(14))
    assert done["watermarks"]["s"]["complete"]
    assert findings(product)[None, "LandedAfterClose"] == 1
    assert verdicts(product.events("s")) == expected(judge(PLAIN, [Run(at(12), (obj("a", 10), obj("b", 11)))]))
    hold_replay(product)


def test_a_repair_follows_the_recorded_configuration(tmp_path):
    """Between crash and repair the pipeline was changed in ways that are accepted."""
    product = landed(tmp_path / "crashed")
    twin = fork(product, tmp_path / "twin")
    twin.run(at(12))
    crash(product, STEPS.index("planned") + 1, at(12))
    product.write(s={"partitions": ["p0", "p1", "p2", "p3"], "schema": "x STRING, p STRING, e TIMESTAMP, "
                                                                     "a TIMESTAMP, n INT, k STRING"})  # fmt: skip
    product.run(at(12))
    assert contents(product, 1) == contents(twin)
    product.land("s", [obj("c", 20)])
    crash(product, STEPS.index("events") + 1, at(21))
    product.run(at(21))
    hold_conservation(product)
    hold_replay(product)
