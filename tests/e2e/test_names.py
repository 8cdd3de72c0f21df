"""Names of tables follow promotions, undo, crashes and new streams, in a catalog of Spark and as paths."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from samples import at, obj

from oracle import SECOND, Source
from product import Product
from short_lived import SHORT_LIVED
from stored import Died
from tidemark.cli import invoke
from tidemark.errors import TidemarkError
from tidemark.pipeline import Pipeline
from tidemark.spark import catalogs

pytestmark = pytest.mark.usefixtures("quick")
SOURCE = Source(
    late=(4 * SECOND, "drop"), out_of_order=(2 * SECOND, "adjust"), landing_delay=3 * SECOND, partitions=("p0", "p1")
)
GOOD = {"good": {"from": "a", "publish": True}}
LATER = {"later": {"from": "a", "publish": True}}
HIVE = """
spark.sql.catalogImplementation hive
spark.sql.warehouse.dir {folder}/hive
spark.hadoop.javax.jdo.option.ConnectionURL jdbc:derby:;databaseName={folder}/metastore;create=true
spark.hadoop.hive.metastore.schema.verification false
spark.hadoop.datanucleus.schema.autoCreateAll true
"""
READ = """
import json
from tidemark.spark.session.session import open_session
columns = ["_partition", "_offset", "_disposition", "_batch_id"]
print(json.dumps(sorted(list(row) for row in open_session().table("tested.events_a").select(columns).collect())))
"""
SET = ["sources.a.late_arrival.tolerance=2s"]
CATALOG, SCHEMA = "spark_catalog", "tested"


@pytest.fixture
def product(tmp_path) -> Product:
    """A pipeline of two versions; its folder has the signs with which SQL quotes."""
    product = Product(tmp_path / "o'd`d; --", {"a": SOURCE}, {"streams": GOOD})
    for seconds in (10, 20):
        run(product, seconds)
    assert product.pipeline().backfill(at(0), None, SET)["version"] == 2
    return product


@pytest.fixture
def catalog(spark, monkeypatch):
    """Spark's own catalog, although it is in memory here; empty again afterwards."""
    monkeypatch.setattr(catalogs, "require_lasting", lambda _session, _name: None)
    yield spark
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def run(product: Product, seconds: int) -> dict[str, Any]:
    product.land("a", [obj(f"{seconds:03d}", seconds)])
    return product.run(at(seconds))


def died_at(product: Product, step: str, which: int = 1) -> Pipeline:
    """A pipeline whose process ends when it comes to a step for this time."""
    left = iter(range(1, 1000))

    def on_checkpoint(name: str) -> None:
        if name == step and next(left) == which:
            raise Died

    return Pipeline.load(product.config, {}, on_checkpoint=on_checkpoint)


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["_partition"], row["_offset"], row.get("_disposition"), row["_batch_id"]


def rows_of(place: Path | str) -> list[tuple[Any, ...]]:
    return sorted(map(key, DeltaTable(place).to_pyarrow_table().to_pylist()))


def version(product: Product, number: int, table: str = "events/a") -> list[tuple[Any, ...]]:
    return rows_of(product.folder / "warehouse" / "tested" / f"v{number}" / table)


def seen(spark, table: str = "events_a") -> list[tuple[Any, ...]]:
    return sorted(key(row.asDict()) for row in spark.table(f"{CATALOG}.{SCHEMA}.{table}").collect())


def hold_names(product: Product, spark, number: int) -> None:
    """All names read a version, and `status` has nothing to say about them."""
    assert product.pipeline().status()["names"] == []
    assert seen(spark) == version(product, number)
    assert seen(spark, "streams_good") == version(product, number, "streams/good")
    assert rows_of(product.folder / "warehouse/tested/published/events/a") == version(product, number)


