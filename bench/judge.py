"""Row `judge`: landing to judged, committed events, against bare Spark jobs on the same files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.clock import alternate, seconds
from bench.data import landed
from bench.figures import Figure, Section
from bench.peers import bare_job, lean_job, payload_copy, rows_of
from bench.place import Place
from bench.subject import check, fresh, phases, records, typical_phases

LANES = 4


def measure(place: Place) -> Section:
    """Four cases in turns, each to a fresh target."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    runs: list[dict[str, float]] = []
    fates: Mapping[str, int] = {}

    def judged() -> float:
        nonlocal fates
        folder = place.work / "judged"
        pipeline = fresh(folder, data)
        took = seconds(lambda: pipeline.run(data.end))
        fates = check(pipeline, data).fates
        runs.append(phases(records(pipeline)) | {"whole": took})
        shutil.rmtree(folder)
        return took

    def written(job: Callable[..., None]) -> Callable[[], float]:
        def case() -> float:
            target: Path = place.work / "written"
            took = seconds(lambda: job(place.spark, data.folder, target))
            assert rows_of(target) == data.rows, "the peer lost rows"
            shutil.rmtree(target)
            return took

        return case

    cases = {
        "tidemark": judged,
        "bare job": written(bare_job),
        "lean job": written(lean_job),
        "payload copy": written(payload_copy),
    }
    taken = alternate(cases, place.repeats, place.say)
    what = f"judge {data.rows:,} rows, {LANES} partitions"
    ours = taken["tidemark"]
    return Section(
        "judge",
        "Judging",
        [
            Figure.of(
                what, "bare Spark: read, repartition, sort, write the same columns", ours, taken["bare job"], 1.3
            ),
            Figure.of(what, "the same, with bounds kept of four columns only", ours, taken["lean job"]),
            Figure.of(what, "bare Spark: copy the payload columns", ours, taken["payload copy"]),
        ],
        [
            "Every row's fate and time equal what DuckDB computes from the same files: "
            + ", ".join(f"{count:,} {fate}" for fate, count in fates.items())
            + ".",
            _where_time_goes(runs[-place.repeats :]),
        ],
    )


def _where_time_goes(runs: list[dict[str, float]]) -> str:
    """Medians by phase; `judging` holds the others, and what is left is planning, commit and upkeep."""
    spent = typical_phases(runs)
    whole, batches = spent.pop("whole"), spent.pop("judging")
    parts = [f"{name} {took:.2f} s" for name, took in spent.items()]
    parts.append(f"the rest of the batches {batches - sum(spent.values()):.2f} s")
    parts.append(f"outside of batches (discovery, plan, upkeep) {whole - batches:.2f} s")
    return f"Where a run's {whole:.2f} s go: " + ", ".join(parts) + "."
