"""Row order is a property of the landed bytes alone: however Spark splits, names or schedules them."""

from __future__ import annotations

import gzip
import random
import unicodedata
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from landed import LANDED, land, objects_in, read, source_of, touch
from pyarrow import orc, parquet

from tidemark.core.advance import Opening
from tidemark.core.batch import ObjectState
from tidemark.core.watermarks import PartitionState
from tidemark.spark.judge.engine import Engine
from tidemark.spark.micro_batch import MicroBatch
from tidemark.spark.read.landed_rows import read_rows
from tidemark.spark.rebuild.replay import Recomputed, RecordedBatch

SPLITS = "spark.sql.files.maxPartitionBytes"
OPEN_COST = "spark.sql.files.openCostInBytes"


@pytest.fixture
def conf(spark):
    """Sets session settings for one test."""
    before = {}

    def change(**settings):
        for key, value in settings.items():
            name = {"splits": SPLITS, "open_cost": OPEN_COST}[key]
            before.setdefault(name, spark.conf.get(name))
            spark.conf.set(name, str(value))

    yield change
    for name, value in before.items():
        spark.conf.set(name, value)


def numbered(first: int, count: int, ends: str = "\n", seed: int = 0) -> str:
    """JSON lines with rising numbers and texts of various lengths."""
    dice = random.Random(seed)  # noqa: S311 # not for secrets
    lines = [f'{{"n":{first + i},"s":"{"ä€x" * dice.randrange(12)}"}}' + ends for i in range(count)]
    return "".join(lines)


@pytest.mark.parametrize("size", [3, 500])
def test_split_text_files_keep_every_row_in_order(spark, tmp_path, conf, size):
    count = 3 if size < 10 else 60
    files = {
        "a.json": numbered(0, count),
        "b crlf.json": numbered(count, count, "\r\n"),
        "c no end.json": numbered(2 * count, count).rstrip("\n"),
        "d bom.json": "\ufeff" + numbered(3 * count, count),
        "e.json.gz": gzip.compress(numbered(4 * count, count).encode()),
        "f blank.json": "\n\n" + numbered(5 * count, count, "\n\n\r\n"),
    }
    land(tmp_path, files)
    conf(splits=size, open_cost=1)
    rows = read(spark, source_of(tmp_path, "n INT, s STRING"))
    assert [row.payload["n"] for row in rows] == list(range(6 * count))
    assert not any(row.bad for row in rows)


@pytest.mark.parametrize("size", [3, 300])
def test_split_csv_files_have_their_header_once(spark, tmp_path, conf, size):
    count = 6 if size < 10 else 100
    for number, ends in enumerate(["\n", "\r\n", "\r"]):
        lines = [f'{number * count + i},"x,{"ä" * (i % 7)}"' for i in range(count)]
        top = "\ufeffn,s" if number == 1 else "n,s"
        land(tmp_path, {f"{number}.csv": ends.join([top, *lines])})
    conf(splits=size, open_cost=1)
    rows = read(spark, source_of(tmp_path, "n INT, s STRING", format="csv", options={"header": "true"}))
    assert [row.payload["n"] for row in rows] == list(range(3 * count))
    assert not any(row.bad for row in rows)


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_split_columnar_files_keep_every_row_in_order(spark, tmp_path, conf, kind):
    dice = random.Random(1)  # noqa: S311 # not for secrets
    count = 20_000
    for number in range(3):
        table = pa.table(
            {"n": range(number * count, (number + 1) * count), "s": [dice.randbytes(30).hex() for _ in range(count)]}
        )
        if kind == "parquet":
            parquet.write_table(table, tmp_path / f"{number}", row_group_size=700, compression="none")
        else:
            orc.write_table(table, str(tmp_path / f"{number}"), stripe_size=4096, batch_size=512)
        touch(tmp_path / f"{number}")
    conf(splits=100_000, open_cost=1)
    source = source_of(tmp_path, "n BIGINT, s STRING", format=kind)
    rows = read(spark, source)
    assert [row.payload["n"] for row in rows] == list(range(3 * count))
    frame = spark.read.format(kind).load(str(tmp_path))
    assert frame.rdd.getNumPartitions() > 20


