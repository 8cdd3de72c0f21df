"""Runs of one pipeline at the same time, and runs whose process is killed: nothing is done twice, nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from samples import KEYED, PLAIN, at, contents, fork, hold_conservation, hold_replay, obj

import tidemark.context
from checked_records import printed_record
from product import Product, verdicts
from short_lived import SHORT_LIVED
from tidemark.core.times import format_time
from tidemark.errors import Held
from tidemark.ledger.ledger import Ledger

pytestmark = pytest.mark.usefixtures("quick")
AS_OF = format_time(at(12))
JOBS = Path(__file__).parents[2] / "jobs"
FOLDER = "TIDEMARK_TEST_FOLDER"
"""Names, in the environment of a command and of the JVM that it starts, the pipeline they belong to."""


def landed(folder: Path) -> Product:
    product = Product(folder, {"s": PLAIN})
    product.land("s", [obj("a", 10), obj("b", 11)])
    return product


def command(product: Product, *arguments: str, umask: int = -1) -> subprocess.Popen[str]:
    """The command line in a process of its own, as `tidemark <verb> CONFIG ...`; -1: with the tests' umask."""
    verb, *options = arguments
    line = [sys.executable, "-m", "tidemark", verb, str(product.config), "--json", *options]
    environment = os.environ | SHORT_LIVED | {"PYTHONPATH": str(JOBS), FOLDER: str(product.folder)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(line, env=environment, umask=umask, **pipes)  # noqa: S603 - the product itself


def await_(what: Callable[[], object], process: subprocess.Popen[str], seconds: float = 180) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "it never came so far"
        time.sleep(0.01)


def processes(product: Product) -> list[str]:
    """What still runs of the commands over a pipeline."""
    mark = f"{FOLDER}={product.folder}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (place / "environ").read_bytes().split(b"\0"):
                found.append((place / "comm").read_text().strip())
    return found


def statuses(product: Product) -> list[str]:
    rows = sorted(product.table("batches"), key=lambda row: row["batch_id"])
    return [row["status"] for row in rows]


def twice(first: Product, second: Product, step: str) -> list[Any]:
    """Run `second` when `first` has reached `step`; returns what `second` came to."""
    came: list[Any] = []

    def on_checkpoint(name: str) -> None:
        if name == step and not came:
            try:
                came.append(second.run(at(12)))
            except Held as error:
                came.append(error)

    first.hooks = {"on_checkpoint": on_checkpoint}
    first.run(at(12))
    return came


def test_of_two_runs_at_once_one_wins_and_the_other_is_told_who(tmp_path):
    product = landed(tmp_path / "two")
    twin = fork(product, tmp_path / "twin")
    (held,) = twice(product, Product(product.folder, product.sources), "events")
    assert isinstance(held, Held)
    assert held.exit_code == 3
    assert str(os.getpid()) in str(held)
    twin.run(at(12))
    assert contents(product) == contents(twin)


def test_a_run_that_waits_goes_on_when_the_other_has_ended(tmp_path):
    product = landed(tmp_path)
    waiting, order = Product(product.folder, product.sources), []
    thread = threading.Thread(target=lambda: order.append(waiting.run(at(13), wait=True)["objects"]))

    def on_checkpoint(step: str) -> None:
        if step == "planned":
            thread.start()
            time.sleep(0.3)
        order.append(step)

    product.hooks = {"on_checkpoint": on_checkpoint}
    product.run(at(12))
    thread.join(60)
    assert order == ["planned", "events", "watermarks", "diagnostics", "quality", "committed", 0]
    assert statuses(product) == ["committed"] * 2
    hold_conservation(product)


@pytest.mark.parametrize("step", ["planned", "events", pytest.param("watermarks", marks=pytest.mark.long)])
def test_without_the_lock_a_second_run_finishes_the_first_and_nothing_doubles(tmp_path, monkeypatch, step):
    product = landed(tmp_path / "unlocked")
    twin = fork(product, tmp_path / "twin")
    twin.run(at(12))
    monkeypatch.setattr(tidemark.context, "hold", lambda *_: nullcontext())
    (second,) = twice(product, Product(product.folder, product.sources), step)
    assert second["repaired"]
    assert contents(product, 1) == contents(twin)
    assert statuses(product) == ["committed"] * 2
    hold_conservation(product)
    hold_replay(product)


def test_without_the_lock_the_ledger_refuses_the_second_plan(tmp_path, monkeypatch):
    """Both have listed the same objects before either has planned them."""
    product = landed(tmp_path / "unlocked")
    other = Product(product.folder, product.sources)
    monkeypatch.setattr(tidemark.context, "hold", lambda *_: nullcontext())
    plan, won = Ledger.plan, []

    def planning(*given: Any) -> None:
        if not won:
            won.append(True)
            other.run(at(12))
        plan(*given)

    monkeypatch.setattr(Ledger, "plan", planning)
    with pytest.raises(Held):
        product.run(at(12))
    assert statuses(product) == ["committed"]
    hold_conservation(product)


def test_a_killed_run_is_repaired_and_its_lock_does_not_block(tmp_path):
    """The process dies while or just after its events are appended; meanwhile a second one is told to wait."""
    product = Product(tmp_path / "killed", {"s": KEYED})
    product.land("s", [obj("a", 10), obj("b", 11)])
    twin = fork(product, tmp_path / "twin")
    twin.run(at(12))
    process = command(product, "run", "--as-of", AS_OF)
    await_(lambda: "planned" in statuses(product), process)
    second = command(product, "run", "--as-of", AS_OF)
    out, _ = second.communicate(timeout=60)
    assert second.returncode == 3
    assert printed_record("run", out)["error"]["code"] == "held"
    log = product.folder_of("events/s") / "_delta_log"
    await_(lambda: log.exists() and list(log.glob("*.json")), process)
    process.kill()
    process.communicate(timeout=60)
    assert statuses(product) == ["planned"]
    product.run(at(12))
    assert contents(product, 1) == contents(twin)
    hold_replay(product)


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_an_interrupted_close_is_finished_by_the_next_run(tmp_path, number):
    product = landed(tmp_path / "closing")
    twin = fork(product, tmp_path / "twin")
    twin.pipeline().close(as_of=at(12))
    process = command(product, "close", "--as-of", AS_OF)
    await_(lambda: "planned" in statuses(product), process)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 143)
    done = product.run(at(12))
    assert done["watermarks"]["s"]["complete"]
    assert contents(product, 1) == contents(twin)


