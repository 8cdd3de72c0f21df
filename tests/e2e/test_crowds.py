"""Sources of more partitions than can be kept track of: told with a way on, before any row is written."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions
from samples import at, hold_conservation, hold_replay

from oracle import SECOND, Obj, Row, Source
from product import Product
from tidemark.config.rules.partition_limit import MOST_PARTITIONS, VARIABLE
from tidemark.errors import TidemarkError, UsageError
from tidemark.spark.columns import OFFSET
from tidemark.spark.judge.judge import failed_by_partitions, limited
from tidemark.spark.tables.accounts import count_arrivals_before
from tidemark.storage import is_table

pytestmark = pytest.mark.usefixtures("quick")
SOURCE = Source(late=(4 * SECOND, "adjust"), out_of_order=(2 * SECOND, "adjust"), landing_delay=SECOND, partitions=())
MOST = 5


@pytest.fixture
def product(tmp_path, monkeypatch) -> Product:
    monkeypatch.setenv(VARIABLE, str(MOST))
    return Product(tmp_path, {"a": SOURCE})


def crowd(uri: str, seconds: float, names: range) -> Obj:
    """An object with a row of each partition."""
    return Obj(uri, at(seconds), tuple(Row(f"p{name}", at(seconds), at(seconds)) for name in names))


def partitions(product: Product) -> set[str]:
    return {row["_partition"] for row in product.events("a")}


def test_a_leap_in_one_run_writes_nothing_and_ends_once_the_object_is_moved_away(product, tmp_path, monkeypatch):
    product.land("a", [crowd("000", 10, range(2))])
    product.run(at(11))
    product.land("a", [crowd("001", 12, range(2, 2 * MOST + 1)), crowd("002", 12, range(1))])
    for _ in range(2):
        with pytest.raises(TidemarkError, match="source a have more than 10 partitions; nothing") as told:
            product.run(at(13), max_files=1)
        assert "000" not in told.value.message
        assert "'001'" in told.value.message
        assert VARIABLE in told.value.hint
        assert partitions(product) == {"p0", "p1"}
    wrong, away = tmp_path / "landing/a/001", tmp_path / "001"
    wrong.rename(away)
    assert product.run(at(14))["repaired"]
    assert len(product.events("a")) == 3
    away.rename(wrong)
    monkeypatch.setenv(VARIABLE, str(MOST + 1))
    product.run(at(15))
    assert partitions(product) == {f"p{name}" for name in range(2 * MOST + 1)}
    hold_conservation(product)
    hold_replay(product)


@pytest.mark.long
def test_the_planned_run_goes_on_where_more_are_allowed(product, monkeypatch):
    product.land("a", [crowd("000", 10, range(2 * MOST + 1))])
    with pytest.raises(TidemarkError, match="more than 10 partitions"):
        product.run(at(11))
    assert not is_table(product.folder_of("events/a"))
    monkeypatch.setenv(VARIABLE, str(2 * MOST))
    assert product.run(at(12))["repaired"]
    assert len(partitions(product)) == 2 * MOST + 1
    hold_replay(product)


def test_slow_growth_is_told_before_a_run_is_planned(product, monkeypatch):
    for number in range(3):
        product.land("a", [crowd(f"00{number}", 10 + number, range(3 * number, 3 * number + 3))])
        if number < 2:
            product.run(at(11 + number))
    for dry_run in (True, False):
        with pytest.raises(TidemarkError, match=r"source a has 6 partitions, and more than 5 .* nothing was planned"):
            product.run(at(14), dry_run=dry_run)
    ledger = product.pipeline().ledger
    assert not ledger.last().pending
    assert ledger.last().committed_through == 2
    monkeypatch.setenv(VARIABLE, "6")
    assert product.run(at(15))["batches"][0]["rows"] == 3


def test_a_run_that_takes_nothing_goes_on_however_many_there_are(product):
    product.land("a", [crowd("000", 10, range(MOST + 1))])
    product.run(at(11))
    assert product.run(at(12))["batches"][0]["rows"] == 0


@pytest.mark.parametrize("text", ["many", "0", "-1", "1e6"])
def test_a_limit_that_is_no_number_is_told(product, monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    product.land("a", [crowd("000", 10, range(1))])
    with pytest.raises(UsageError, match=VARIABLE) as told:
        product.run(at(11))
    assert str(MOST_PARTITIONS) in told.value.hint
    assert not product.pipeline().ledger.last().pending


def test_each_of_many_tasks_has_a_share(spark):
    rows = spark.range(0, 4000, numPartitions=4).selectExpr(
        f"id AS {OFFSET}", "struct(id % 1000 AS group) AS __tidemark_run"
    )
    assert limited(rows, 3200, 4).agg({OFFSET: "sum"}).first()[0] == 3999 * 2000
    with pytest.raises(PySparkException) as told:
        limited(rows, 2400, 4).agg({OFFSET: "sum"}).collect()
    assert failed_by_partitions(told.value)
    assert not failed_by_partitions(ValueError("another"))


def test_partitions_that_were_idle_are_told_to_spark_as_data(spark, monkeypatch):
    """As literals, 20,000 of them took half a minute when they came back."""
    rows = spark.range(30).selectExpr(
        "concat('p', id % 3) AS _partition",
        "id AS own",
        "id AS _offset",
        "timestamp_micros(id) AS _event_time",
        "timestamp_micros(id) AS _arrival_time",
        "'file' AS _file",
    )
    literals, lit = [], functions.lit
    monkeypatch.setattr(functions, "lit", lambda value: literals.append(value) or lit(value))
    found = count_arrivals_before(rows, "own", {f"p{number}": 10 for number in range(1, 1000)})
    assert {name: (each.count, each.first, each.last) for name, each in found.items()} == {
        "p1": (3, 1, 7),
        "p2": (3, 2, 8),
    }
    assert len(literals) < 10
