"""Laws 1 to 4 for whole pipelines: other cuts, other settings of the engine, other starts give the same rows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st
from samples import (
    KEYED,
    PLAIN,
    Crash,
    CrashAt,
    at,
    contents,
    drawn,
    fork,
    hold_conservation,
    hold_replay,
    obj,
    touch,
)
from test_judging import hold_states

import oracle
from interpreted import settings
from oracle import MIN_TIME, SECOND, Obj, Row, Run, Source, judge
from product import Product, expected, verdicts
from strategies import Log, recuts, sources, started, wide_lawful_logs, wide_logs, wide_names
from tidemark.spark.judge.engine import Engine

pytestmark = pytest.mark.usefixtures("quick")
MORE = ("_watermark", "_substream")
SPREAD = [
    {},
    {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "7"},
    {"spark.sql.files.maxPartitionBytes": "300b", "spark.sql.files.openCostInBytes": "1b"},
]
"""Session settings; the last cuts every file into many splits."""
TASKS = [None, 1, 3, 8]
_numbers = itertools.count()


def fed(folder: Path, source: Source, runs: Sequence[Run], **options: Any) -> Product:
    product = Product(folder / f"case-{next(_numbers)}", {"s": source})
    product.feed("s", runs, **options)
    return product


def hold_findings(product: Product, outcome: oracle.Outcome) -> None:
    """What each run reports of partitions equals the oracle's."""
    runs = {row["batch_id"]: row["run_first"] for row in product.table("batches")}
    found: dict[int, Counter[tuple[str, str]]] = {first: Counter() for first in sorted(set(runs.values()))}
    for row in product.table("diagnostics"):
        if row["partition"] is not None:
            found[runs[row["batch_id"]]][row["partition"], row["type"]] += row["count"]
    assert list(found.values()) == [Counter(end.diagnostics) for end in outcome.ends]


def hold_all(product: Product, source: Source, runs: Sequence[Run]) -> None:
    """Rows, states and findings equal the oracle's, and none is lost or doubled."""
    outcome = judge(source, runs)
    assert verdicts(product.events("s"), *MORE) == expected(outcome, *MORE)
    hold_states(product, outcome)
    hold_findings(product, outcome)
    hold_conservation(product)


# law 1, 2: other runs, other micro-batches


@st.composite
def cut_logs(draw: st.DrawFn, source: Source | None, partitions: int) -> tuple[Source, Sequence[Run], Sequence[Run]]:
    """A lawful log, cut into runs in two ways."""
    whole = draw(sources(wide_names(partitions), intervals=True)) if source is None else source
    log = draw(wide_lawful_logs(whole, partitions=partitions, max_objects=4).filter(lambda log: len(log.objects) > 2))
    return log.source, draw(recuts(log.objects, 3)), draw(recuts(log.objects, 4))


def hold_cuts(folder: Path, source: Source, one: Sequence[Run], other: Sequence[Run]) -> None:
    whole, cut, recut = (fed(folder, source, runs, max_files=n) for runs, n in ((one, None), (one, 1), (other, 2)))
    hold_all(whole, source, one)
    hold_all(recut, source, other)
    assert verdicts(cut.events("s"), *MORE) == verdicts(whole.events("s"), *MORE)
    assert verdicts(recut.events("s")) == verdicts(whole.events("s"))
    hold_states(cut, judge(source, one))
    hold_conservation(cut)
    hold_replay(cut)


def test_the_cut_into_runs_and_micro_batches_changes_no_row(tmp_path):
    source = replace(KEYED, partitions=wide_names(3), landing_delay=5 * SECOND, by=("k", "e"), within=6 * SECOND)
    for case in drawn(cut_logs(source, 10), 1):
        hold_cuts(tmp_path, *case)


@pytest.mark.long
def test_the_same_for_any_source(tmp_path):
    for case in drawn(cut_logs(None, 12), 2):
        hold_cuts(tmp_path, *case)


# law 3: other settings of the engine


