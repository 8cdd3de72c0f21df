"""Runs in the session of a server: tables, records and exit statuses are those of commands without one."""

from __future__ import annotations

import fcntl
import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from samples import KEYED, at, contents, fork, lines, obj

from product import Product
from servers import Server, server, until
from short_lived import SHORT_LIVED
from tidemark.cli import invoke
from tidemark.core.times import format_time

STREAMS = {
    "per_4s": {"from": "a", "tumbling": "4s", "select": {"n": "count(*)", "keys": "collect_list(k)"}},
    "some": {"from": "a", "where": "k = '${KEY:-a}'", "publish": True},
}
CODE = """
import os, sys, time
from pathlib import Path
import interpreted, plain_checks
from tidemark import cli
from tidemark.cli.warm import server
from tidemark.context import RunContext
from tidemark.spark.session import session

def checkpoint(self, step):
    passed(self, step)
    if step == os.environ.get("STOP_AT"):
        Path("stopped").touch()
        time.sleep(120)

plain_checks.use(setattr)
session._COST_SETTINGS.update(interpreted.INTERPRETED)
passed, RunContext.checkpoint = RunContext.checkpoint, checkpoint
server.FULL = float(os.environ.get("FULL", server.FULL))
cli.main(sys.argv[1:])
"""
ASKED = ("--as-of", format_time(at(14)), "--run-id", "the one")
OF_ONE_RUN = {"seconds", "compacted_seconds", "chain", "path"}


@pytest.fixture(scope="module")
def served() -> Iterator[Server]:
    with server(CODE, SHORT_LIVED) as made:
        made.serve()
        yield made


@pytest.fixture(autouse=True)
def quickly(quick: Any) -> None:
    """Commands without the server share the session of the tests."""


def pipeline(folder: Path, **settings: Any) -> Product:
    made = Product(folder, {"a": KEYED}, {"streams": STREAMS, **settings})
    made.land("a", [obj("000", 10), obj("001", 12)])
    return made


def warm(served: Server, verb: str, product: Product, *options: str, **environ: str) -> tuple[int, dict[str, Any]]:
    """The status and the record of a command in the server; it prints nothing else."""
    line = (verb, product.config.name, "--warm", "--json", *options)
    status, out, err = served.call(*line, cwd=product.folder, **environ)
    assert err == ""
    return status, json.loads(out)


def alike(record: Any) -> Any:
    """A record without what differs from run to run."""
    if isinstance(record, dict):
        return {key: alike(value) for key, value in record.items() if key not in OF_ONE_RUN}
    return [alike(each) for each in record] if isinstance(record, list) else record


def tables(product: Product) -> dict[str, list[str]]:
    streams = (DeltaTable(product.folder_of(f"streams/{name}")).to_pyarrow_table().to_pylist() for name in STREAMS)
    return contents(product) | dict(zip(STREAMS, map(lines, streams), strict=True))


def test_records_and_tables_are_those_of_commands_without_a_server(served, tmp_path, capsys):
    product = pipeline(tmp_path / "warm")
    twin = fork(product, tmp_path / "cold")
    for number, verb in enumerate(("run", "run", "close"), 1):
        asked = ["--as-of", format_time(at(10 * number + 4))] + (["--run-id", f"r{number}"] if verb == "run" else [])
        status, record = warm(served, verb, product, *asked)
        assert (status, invoke([verb, str(twin.config), "--json", *asked])) == (0, 0)
        assert alike(record) == alike(json.loads(capsys.readouterr().out))
        for each in (product, twin):
            each.land("a", [obj(f"00{number + 1}", 10 * number + 12)])
    assert tables(product) == tables(twin)
    assert product.pipeline().verify()["sound"]


def test_pipelines_take_turns_each_with_the_environment_of_its_client(served, tmp_path):
    one, other = pipeline(tmp_path / "one"), pipeline(tmp_path / "other")
    for second in (14, 24):
        for product, environ in ((one, {"KEY": "none"}), (other, {})):
            assert warm(served, "run", product, "--as-of", format_time(at(second)), **environ)[0] == 0
            product.land("a", [obj(f"0{second}", second + 4)])
    assert contents(one)["watermarks"] == contents(other)["watermarks"]
    assert (len(one.table("streams/some")), len(other.table("streams/some")) > 0) == (0, True)