NAMES = [
    "a b.json", " lead and end .json", "50%.json", "%41.json", "a#b.json", "a?b.json", "a+b.json", "a*b.json",
    "[x].json", "{a,b}.json", "a,b.json", "a;b&c=d.json", "a'b\"c.json", "a\\b.json", "a:b.json", "a|b<c>.json",
    "~a^`.json", "new\nline.json", "tab\t.json", "$HOME ${x}.json", "@!().json", "ä composed.json",
    unicodedata.normalize("NFD", "ä decomposed.json"), "日本.json", "😀.json", "\u00a0nbsp.json",
    "\u2028line.json", "\u200bzero.json", "\u202eright.json", "\x7f\x01control.json", "no extension",
    "UPPER.JSON", "dt=2026-01-01/p=x/a.json", "dt=2026-01-02/p=y/a.json", "n=7/a.json", "a/b/c/d/e.json",
    "a b/50%/[x]/{y}.json", "file:/a.json", "x" * 200 + ".json",
]  # fmt: skip
HIDDEN = [
    ".hidden.json",
    "_started.json",
    "_temporary/a.json",
    ".part/a.json",
    "a/_b/c.json",
    "a/.b/c.json",
    "a/b/_SUCCESS",
]


def test_files_of_any_name_are_read_and_hidden_ones_are_not(spark, tmp_path):
    land(tmp_path, {name: f'{{"n":{number}}}\n{{"n":-1}}\n' for number, name in enumerate(NAMES)})
    land(tmp_path, dict.fromkeys(HIDDEN, "no JSON"))
    rows = read(spark, source_of(tmp_path, "n INT"))
    assert {row.uri: row.payload["n"] for row in rows[::2]} == {name: number for number, name in enumerate(NAMES)}
    assert len(rows) == 2 * len(NAMES)
    assert [row.uri for row in rows[::2]] == sorted(NAMES, key=str.encode)
    assert [row.payload["n"] for row in rows[1::2]] == [-1] * len(NAMES)


@pytest.mark.parametrize("kind", ["csv", "parquet", "orc"])
def test_names_that_are_patterns_or_hive_folders_mean_nothing_in_any_format(spark, tmp_path, kind):
    names = ["dt=2026-01-01/n=5/[a]%41 {b}#?.x", "dt=2026-01-02/n=6/a*.x", "new\nline ä.x"]
    for number, name in enumerate(names):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "csv":
            path.write_text(f"{number}\n")
        else:
            (parquet if kind == "parquet" else orc).write_table(
                pa.table({"n": pa.array([number], pa.int32())}), str(path)
            )
        touch(path)
    rows = read(spark, source_of(tmp_path, "n INT, dt STRING" if format != "csv" else "n INT", format=kind))
    assert [(row.uri, row.payload["n"]) for row in rows] == [(name, number) for number, name in enumerate(names)]
    assert all(row.payload.get("dt") is None for row in rows)


PARTITIONS = {
    "none": (None, ["0", "0", "0"]),
    "column": ({"column": "k"}, ["x", "_unknown", "y"]),
    "expression": ({"column": "upper(k)"}, ["X", "_unknown", "Y"]),
    "number": ({"column": "n"}, ["0", "1", "_unknown"]),
    "path": ({"path": "p=([0-9]+)/"}, ["5", "5", "_unknown"]),
}


@pytest.mark.parametrize(("partition", "expected"), PARTITIONS.values(), ids=PARTITIONS)
def test_the_partition_of_a_row(spark, tmp_path, partition, expected):
    land(tmp_path, {"p=5/a.json": '{"n":0,"k":"x"}\n{"n":1}\n', "q/b.json": '{"n":"bad","k":"y"}\n'})
    keys = {} if partition is None else {"partition": partition}
    rows = read(spark, source_of(tmp_path, "n INT, k STRING", **keys))
    assert [row.partition for row in rows] == expected
    assert [row.bad is None for row in rows] == [name != "_unknown" for name in expected[:2]] + [False]