def test_views_and_paths_follow_a_promotion_and_its_undo(product, catalog):
    assert version(product, 1) != version(product, 2)
    made = product.pipeline().register(CATALOG)
    names = {each["table"]: each["name"] for each in made["tables"]}
    assert names["events/a"] == "`spark_catalog`.`tested`.`events_a`"
    assert {"streams/good", "batches", "watermarks", "objects"} <= names.keys()
    assert "plans" not in names
    hold_names(product, catalog, 1)
    assert catalog.table(f"{SCHEMA}.batches").count() == 2
    opened = catalog.table(f"{SCHEMA}.events_a")  # a reader that has begun goes on in the version that it saw
    for number in (2, 1, 2):
        assert product.pipeline().promote(number)["names"] == []
        hold_names(product, catalog, number)
    assert sorted(key(row.asDict()) for row in opened.collect()) == version(product, 1)
    assert product.pipeline().path("events/a")["names"][1] == names["events/a"]


def test_a_crash_between_the_commit_and_the_names_is_said_and_put_right(product, catalog, capsys):
    product.pipeline().register(CATALOG)
    with pytest.raises(Died):
        died_at(product, "promoted").promote(2)
    link, views = product.pipeline().status()["names"]
    assert "leads to v1, not to version 2" in link
    assert "spark_catalog.tested do not show all of version 2" in views
    assert invoke(["status", str(product.config)]) == 0
    assert "do not show all of version 2" in capsys.readouterr().out
    with pytest.raises(Died):
        died_at(product, "named", 3).promote(1)  # some views are changed for version 2, then its undo is asked for
    product.pipeline().promote(1)
    hold_names(product, catalog, 1)
    with pytest.raises(Died):
        died_at(product, "promoted").promote(2)
    product.write(a={"late_arrival": {"tolerance": "2s", "action": "drop"}})
    assert product.run(at(20))["names"] == []
    hold_names(product, catalog, 2)


def test_a_new_stream_gets_its_view_by_its_first_run_and_views_end_at_the_last_commit(product, catalog):
    product.pipeline().register(CATALOG)
    product.settings["streams"] = GOOD | LATER
    product.write()
    run(product, 30)
    assert seen(catalog, "streams_later") == version(product, 1, "streams/later") != []
    product.pipeline().promote(2)  # this version was built without the stream
    assert not catalog.catalog.tableExists(f"{SCHEMA}.streams_later")
    product.pipeline().promote(1)
    assert seen(catalog, "streams_later") == version(product, 1, "streams/later")
    product.land("a", [obj("040", 40)])
    with pytest.raises(Died):
        died_at(product, "streams").run(at(40))
    committed = [row for row in version(product, 1) if row[3] <= 3]
    assert seen(catalog) == committed != version(product, 1)


def test_a_catalog_that_would_not_last_or_is_unknown_is_refused_before_anything_changes(product, spark, monkeypatch):
    for name, why in ((CATALOG, "in memory"), ("nowhere", "Spark refuses")):
        with pytest.raises(TidemarkError, match=why):
            product.pipeline().register(name)
    assert product.pipeline().status()["names"] == []
    monkeypatch.setattr(catalogs, "require_lasting", lambda _session, _name: None)
    product.pipeline().register(CATALOG)
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")
    monkeypatch.undo()
    with pytest.raises(TidemarkError, match="in memory"):
        product.pipeline().promote(2)
    assert product.pipeline().versions()["live"] == 1
    run(product, 30)
    assert product.pipeline().register(CATALOG, forget=True)["tables"] == []
    assert product.pipeline().promote(2)["live"] == 2


@pytest.mark.long
def test_views_in_a_hive_metastore_are_there_for_other_processes(product, tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(HIVE.format(folder=tmp_path))

    def ended(*typed: str) -> str:
        environment = os.environ | SHORT_LIVED | {"SPARK_CONF_DIR": str(tmp_path / "conf")}
        command = [sys.executable, *typed]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=900)  # noqa: S603, PLW1510
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    ended("-m", "tidemark", "register", str(product.config), "--catalog", CATALOG)
    assert json.loads(ended("-c", READ)) == [list(row) for row in version(product, 1)]
    ended("-m", "tidemark", "promote", str(product.config), "2")
    assert json.loads(ended("-c", READ)) == [list(row) for row in version(product, 2)]
