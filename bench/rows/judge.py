"""Row `judge`: landing to judged, committed events, against bare Spark jobs on the same files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from bench.clock import alternate, seconds
from bench.data import Landed, as_json, landed
from bench.figures import Figure, Section
from bench.peers.spark import bare_job, lean_job, payload_copy, rows_of
from bench.place import Place
from bench.subject import check, fresh, phases, records, typical_phases

LANES = 4


def measure(place: Place) -> Section:
    """For Parquet four cases in turns, for JSON two, each to a fresh target."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    runs: list[dict[str, float]] = []
    fates: dict[str, int] = {}
    cases = {
        "tidemark": _judged(place, data, data, runs, fates),
        "bare job": _written(place, data, bare_job),
        "lean job": _written(place, data, lean_job),
        "payload copy": _written(place, data, payload_copy),
    }
    ours, bare, lean, copied = alternate(cases, place.repeats, place.say).values()
    what = f"judge {data.rows:,} rows, {LANES} partitions"
    peer = "bare Spark: read, repartition, sort, write the same columns"
    return Section(
        "judge",
        "Judging",
        [
            Figure.of(what, peer, ours, bare, 1.15),
            Figure.of(what, "the same, with bounds kept of four columns only", ours, lean),
            Figure.of(what, "bare Spark: copy the payload columns", ours, copied),
            _of_json(place, peer),
        ],
        [
            "Every row's fate and time equal what DuckDB computes from the same rows: "
            + ", ".join(f"{count:,} {fate}" for fate, count in fates.items())
            + ".",
            _where_time_goes(runs[-place.repeats :]),
        ],
    )


def _of_json(place: Place, peer: str) -> Figure:
    """Of a quarter of the rows, unless all is to be measured: lines of JSON take four times as long to read."""
    data = landed(place.spark, place.cache, place.rows if place.full else place.rows // 4, LANES)
    lines = as_json(place.spark, data)
    what = f"judge {data.rows:,} rows, {LANES} partitions, JSON"
    cases = {
        "tidemark, JSON": _judged(place, lines, data, [], {}),
        "bare job, JSON": _written(place, lines, bare_job),
    }
    ours, bare = alternate(cases, place.repeats, place.say).values()
    return Figure.of(what, peer, ours, bare, 1.05)


def _judged(
    place: Place, data: Landed, right: Landed, runs: list[dict[str, float]], fates: dict[str, int]
) -> Callable[[], float]:
    """A run over `data`, whose answer is that of the same rows as Parquet."""

    def case() -> float:
        folder = place.work / "judged"
        pipeline = fresh(folder, data)
        took = seconds(lambda: pipeline.run(data.end))
        fates.update(check(pipeline, right).fates)
        runs.append(phases(records(pipeline)) | {"whole": took})
        shutil.rmtree(folder)
        return took

    return case


def _written(place: Place, data: Landed, job: Callable[..., None]) -> Callable[[], float]:
    def case() -> float:
        target: Path = place.work / "written"
        took = seconds(lambda: job(place.spark, data.folder, target))
        assert rows_of(target) == data.rows, "the peer lost rows"
        shutil.rmtree(target)
        return took

    return case


def _where_time_goes(runs: list[dict[str, float]]) -> str:
    """Medians by phase; `judging` holds the others, and what is left is planning, commit and upkeep."""
    spent = typical_phases(runs)
    whole, batches = spent.pop("whole"), spent.pop("judging")
    parts = [f"{name} {took:.2f} s" for name, took in spent.items()]
    parts.append(f"the rest of the batches {batches - sum(spent.values()):.2f} s")
    parts.append(f"outside of batches (discovery, plan, upkeep) {whole - batches:.2f} s")
    return f"Where a run's {whole:.2f} s go: " + ", ".join(parts) + "."
