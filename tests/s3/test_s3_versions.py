"""Versions of a pipeline whose tables are on S3, and a service that is slow."""

from __future__ import annotations

import time
from random import Random

import pytest
from pyspark.sql import SparkSession
from s3_product import Remote

from e2e.samples import KEYED, at, hold_replay, obj
from product import Product
from tidemark.config.address import RemoteLocation
from tidemark.spark import catalogs
from tidemark.spark.session.session import open_session
from tidemark.storage import delta_table, location_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("quick")]
STREAMS = {"streams": {"counted": {"from": "readings", "tumbling": "2s", "select": {"n": "count(*)"}}}}
SET = ["sources.readings.late_arrival.tolerance=2s"]


def remote_of(tmp_path, service, bucket) -> Remote:
    return Remote(tmp_path / "remote", {"readings": KEYED}, STREAMS, bucket=bucket, service=service)


def run_twice(product: Product) -> None:
    for seconds, name in ((30, "one"), (60, "two")):
        product.land("readings", [obj(name, seconds - 10)])
        product.run(at(seconds))


def register(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Views in Spark's own catalog, although it is in memory here: on S3 they are the only names that follow."""
    monkeypatch.setattr(catalogs, "require_lasting", lambda _session, _name: None)
    (warning,) = remote.pipeline().path("streams/counted")["warnings"]
    assert "--catalog NAME` makes" in warning
    assert remote.pipeline().register("spark_catalog")["published"] is None
    record = remote.pipeline().path("streams/counted")
    assert record["names"] == ["`spark_catalog`.`tested`.`streams_counted`"]


def hold_view(spark: SparkSession, bucket: str, version: int) -> None:
    """A view has the rows of a version."""
    rows = spark.table("spark_catalog.tested.events_readings").collect()
    found = {(row["_partition"], row["_offset"], row["_disposition"]) for row in rows}
    there = delta_table(location_of(f"s3://{bucket}/warehouse/tested/v{version}/events/readings")).to_pyarrow_table()
    assert found == {(row["_partition"], row["_offset"], row["_disposition"]) for row in there.to_pylist()}


@pytest.mark.long
def test_a_backfill_on_s3_is_that_of_a_folder_and_can_be_promoted(tmp_path, service, bucket, spark, monkeypatch):
    local = Product(tmp_path / "local", {"readings": KEYED}, STREAMS)
    remote = remote_of(tmp_path, service, bucket)
    made = []
    for product in (local, remote):
        run_twice(product)
        made.append(product.pipeline().backfill(at(45), None, SET))
    assert made[0]["difference"] == made[1]["difference"]
    assert made[1]["difference"]["rows"]["readings"]["changed"] > 0
    register(remote, monkeypatch)
    assert remote.pipeline().promote(2)["live"] == 2
    hold_view(open_session(buckets=[RemoteLocation(f"s3://{bucket}")]), bucket, 2)
    for table in ("events/readings", "streams/counted"):
        there = delta_table(location_of(f"s3://{bucket}/warehouse/tested/v2/{table}")).to_pyarrow_table().to_pylist()
        here = delta_table(local.folder / "warehouse" / "tested" / "v2" / table).to_pyarrow_table().to_pylist()
        assert sorted(map(repr, there)) == sorted(map(repr, here))
    hold_replay(remote)
    assert remote.pipeline().promote(1)["live"] == 1
    hold_view(open_session(buckets=[RemoteLocation(f"s3://{bucket}")]), bucket, 1)
    spark.sql("DROP SCHEMA tested CASCADE")


def test_slow_answers_change_nothing(tmp_path, service, bucket):
    local = Product(tmp_path / "local", {"readings": KEYED}, STREAMS)
    remote = remote_of(tmp_path, service, bucket)
    dice = Random(5)  # noqa: S311 - the same delays each time
    run_twice(local)
    with service.refusing(lambda _: time.sleep(dice.choice((0, 0, 0, 0, 0.02, 0.05)))):
        run_twice(remote)
    for table in ("events/readings", "streams/counted", "watermarks"):
        assert sorted(map(repr, remote.table(table))) == sorted(map(repr, local.table(table)))
    hold_replay(remote)