def test_objects_of_one_landing_time_are_in_the_order_of_the_bytes_of_their_names(spark, tmp_path):
    names = ["Z", "a", "ä", "b/a", "b-", "\uff5a", "😀"]
    land(tmp_path, dict.fromkeys(names, '{"n":0}\n{"n":1}\n'))
    land(tmp_path, {"later": '{"n":0}\n'}, LANDED + 1)
    land(tmp_path, {"zz earlier": '{"n":0}\n'}, LANDED - 1)
    rows = read(spark, source_of(tmp_path, "n INT"))
    expected = ["zz earlier", *[name for name in sorted(names, key=str.encode) for _ in range(2)], "later"]
    assert [row.uri for row in rows] == expected


@pytest.mark.parametrize("kind", ["json", pytest.param("parquet", marks=pytest.mark.long)])
def test_offsets_do_not_depend_on_splits_tasks_cells_or_samples(spark, tmp_path, conf, monkeypatch, kind):
    landing = tmp_path / "landing"
    landing.mkdir()
    count = 500
    for number in range(4):
        path = landing / f"{number}.{kind}"
        rows = [
            {"n": i, "k": "abcab"[i % 5] if i % 97 else None} for i in range(number * count, (number + 1) * count)
        ]
        if kind == "json":
            path.write_text(
                "".join(f'{{"n":{row["n"]},"k":"{row["k"]}"}}\n' if row["k"] else '{"n":1,\n' for row in rows)
            )
        else:
            parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=100)
        touch(path, LANDED + number // 2)
    source = source_of(landing, "n BIGINT, k STRING", format=kind, partition={"column": "k"})
    found = {}
    whole = 1 << 30
    for case, (size, tasks, bits, sampled) in enumerate(
        [(whole, 1, 16, whole), (1500, 3, 4, whole), (whole, 5, 1, whole), (1500, 3, 4, 2000)]
    ):
        monkeypatch.setattr("tidemark.spark.partitioning.layout.SAMPLED_BYTES", sampled)
        conf(splits=size, open_cost=1)
        found[case] = _offsets(spark, source, tmp_path / f"version-{case}", tasks, bits)
    assert all(offsets == found[0] for offsets in found.values())
    assert len(found[0]) == 4 * count
    assert [n for (partition, _), n in sorted(found[0].items()) if partition == "a"] == [
        i for i in range(4 * count) if "abcab"[i % 5] == "a" and i % 97
    ]


def _offsets(spark, source, folder: Path, tasks: int, bits: int):
    """(partition, offset) -> n, as one batch wrote them; computed again, they are the same."""
    engine = Engine(spark, folder, tasks=tasks, cell_bits=bits)
    batch = MicroBatch(source, 1, objects_in(source.landing), _opening())
    outcome = engine.judge(batch, recovering=False)
    assert {item.state for item in outcome.objects} == {ObjectState.READ}
    for from_landing in (True, False):
        again = Recomputed(engine, RecordedBatch(replace(batch, objects=outcome.objects), {}), from_landing)
        told = again.outcome()
        assert (told.digests, told.partitions) == (outcome.digests, outcome.partitions)
        assert not list(again.differences())
        again.close()
    rows = spark.read.format("delta").load(str(folder / "events/s")).select("_partition", "_offset", "n").collect()
    return {(row[0], row[1]): row[2] for row in rows}


def _opening():
    return Opening(states={}, unseen=PartitionState())


@pytest.mark.long
def test_ten_thousand_small_objects_are_read_whole_by_few_tasks(spark, tmp_path):
    land(tmp_path, {f"{i % 10}/{i:05}.json": f'{{"n":{i}}}\n' for i in range(10_000)})
    source, objects = source_of(tmp_path, "n INT"), objects_in(tmp_path)
    assert sorted(row.payload["n"] for row in read(spark, source, objects)) == list(range(10_000))
    assert read_rows(spark, source, objects).rdd.getNumPartitions() <= len(objects) // 20
