"""Commands that are stopped at each of their steps, by SIGKILL and by SIGTERM: whoever goes on comes to the tables
that there would be without it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

import pytest
import stopped
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from samples import KEYED, at, fork, hold_conservation, hold_replay, lines, obj

import plain_checks
from product import Product
from short_lived import SHORT_LIVED
from tidemark.cli import invoke
from tidemark.core.times import format_time
from tidemark.storage.folders import tables_below

pytestmark = [pytest.mark.usefixtures("quick"), pytest.mark.long]
TESTS = Path(__file__).parents[1]
JOBS = TESTS.parent / "jobs"
stopped.PROCESSES.set_forkserver_preload(["stopped"])
STREAMS = {
    "per_4s": {"from": "a", "tumbling": "4s", "select": {"n": "count(*)", "keys": "collect_list(k)"}},
}
BLOCKING = {"max_dropped": "100%", "max_adjusted": "0%", "max_watermark_delay": "1h", "on_failure": "block"}
LEFT_OUT = ("difference/", "_slice", "quality", "advice", "plans")
"""Tables that are not about outputs, or tell when something was done."""
RUN_ID = "the one"
LATER = format_time(at(30))
FROM = ["--from", format_time(at(12)), "--set", "sources.a.late_arrival.tolerance=2s"]

Stop = Callable[[SparkSession, pytest.MonkeyPatch, list[str], int], bool]
"""Runs a command that is stopped at its n-th step; whether it was."""


def kill(spark: SparkSession, _: pytest.MonkeyPatch, line: list[str], step: int) -> bool:
    """In a process of its own, which shares the JVM."""
    return stopped.killed(spark, step, line)


def kill_all(_: SparkSession, __: pytest.MonkeyPatch, line: list[str], step: int) -> bool:
    """With a JVM of its own, which ends, too."""
    called = [sys.executable, stopped.__file__, str(step), str(int(signal.SIGKILL)), *line]
    environment = os.environ | SHORT_LIVED | {"PYTHONPATH": f"{JOBS}{os.pathsep}{TESTS}"}
    done = subprocess.run(called, env=environment, capture_output=True, check=False)  # noqa: S603 - ours
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-2000:]
    return done.returncode != 0


def terminate(_: SparkSession, monkeypatch: pytest.MonkeyPatch, line: list[str], step: int) -> bool:
    """In this process, whose JVM goes on."""
    with monkeypatch.context() as patched:
        for owner, name in stopped.STEPS:
            patched.setattr(owner, name, getattr(owner, name))
        stopped.stop_at(step, signal.SIGTERM)
        status = invoke(line)
    assert status in (0, 143)
    return status != 0


@dataclass(frozen=True)
class Command:
    """A command over the scene of its name; `then` goes on where it was stopped."""

    scene: str
    line: tuple[str, ...]
    then: tuple[str, ...] = ()
    version: int = 1

    def lines(self, product: Product) -> Iterator[list[str]]:
        """What is called first, then again and again."""
        first, *options = self.line
        yield [first, str(product.config), *options]
        while True:
            if first == "close" and (pending := product.pipeline().ledger.last().pending):
                yield ["run", str(product.config), "--run-id", pending[0].run_id]
            else:
                verb, *options = self.then or self.line
                yield [verb, str(product.config), *options]


COMMANDS = {
    "run": Command("landed", ("run", "--as-of", LATER, "--run-id", RUN_ID)),
    "close": Command("landed", ("close", "--as-of", LATER), ("status",)),
    "backfill": Command("ran", ("backfill", *FROM), version=2),
    "promote": Command("built", ("promote", "2"), version=2),
    "release": Command("blocked", ("release", RUN_ID, "--reason", "seen"), ("run", "--run-id", RUN_ID)),
    "maintain": Command("built", ("maintain",)),
    "reread": Command("late", ("backfill", *FROM[:2], "--from-landing"), version=2),
    "promote what was reread": Command("reread", ("promote", "2"), version=2),
}
KILLED = [name for name in COMMANDS if "reread" in name]
"""Commands that go the ways of others where they hear of SIGTERM."""


@pytest.fixture(scope="module")
def scenes(request, tmp_path_factory) -> dict[str, Product]:
    request.getfixturevalue("quick")
    with pytest.MonkeyPatch.context() as patched:
        plain_checks.use(patched.setattr)
        return made(tmp_path_factory.mktemp("stopped"))


def made(folder: Path) -> dict[str, Product]:
    """Pipelines by how far they have come."""
    base = Product(folder / "landed", {"a": KEYED}, {"streams": STREAMS})
    base.land("a", [obj("000", 10), obj("001", 12)])
    base.run(at(14))
    base.land("a", [obj("002", 20), obj("003", 22)])
    blocked = fork(base, folder / "blocked")
    blocked.settings = {**blocked.settings, "quality": BLOCKING}
    blocked.write()
    assert invoke(["run", str(blocked.config), "--as-of", LATER, "--run-id", RUN_ID]) == 1
    ran = fork(base, folder / "ran")
    ran.run(at(24))
    built = fork(ran, folder / "built")
    assert invoke(["backfill", str(built.config), *FROM]) == 0
    built.settings = {**built.settings, "retention": {"versions": 1}}
    built.write()
    built.land("a", [obj("004", 27)])
    built.run(at(30))
    return {"landed": base, "ran": ran, "built": built, "blocked": blocked, **reread(ran, folder)}


def reread(ran: Product, folder: Path) -> dict[str, Product]:
    """Pipelines with an object that came too late for the live version: not taken by any; taken by one made from
    landing, which lacks the last run."""
    late = fork(ran, folder / "late")
    late.land("a", [obj("0005", 11)])
    made = fork(late, folder / "reread")
    assert invoke(["backfill", str(made.config), *FROM[:2], "--from-landing"]) == 0
    made.land("a", [obj("004", 27)])
    made.run(at(30))
    return {"late": late, "reread": made}


def outputs(product: Product, version: int) -> dict[str, list[str]]:
    """The rows of a version's tables, as sorted lines."""
    root = product.folder / "warehouse" / "tested" / f"v{version}"
    names = [name for name in tables_below(root) if not name.startswith(LEFT_OUT)]
    return {name: lines(DeltaTable(root / name).to_pyarrow_table().to_pylist()) for name in names}