def with_engine(product: Product, spark: Any, tasks: int | None, bits: int = 1) -> Any:
    """The pipeline, its engine spreading rows over so many tasks, in chunks as small as there can be."""
    pipeline = product.pipeline()
    pipeline.context.__dict__["engine"] = Engine(spark, pipeline.ledger.folder, tasks=tasks, cell_bits=bits)
    return pipeline


def hold_spread(
    product: Product, spark: Any, spread: dict[str, str], tasks: int | None, source: str, bits: int = 1
) -> None:
    pipeline = with_engine(product, spark, tasks, bits)
    with settings(spark, spread):
        found = pipeline.replay(all_batches=True, input=source)
    assert found["identical"], [batch["differences"] for batch in found["batches"]]


@pytest.fixture(scope="module")
def hot(tmp_path_factory) -> Product:
    """A keyed and a plain source, each with one partition that has most of the rows."""
    product = Product(tmp_path_factory.mktemp("hot"), {"keyed": KEYED, "plain": PLAIN})
    partitions = ("p0",) * 9 + ("p1",)
    for number, name in enumerate(product.sources):
        product.land(name, [obj(f"{name}{n}", 10 + n + number, 40, partitions) for n in range(3)])
    product.run(at(11))
    product.run(at(30))
    return product


@pytest.mark.parametrize(
    ("spread", "tasks", "source"),
    [
        pytest.param(SPREAD[2], 3, "landing", id="many splits, 3 tasks"),
        pytest.param(SPREAD[1], 3, "events", id="events, 3 tasks", marks=pytest.mark.long),
    ],
)
def test_a_replay_does_not_depend_on_how_rows_are_spread(spark, hot, spread, tasks, source):
    hold_spread(hot, spark, spread, tasks, source)


@pytest.mark.usefixtures("scattered")
def test_a_replay_does_not_depend_on_the_order_in_which_events_are_read(spark, tmp_path):
    """Each second row arrived before the one that it follows, and is not early only since it counts as later."""
    source = Source(early=(SECOND, "drop"), late=None, out_of_order=(0, "adjust"), single=True)
    product = Product(tmp_path, {"s": source})
    rows = []
    for second in range(40):
        rows += [Row(None, at(second) - 9 * SECOND, at(second)), Row(None, at(second), at(second) - 3 * SECOND)]
    product.land("s", [Obj("a", at(60), tuple(rows))])
    product.run(at(60))
    for tasks in (1, 3, 8):
        hold_spread(product, spark, SPREAD[0], tasks, "events", bits=4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("spread", "tasks", "source"),
    [
        pytest.param(SPREAD[how], tasks, ("landing", "events")[(how + number) % 2], id=f"{name}, {tasks} tasks")
        for how, name in enumerate(("usual", "no adaptive execution", "many splits"))
        for number, tasks in enumerate(TASKS)
    ],
)
def test_no_replay_depends_on_how_rows_are_spread(spark, hot, spread, tasks, source):
    hold_spread(hot, spark, spread, tasks, source)


@pytest.mark.long
@pytest.mark.parametrize("source", ["landing", "events"])
def test_compiled_code_judges_as_interpreted_code_does(compiled, hot, source):
    hold_spread(hot, compiled, SPREAD[2], 3, source)


