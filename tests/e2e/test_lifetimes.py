"""What is kept of edges: a run reads what is open and what has ended of late, however much is behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import test_punctuation
from deltalake import DeltaTable
from samples import fork
from test_punctuation import content, hold_all, hold_replay, hold_streams, streams_over

from oracle import SECOND, Obj, Run
from oracle_punctuation import Row, Source, judge
from product import DAY, Product, micros
from strategies import BASE
from tidemark.runner import maintenance

pytestmark = pytest.mark.usefixtures("quick")
EDGES = Source("adjust", "edge", rows=True, single=True)
HOUR = 3600 * SECOND
STEP, MERGE_EVERY = DAY, 2
STAYING = ("x", "y")
"""Lifetimes that are open from the first run on."""


@pytest.fixture(scope="module", autouse=True)
def wide_windows():
    """A few windows a day, not thousands."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(test_punctuation, "SIZE", 6 * HOUR)
        patched.setattr(test_punctuation, "HOP", 4 * HOUR)
        yield


def start(key: str, at: int, partition: str | None = None) -> Row:
    return Row(partition, at, at, key, kind="start")


def end(key: str, began: int, at: int, arrival: int, partition: str | None = None) -> Row:
    return Row(partition, began, arrival, key, kind="end", end=at)


def mark(at: int, partition: str | None = None) -> Row:
    return Row(partition, at, at, kind="cti")


def run(at: int, *rows: Row) -> Run:
    return Run(at, (Obj(f"{at:020d}", at, rows),) if rows else ())


def steady(count: int) -> list[Run]:
    """One run a day: each begins one lifetime, and ends that of the day before and another that is its own."""
    runs = []
    for number in range(count):
        at = BASE + number * STEP
        rows = [start(f"n{number}", at - 3 * SECOND), start("short", at - 2 * SECOND)]
        if number == 0:
            rows += [start(key, at - 4 * SECOND) for key in STAYING]
        else:
            rows.append(end(f"n{number - 1}", at - STEP - 3 * SECOND, at - SECOND, at - SECOND))
        rows.append(end("short", at - 2 * SECOND, at, at - SECOND))
        runs.append(run(at, *rows, mark(at)))
    return runs


def fed(folder: Path, source: Source, runs: Sequence[Run], **settings: Any) -> tuple[Product, list[dict[str, Any]]]:
    product = Product(folder, {"edges": source}, {"streams": streams_over(["edges"]), **settings})  # type: ignore[dict-item]
    return product, followed(product, runs)


def followed(product: Product, runs: Sequence[Run]) -> list[dict[str, Any]]:
    said = []
    for each in runs:
        product.land("edges", each.objects)
        said.append(product.run(each.as_of))
    return said


def hold_written(product: Product, source: Source, runs: Sequence[Run], said: Sequence[dict[str, Any]]) -> None:
    """Streams and windows of all runs are the oracle's, whatever is left of the events."""
    hold_streams(product, "edges", judge({"edges": (source, tuple(runs))})["edges"], said)


def lose(product: Product, table: str, column: str, before: int) -> int:
    """Delete the files of a table without a row from some number or time on; how many those were."""
    place = product.folder_of(table)
    files = pa.table(DeltaTable(place).get_add_actions(flatten=True)).to_pylist()
    lost = [place / file["path"] for file in files if _number(file[f"max.{column}"]) < before]
    for file in lost:
        file.unlink()
    return len(lost)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else int(micros(value))


@pytest.fixture(scope="module")
def merged(tmp_path_factory, quick):  # noqa: ARG001 # the session's settings
    """A pipeline after many runs, what they said, and how many rows and files of open lifetimes each left."""
    sizes = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(maintenance, "MERGE_EVERY", MERGE_EVERY)
        product, said = fed(tmp_path_factory.mktemp("lifetimes") / "merged", EDGES, [])
        for each in steady(3 * MERGE_EVERY):
            said += followed(product, [each])
            files = DeltaTable(product.folder_of("open_lifetimes/edges")).file_uris()
            sizes.append((len(product.table("open_lifetimes/edges")), len(files)))
    return product, said, sizes


