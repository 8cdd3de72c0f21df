"""Damaged tables: a message that names the file, and `repair`, which rebuilds them and proves it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder
from samples import KEYED, Crash, at, fork, obj

from oracle import SECOND, Run
from product import Product
from tidemark.cli import invoke
from tidemark.commands.repair.damage import DamagedTables
from tidemark.errors import TidemarkError

pytestmark = pytest.mark.usefixtures("quick")
RUNS = tuple(Run(at(10 + 5 * n), (obj(f"{n:03d}", 10 + 5 * n), obj(f"{n:03d}b", 9 + 5 * n))) for n in range(3))
SOURCE = replace(KEYED, out_of_order=(2 * SECOND, "keep"))
STREAMS = {
    "good": {"from": "a", "publish": True},
    "per_4s": {"from": "a", "tumbling": "4s", "select": {"n": "count(*)", "keys": "collect_list(k)"}},
    "outer": {"from": "per_4s", "tumbling": "8s", "select": {"n": "sum(n)"}},
}
TABLES = ("events/a", "streams/good", "streams/per_4s", "streams/outer", "dead_letters/per_4s", "substreams")


@pytest.fixture(scope="module")
def live(request, tmp_path_factory) -> Product:
    request.getfixturevalue("quick")
    product = Product(tmp_path_factory.mktemp("repairing"), {"a": SOURCE}, {"streams": STREAMS})
    product.feed("a", RUNS)
    return product


@pytest.fixture
def product(live, tmp_path) -> Product:
    return fork(live, tmp_path / "copy")


def files(product: Product, table: str) -> list[Path]:
    place = product.folder_of(table)
    return [place / path for path in sorted(DeltaTable(place).file_uris()) if Path(path).exists()]


def rows(product: Product, table: str) -> list[str]:
    return sorted(map(repr, product.table(table)))


def garble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4:-8] = bytes(len(content) - 12)
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def lose_log(product: Product, table: str) -> None:
    for path in (product.folder_of(table) / "_delta_log").glob("*.json"):
        path.write_text("{")


def hold_as_before(product: Product, live: Product, tables: tuple[str, ...] = TABLES) -> None:
    for table in tables:
        assert rows(product, table) == rows(live, table), table
    assert product.pipeline().replay(all_batches=True)["identical"]
    runs = (Run(at(40), (obj("900", 38),)),)
    product.feed("a", runs)
    assert product.pipeline().replay()["identical"]


@pytest.fixture
def said(capsys) -> Callable[..., dict[str, Any]]:
    def said_(product: Product, status: int = 0) -> dict[str, Any]:
        assert invoke(["repair", str(product.config), "--json"]) == status
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return said_


def test_files_that_are_lost_or_damaged_are_rebuilt_and_proven(product, live, said, capsys):
    assert said(product) == {
        "schema_version": 1,
        "repaired": [],
        "rewritten": [],
        "left": [],
        "damaged": {},
        "kept": None,
    }
    garble(files(product, "events/a")[1])
    files(product, "streams/per_4s")[0].unlink()
    cut(files(product, "dead_letters/per_4s")[0])
    found = said(product)
    assert not found["left"]
    assert {each["table"]: each["input"] for each in found["repaired"]} == {
        "events/a": "landing",
        "dead_letters/per_4s": "events",
        "streams/per_4s": "events",
    }
    assert {each["table"]: len(each["batches"]) for each in found["repaired"]}["events/a"] == 1
    kept = list(Path(found["kept"]).rglob("*.parquet"))
    assert len(kept) == 2
    assert invoke(["repair", str(product.config)]) == 0
    assert "nothing was changed" in capsys.readouterr().out
    hold_as_before(product, live)


def queried(product: Product, table: str) -> int:
    """How many rows delta-rs's own queries find, all columns read."""
    table_ = DeltaTable(product.folder_of(table))
    found = QueryBuilder().register("t", table_).execute("SELECT * FROM t").read_all()
    return len(pa.table(found))


def test_files_that_say_a_wrong_number_of_nulls_are_written_again(tmp_path, spark, said):
    """As Spark's library wrote them where it kept no statistics of a column in pages of the second version."""
    product = Product(tmp_path, {"a": SOURCE})
    settings = [f"parquet.column.statistics.enabled#{name}" for name in ("_file", "_raw", "_reasons.list.element")]
    for name in settings:
        spark.conf.set(name, "false")
    product.feed("a", RUNS[:1])
    for name in settings:
        spark.conf.unset(name)
    product.feed("a", RUNS[1:])
    before, places = rows(product, "events/a"), set(files(product, "events/a"))
    with pytest.raises(Exception, match="overflow"):
        queried(product, "events/a")
    pl.scan_delta(str(product.folder_of("events/a"))).collect()
    (told,) = said(product)["rewritten"]
    assert told == {"table": "events/a", "files": 1, "rows": len(before)}, "all are of one day"
    assert not places & set(files(product, "events/a"))
    assert rows(product, "events/a") == before
    assert queried(product, "events/a") == len(before)
    assert said(product)["rewritten"] == []
    verdict = product.pipeline().replay(all_batches=True)
    assert verdict["identical"]
    assert {each["digest_version"] for each in verdict["batches"]} == {2}


