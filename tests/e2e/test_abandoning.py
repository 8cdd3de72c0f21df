"""A planned run that cannot be finished is set aside: nothing of it is left, and the next run is as if it had never
been planned."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from samples import KEYED, Crash, CrashAt, at, fork, hold_replay, obj

from oracle import SECOND, Obj, Run, judge
from product import Product, expected, verdicts
from tidemark.commands import recover
from tidemark.commands.abandon import stuck
from tidemark.commands.maintain import maintain
from tidemark.context import RunContext
from tidemark.errors import Blocked, Held, TidemarkError, UsageError
from tidemark.spark.judge.engine import Engine

pytestmark = pytest.mark.usefixtures("quick")
STREAMS = {"streams": {"good": {"from": "s", "publish": True}}}
REASON = "its schema was wrong"
STATE = ("events/s", "substreams", "watermarks", "diagnostics", "objects", "quality")


@pytest.fixture(scope="module")
def base(request, tmp_path_factory) -> Product:
    """One committed run, and landed objects of two batches."""
    request.getfixturevalue("quick")
    product = Product(tmp_path_factory.mktemp("abandoning"), {"s": replace(KEYED)}, STREAMS)
    product.land("s", [obj("a", 10)])
    product.run(at(12))
    product.land("s", [obj("b", 21), obj("c", 22)])
    return product


@pytest.fixture
def product(base, tmp_path) -> Product:
    return fork(base, tmp_path / "copy")


def crashed(product: Product, step: str, times: int = 1) -> None:
    """The second run ends when it has come to a step so many times; its batches have one object each."""
    left = [times]

    def on_checkpoint(name: str) -> None:
        left[0] -= name == step
        if left[0] <= 0:
            raise Crash(step)

    product.hooks = {"on_checkpoint": on_checkpoint}
    with pytest.raises(Crash):
        product.run(at(30), run_id="stuck", max_files=1)
    product.hooks = {}


def ids(product: Product) -> dict[str, set[int]]:
    """By table the batches that have rows in it."""
    names = {table: "_batch_id" if "/" in table else "batch_id" for table in STATE}
    return {table: {row[name] for row in product.table(table)} for table, name in names.items()}


def hold_as_never_planned(product: Product, committed: set[int]) -> None:
    """The next run takes all objects that are free, and rows have the fates that the oracle gives them."""
    assert all(numbers <= committed for numbers in ids(product).values())
    done = product.run(at(30), run_id="stuck")
    assert [batch["batch_id"] for batch in done["batches"]][-1:] == [4]
    runs = [Run(at(12), (obj("a", 10),)), Run(at(30), (obj("b", 21), obj("c", 22)))]
    assert verdicts(product.events("s")) == expected(judge(KEYED, runs))
    assert product.pipeline().status()["abandoned"][0]["reason"] == REASON
    hold_replay(product)


@pytest.mark.parametrize(
    ("step", "times"),
    [
        pytest.param("diagnostics", 1, id="amid its first batch"),
        pytest.param("planned", 1, id="before its first batch", marks=pytest.mark.long),
        pytest.param("events", 1, id="after its first events", marks=pytest.mark.long),
        pytest.param("committed", 1, id="with a batch committed"),
    ],
)
def test_a_stuck_run_is_abandoned_and_its_objects_are_taken_anew(product, step, times):
    crashed(product, step, times)
    kept = (
        {1, 2}
        if any(row["status"] == "committed" and row["batch_id"] == 2 for row in product.table("batches"))
        else {1}
    )
    found = product.pipeline().abandon("stuck", REASON)
    assert (found["run_id"], found["abandoned"]) == ("stuck", True)
    assert {row["status"] for row in product.table("batches") if row["batch_id"] in found["batches"]} == {"abandoned"}
    hold_as_never_planned(product, kept)


@pytest.mark.parametrize("step", [pytest.param("abandoning", marks=pytest.mark.long), "withdrawn"])
def test_an_abandonment_that_crashed_is_finished_by_the_next_run(product, step):
    crashed(product, "diagnostics")
    product.hooks = {"on_checkpoint": CrashAt(1 if step == "abandoning" else 2)}
    with pytest.raises(Crash):
        product.pipeline().abandon("stuck", REASON)
    product.hooks = {}
    hold_as_never_planned(product, {1} | ids(product)["events/s"])


def test_under_a_lease_a_stalled_run_appends_nothing_of_what_was_abandoned(product, monkeypatch):
    """Its lease has ended: the abandonment holds the next one, and the run goes on later."""
    crashed(product, "planned")
    stalled = product.pipeline().context
    pending = stalled.ledger.last().pending
    with monkeypatch.context() as patched:
        patched.setattr(RunContext, "holds_lease", True)
        product.pipeline().abandon("stuck", REASON)
    with pytest.raises(Held, match="batches 2 to 2 are abandoned"):
        recover.execute(stalled, stalled.spec, pending, recovering=False)
    hold_as_never_planned(product, {1})


def test_a_run_that_fails_says_how_it_is_abandoned(product, monkeypatch):
    def failing(*_: object, **__: object) -> None:
        raise ValueError("cannot resolve b")

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "judge", failing)
        for _ in ("first", "again"):
            with pytest.raises(
                TidemarkError, match="run stuck is planned and fails: ValueError: cannot resolve b"
            ) as told:
                product.run(at(30), run_id="stuck")
            assert "tidemark abandon" in told.value.hint
            assert "stuck --reason" in told.value.hint


def test_an_error_of_the_jvm_is_told_with_its_exception_and_cause():
    said = "An error occurred while calling z:f.\n: java.lang.RuntimeException: job failed\n\tat f\n"
    said += "Caused by: java.io.IOException: no space\n\tat g"
    found = stuck(ValueError(said), [SimpleNamespace(run_id="r")], "c.yml")
    assert found.message == (
        "run r is planned and fails: ValueError: An error occurred while calling z:f. "
        "java.lang.RuntimeException: job failed (java.io.IOException: no space)"
    )


def test_what_has_published_is_finished_and_not_abandoned(product):
    crashed(product, "streams")
    with pytest.raises(UsageError, match="has published to streams/good"):
        product.pipeline().abandon("stuck", REASON)
    with pytest.raises(UsageError, match="run 'other' is not planned"):
        product.pipeline().abandon("other", REASON)
    with pytest.raises(UsageError, match="needs a reason"):
        product.pipeline().abandon("stuck", " ")


@pytest.mark.parametrize(("step", "brought"), [("diagnostics", [4]), ("committed", [2, 4])])
def test_a_version_built_before_the_run_was_abandoned_can_be_promoted_after_it(product, step, brought):
    """Its own tables have had nothing withdrawn; numbers of abandoned batches are unused there, too."""
    built = product.pipeline().backfill("1970-01-01")["version"]
    crashed(product, step)
    product.pipeline().abandon("stuck", REASON)
    product.run(at(30), run_id="later")
    assert product.pipeline().promote(built)["brought_up"] == brought
    assert product.pipeline().verify()["sound"]
    product.land("s", [obj("d", 31)])
    product.run(at(40))
    hold_replay(product)


def test_maintenance_while_a_run_is_pending_takes_nothing_that_its_abandonment_needs(tmp_path):
    """The run has later states of substreams and later keys than those before it, and both go with it."""
    source = replace(KEYED, by=("k", "e"), within=600 * SECOND)
    product = Product(tmp_path, {"s": source})
    first, again = obj("a", 10, 40), replace(obj("a", 10, 40), uri="d", modified=at(31))
    product.land("s", [first])
    product.run(at(12))
    ahead = [replace(row, event=row.event and row.event + SECOND * n) for n in (0, 9) for row in first.rows]
    product.land("s", [Obj("b", at(20), tuple(ahead))])
    crashed(product, "diagnostics")
    maintain(product.pipeline().context)
    product.pipeline().abandon("stuck", REASON)
    (tmp_path / "landing" / "s" / "b").unlink()
    product.land("s", [again])
    product.run(at(32))
    runs = [Run(at(12), (first,)), Run(at(32), (again,))]
    assert verdicts(product.events("s")) == expected(judge(source, runs))
    hold_replay(product)


def test_what_an_abandoned_run_had_committed_is_checked_with_the_run_that_publishes_it(product):
    """Its first batch has rows that cannot be read, and quality is judged at the end of a run only."""
    product.settings = STREAMS | {"quality": {"on_failure": "block", "max_quarantined": "20%"}}
    product.write()
    good, bad = obj("c", 22), obj("b", 21)
    bad = replace(bad, rows=tuple(replace(row, broken=True) for row in bad.rows))
    product.land(
        "s", [bad, replace(good, rows=tuple(replace(row, partition="p0", broken=False) for row in good.rows))]
    )
    crashed(product, "committed")
    product.pipeline().abandon("stuck", REASON)
    published = len(product.table("streams/good"))
    with pytest.raises(Blocked, match=r"quarantined_share is 0\.5"):
        product.run(at(30), run_id="later")
    assert len(product.table("streams/good")) == published
    product.pipeline().release("later", "as it is")
    assert len(product.table("streams/good")) > published


def test_versions_are_promoted_back_and_forth_past_an_abandoned_run(product):
    """Each version that becomes live has the numbers that were abandoned in the one before: none is used twice."""
    assert product.pipeline().promote(product.pipeline().backfill("1970-01-01")["version"])["live"] == 2
    crashed(product, "diagnostics")
    product.pipeline().abandon("stuck", REASON)
    assert product.pipeline().promote(1)["brought_up"] == []
    assert [batch["batch_id"] for batch in product.run(at(30), run_id="later")["batches"]] == [4]
    assert product.pipeline().promote(2)["brought_up"] == [4]
    assert product.pipeline().verify()["sound"]
    runs = [Run(at(12), (obj("a", 10),)), Run(at(30), (obj("b", 21), obj("c", 22)))]
    product.version = 2
    assert verdicts(product.events("s")) == expected(judge(KEYED, runs))
    hold_replay(product)


@pytest.mark.parametrize(
    ("step", "first"),
    [
        pytest.param("diagnostics", "2000-01-01", marks=pytest.mark.long),
        ("committed", "2000-01-01"),
        pytest.param("committed", "2026-01-01", marks=pytest.mark.long),
    ],
)
def test_landing_is_read_again_over_runs_that_were_abandoned(product, step, first):
    crashed(product, step)
    product.pipeline().abandon("stuck", REASON)
    product.run(at(30), run_id="later")
    before = product.events("s")
    built = product.pipeline().backfill(first, from_landing=True)
    assert built["identical"], built["difference"]
    assert product.pipeline().promote(built["version"])["brought_up"] == []
    assert product.pipeline().verify()["sound"]
    product.version = built["version"]
    assert verdicts(product.events("s")) == verdicts(before)
    hold_replay(product)


def test_landing_is_read_again_after_the_first_run_of_all_was_abandoned(tmp_path):
    product = Product(tmp_path, {"s": replace(KEYED)}, STREAMS)
    product.land("s", [obj("b", 21), obj("c", 22)])
    crashed(product, "diagnostics")
    product.pipeline().abandon("stuck", REASON)
    product.run(at(30))
    assert product.pipeline().backfill("2000-01-01", from_landing=True)["identical"]
    assert product.pipeline().backfill("2000-01-01")["identical"]
    assert product.pipeline().promote(2)["live"] == 2
    assert product.pipeline().verify()["sound"]
