"""Public ways instead of private parts of Spark and Delta give equal tables and digests."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest
from samples import KEYED, PLAIN, at, contents, hold_replay, lines, obj

import stored
from oracle import Run
from product import Product
from tidemark.pipeline import Pipeline
from tidemark.spark.compat.plain import ASKED
from tidemark.spark.judge import plan_cache, planner
from tidemark.spark.tables import delta
from tidemark.spark.tables.fate_counter import FateCounter

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def public_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Public ways, and a test that takes a private one fails."""
    request.getfixturevalue("public_ways")
    plans: list[str] = []
    whole = FateCounter.counted

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("a private way")

    def counted(self: FateCounter, rows: Any) -> Any:
        found = whole(self, rows)
        plans.append(found._jdf.queryExecution().analyzed().toString())
        return found

    monkeypatch.setattr(plan_cache, "bound", refused)
    monkeypatch.setattr(plan_cache, "simplified", refused)
    monkeypatch.setattr(delta, "rows_of", refused)
    monkeypatch.setattr(FateCounter, "counted", counted)
    yield
    assert plans
    assert not [plan for plan in plans if "invoke(tidemark" in plan]


def engines(folder: Any) -> list[bool]:
    """By batch, true if it was recorded as one of public ways."""
    config = folder / "pipeline.yml"
    records = Pipeline.load(config, {}).context.ledger.batches(1, 1000)
    return [json.loads(each.engine).get("plain", False) for each in records]


@pytest.mark.long
@pytest.mark.usefixtures("public_alone")
def test_what_private_ways_began_is_carried_on_with_equal_tables(tmp_path):
    (file,) = stored.DATA.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        archive.extractall(tmp_path, filter="data")
    expected = json.loads((tmp_path / stored.EXPECTED).read_text())
    stored.carry_on(tmp_path)
    assert stored.digests(tmp_path, expected["columns"]) == expected["digests"]
    assert engines(tmp_path) == [False] * stored.RUNS + [True]
    replayed = Pipeline.load(tmp_path / "pipeline.yml", {}).replay(all_batches=True)
    assert replayed["identical"]
    assert f"{ASKED} was False, is True" in replayed["engine_changed"]


STREAM = {"from": "s", "tumbling": "5s", "group_by": ["k"], "select": {"n": "count(*)", "most": "max(e)"}}


@pytest.mark.parametrize(("tasks", "source"), [(1, KEYED), (3, PLAIN)], ids=["one task", "several tasks"])
def test_runs_of_both_ways_leave_equal_tables_and_replay_each_other(tmp_path, monkeypatch, request, tasks, source):
    monkeypatch.setattr(planner.Builder, "_tasks", lambda *_: tasks)
    monkeypatch.setattr(planner.Builder, "_skewed_share", lambda *_: 0.4)
    mixes = ("p0", "p1", "p2"), ("p0", "p0", "p1")
    runs = [Run(at(10 * n + 9), (obj(f"{n}", 10 * n + 5, partitions=mix),)) for n, mix in enumerate(mixes)]
    private = Product(tmp_path / "private", {"s": source}, {"streams": {"w": STREAM}})
    private.feed("s", runs)
    request.getfixturevalue("public_alone")
    public = Product(tmp_path / "public", {"s": source}, {"streams": {"w": STREAM}})
    public.feed("s", runs)
    assert contents(public) == contents(private)
    assert lines(public.table("streams/w")) == lines(private.table("streams/w")) != []
    assert hold_replay(private)["engine_changed"] == [f"{ASKED} was False, is True"]