def test_a_repair_that_dies_when_it_has_taken_files_out_is_done_by_the_next_one(product, live, said, monkeypatch):
    """Its tables lack rows and look sound: until their rows are back no run goes on from them."""
    tables = ("events/a", "objects", "watermarks", "streams/good", "dead_letters/per_4s")
    for table in tables:
        garble(files(product, table)[-1])
    repairing, records = product.pipeline(), DamagedTables.records
    for fatal in ("events/a", "streams/good"):

        def dying(self: DamagedTables, table: str, damage: Any, fatal: str = fatal) -> Any:
            if table == fatal:
                raise Crash(table)
            return records(self, table, damage)

        with monkeypatch.context() as patched:
            patched.setattr(DamagedTables, "records", dying)
            with pytest.raises(Crash):
                repairing.repair()
        for pipeline in (repairing, product.pipeline()):
            with pytest.raises(TidemarkError, match="a repair took damaged files out of it"):
                pipeline.run(at(40))
    assert {"streams/good"} <= {each["table"] for each in product.pipeline().status()["damaged"]}
    assert {each["table"] for each in said(product)["repaired"]} >= {"streams/good"}
    hold_as_before(product, live, (*TABLES, "objects", "watermarks"))
    assert said(product)["damaged"] == {}
    assert product.pipeline().verify()["sound"]


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES)
def test_a_table_whose_log_is_lost_is_made_from_the_beginning(product, live, said, table):
    lose_log(product, table)
    assert not said(product)["left"]
    if table == "substreams":
        assert product.pipeline().replay(all_batches=True)["identical"]
        return
    hold_as_before(product, live)


@pytest.mark.long
def test_a_table_that_is_gone_is_made_again(product, live, said):
    shutil.rmtree(product.folder_of("streams/good"))
    shutil.rmtree(product.folder_of("events/a"))
    found = said(product)
    assert {each["table"]: each["rows"] for each in found["repaired"]} == {
        table: len(live.table(table)) for table in ("events/a", "streams/good")
    }
    hold_as_before(product, live)


def test_what_cannot_be_made_again_is_told_until_it_is_back(product, live, said):
    garble(files(product, "events/a")[0])
    landing = product.folder / "landing" / "a"
    copy = shutil.copytree(landing, product.folder / "copy")
    for path in landing.iterdir():
        path.write_text("{}\n")
    for _ in range(2):
        found = said(product, 1)
        (one,) = found["left"]
        assert one["table"] == "events/a"
        assert "no longer in landing as they were" in one["why"]
        (named,) = product.pipeline().status()["damaged"]
        assert (named["table"], named["why"][:37]) == ("events/a", "repair could not put back rows of bat")
    assert any("repair could not put back rows" in note for note in product.pipeline().run(at(39))["notes"])
    with pytest.raises(TidemarkError, match="events/a is damaged: repair could not put back rows of batch"):
        product.pipeline().backfill(at(0))
    shutil.rmtree(landing)
    copy.rename(landing)
    assert said(product)["left"] == product.pipeline().status()["damaged"] == []
    assert rows(product, "events/a") == rows(live, "events/a")


@pytest.mark.parametrize("which", [0, -1], ids=["oldest", "newest"])
def test_without_batches_nothing_can_be_rebuilt(product, which):
    garble(sorted(files(product, "batches"), key=lambda path: path.stat().st_mtime_ns)[which])
    with pytest.raises(TidemarkError, match="the table `batches` is damaged") as refused:
        product.pipeline().repair()
    assert "restore this folder" in refused.value.hint


@pytest.mark.long
@pytest.mark.parametrize("damage", [garble, Path.unlink], ids=["garbled", "missing"])
def test_watermarks_and_objects_whose_files_are_damaged_are_told_from_events_and_plans(product, live, said, damage):
    for table in ("watermarks", "objects"):
        damage(files(product, table)[-1])
    assert not said(product)["left"]
    hold_as_before(product, live, (*TABLES, "watermarks", "objects"))


@pytest.mark.parametrize("damage", [garble, Path.unlink], ids=["garbled", "missing"])
@pytest.mark.parametrize(
    ("command", "table"),
    [(["rows"], "events/a"), (["status"], "watermarks"), (["run", "--as-of", "2026-01-01T00:01:00Z"], "objects")],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_command_that_meets_a_damaged_file_names_it(product, capsys, command, table, damage):
    path = files(product, table)[0]
    product.land("a", [obj("900", 38)])
    damage(path)
    assert invoke([command[0], str(product.config), *command[1:]]) == 4
    told = capsys.readouterr().err
    if damage is Path.unlink or table != "events/a":
        assert path.name in "".join(told.split())
    assert "tidemark repair" in " ".join(told.split())
    assert "Traceback" not in told
