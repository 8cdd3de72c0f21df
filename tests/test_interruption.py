"""What ends a command early: signals, and readers that have had enough."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from processes import start
from tidemark.cli import failures

STAND_IN = """
import sys, time
from pathlib import Path
from tidemark import cli
from tidemark.notebook.result import Result
from tidemark.pipeline import Pipeline

class Busy:
    def run(self, **options):
        Path(sys.argv[1]).touch()
        time.sleep(60)

    def status(self):
        return Result({"partitions": ["x" * 10_000] * 900}, "partitions", "")

    def advise(self, **options):
        try:
            self.run()
        finally:
            raise RuntimeError("the JVM is gone")

    def export_rows(self, target, kind, limit, **filters):
        target.write_text("a,b" * 1_000_000)
        return {"rows": 1}

Pipeline.load = lambda path, **hooks: Busy()
cli.main(sys.argv[2:])
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_a_signal_ends_a_run_with_its_status_and_one_line(tmp_path, number, status):
    begun = tmp_path / "begun"
    process = start("-c", STAND_IN, str(begun), "run", "c.yml", "--json")
    until = time.monotonic() + 30
    while not begun.exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == status, err
    assert json.loads(out)["error"]["message"].endswith(", safe to repeat")
    assert not err.strip()


def test_a_reader_that_has_had_enough_is_no_failure(tmp_path):
    process = start("-c", STAND_IN, str(tmp_path / "begun"), "status", "c.yml", "--json")
    process.stdout.read(10)
    process.stdout.close()
    assert (process.wait(timeout=30), process.stderr.read()) == (0, "")


def test_a_termination_that_was_dropped_on_the_way_is_raised_again(monkeypatch):
    """As what is raised while Python finalizes an object is."""
    monkeypatch.setattr(failures, "AGAIN", 0.05)
    passed = []

    def drop() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        except failures.Terminated:
            passed.append("dropped")
        time.sleep(5)
        passed.append("the end")

    with pytest.raises(failures.Terminated), failures.interruptible([]):
        drop()
    assert passed == ["dropped"]
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_an_interruption_counts_although_a_call_that_it_cut_short_failed_in_its_own_way(tmp_path):
    """As a call to the JVM does, whose clean-up then calls it again."""
    begun = tmp_path / "begun"
    process = start("-c", STAND_IN, str(begun), "advise", "c.yml", "--json")
    until = time.monotonic() + 30
    while not begun.exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (143, "")
    assert json.loads(out)["error"]["code"] == "interrupted"


def test_a_reader_that_has_had_enough_of_rows_as_csv_is_no_failure(tmp_path):
    process = start("-c", STAND_IN, str(tmp_path / "begun"), "rows", "c.yml", "--format", "csv")
    assert process.stdout.read(3) == "a,b"
    process.stdout.close()
    assert (process.wait(timeout=30), process.stderr.read()) == (0, "")
