"""Row `landing`: from landing to 1-minute windows, in one run and cut into micro-batches, against Structured
Streaming."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from deltalake import DeltaTable

from bench.answers import ensure_windows, expected_windows, found_windows
from bench.clock import alternate, seconds
from bench.data import FILES, LANES, Landed, Shape, landed
from bench.figures import Figure, Section
from bench.peers.spark import Streaming
from bench.place import Place
from bench.subject import STREAM, STREAMS, records, timed
from tidemark.pipeline import Pipeline

CUTS = (1, 16, 100)
"""Micro-batches."""
MOST = {1: 1.0, 16: 0.8, 100: 0.8}
PAYLOAD, COLUMNS = "the payload alone", "the columns of an events table, with the same bounds"
"""What rows of the peers have."""
WARM_UPS = {1: 6, 16: 1}
"""Rounds that do not count: after the first, Java still compiles much of what short rounds run again. A hundred
micro-batches are run by what sixteen have warmed up."""


def measure(place: Place) -> Section:
    """For each cut two cases in turns, three where there is time or one run, each to fresh targets; without time, of
    half the rows where they are cut. All answers are checked before their time counts."""
    figures = [figure for cuts in CUTS for figure in _figures(place, cuts)]
    return Section(
        "landing",
        "From landing to windows",
        figures,
        [
            "Ours: every row's fate and time and every window's count and average equal DuckDB's, however it is cut.",
            "Theirs in one trigger: every window equals DuckDB's over the times that rows came with. Cut, rows "
            "behind the watermark of an earlier trigger are missing from windows, and nothing tells which.",
        ],
    )


def _figures(place: Place, cuts: int) -> list[Figure]:
    rows = place.rows if cuts == 1 or place.full else place.rows // 2
    data = landed(place.spark, place.cache, rows, LANES, Shape(files=FILES if cuts == 1 else cuts))
    peers = _peers(place, cuts)
    cases = {"tidemark": _ours(place, data, cuts)}
    cases |= {f"streaming, {kept}": _theirs(place, data, cuts, wide=kept == COLUMNS) for kept in peers}
    warm_ups = WARM_UPS.get(cuts, 0)
    taken = alternate(cases, place.repeats, lambda text: place.say(f"cut in {cuts}: {text}"), warm_ups)
    ours, *theirs = taken.values()
    how = "one run" if cuts == 1 else f"{cuts} micro-batches"
    what = f"landing to 1-minute windows, {rows:,} rows, {how}"
    against = f"Structured Streaming, {cuts} trigger{'s' * (cuts > 1)}, both its queries"
    return [
        Figure.of(what, f"{against}; rows with {kept}", ours, each, reach)
        for kept, each, reach in zip(peers, theirs, (MOST[cuts], None), strict=False)
    ]


def _peers(place: Place, cuts: int) -> tuple[str, ...]:
    """What rows of the peers have; what is held first. That is as many columns in one run, and otherwise the payload
    alone, which takes less."""
    if cuts == 1:
        return COLUMNS, PAYLOAD
    return (PAYLOAD, COLUMNS) if place.full else (PAYLOAD,)


def _ours(place: Place, data: Landed, cuts: int) -> Callable[[], float]:
    def look(pipeline: Pipeline, _: float) -> None:
        batches = records(pipeline)
        assert len(batches) == cuts, "there are other micro-batches"
        watermark = batches[-1].streams[STREAM].state.watermark
        assert watermark is not None, "the stream has no watermark"
        answer = found_windows(pipeline.table(f"streams/{STREAM}"), "_window_start")
        ensure_windows(answer, expected_windows(tuple(data.files), by_event_time=False), watermark)

    files = None if cuts == 1 else 1
    return lambda: timed(place.work / "ours", data, look, max_files=files, streams=STREAMS)


def _theirs(place: Place, data: Landed, cuts: int, *, wide: bool) -> Callable[[], float]:
    def case() -> float:
        folder: Path = place.work / "theirs"
        stream = Streaming(place.spark, data.folder, folder, files=None if cuts == 1 else 1, wide=wide)
        took = seconds(stream.restart)
        assert stream.rows == data.rows, "the peer lost rows"
        answer = found_windows(DeltaTable(str(folder / "windows")).to_pyarrow_dataset(), '"window".start')
        if cuts == 1:
            right = expected_windows(tuple(data.files), by_event_time=True)
            ensure_windows(answer, right, stream.watermark)
        shutil.rmtree(folder)
        return took

    return case
