"""Checks of runs: what quality blocks publishes nothing until it is released, whatever crashes in between."""

from __future__ import annotations

import json
import shutil
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from samples import Crash, CrashAt, at, contents, fork, hold_conservation, hold_replay

from oracle import SECOND, Obj, Source
from product import Product
from strategies import objects
from tidemark.cli import invoke
from tidemark.commands.schedule import answer, blocking, foresee
from tidemark.errors import Blocked, CheckFailed, ConfigError, UsageError
from tidemark.spark.streams.stream_rows import StreamRows
from tidemark.spark.tables.time_range import Span

pytestmark = pytest.mark.usefixtures("quick")
SOURCE = Source(late=(4 * SECOND, "drop"), out_of_order=(2 * SECOND, "adjust"), landing_delay=3 * SECOND)
LIMITS = {"max_dropped": "10%", "max_adjusted": "100%", "max_watermark_delay": "1h", "on_failure": "block"}
STREAMS = {
    "kept": {"from": "s", "publish": True},
    "minutes": {"from": "s", "tumbling": "10s", "select": {"n": "count(*)"}},
    "longer": {"from": "minutes", "tumbling": "20s", "select": {"n": "sum(n)"}},
}
BETWEEN = "expect_column_values_to_be_between"
OUTPUTS = tuple(f"streams/{name}" for name in STREAMS)
BLOCKED_AT = ["planned", "events", "watermarks", "diagnostics", "quality", "blocked"]


def made(folder: Path, **settings: Any) -> Product:
    """A pipeline with a good run behind it and an object of which a quarter is to be dropped."""
    product = Product(folder, {"s": SOURCE}, {"quality": LIMITS, "streams": STREAMS, **settings})
    product.land("s", objects("a", 0))
    product.run(at(21))
    product.land("s", objects("b", 30, late=5))
    return product


def expect(product: Product, suites: dict[str, list[dict[str, Any]]]) -> None:
    """Users' suites by the tables that they are about."""
    for table, asked in suites.items():
        file = product.folder / "expectations" / f"{table}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"name": table, "expectations": asked}))


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Product:
    return made(tmp_path_factory.mktemp("quality") / "base")


@pytest.fixture(scope="module")
def blocked(base, tmp_path_factory) -> Product:
    product = fork(base, tmp_path_factory.mktemp("blocked") / "p")
    with pytest.raises(Blocked):
        product.run(at(51), run_id="bad")
    return product


@pytest.fixture(scope="module")
def unlimited(base, tmp_path_factory) -> Product:
    """The same without limits: what the released run has to come to."""
    twin = fork(base, tmp_path_factory.mktemp("unlimited") / "p")
    twin.run(at(51), run_id="bad", quality="record")
    return twin


def outputs(product: Product) -> dict[str, list[dict[str, Any]]]:
    return {table: sorted(product.table(table), key=str) for table in OUTPUTS}


def published(product: Product) -> int:
    return sum(map(len, outputs(product).values()))


@pytest.mark.usefixtures("expectations")
def test_a_blocked_run_has_published_nothing_and_says_why(base, blocked):
    product = fork(base, base.folder.parent / "why")
    with pytest.raises(Blocked) as raised:
        product.run(at(51), run_id="bad")
    message = raised.value.message
    assert "quality blocks run bad" in message
    assert "events/s: dropped_share is 0.25, limit 0.1 (such as s 0 35)" in message
    assert "tidemark release CONFIG bad --reason" in raised.value.hint
    assert outputs(product) == outputs(base)
    assert {row["batch_id"]: row["status"] for row in product.table("batches")} == {1: "committed", 2: "blocked"}
    failed = [row for row in product.table("quality") if not row["success"]]
    assert {(row["table"], row["expectation"], row["run_id"]) for row in failed} == {
        (table, "dropped_share", "bad") for table in ("batches", "events/s")
    }
    assert contents(product) == contents(blocked)
    assert (product.folder_of("data_docs") / "run-2.html").is_file()
    assert "checks failed" in (product.folder_of("data_docs") / "index.html").read_text()
    example = failed[0]["examples"][0].split()
    assert product.pipeline().explain(example[0], example[1], int(example[2]))["steps"]
    assert product.pipeline().rows(batch=2, fate="dropped")["total"] == 5
    others = product.pipeline().rows(fate="dropped")
    assert (others["total"], others["blocked"]) == (0, "quality blocks run bad: `--batch 2` shows its rows")