def hold_as(product: Product, twin: Product, version: int) -> None:
    """The tables are those of the twin, which nothing has stopped, and all laws hold. A build that was stopped keeps
    the number that it had reserved, so that versions have other numbers than the twin's."""
    known, wanted = (each.pipeline().versions()["versions"] for each in (product, twin))
    assert [each["live"] for each in known] == [each["live"] for each in wanted]
    for mine, its in zip(known, wanted, strict=True):
        if its["version"] in (1, version):
            assert outputs(product, mine["version"]) == outputs(twin, its["version"])
    if version == 1:
        hold_conservation(product)
    hold_replay(product)


@pytest.mark.parametrize(
    ("name", "stop"), [(name, stop) for name in COMMANDS for stop in (kill, terminate)[: 1 if name in KILLED else 2]]
)
def test_a_command_stopped_at_each_step_comes_to_what_it_would_have(scenes, spark, tmp_path, monkeypatch, name, stop):
    command = COMMANDS[name]
    product, twin = (fork(scenes[command.scene], tmp_path / each) for each in ("stopped", "twin"))
    assert invoke(next(command.lines(twin))) == 0
    stops = 0
    for line, step in zip(command.lines(product), chain([1], count(1)), strict=False):
        done = len(product.pipeline().versions()["versions"]) == len(twin.pipeline().versions()["versions"])
        if (command.line[0] == "backfill" and done) or not stop(spark, monkeypatch, line, step):
            break
        stops += 1
    assert stops > 3
    hold_as(product, twin, command.version)


def test_the_same_where_its_jvm_dies_with_it(scenes, spark, tmp_path, monkeypatch):
    command = COMMANDS["backfill"]
    product, twin = (fork(scenes[command.scene], tmp_path / each) for each in ("stopped", "twin"))
    first, then = (next(command.lines(each)) for each in (product, twin))
    assert invoke(then) == 0
    assert kill_all(spark, monkeypatch, first, 4)
    lines_ = command.lines(product)
    next(lines_)
    assert invoke(next(lines_)) == 0
    hold_as(product, twin, command.version)