@pytest.mark.parametrize(
    ("spread", "tasks"),
    [
        pytest.param(SPREAD[2], 3, id="many splits, 3 tasks"),
        pytest.param(SPREAD[1], 8, id="8 tasks", marks=pytest.mark.long),
        pytest.param(SPREAD[0], 1, id="1 task", marks=pytest.mark.long),
    ],
)
def test_a_run_does_not_depend_on_how_rows_are_spread(spark, hot, tmp_path, spread, tasks):
    product = Product(tmp_path / "spread", hot.sources)
    for name in hot.sources:
        for path in sorted((hot.folder / "landing" / name).iterdir()):
            copy = product.folder / "landing" / name / path.name
            copy.write_bytes(path.read_bytes())
            touch(copy, path.stat().st_mtime_ns // 1000)
    with settings(spark, spread):
        for seconds in (11, 30):
            with_engine(product, spark, tasks).run(at(seconds), max_files=2)
    hold_conservation(product)
    for name in hot.sources:
        assert verdicts(product.events(name), *MORE) == verdicts(hot.events(name), *MORE)


KINDS = pa.schema(
    [
        ("p", pa.string()),
        ("e", pa.timestamp("us", "UTC")),
        ("a", pa.timestamp("us", "UTC")),
        ("k", pa.string()),
        ("n", pa.int32()),
    ]
)


def land_parquet(product: Product, item: Obj, group: int) -> None:
    rows = [{"p": row.partition, "e": row.event, "a": row.arrival, "k": row.substream} for row in item.rows]
    path = product.folder / "landing" / "s" / item.uri
    pq.write_table(pa.Table.from_pylist(rows, KINDS), path, row_group_size=group, data_page_size=64)
    touch(path, item.modified)


def test_row_groups_and_splits_of_parquet_change_no_row(spark, tmp_path):
    items = [replace(obj(name, 10 + n, 60), modified=at(10 + n)) for n, name in enumerate("ab")]
    items = [replace(item, rows=tuple(replace(row, broken=False) for row in item.rows)) for item in items]
    found = []
    for group, spread in ((1000, {}), (7, {"spark.sql.files.maxPartitionBytes": "700b"}), (1, SPREAD[2])):
        product = Product(tmp_path / str(group), {"s": KEYED})
        product.write(s={"format": "parquet"})
        for item in items:
            land_parquet(product, item, group)
        with settings(spark, spread):
            with_engine(product, spark, 3 if group == 7 else None).run(at(12))
        hold_conservation(product)
        found.append(contents(product)["events/s"])
        assert verdicts(product.events("s"), *MORE) == expected(judge(KEYED, [Run(at(12), tuple(items))]), *MORE)
    assert found[0] == found[1] == found[2]


# substreams that are forgotten


def forget(spark: Any, product: Product) -> int:
    """Delete what is recorded of substreams that are not above their partition's floor; how many rows."""
    rows = {row["partition"]: row for row in sorted(product.table("watermarks"), key=lambda row: row["batch_id"])}
    floors = {name: row["floor"].isoformat() for name, row in rows.items() if row["floor"] is not None}
    place = product.folder_of("substreams")
    before = len(product.table("substreams"))
    if not before:
        return 0
    for name, floor in floors.items():
        spark.sql(f"DELETE FROM delta.`{place}` WHERE partition = '{name}' AND watermark <= TIMESTAMP '{floor}'")  # noqa: S608
    return before - len(product.table("substreams"))


def test_forgetting_substreams_at_or_below_the_floor_changes_nothing(spark, tmp_path):
    source = replace(KEYED, partitions=wide_names(2), landing_delay=2 * SECOND)
    (log,) = drawn(wide_logs(source, partitions=8, runs=(4, 4), close=False), 1)
    remembering, forgetting = fed(tmp_path, source, log.runs), Product(tmp_path / "forgetting", {"s": source})
    forgotten = 0
    for run in log.runs:
        forgetting.feed("s", [run])
        forgotten += forget(spark, forgetting)
    assert forgotten > 0
    assert verdicts(forgetting.events("s"), *MORE) == verdicts(remembering.events("s"), *MORE)
    for keep in (True, False):
        assert verdicts(remembering.events("s"), *MORE) == expected(judge(source, log.runs, forget=keep), *MORE)
    hold_replay(forgetting)


# law 4: a start


def finish(product: Product, runs: Sequence[Run], crash: int) -> None:
    """Feed runs; the last one crashes at a step and is repaired."""
    product.feed("s", runs[:-1])
    product.hooks = {"on_checkpoint": CrashAt(crash)}
    with pytest.raises(Crash):
        product.feed("s", runs[-1:])
    product.hooks = {}
    product.run(runs[-1].as_of)


def hold_start(folder: Path, source: Source, begun: Source, runs: Sequence[Run]) -> None:
    """With a start the rows from there on are those of a pipeline without; skipped rows keep their offsets. Left out
    is what landed too late: a floor may have lifted it past the start, which its arrival is before."""
    product = fed(folder, begun, runs)
    hold_all_kept(product, begun, runs)
    for where in ("landing", "events"):
        hold_replay(product, input=where)
    crashed = Product(folder / f"crashed-{next(_numbers)}", {"s": begun})
    finish(crashed, runs, 2)
    assert verdicts(crashed.events("s"), *MORE) == verdicts(product.events("s"), *MORE)
    hold_states_through(crashed, product)
    if source.timestamp_by:
        hold_law_4(product, judge(source, runs), begun.start or MIN_TIME)


def hold_all_kept(product: Product, source: Source, runs: Sequence[Run]) -> None:
    outcome = judge(source, runs)
    assert verdicts(product.events("s"), *MORE) == expected(outcome, *MORE)
    hold_states(product, outcome)
    hold_findings(product, outcome)


def hold_states_through(crashed: Product, product: Product) -> None:
    last = max(row["batch_id"] for row in product.table("batches"))
    assert contents(crashed, last)["watermarks"] == contents(product)["watermarks"]


def hold_law_4(product: Product, whole: oracle.Outcome, start: int) -> None:
    rows = {(v.partition, v.offset): v for v in whole.verdicts if (v.system_timestamp or MIN_TIME) >= start}
    found = {(row["_partition"], row["_offset"]): row["_system_timestamp"] for row in product.events("s")}
    for key, row in rows.items():
        if key not in found:
            assert whole.ends[row.run].diagnostics[row.partition, "LandedTooLate"] > 0
        else:
            assert found[key] == row.system_timestamp
    assert {key for key, stamp in found.items() if (stamp or MIN_TIME) >= start} <= rows.keys()


@st.composite
def started_logs(draw: st.DrawFn, source: Source | None, partitions: int) -> tuple[Source, Source, Sequence[Run]]:
    """A source, the same with a start, and a log."""
    whole = draw(sources(wide_names(partitions), law4=True, intervals=True)) if source is None else source
    log: Log = draw(wide_logs(whole, partitions=partitions, runs=(3, 3), close=False))
    begun = draw(started(whole, [item for run in log.runs for item in run.objects]))
    return whole, begun, log.runs


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(replace(KEYED, partitions=wide_names(8)), id="event time"),
        pytest.param(
            Source(timestamp_by=False, partitions=wide_names(8), landing_delay=2 * SECOND),
            id="arrival",
            marks=pytest.mark.long,
        ),
    ],
)
def test_rows_from_the_start_on_are_as_in_a_pipeline_from_the_beginning(tmp_path, source):
    for case in drawn(started_logs(source, 8), 1):
        hold_start(tmp_path, *case)