def test_a_warehouse_made_anew_in_the_place_of_another_is_read_anew(served, tmp_path):
    product = pipeline(tmp_path / "again")
    found = []
    for _ in range(2):
        shutil.rmtree(product.folder / "warehouse", ignore_errors=True)
        assert warm(served, "run", product, "--as-of", format_time(at(14)))[0] == 0
        product.land("a", [obj("002", 20)])
        assert warm(served, "run", product, "--as-of", format_time(at(24)))[0] == 0
        found.append(tables(product))
        (product.folder / "landing" / "a" / "002").unlink()
    assert found[0] == found[1]


def test_locks_and_blocks_are_those_of_commands_without_a_server(served, tmp_path, capsys, monkeypatch):
    blocking = {"max_dropped": "0%", "max_adjusted": "0%", "on_failure": "block"}
    product = pipeline(tmp_path / "blocked", quality=blocking)
    assert warm(served, "run", product, "--as-of", format_time(at(14)), "--run-id", "one")[0] == 1
    found = warm(served, "run", product)
    monkeypatch.chdir(product.folder)
    assert (invoke(["run", product.config.name, "--json"]), json.loads(capsys.readouterr().out)) == found
    with (product.folder / "warehouse" / "tested" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status, record = warm(served, "run", product)
    assert (status, record["error"]["code"]) == (3, "held")


def test_a_run_whose_server_is_killed_is_finished_by_the_next(served, tmp_path, monkeypatch):
    product = pipeline(tmp_path / "killed")
    client = stopped(served, product, "events")
    served.end(signal.SIGKILL)
    out, _ = client.communicate(timeout=60)
    assert (client.returncode, json.loads(out)["error"]["message"]) == (4, "the server ended during the command")
    monkeypatch.setenv("TIDEMARK_SOCKET", str(served.path))
    assert invoke(["run", str(product.config), "--warm", *ASKED]) == 0
    assert tables(product) == tables(undisturbed(tmp_path))


@pytest.mark.long
@pytest.mark.parametrize(
    ("step", "number", "status"),
    [("planned", signal.SIGINT, 130), ("events", signal.SIGTERM, 143), ("streams", signal.SIGKILL, -9)],
)
def test_a_run_whose_client_is_ended_is_finished_by_the_next_in_a_new_session(tmp_path, step, number, status):
    product = pipeline(tmp_path / "ended")
    with server(CODE, SHORT_LIVED) as made:
        made.serve()
        client = stopped(made, product, step)
        client.send_signal(number)
        assert client.wait(60) == status
        assert warm(made, "run", product, *ASKED)[0] == 0
        ended = 143 if number == signal.SIGTERM else 130
        assert f"since a command ended with status {ended}" in made.said.read_text()
    assert tables(product) == tables(undisturbed(tmp_path))


@pytest.mark.long
def test_a_session_ends_after_its_runs_or_when_its_memory_is_full_and_the_next_run_starts_another(tmp_path):
    product = pipeline(tmp_path / "renewed")
    for options, full, why in ((["--runs", "1"], "1", "it has done 1 runs"), ([], "0", "its JVM is full or gone")):
        with server(CODE, SHORT_LIVED | {"FULL": full}) as made:
            made.serve(*options)
            for number in range(2):
                product.land("a", [obj(f"{full}{number}", 20 + 10 * number)])
                assert warm(made, "run", product)[0] == 0
            until(lambda: made.said.read_text().count("serving") == 3)
            assert made.said.read_text().count(f"the session ends, since {why}; the next run starts another") == 2
    assert product.pipeline().verify()["sound"]


def stopped(served: Server, product: Product, step: str) -> Any:
    """A client whose run waits after a step."""
    line = ("run", product.config.name, "--warm", "--json", *ASKED)
    client = served.start(*line, cwd=product.folder, STOP_AT=step)
    until((product.folder / "stopped").exists)
    return client


def undisturbed(folder: Path) -> Product:
    """A pipeline whose run nobody has stopped."""
    twin = pipeline(folder / "undisturbed")
    assert invoke(["run", str(twin.config), *ASKED]) == 0
    return twin
