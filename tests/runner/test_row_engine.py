"""Tests a run's steps with an engine that is not Spark. States, findings and rows equal the oracle's, however runs
are cut and wherever they crash. No JVM starts: hundreds of runs take seconds."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import oracle
from product import Product, line, micros
from row_engine import RowEngine, without_spark
from strategies import BASE, logs, sources
from tidemark.context import RunContext
from tidemark.landing.listing import Listed
from tidemark.runner import planner
from tidemark.runner.executor import JudgingEngine

NAMES = ("watermark", "complete", "high", "last_arrival", "last_seen", "floor", "idle", "next_offset")
_numbers = itertools.count()


class Crash(BaseException):
    """Stands for the sudden end of a process."""


@pytest.fixture(scope="module", autouse=True)
def no_spark():
    with pytest.MonkeyPatch.context() as patched:
        without_spark(patched)
        yield


@st.composite
def plain_logs(draw: st.DrawFn) -> Any:
    """Logs of sources that the engine judges: with a time of their own, without substreams, all rows judged."""
    source = draw(sources().filter(lambda each: each.timestamp_by and not each.over))
    return draw(logs(source=replace(source, require=False, by=())))


class Steps:
    """Raises Crash at the n-th step; 0: never."""

    def __init__(self, number: int) -> None:
        self.number, self.met = number, 0

    def __call__(self, step: str) -> None:
        self.met += 1
        if self.met == self.number:
            raise Crash(step)


def fed(product: Product, engine: RowEngine, runs: Any, crash: int, max_files: int | None) -> None:
    """Land and run; the last run crashes at step `crash` and is recovered by the next command."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RunContext, "engine", property(lambda _: engine))
        for number, run in enumerate(runs):
            last = number == len(runs) - 1
            steps = Steps(crash if last else 0)
            engine.checkpoint, product.hooks = steps, {"on_checkpoint": steps}
            product.land("s", run.objects)
            try:
                go(product, run, max_files)
            except Crash:
                engine.checkpoint, product.hooks = Steps(0), {}
                pending = {batch.run_id for batch in product.pipeline().ledger.last().pending}
                if pending:
                    product.run(run.as_of, run_id=pending.pop())
                elif len({row["run_id"] for row in product.table("batches")}) == number:
                    go(product, run, max_files)


def go(product: Product, run: Any, max_files: int | None) -> None:
    if run.close:
        product.pipeline().close(as_of=run.as_of)
    else:
        product.run(run.as_of, **({} if max_files is None else {"max_files": max_files}))


def hold(product: Product, engine: RowEngine, source: oracle.Source, runs: Any) -> None:
    """Rows, states and findings equal the oracle's."""
    outcome = oracle.judge(source, runs)
    events = [event for _, rows in sorted(engine.rows.items()) for event in rows]
    found = [(e.partition, e.offset, e.arrival, e.event, e.stamp, e.fate.value, tuple(e.reasons)) for e in events]
    wanted = [
        (v.partition, v.offset, v.arrival, v.event, v.system_timestamp, v.disposition, v.reasons)
        for v in outcome.verdicts
    ]
    assert sorted(found, key=str) == sorted(wanted, key=str)
    states = {row["partition"]: row for row in sorted(product.table("watermarks"), key=lambda row: row["batch_id"])}
    for partition, state in outcome.ends[-1].states.items():
        times = {n: states[partition][n] for n in NAMES}
        times = {n: micros(value) if hasattr(value, "year") else value for n, value in times.items()}
        assert times == {n: getattr(state, n) for n in NAMES}, partition
    told = Counter()
    for row in product.table("diagnostics"):
        told[row["partition"], row["type"]] += row["count"]
    counted: Counter[tuple[str, str]] = sum((Counter(end.diagnostics) for end in outcome.ends), Counter())
    assert {key: n for key, n in told.items() if key[1] in set(oracle._FINDING.values())} == {
        key: n for key, n in counted.items() if key[1] in set(oracle._FINDING.values())
    }


def test_it_is_what_the_runner_asks_of_an_engine():
    engine: JudgingEngine = RowEngine()
    assert {name for name in vars(JudgingEngine) if not name.startswith("_")} <= set(dir(engine))


@settings(max_examples=25, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(log=plain_logs(), crash=st.integers(0, 12), max_files=st.sampled_from((None, 1, 2)))
def test_rows_states_and_findings_are_the_oracles_however_runs_are_cut_and_crash(
    tmp_path_factory, log, crash, max_files
):
    folder: Path = tmp_path_factory.getbasetemp() / f"row-engine-{next(_numbers)}"
    product, engine = Product(folder, {"s": log.source}), RowEngine()
    fed(product, engine, log.runs, crash, max_files)
    hold(product, engine, log.source, log.runs)


@dataclass(frozen=True)
class Register:
    """A log that is no folder: pieces by number, with the files that hold them."""

    files: tuple[Path, ...]
    max_object_age: int | None = None

    def pieces(self, as_of: int, left_out: dict[str, str] | None = None) -> Iterator[Listed]:  # noqa: ARG002
        for number, path in enumerate(self.files):
            landed = oracle_at(number)
            if landed <= as_of:
                yield Listed(f"piece-{number}", path.stat().st_size, landed, f"tag-{number}", landed)

    def path(self, uri: str) -> str:
        return str(self.files[int(uri.removeprefix("piece-"))])

    def refusal(self, uri: str) -> str | None:
        return "the third piece is sealed" if uri == "piece-2" else None


def oracle_at(number: int) -> int:
    return BASE + 10 * number * oracle.SECOND


def test_a_log_that_is_no_folder_is_taken_piece_by_piece(tmp_path, monkeypatch):
    product = Product(tmp_path / "product", {"s": oracle.Source()})
    files = []
    for number in range(3):
        time = oracle_at(number)
        files.append(tmp_path / f"{number:x}.bin")
        files[-1].write_text("".join(line(oracle.Row("p", time - n, time)) + "\n" for n in (3, 2, 1)))
    engine = RowEngine()
    monkeypatch.setattr(RunContext, "engine", property(lambda _: engine))
    monkeypatch.setattr(planner, "log_of", lambda _: Register(tuple(files)))
    for number in (0, 2, 2):
        product.run(oracle_at(number))
    rows = [(event.file, event.offset) for _, batch in sorted(engine.rows.items()) for event in batch]
    assert rows == [("piece-0", 0), ("piece-0", 1), ("piece-0", 2), ("piece-1", 3), ("piece-1", 4), ("piece-1", 5)]
    states = {row["uri"]: row["state"] for row in product.table("objects")}
    assert states == {"piece-0": "read", "piece-1": "read", "piece-2": "quarantined"}
