"""Objects that cannot be read, or are no longer there, cost themselves alone: the run goes on without them."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from landed import LANDED, land, objects_in, source_of, touch
from pyarrow import orc, parquet

import oracle
from product import Product
from tidemark.spark.read import unreadable

pytestmark = pytest.mark.usefixtures("quick")
PLAIN = oracle.Source(timestamp_by=False, arrival_column=False, single=True)
AS_OF = LANDED + 1_000_000
SOUND = 30


class Stop(BaseException):
    """A crash, injected where a step has been reached."""


def compressed(first: int, count: int = 200) -> bytes:
    return gzip.compress("".join(f'{{"n":{first + i}}}\n' for i in range(count)).encode(), mtime=0)


def columnar(write, path: Path, first: int, count: int = 200, kind: pa.DataType | None = None) -> bytes:
    write(pa.table({"n": pa.array(range(first, first + count), kind or pa.int32())}), str(path))
    return path.read_bytes()


def damaged_gzips() -> dict[str, bytes]:
    whole = compressed(0)
    return {
        "cut in the header.gz": whole[:5],
        "cut in the middle.gz": whole[: len(whole) // 2],
        "without its end.gz": whole[:-8],
        "cut in its end.gz": whole[:-3],
        "wrong checksum.gz": whole[:-8] + b"\0\0\0\0" + whole[-4:],
        "bytes turned.gz": whole[:40] + bytes(255 - byte for byte in whole[40:80]) + whole[80:],
        "no gzip.gz": b'{"n":1}\n',
        "empty.gz": b"",
        "more behind.gz": whole + b"garbage that is no gzip member",
    }


def damaged_columnar(write, folder: Path) -> dict[str, bytes]:
    whole = columnar(write, folder / "whole", 0)
    return {
        "cut": whole[:-10],
        "half": whole[: len(whole) // 2],
        "four bytes": whole[:4],
        "empty": b"",
        "text": b'{"n":1}\n' * 20,
        "wrong type": columnar(write, folder / "wrong", 0, kind=pa.int64()),
    }


@pytest.fixture
def four(tmp_path):
    """A pipeline with a source of each format, sound and damaged objects in each."""
    product = Product(tmp_path / "p", dict.fromkeys(("json", "csv", "parquet", "orc"), PLAIN))
    formats = {name: {"format": name, "schema": "n INT"} for name in product.sources}
    formats["csv"]["options"] = {"header": "true"}
    product.write(**formats)
    landing = product.folder / "landing"
    writers = {"parquet": parquet.write_table, "orc": orc.write_table}
    land(landing / "json", {f"{i:02}.json.gz": compressed(i * 200) for i in range(SOUND)} | damaged_gzips())
    land(
        landing / "csv", {"good.csv": "n\n1\n", "swapped.csv": "m\n2\n", "bad.csv.gz": gzip.compress(b"n\n1\n")[:-8]}
    )
    for name, write in writers.items():
        folder = tmp_path / name
        folder.mkdir()
        land(landing / name, {"good": columnar(write, folder / "good", 0), **damaged_columnar(write, folder)})
    return product


def test_damaged_objects_are_one_quarantined_row_each_and_the_run_goes_on(four, monkeypatch):
    searched = Counter()
    search = unreadable.find_unreadable
    monkeypatch.setattr(
        unreadable,
        "find_unreadable",
        lambda spark, source, objects: searched.update([source.name]) or search(spark, source, objects),
    )
    four.run(AS_OF)
    assert max(searched.values()) == 1, "one search finds all damaged objects of a batch"
    bad = {"json": len(damaged_gzips()), "csv": 2, "parquet": 6, "orc": 6}
    rows = {"json": SOUND * 200, "csv": 1, "parquet": 200, "orc": 200}
    for name in four.sources:
        events = four.events(name)
        sound = [row for row in events if row["_disposition"] == "on_time"]
        lost = [row for row in events if row["_disposition"] == "quarantined"]
        assert sorted(row["n"] for row in sound) == ([1] if name == "csv" else list(range(rows[name])))
        assert len(lost) == bad[name] == len({row["_file"] for row in lost})
        assert {tuple(row["_reasons"]) for row in lost} == {("invalid_row",)}
        for row in lost:
            assert re.fullmatch(r"object cannot be read: \S[^\n]{8,400}", row["_raw"]), row["_raw"]
            assert str(four.folder) not in row["_raw"]
            assert "\tat " not in row["_raw"]
            assert "file:" not in row["_raw"]
    states = {(row["source"], row["uri"]): (row["state"], row["rows"]) for row in four.table("objects")}
    whole = {(name, row["_file"]) for name in four.sources for row in four.events(name) if row["_raw"]}
    assert {key for key, (state, _) in states.items() if state == "quarantined"} == whole
    assert {count for key, (_, count) in states.items() if key in whole} == {1}
    assert {state for state, _ in states.values()} == {"read", "quarantined"}
    hold_reasons(four)
    replayed = four.pipeline().replay()
    assert replayed["identical"], replayed
    assert four.pipeline().replay(input="events")["identical"]


def hold_reasons(four):
    raw = {(name, row["_file"]): row["_raw"] for name in four.sources for row in four.events(name) if row["_raw"]}
    told = {key: text.removeprefix("object cannot be read: ") for key, text in raw.items()}
    assert told["csv", "swapped.csv"] == "its header names the columns m, the schema n"
    assert told["parquet", "wrong type"] == told["orc", "wrong type"]
    assert told["orc", "wrong type"] == "column n is int64 in the file, INT in the schema"
    assert told["json", "empty.gz"] == told["orc", "empty"] == "it is empty: not even a header was written"
    assert told["parquet", "text"].startswith("it is no Parquet file, or is cut off (")
    assert told["orc", "text"].startswith("it is no ORC file, or is cut off (")
    cut = ["cut in the middle.gz", "without its end.gz", "cut in its end.gz"]
    assert all(told["json", name].startswith("it is cut off or damaged (") for name in cut), told


def test_a_damaged_object_that_was_mended_is_taken_by_the_next_run(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.write(s={"schema": "n INT"})
    landing = tmp_path / "landing/s"
    land(landing, {"a.gz": compressed(0)[:-8], "b.gz": compressed(200)})
    product.run(AS_OF)
    land(landing, {"a.gz": compressed(0)}, LANDED + 2_000_000)
    product.run(LANDED + 3_000_000)
    events = product.events("s")
    assert [row["_offset"] for row in events] == list(range(401))
    assert [row["n"] for row in events] == [None, *range(200, 400), *range(200)]
    assert product.pipeline().replay(all_batches=True)["identical"]


def stopped(product: Product, step: str, act) -> None:
    """Do `act` when a run has reached `step`, and crash if it says so."""

    def on_checkpoint(now: str) -> None:
        if now == step:
            product.hooks.clear()
            act()

    product.hooks["on_checkpoint"] = on_checkpoint


def states(product: Product) -> dict[str, list[tuple[int, str, int]]]:
    found: dict[str, list[tuple[int, str, int]]] = {}
    for row in sorted(product.table("objects"), key=lambda row: row["batch_id"]):
        found.setdefault(row["uri"], []).append((row["batch_id"], row["state"], row["rows"]))
    return found


def test_objects_that_vanish_or_change_after_planning_are_left_and_taken_when_they_are_back(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.write(s={"schema": "n INT"})
    landing = tmp_path / "landing/s"
    land(landing, {f"{name}.json": f'{{"n":{number}}}\n' for number, name in enumerate("abcd")})
    land(landing, {"cut.gz": compressed(0)[:-8]})

    def interfere() -> None:
        (landing / "b.json").unlink()
        land(landing, {"c.json": '{"n":22}\n{"n":23}\n'})

    stopped(product, "planned", interfere)
    product.run(AS_OF)
    assert [(row["_file"], row["n"]) for row in product.events("s")] == [
        ("a.json", 0),
        ("cut.gz", None),
        ("d.json", 3),
    ]
    assert states(product) == {
        "a.json": [(1, "read", 1)],
        "b.json": [(1, "vanished", 0)],
        "c.json": [(1, "vanished", 0)],
        "cut.gz": [(1, "quarantined", 1)],
        "d.json": [(1, "read", 1)],
    }
    assert product.pipeline().replay()["identical"]
    land(landing, {"b.json": '{"n":1}\n'})
    product.run(AS_OF + 1)
    assert [row["n"] for row in product.events("s")][3:] == [1, 22, 23]
    assert states(product)["b.json"] == [(1, "vanished", 0), (2, "read", 1)]
    assert states(product)["c.json"] == [(1, "vanished", 0), (2, "read", 2)]
    assert product.pipeline().replay(all_batches=True)["identical"]


def test_a_run_of_which_every_object_vanished_is_an_empty_one(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.write(s={"schema": "n INT"})
    landing = tmp_path / "landing/s"
    land(landing, {"a.json": '{"n":0}\n', "folder/b.json": '{"n":1}\n'})

    def interfere() -> None:
        (landing / "a.json").unlink()
        (landing / "folder/b.json").unlink()
        (landing / "folder").rmdir()
        (landing / "folder").write_text("now a file")
        touch(landing / "folder")

    stopped(product, "planned", interfere)
    product.run(AS_OF)
    assert product.events("s") == []
    assert states(product) == {"a.json": [(1, "vanished", 0)], "folder/b.json": [(1, "vanished", 0)]}
    (landing / "folder").unlink()
    land(landing, {"a.json": '{"n":0}\n', "folder/b.json": '{"n":1}\n'})
    product.run(AS_OF + 1)
    assert [(row["_offset"], row["n"]) for row in product.events("s")] == [(0, 0), (1, 1)]
    assert product.pipeline().replay(all_batches=True)["identical"]


def test_a_repair_after_a_crash_still_leaves_what_had_changed(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.write(s={"schema": "n INT"})
    landing = tmp_path / "landing/s"
    land(landing, {"a.json": '{"n":0}\n', "b.json": '{"n":1}\n', "c.json": ""})

    def crash() -> None:
        raise Stop

    stopped(
        product,
        "planned",
        lambda: (land(landing, {"b.json": '{"n":11}\n{"n":12}\n'}), stopped(product, "events", crash)),
    )
    with pytest.raises(Stop):
        _run_with_live_hooks(product)
    product.hooks.clear()
    product.run(AS_OF + 1)
    assert states(product)["b.json"] == [(1, "vanished", 0), (2, "read", 2)]
    assert states(product)["c.json"] == [(1, "read", 0)]
    assert [row["n"] for row in product.events("s")] == [0, 11, 12]
    assert product.pipeline().replay(all_batches=True)["identical"]


def _run_with_live_hooks(product: Product) -> None:
    """A run whose hook looks up the present one at every step."""
    hooks = product.hooks
    pipeline = type(product.pipeline()).load(
        product.config,
        {},
        on_checkpoint=lambda step: hooks.get("on_checkpoint", print)(step),  # noqa: PLW0108 # it changes
    )
    pipeline.run(AS_OF)


def test_many_objects_of_one_wrong_type_are_found_by_trying_one(spark, tmp_path, monkeypatch):
    for number in range(40):
        parquet.write_table(pa.table({"n": [number]}), tmp_path / f"{number:02}")
        touch(tmp_path / f"{number:02}")
    tried = []
    search = unreadable._search
    monkeypatch.setattr(unreadable, "_search", lambda *args: tried.append(len(args[2])) or search(*args))
    source = source_of(tmp_path, "n STRING", format="parquet")
    found = unreadable.find_unreadable(spark, source, objects_in(tmp_path))
    assert set(found.values()) == {"column n is int64 in the file, STRING in the schema"}
    assert (len(found), tried) == (40, [1, 0])


def test_what_is_not_the_objects_fault_stops_the_run_and_quarantines_nothing(spark, tmp_path, monkeypatch):
    land(tmp_path, {"a.gz": compressed(0)[:-8]})
    source = source_of(tmp_path, "n INT")
    monkeypatch.setattr(unreadable.os, "access", lambda *_: False)
    with pytest.raises(unreadable.TidemarkError, match="permission denied"):
        unreadable.find_unreadable(spark, source, objects_in(tmp_path))
    monkeypatch.undo()
    elsewhere = tmp_path / "elsewhere"
    land(elsewhere / "in", {"a.json": '{"n":1}', "b.json": '{"n":2}'})
    monkeypatch.chdir(elsewhere)
    here_only = Path("/proc/self/cwd/in")  # Spark's JVM has another working directory
    with pytest.raises(unreadable.TidemarkError, match="is there, but Spark does not find it"):
        unreadable.find_unreadable(spark, source_of(here_only, "n INT"), objects_in(here_only))
    for number in range(2):
        land(tmp_path, {f"{number}.json": '{"m":{"1":2}}'})
    wrong = source_of(tmp_path, "m MAP<INT, INT>")
    with pytest.raises(unreadable.SPARK_ERRORS):
        unreadable.find_unreadable(spark, wrong, objects_in(tmp_path))