def test_counts_and_exports_say_which_rows_they_leave_out(blocked, tmp_path, capsys):
    config = str(blocked.config)
    said = "Not looked at: quality blocks run bad: `--batch 2` shows its rows."
    assert invoke(["rows", config, "--by", "fate"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert invoke(["rows", config, "--format", "csv", "--out", str(tmp_path / "rows.csv")]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert invoke(["rows", config, "--format", "csv"]) == 0
    found = capsys.readouterr()
    assert said in found.err
    assert said not in found.out
    assert invoke(["rows", config, "--by", "fate", "--batch", "2"]) == 0
    assert said not in " ".join(capsys.readouterr().out.split())


def test_later_runs_wait_behind_it_and_judge_nothing(blocked, tmp_path):
    product = fork(blocked, tmp_path / "p")
    product.land("s", objects("c", 60))
    before = contents(product)
    for attempt in ({}, {"run_id": "bad"}, {"dry_run": True}, {"quality": "record"}):
        with pytest.raises(Blocked, match="quality blocks run bad"):
            product.run(at(90), **attempt)
    with pytest.raises(Blocked):
        product.pipeline().close(as_of=at(90))
    assert contents(product) == before
    assert product.pipeline().status()["blocked"].startswith("quality blocks run bad")


def test_a_released_run_comes_to_what_it_would_without_limits(blocked, unlimited, tmp_path):
    product = fork(blocked, tmp_path / "p")
    with pytest.raises(UsageError, match="run 'good' is not blocked; run bad is"):
        product.pipeline().release("good", "a mistake")
    with pytest.raises(UsageError, match="needs a reason"):
        product.pipeline().release("bad", " ")
    done = product.pipeline().release("bad", "a lorry stood in the tunnel")
    assert (done["run_id"], done["released"]) == ("bad", True)
    assert contents(product) == contents(unlimited)
    assert outputs(product) == outputs(unlimited)
    (told,) = [row for row in product.table("quality") if row["expectation"] == "released"]
    assert (told["run_id"], told["message"]) == ("bad", "a lorry stood in the tunnel")
    with pytest.raises(UsageError, match="run 'bad' is not blocked"):
        product.pipeline().release("bad", "again")
    product.land("s", objects("c", 60))
    assert product.run(at(90))["repaired"] == []
    hold_replay(product)
    hold_conservation(product)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, id=name, marks=() if name in ("quality", "blocked") else pytest.mark.long)
        for number, name in enumerate(BLOCKED_AT, 1)
    ],
)
def test_a_crash_on_the_way_to_a_block_ends_in_the_same_block(base, blocked, number, tmp_path):
    product = fork(base, tmp_path / "p")
    product.hooks = {"on_checkpoint": (hook := CrashAt(number))}
    with pytest.raises(Crash):
        product.run(at(51), run_id="bad")
    assert hook.steps == BLOCKED_AT[:number]
    product.hooks = {}
    for _ in range(2):
        with pytest.raises(Blocked, match="quality blocks run bad"):
            product.run(at(60))
    assert contents(product) == contents(blocked)
    assert product.table("quality") == blocked.table("quality")


@pytest.mark.parametrize("number", [1, pytest.param(6, marks=pytest.mark.long)])
def test_a_crash_of_a_release_is_carried_on_by_the_next_run(blocked, unlimited, number, tmp_path):
    product = fork(blocked, tmp_path / "p")
    product.hooks = {"on_checkpoint": CrashAt(number)}
    with pytest.raises(Crash):
        product.pipeline().release("bad", "looked at")
    product.hooks = {}
    assert product.run(at(51), run_id="bad")["repaired"] == ["bad"]
    assert contents(product) == contents(unlimited)
    assert outputs(product) == outputs(unlimited)