def test_what_is_kept_as_open_is_as_large_with_many_ended_lifetimes_behind_it(merged):
    product, said, sizes = merged
    hold_written(product, EDGES, steady(3 * MERGE_EVERY), said)
    rows = [rows for rows, _ in sizes]
    assert rows[2 * MERGE_EVERY - 1 :] == rows[MERGE_EVERY - 1 : -MERGE_EVERY]
    assert max(files for _, files in sizes) <= MERGE_EVERY + 1
    kept = sorted(row["k"] for row in product.table("open_lifetimes/edges"))
    assert kept == sorted([*STAYING, f"n{3 * MERGE_EVERY - 1}"])
    ended = [row["k"] for row in product.table("lifetimes/edges")]
    assert len(ended) == len(sizes) * 2 - 1


@pytest.mark.long
def test_batches_are_replayed_though_it_is_forgotten_that_lifetimes_were_open(merged):
    product, _, _ = merged
    hold_replay(product)


def test_a_run_over_edges_reads_no_events_of_earlier_batches_nor_lifetimes_that_ended_long_ago(merged, tmp_path):
    """All of these are deleted, but for those of the log."""
    product, said, sizes = merged
    product = fork(product, tmp_path / "fork")
    runs = steady(len(sizes) + 2)
    at = runs[-2].as_of
    first = runs[0].as_of - 4 * SECOND
    later = Row(event=at + 2 * SECOND, arrival=at, kind="cti")
    more = Obj("more", at, (end(STAYING[0], first, at + SECOND, at), later))
    runs[-2] = Run(at, (*runs[-2].objects, more))
    assert lose(product, "events/edges", "_batch_id", len(sizes) + 1) >= len(sizes)
    assert lose(product, "lifetimes/edges", "_end_time", runs[-3].as_of - 8 * HOUR) == len(sizes) - 1
    said = [*said, *followed(product, runs[-2:])]
    hold_written(product, EDGES, runs, said)
    (ended,) = [row for row in product.table("streams/edges_rows") if row["k"] == STAYING[0]]
    assert (micros(ended["_system_timestamp"]), micros(ended["_end_time"])) == (first, at + SECOND)


@pytest.mark.long
def test_a_lifetime_of_an_undeclared_partition_that_ends_behind_the_stream_is_published_by_the_run_that_ends_it(
    tmp_path,
):
    source = Source("drop", "edge", rows=True, partitions=("p",))
    t = [BASE + number * SECOND for number in range(60)]
    runs = (
        run(t[30], mark(t[25], "p")),
        run(t[40], start("a", t[5], "q"), start("b", t[6], "q")),
        run(t[50], end("a", t[5], t[9], t[41], "q"), start("c", t[45], "p")),
        run(t[55]),
    )
    product = hold_all(tmp_path, {"edges": (source, runs)})
    (row,) = product.table("streams/edges_rows")
    assert (row["k"], row["_batch_id"]) == ("a", 3)


@pytest.mark.long
def test_a_lifetime_outlives_the_retention_of_its_start_edge(tmp_path):
    first = BASE - SECOND
    runs = [
        run(BASE, start("long", first), start("short", first), end("short", first, BASE, BASE), mark(BASE)),
        *[run(BASE + number * DAY, mark(BASE + number * DAY)) for number in (1, 2, 3)],
        run(BASE + 4 * DAY, end("long", first, BASE + 4 * DAY, BASE + 4 * DAY), mark(BASE + 4 * DAY)),
    ]
    product, said = fed(tmp_path, EDGES, runs, retention={"events": "1d"})
    assert min(row["_offset"] for row in product.events("edges")) > 3
    assert [row["k"] for row in product.table("lifetimes/edges")] == ["long"]
    hold_written(product, EDGES, runs, said)


@pytest.mark.long
def test_lifetimes_that_were_open_when_a_column_was_added_have_it_null(tmp_path):
    first = BASE - SECOND
    runs = [
        run(BASE, start("a", first), start("b", first), mark(BASE)),
        run(BASE + 20 * SECOND, end("a", first, BASE + 20 * SECOND, BASE + 20 * SECOND), mark(BASE + 20 * SECOND)),
    ]
    product, said = fed(tmp_path, EDGES, runs[:1])
    wider = f"{EDGES.declared()['schema']}, extra STRUCT<x: INT>"
    product.write(edges={"schema": wider})
    said.append(product.run(BASE + 10 * SECOND))
    said += followed(product, runs[1:])
    hold_written(product, EDGES, [runs[0], run(BASE + 10 * SECOND), runs[1]], said)
    assert [(row["k"], row["extra"]) for row in product.table("streams/edges_rows")] == [("a", None)]
    assert content(product, "lifetimes/edges")
    hold_replay(product)
