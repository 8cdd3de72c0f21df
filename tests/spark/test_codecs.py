"""Compressed objects of text are read whole or quarantined whole, and silence has a reason."""

from __future__ import annotations

import bz2
import gzip
import zlib
from dataclasses import replace

import pyarrow as pa
import pytest
from landed import LANDED, by_file, land, objects_in, read, source_of, touch
from pyarrow import orc, parquet

import oracle
from product import Product
from tidemark.core.batch import ObjectState
from tidemark.spark.judge.empty_objects import without_rows
from tidemark.spark.read import codecs, unreadable
from tidemark.spark.read.formats import look_at

BODY = "".join(f'{{"n":{number}}}\n' for number in range(100)).encode()
ONE, TWO = BODY[:300], BODY[300:]
WHOLE = "object cannot be read: "


def pressed(codec: str, text: bytes) -> bytes:
    """As another writer compresses it."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(text)
    return sink.getvalue().to_pybytes()


COMPRESS = {".gz": gzip.compress, ".deflate": zlib.compress, ".zst": lambda text: pressed("zstd", text)}
COMPRESS |= {".bz2": bz2.compress}
GOOD = {
    **{f"good{ending}": compress(BODY) for ending, compress in COMPRESS.items()},
    **{f"GOOD{ending.upper()}": compress(BODY) for ending, compress in COMPRESS.items()},
    **{f"parts{ending}": compress(ONE) + compress(TWO) for ending, compress in COMPRESS.items()},
    "good.gzip": gzip.compress(BODY),
    "good.zstd": pressed("zstd", BODY),
    "empty between.bz2": bz2.compress(ONE) + bz2.compress(b"") + bz2.compress(TWO),
    "no ending lz4": BODY,
    "text.lz4.json": BODY,
}
BAD = {
    **{f"cut{ending}": COMPRESS[ending](BODY)[:-3] for ending in (".deflate", ".zst", ".bz2")},
    **{f"more{ending}": COMPRESS[ending](BODY) + b"more" for ending in (".zst", ".bz2")},
    **{f"empty{ending}": b"" for ending in COMPRESS},
    "text.bz2": BODY,
    "second cut.bz2": bz2.compress(ONE) + bz2.compress(TWO)[:20],
    "frame.json.lz4": pressed("lz4", BODY),
    "text.json.LZ4": BODY,
    "text.json.snappy": BODY,
    "frame.Snappy": b"\xff\x06\x00\x00sNaPpY",
}


@pytest.mark.usefixtures("quick")
def test_a_compressed_object_is_read_to_its_end_or_quarantined_whole(spark, tmp_path):
    land(tmp_path, {**GOOD, **BAD, "c.json._COPYING_": BODY})
    source = source_of(tmp_path, "n INT")
    objects = objects_in(tmp_path)
    found = by_file(read(spark, source, damaged=unreadable.find_unreadable(spark, source, objects)))
    assert set(found) == {*GOOD, *BAD}
    for name, rows in found.items():
        told = [row.payload["n"] for row in rows]
        assert told == (list(range(100)) if name in GOOD else [None]), name
    for name in BAD:
        (row,) = found[name]
        assert row.bad == "invalid_row"
        assert row.raw.startswith(WHOLE), row.raw
    reasons = {name: found[name][0].raw.removeprefix(WHOLE) for name in BAD}
    told = "it is compressed by lz4, of which nobody can tell whether it is whole: compress it by gzip or zstd, and"
    assert reasons["frame.json.lz4"] == f"{told} land it under a new name"
    assert reasons["text.bz2"].startswith("its compression is damaged, or it is cut off (")


def test_a_header_is_found_in_objects_of_each_codec(tmp_path):
    table = b"x,y\n1,2\n"
    land(tmp_path, {f"good{ending}": compress(table) for ending, compress in COMPRESS.items()})
    land(tmp_path, {f"GOOD{ending.upper()}": compress(table) for ending, compress in COMPRESS.items()})
    land(tmp_path, {f"bad{ending}": compress(b"y,x\n") for ending, compress in COMPRESS.items()})
    source = source_of(tmp_path, "x INT, y INT", format="csv", options={"header": "true"})
    wrong = {uri for uri, sight in look_at(source, objects_in(tmp_path)).items() if sight.refusal}
    assert wrong == {f"bad{ending}" for ending in COMPRESS}


def test_columnar_files_are_read_whatever_their_names_say_and_however_they_are_compressed_inside(tmp_path):
    for codec in ("lz4", "snappy", "zstd"):
        parquet.write_table(pa.table({"n": pa.array([1], pa.int32())}), tmp_path / f"a.{codec}", compression=codec)
    sights = look_at(source_of(tmp_path, "n INT", format="parquet"), objects_in(tmp_path))
    assert [sight.refusal for sight in sights.values()] == [None] * 3


def test_batches_of_before_are_read_as_they_were(tmp_path):
    land(tmp_path, BAD)
    before = source_of(tmp_path, "n INT").read_as(1)
    refused = {uri for uri, sight in look_at(before, objects_in(tmp_path)).items() if sight.refusal}
    assert refused == {"empty.gz"}


NAMES = [
    *["a.json", "_a", ".a", "_a=1", ".a=1", "a=b", "a._COPYING_", "a._copying_", "._COPYING_", "_COPYING_"],
    *["_metadata", "_common_metadata", "__a", "a_", "a.", "a.tmp", "a.crc", "~a", "#a#", "_SUCCESS", "a.inprogress"],
]


def test_discovery_takes_no_object_that_sparks_index_of_files_leaves_out(spark, tmp_path):
    for name in NAMES:
        for folder in ("", "in._COPYING_/", "k=1/"):
            land(tmp_path, {folder + name: BODY})
    taken = objects_in(tmp_path)
    index = spark._jvm.org.apache.spark.util.HadoopFSUtils
    left = {item.uri for item in taken if index.shouldFilterOutPathName(item.path.rpartition("/")[2])}
    assert left == set()
    assert {item.uri for item in taken} >= {"a.json", "a=b", "k=1/a._copying_", "in._COPYING_/a.tmp"}
    frame = spark.read.option("recursiveFileLookup", "true").text([item.path for item in taken])
    assert len(frame.inputFiles()) == len(taken)


def silent(folder, kind: str, **options: str) -> dict[str, int]:
    """The objects that a finding names, were all of a folder read without a row."""
    source = source_of(folder, "n INT", format=kind, options=options)
    items = [replace(item, state=ObjectState.READ) for item in objects_in(folder)]
    return {item.uri: finding.count for item in items for finding in without_rows(source, [item])}


def test_an_object_without_rows_has_a_reason_or_is_found(tmp_path):
    blank = {"blank": "\n \n\r\n\t", "mark": "\ufeff\n", "empty": "", "gz.gz": gzip.compress(b"\n")}
    land(tmp_path / "j", {**blank, "row": '\n{"n":1}\n', "gz row.gz": gzip.compress(b"\n\n{"), "cut.gz": b"\x1f\x8b"})
    assert silent(tmp_path / "j", "json") == {"row": 1, "gz row.gz": 1, "cut.gz": 1}
    land(tmp_path / "c", {**blank, "header": "# so\n\nn\n# so\n", "row": "n\n1\n"})
    assert silent(tmp_path / "c", "csv", header="true", comment="#") == {"row": 1}
    assert silent(tmp_path / "c", "csv") == {"row": 1, "header": 1}
    for kind, write in (("parquet", parquet.write_table), ("orc", orc.write_table)):
        (tmp_path / kind).mkdir()
        for name, values in (("none", []), ("one", [1])):
            write(pa.table({"n": pa.array(values, pa.int32())}), str(tmp_path / kind / name))
            touch(tmp_path / kind / name)
        assert silent(tmp_path / kind, kind) == {"one": 1}


@pytest.mark.usefixtures("quick")
def test_silence_is_told_by_the_run_and_its_replay(tmp_path, monkeypatch):
    product = Product(tmp_path, {"s": oracle.Source(timestamp_by=False, arrival_column=False, single=True)})
    product.write(s={"schema": "n INT"})
    land(tmp_path / "landing/s", {"plain.json.bz2": BODY, "a.json": BODY})
    monkeypatch.setattr(codecs, "refusal", lambda *_, **__: None)
    product.run(LANDED + 1)
    (finding,) = product.table("diagnostics")
    assert (finding["type"], finding["count"], finding["sample"]["file"]) == (
        "ObjectWithoutRows",
        1,
        "plain.json.bz2",
    )
    assert product.pipeline().replay()["identical"]
