"""Row `engines`: judged rows and 1-minute windows by lane, by tidemark, Flink SQL, DuckDB and Polars on one input."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path

from pyarrow import Table
from pyarrow.dataset import dataset

from bench.answers import Answer, expected, found
from bench.clock import alternate
from bench.data import LANES, Landed, landed
from bench.figures import Figure, Section
from bench.peers.engine_answers import FlinkAnswer, by_flink, rows_by_flink, same_windows
from bench.peers.flink import LOCK, environment, settings
from bench.peers.workers import ROOT, Worker, worker
from bench.place import Place
from bench.subject import EVENTS, STREAM, STREAMS, configure
from tidemark.pipeline import Pipeline

FLOORS = {"DuckDB": "DuckDB, a query and an aggregate", "Polars": "Polars, lazy frames"}
FLINK = {
    "streaming": "Flink SQL, streaming: rows as they come, windows without late rows",
    "batch": "Flink SQL, batch: rows as they come, windows without rules",
}


@dataclass
class Right:
    """The answers that must come out; tidemark's own windows are those that the floors must have."""

    data: Landed
    judged: Answer
    flink: Mapping[str, FlinkAnswer]
    windows: Table | None = field(default=None)

    def tidemark(self, config: Path) -> None:
        """Every row by `bench.answers`; the windows are kept and must stay the same."""
        pipeline = Pipeline.load(config, {})
        self._judged(found(pipeline.table(EVENTS)))
        windows = pipeline.table(f"streams/{STREAM}")
        self.windows = self.windows or windows.to_table()
        same_windows(windows, self.windows)
        assert sum(self.windows.column("n").to_pylist()) == self.judged.rows - self.judged.fates["dropped"]

    def floor(self, target: Path) -> None:
        """The same rows and windows as tidemark's."""
        self._judged(found(dataset(target / "rows")))
        assert self.windows is not None, "tidemark has its turn first"
        same_windows(dataset(target / "windows"), self.windows)

    def by_flink(self, mode: str, target: Path) -> None:
        """Rows with their watermarks, and windows, as Flink's own rule gives them."""
        right = self.flink[mode]
        assert rows_by_flink(target / "rows") == right.rows, "Flink's rows or watermarks differ"
        same_windows(dataset(target / "windows"), right.windows)

    def _judged(self, answer: Answer) -> None:
        assert answer == self.judged, f"a wrong answer: {answer}, not {self.judged}"


def measure(place: Place) -> Section:
    """All in turns, each in a process of its own that stays up, each to a fresh target."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    files = tuple(data.files)
    right = Right(data, expected(files), {mode: by_flink(files, dropping=mode == "streaming") for mode in FLINK})
    with ExitStack() as stack:
        workers = {name: stack.enter_context(each) for name, each in _workers(place).items()}
        cases = {"tidemark": partial(_tidemark, place, workers["tidemark"], right)}
        checks = {_flink(mode): partial(right.by_flink, mode) for mode in FLINK} | dict.fromkeys(FLOORS, right.floor)
        for name, check in checks.items():
            if name in workers:
                cases[name] = partial(_written, place, workers[name], data, check)
        taken = alternate(cases, place.repeats, place.say)
        peaks = {name: each.peak for name, each in workers.items()}
    what = f"{data.rows:,} rows judged, their 1-minute windows by lane closed"
    peers = {**{_flink(mode): told for mode, told in FLINK.items()}, **FLOORS}
    figures = [Figure.of(what, told, taken["tidemark"], taken[name]) for name, told in peers.items() if name in taken]
    return Section("engines", "Other engines", figures, _notes(right, workers, peaks))


def _flink(mode: str) -> str:
    return f"Flink, {mode}"


def _workers(place: Place) -> dict[str, AbstractContextManager[Worker]]:
    """What starts each worker: its own interpreter for Flink, where it can be had, this one for the others."""
    threads, ours = str(place.cores), {"PYTHONPATH": f"{ROOT / 'jobs'}:{ROOT}"}
    started = partial(worker, folder=place.work)
    workers = {
        name: started(name, [sys.executable, "-m", "bench.peers.engine_jobs", name.lower(), threads], ours)
        for name in ("tidemark", *FLOORS)
    }
    folder = environment(place.cache, place.say)
    if folder is None:
        return workers
    theirs = settings(folder, place.spark.conf.get("spark.driver.memory", "8g"), place.work)
    for mode in FLINK:
        command = [str(folder / "bin" / "python"), "-m", "bench.peers.flink_job", mode, threads]
        workers[_flink(mode)] = started(f"flink-{mode}", command, {**theirs, "PYTHONPATH": str(ROOT)})
    return workers


def _tidemark(place: Place, running: Worker, right: Right) -> float:
    folder = place.work / "tidemark"
    config = configure(folder, right.data.folder, right.data.lanes, streams=STREAMS)
    took = running.do(config=str(config), end=right.data.end)
    right.tidemark(config)
    shutil.rmtree(folder)
    return took


def _written(place: Place, running: Worker, data: Landed, check: Callable[[Path], None]) -> float:
    target = place.work / "written"
    took = running.do(files=[str(file) for file in data.files], target=str(target))
    check(target)
    shutil.rmtree(target)
    return took


def _notes(right: Right, workers: Mapping[str, Worker], peaks: Mapping[str, int]) -> list[str]:
    assert right.windows is not None, "tidemark had no turn"
    cold = "; ".join(f"{name} {each.taken[0]:.2f} s" for name, each in workers.items())
    held = "; ".join(f"{name} {peak / 2**30:.1f} GiB" for name, peak in peaks.items())
    versions = ", ".join(f"{name} {version(name.lower())}" for name in FLOORS)
    return [
        f"tidemark, DuckDB and Polars: every row's fate and time are those that the rules give, and all "
        f"{right.windows.num_rows:,} windows are equal.",
        _of_flink(right.flink["streaming"]) if len(workers) > 1 + len(FLOORS) else "Flink could not be installed.",
        f"The first turn, in a process that has just come up (that is not counted): {cold}.",
        f"Most memory held, all turns: {held}.",
        f"Floors are {versions}.",
    ]


def _of_flink(streaming: FlinkAnswer) -> str:
    flink = _locked("apache-flink")
    return (
        f"Flink {flink}, streaming: every row's watermark and all {streaming.windows.num_rows:,} windows are those "
        f"that its own rule gives; {streaming.late:,} late rows are in no window, without a trace, and "
        f"{streaming.early:,} early ones are left out by the query. In batch, no row is late."
    )


def _locked(name: str) -> str:
    lines = LOCK.read_text().splitlines()
    return next(line.removeprefix(f"{name}==").split()[0] for line in lines if line.startswith(f"{name}=="))
