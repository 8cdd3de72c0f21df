"""Any Delta reader reads what Spark writes, years 0001 and 9999 included."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable
from samples import KEYED, at

from oracle import MAX_TIME, MIN_TIME, SECOND, Obj, Row
from product import DAY, Product

pytestmark = pytest.mark.usefixtures("quick")
TIMES = [
    ("events/s", "_event_time", {MIN_TIME, at(10), MAX_TIME}),
    ("events/s", "e", {MIN_TIME, at(10), MAX_TIME}),
    ("events/s", "_system_timestamp", {at(10) - 20 * DAY, at(10), MAX_TIME}),
    ("substreams", "watermark", {at(10) - 2 * SECOND, MAX_TIME - 2 * SECOND}),
]


@pytest.fixture(scope="module")
def product(tmp_path_factory, spark):  # noqa: ARG001 # the session must be there
    """Events at the first and the last microsecond there is, and an ordinary one."""
    source = replace(KEYED, early=None, late=(20 * DAY, "adjust"), partitions=("p",))
    product = Product(tmp_path_factory.mktemp("readers"), {"s": source})
    rows = tuple(Row("p", event, at(10), key) for event, key in ((MIN_TIME, "a"), (at(10), "b"), (MAX_TIME, "c")))
    product.land("s", [Obj("extremes", at(10), rows)])
    product.run(at(12))
    return product


@pytest.mark.parametrize(("table", "column", "expected"), TIMES)
def test_polars_reads(product, table, column, expected):
    frame = pl.scan_delta(str(product.folder_of(table)))
    found = frame.select(pl.col(column).dt.epoch("us")).collect().to_series().to_list()
    assert expected <= set(found)


@pytest.mark.parametrize(("table", "column", "expected"), TIMES)
def test_delta_rs_and_duckdb_through_it_read(product, table, column, expected):
    rows = DeltaTable(str(product.folder_of(table))).to_pyarrow_dataset()
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        found = {time for (time,) in connection.sql(f"SELECT epoch_us({column}) FROM rows").fetchall()}  # noqa: S608
        last = f"SELECT count(*) FROM rows WHERE {column} = make_timestamptz({max(expected)})"  # noqa: S608
        assert connection.sql(last).fetchall() == [(1,)]
    assert expected <= found


def test_the_product_reads_them_too(product):
    found = product.pipeline().rows(fate="adjusted")
    assert [row["event_time"] for row in found["rows"]] == ["0001-01-01T00:00:00Z"]