def test_a_repaired_run_keeps_what_was_asked_for_it(base, unlimited, tmp_path):
    product = fork(base, tmp_path / "p")
    product.hooks = {"on_checkpoint": CrashAt(1)}
    with pytest.raises(Crash):
        product.run(at(51), run_id="bad", quality="record")
    product.hooks = {}
    assert product.run(at(51), run_id="bad")["repaired"] == ["bad"]
    assert outputs(product) == outputs(unlimited)


@pytest.mark.parametrize("crashing", ["quality", "streams"])
def test_a_check_that_stops_nothing_is_made_beside_the_streams_and_a_crash_of_either_repaired(
    base, unlimited, crashing, tmp_path
):
    product, ended = fork(base, tmp_path / "p"), threading.Event()

    def on_checkpoint(step: str) -> None:
        if step == crashing:
            ended.wait(60)  # for the other, which ends only if it was begun
            raise Crash(step)
        if step in ("quality", "streams"):
            ended.set()

    product.hooks = {"on_checkpoint": on_checkpoint}
    with pytest.raises(Crash, match=crashing):
        product.run(at(51), run_id="bad", quality="record")
    assert ended.is_set()
    product.hooks = {}
    assert product.run(at(51), run_id="bad")["repaired"] == ["bad"]
    assert contents(product) == contents(unlimited)
    assert outputs(product) == outputs(unlimited)


@pytest.mark.parametrize("severity", ["warn", "record"])
def test_what_does_not_block_is_told(base, severity, tmp_path):
    product = fork(base, tmp_path / "p")
    done = product.run(at(51), quality=severity)
    failed = [check for check in done["quality"] if not check["success"]]
    assert {(check["expectation"], check["severity"]) for check in failed} == {("dropped_share", severity)}
    assert published(product) > published(base)


def test_without_limits_nothing_blocks_and_everything_is_recorded(tmp_path):
    product = made(tmp_path, quality=None)
    done = product.run(at(51))
    assert {check["table"] for check in done["quality"] if check["success"]} >= {*OUTPUTS, "events/s", "watermarks"}
    shares = {check["table"]: check for check in done["quality"] if check["expectation"] == "dropped_share"}
    assert {(check["observed"], check["limit"], check["severity"]) for check in shares.values()} == {
        (0.25, None, "record")
    }


@pytest.mark.usefixtures("expectations")
@pytest.mark.parametrize("severity", ["record", "block"])
def test_what_is_not_due_is_told_before_or_after_it_is_published(base, severity, tmp_path, monkeypatch):
    product = fork(base, tmp_path / "p")
    (product.folder / "landing" / "s" / "b").unlink()
    product.land("s", objects("d", 30))
    monkeypatch.setattr("tidemark.spark.streams.writer.passing", lambda rows, *_: rows)
    monkeypatch.setattr("tidemark.spark.streams.stream_rows.StreamRows.along", everything(StreamRows.along))
    with pytest.raises(Blocked, match="published_in_time_order") if severity == "block" else nullcontext():
        product.run(at(51), quality=severity)
    checks = [row for row in product.table("quality") if row["batch_id"] == 2]
    found = {row["table"]: row for row in checks if row["expectation"] == "published_in_time_order"}
    assert found.keys() == set(OUTPUTS)
    assert not found["streams/kept"]["success"]
    assert found["streams/kept"]["observed"] > 0
    assert "not_due" in (product.folder_of("data_docs") / "run-2.html").read_text()


def everything(along):
    """Rows of any time, not only those of a span."""
    return lambda self, paths, _, **which: along(self, paths, Span(), **which)


def test_a_run_without_rows_is_not_checked(base, tmp_path):
    product = fork(base, tmp_path / "p")
    for item in (product.folder / "landing" / "s").glob("b"):
        item.unlink()
    assert product.run(at(51))["quality"] == []


