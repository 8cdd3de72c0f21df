"""A crash at any point of a run is repaired by the next one, with the result that there would have been without it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from oracle import Run, judge
from product import Product, expected, verdicts
from samples import KEYED, PLAIN, Crash, CrashAt, at, contents, findings, fork, hold_conservation, hold_replay, obj
from tidemark.core.batch import ObjectState
from tidemark.ledger.store import Store

END = ["watermarks", "diagnostics", "committed"]
STEPS = ["planned", "events", "substreams", *END, "events", "substreams", "events", *END]
"""What the second run reaches: a batch of the keyed source, then one of both sources."""
FIRST_STEPS = ["planned", "events", "substreams", "events", *END]
SECOND = at(30)
FOLLOWED = ("again", "later")


@dataclass(frozen=True)
class Scene:
    """A pipeline before its second run, whose objects have landed, and what it comes to undisturbed, by what
    follows: a run at the same as_of, or a later one with new objects."""

    base: Product
    folder: Path
    undisturbed: dict[str, dict[str, list[str]]]


def follow(product: Product, how: str) -> None:
    """The run after the second, which has to repair that if it crashed."""
    if how == "later":
        product.land("keyed", [obj("e", 45)])
        product.land("plain", [obj("f", 46)])
    product.run(SECOND if how == "again" else at(50))


@pytest.fixture(scope="module")
def scene(spark, tmp_path_factory) -> Scene:
    folder = tmp_path_factory.mktemp("crashes")
    base = Product(folder / "base", {"keyed": KEYED, "plain": PLAIN})
    base.land("keyed", [obj("a", 10)])
    base.land("plain", [obj("x", 9)])
    base.run(at(12))
    base.land("keyed", [obj("b", 21), obj("c", 22), obj("d", 24)])
    base.land("plain", [obj("y", 23)])
    undisturbed = {}
    for how in FOLLOWED:
        twin = fork(base, folder / f"twin-{how}")
        twin.run(SECOND, max_files=2)
        follow(twin, how)
        hold_conservation(twin)
        hold_replay(twin)
        undisturbed[how] = contents(twin)
    return Scene(base, folder, undisturbed)


def crash(product: Product, number: int, **options: int) -> CrashAt:
    """Begin the second run; it ends at its `number`-th step."""
    at_step = CrashAt(number)
    product.hooks = {"reached": at_step}
    with pytest.raises(Crash):
        product.run(SECOND, **({"max_files": 2} | options))
    product.hooks = {}
    return at_step


@pytest.mark.parametrize("number", range(1, len(STEPS) + 1), ids=lambda n: f"{n} {STEPS[n - 1]}")
def test_the_run_after_a_crash_at_any_step_leaves_what_there_would_be_without_it(scene, number):
    how = FOLLOWED[number % 2]
    product = fork(scene.base, scene.folder / f"at-{number}")
    assert crash(product, number).steps == STEPS[:number]
    follow(product, how)
    assert contents(product) == scene.undisturbed[how]
    hold_conservation(product)


def test_repairs_that_crash_in_their_turn_are_repaired(scene):
    product = fork(scene.base, scene.folder / "again-and-again")
    crashes = 0
    for number in range(1, 20):
        product.hooks = {"reached": CrashAt(number)}
        try:
            product.run(SECOND, max_files=2)
            break
        except Crash:
            crashes += 1
    assert crashes >= 4
    assert contents(product) == scene.undisturbed["again"]
    hold_replay(product)


@pytest.mark.parametrize("number", range(1, len(FIRST_STEPS) + 1), ids=lambda n: f"{n} {FIRST_STEPS[n - 1]}")
def test_the_first_run_of_all_is_repaired(scene, number):
    """Also when the tables do not exist yet."""
    if number % 3 != 1:
        pytest.skip("the long selection has it")


def between(monkeypatch: pytest.MonkeyPatch, method: str, table: str) -> None:
    """Let the ledger crash where it would commit to a table."""
    write = getattr(Store, method)

    def crashing(store: Store, *given: object, **more: object) -> None:
        if store.path.name == table:
            raise Crash(table)
        write(store, *given, **more)

    monkeypatch.setattr(Store, method, crashing)


@pytest.mark.parametrize(
    ("method", "table"),
    [
        pytest.param("append", "plans", id="before anything is planned"),
        pytest.param("append_next", "batches", id="objects planned, batches not"),
        pytest.param("append", "objects", id="nothing committed"),
        pytest.param("replace", "batches", id="objects committed, batches not"),
    ],
)
def test_a_crash_between_two_commits_of_the_ledger_is_repaired(scene, monkeypatch, method, table):
    product = fork(scene.base, scene.folder / f"between-{method}-{table}")
    with monkeypatch.context() as patched:
        between(patched, method, table)
        with pytest.raises(Crash):
            product.run(SECOND, max_files=2)
    product.run(SECOND, max_files=2)
    product.run(SECOND, max_files=2)
    assert contents(product)["batches"][:-1] == scene.undisturbed["again"]["batches"][:-1]


