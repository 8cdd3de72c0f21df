"""Row `judge`: landing to judged, committed events, against bare Spark jobs on the same files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from bench.answers import expected
from bench.clock import alternate, seconds
from bench.data import LANES, Landed, as_json, landed
from bench.figures import Figure, Section
from bench.peers.spark import bare_job, default_job, payload_copy, rows_of
from bench.place import Place
from bench.subject import SOURCE, phases, records, timed, where_time_goes
from tidemark.pipeline import Pipeline


def measure(place: Place) -> Section:
    """For Parquet three cases in turns, four where there is time, for JSON two, each to a fresh target."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    runs: list[dict[str, float]] = []
    kept: set[int] = set()

    def look(pipeline: Pipeline, took: float) -> None:
        runs.append(phases(records(pipeline)) | {"whole": took})

    cases = {
        "tidemark": lambda: timed(place.work / "judged", data, look),
        "bare job": _written(place, data, bare_job),
        "payload copy": _written(place, data, payload_copy),
    }
    if place.full:
        cases["default job"] = _written(place, data, default_job)
    ours, bare, copied, *default = alternate(cases, place.repeats, place.say).values()
    what = f"judge {data.rows:,} rows, {LANES} partitions"
    peer = "bare Spark: read, repartition, sort, write the same columns, with the same bounds"
    return Section(
        "judge",
        "Judging",
        [
            Figure.of(what, peer, ours, bare, 1.2),
            *(Figure.of(what, "the same, with Delta's bounds of all columns", ours, each) for each in default),
            Figure.of(what, "bare Spark: copy the payload columns", ours, copied),
            _of_json(place, peer),
            _looking_for_duplicates(place, data, kept),
        ],
        [
            "Every row's fate and time equal what DuckDB computes from the same rows: "
            + ", ".join(f"{count:,} {fate}" for fate, count in expected(tuple(data.files)).fates.items())
            + ".",
            f"Of {data.rows:,} keys a run with `deduplicate` leaves {max(kept):,}: those of the last hour.",
            f"Where a run's time goes: {where_time_goes(runs[-place.repeats :])}.",
        ],
    )


def _of_json(place: Place, peer: str) -> Figure:
    """Of a quarter of the rows, unless all is to be measured: lines of JSON take four times as long to read."""
    data = landed(place.spark, place.cache, place.rows if place.full else place.rows // 4, LANES)
    lines = as_json(place.spark, data)
    what = f"judge {data.rows:,} rows, {LANES} partitions, JSON"
    cases = {
        "tidemark, JSON": lambda: timed(place.work / "judged", lines, right=data),
        "bare job, JSON": _written(place, lines, bare_job),
    }
    ours, bare = alternate(cases, place.repeats, place.say).values()
    return Figure.of(what, peer, ours, bare, 1.05)


def _looking_for_duplicates(place: Place, data: Landed, kept: set[int]) -> Figure:
    """Among rows that are all different; `kept` gets the number of keys that a run leaves: those of an hour."""
    unique = {"deduplicate": {"by": ["id"], "within": "1h"}}

    def count(pipeline: Pipeline, _: float) -> None:
        kept.add(pipeline.table(f"seen/{SOURCE}").count_rows())

    cases = {
        "deduplicate": lambda: timed(place.work / "judged", data, count, source=unique),
        "no deduplicate": lambda: timed(place.work / "judged", data),
    }
    ours, without = alternate(cases, place.repeats, place.say).values()
    what = f"judge {data.rows:,} rows, duplicates within 1 h dropped"
    return Figure.of(what, "tidemark without `deduplicate`", ours, without, 1.5)


def _written(place: Place, data: Landed, job: Callable[..., None]) -> Callable[[], float]:
    def case() -> float:
        target: Path = place.work / "written"
        took = seconds(lambda: job(place.spark, data.folder, target))
        assert rows_of(target) == data.rows, "the peer lost rows"
        shutil.rmtree(target)
        return took

    return case