def test_schedulers_are_told_what_stands_in_the_way(base, tmp_path):
    product = fork(base, tmp_path / "p")
    assert blocking(product.pipeline().context) is None
    with pytest.raises(CheckFailed):
        answer(product.pipeline().context, at(51), "scheduled-51")
    told = blocking(product.pipeline().context)
    assert told is not None
    assert f"tidemark release {product.config} scheduled-51 --reason" in told
    with pytest.raises(Blocked):
        foresee(product.pipeline().context, at(60), "scheduled-60")


@pytest.mark.usefixtures("expectations")
def test_suites_of_users_see_what_is_about_to_be_published(base, tmp_path):
    product = fork(base, tmp_path / "p")
    expect(
        product,
        {
            "streams/longer": [
                {"type": BETWEEN, "kwargs": {"column": "n", "max_value": 15}},
                {"type": BETWEEN, "kwargs": {"column": "_partition", "max_value": 15}, "severity": "warning"},
                {"type": "expect_column_to_exist", "kwargs": {"column": "n"}},
            ],
            "events/s": [
                {"type": "expect_column_values_to_be_null", "kwargs": {"column": "k"}, "severity": "warning"}
            ],
        },
    )
    with pytest.raises(ConfigError, match=r"between\(_partition\): streams/longer has no column '_partition'"):
        product.pipeline().validate()
    (product.folder / "landing" / "s" / "b").unlink()
    product.land("s", objects("d", 30))
    with pytest.raises(
        Blocked, match=r"streams/longer: expect_column_values_to_be_between\(n\) is 1, limit 0"
    ) as raised:
        product.run(at(51), run_id="full")
    assert "such as longer 2" in raised.value.message
    assert outputs(product) == outputs(base)
    checks = {row["expectation"]: row for row in product.table("quality") if row["table"] == "streams/longer"}
    assert checks["expect_column_to_exist(n)"]["success"]
    unfit = checks[f"{BETWEEN}(_partition)"]
    assert (unfit["success"], unfit["severity"]) == (False, "warn")
    assert f"longer.json: {BETWEEN}(_partition) cannot be evaluated: " in unfit["message"]
    product.pipeline().release("full", "a fair")
    twin = fork(base, tmp_path / "twin")
    (twin.folder / "landing" / "s" / "b").unlink()
    twin.land("s", objects("d", 30))
    twin.run(at(51), run_id="full", quality="record")
    assert outputs(product) == outputs(twin)
    hold_replay(product)


@pytest.mark.usefixtures("expectations")
def test_a_repaired_run_is_judged_by_the_suites_that_it_was_planned_with(base, tmp_path):
    product = fork(base, tmp_path / "p")
    (product.folder / "landing" / "s" / "b").unlink()
    product.land("s", objects("d", 30))
    expect(product, {"events/s": [{"type": "expect_table_row_count_to_equal", "kwargs": {"value": 7}}]})
    product.hooks = {"on_checkpoint": CrashAt(2)}
    with pytest.raises(Crash):
        product.run(at(51), run_id="bad")
    product.hooks = {}
    expect(product, {"events/s": [{"type": "expect_column_to_exist", "kwargs": {"column": "k"}}]})
    with pytest.raises(Blocked, match="events/s: expect_table_row_count_to_equal is 20, limit 7"):
        product.run(at(60))
    assert outputs(product) == outputs(base)
    shutil.rmtree(product.folder / "expectations")
    product.pipeline().release("bad", "looked at")
    assert published(product) > published(base)


@pytest.mark.usefixtures("expectations")
def test_a_suite_without_rows_to_judge_checks_nothing(base, tmp_path):
    product = fork(base, tmp_path / "p")
    (product.folder / "landing" / "s" / "b").unlink()
    (row, *_) = objects("d", 30, late=20)[0].rows
    product.land("s", [Obj("d", at(32), (row,))])
    largest = {"type": "expect_column_max_to_be_between", "kwargs": {"column": "_offset", "min_value": 0}}
    expect(product, {"events/s": [largest]})
    done = product.run(at(33), quality="warn")
    assert done["batches"][0]["dropped"] == done["batches"][0]["rows"] == 1
    found = {check["expectation"] for check in done["quality"] if check["table"] == "events/s"}
    assert found >= {"dropped_share"}
    assert "expect_column_max_to_be_between(_offset)" not in found