@pytest.mark.long
def test_the_same_for_any_start_of_any_source(tmp_path):
    for case in drawn(started_logs(None, 10), 2):
        hold_start(tmp_path, *case)


def test_skipped_rows_keep_their_offsets_and_are_in_no_table_and_no_count(tmp_path):
    source = replace(PLAIN, start=at(20))
    product = Product(tmp_path, {"s": source})
    early = [Row("p0", at(10), at(10)), Row("p0", at(16.999999), at(16.999999)), Row("p1", at(1), at(12))]
    kept = [Row("p0", at(17), at(17)), Row("p0", at(21), at(19))]
    product.land("s", [Obj("a", at(18), (*early, kept[0])), Obj("b", at(19), (kept[1],))])
    done = product.run(at(20), max_files=1)
    assert [batch["rows"] for batch in done["batches"]] == [1, 1]
    assert [(row["_partition"], row["_offset"]) for row in product.events("s")] == [("p0", 2), ("p0", 3)]
    offsets = {row["partition"]: row["next_offset"] for row in product.table("watermarks") if row["batch_id"] == 2}
    assert (offsets["p0"], contents(product)["objects"][0].count('"rows": 1')) == (4, 1)
    hold_conservation(product)
    hold_replay(fork(product, tmp_path / "copy"))