def test_a_terminated_run_says_143_and_is_safe_to_repeat(tmp_path):
    product = landed(tmp_path / "terminated")
    twin = fork(product, tmp_path / "twin")
    twin.run(at(12))
    process = command(product, "run", "--as-of", AS_OF)
    await_(lambda: "planned" in statuses(product), process)
    time.sleep(0.5)
    process.terminate()
    out, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "Traceback" not in said
    assert printed_record("run", out)["error"]["code"] == "interrupted"
    until = time.monotonic() + 30
    while processes(product) and time.monotonic() < until:
        time.sleep(0.1)
    assert processes(product) == [], "its JVM must end with it"
    product.run(at(12))
    assert contents(product, 1) == contents(twin)


def test_two_workers_at_once_do_what_one_would(tmp_path):
    """Two processes of one scheduled run, as of a scheduler that takes the first for lost, and a third of the next
    interval: whoever is later waits, and verifies or goes on. What they write is for nobody else, as their umask
    says."""
    product = landed(tmp_path / "workers")
    twin = fork(product, tmp_path / "twin")
    for run_id, as_of in (("first", at(12)), ("second", at(14))):
        twin.run(as_of, run_id=run_id)
    asked = [("first", AS_OF), ("first", AS_OF), ("second", format_time(at(14)))]
    started = [command(product, "process", "--as-of", at_, "--run-id", id_, umask=0o077) for id_, at_ in asked]
    for process in started:
        _, told = process.communicate(timeout=240)
        assert process.returncode == 0, told
    written = [path for path in (product.folder / "warehouse").rglob("*") if path.stat().st_mode & 0o077]
    assert not written, f"readable by others: {written}"
    assert {row["run_id"] for row in product.table("batches")} <= {"first", "second"}
    hold_conservation(product)
    hold_replay(product)
    assert verdicts(product.events("s")) == verdicts(twin.events("s"))
