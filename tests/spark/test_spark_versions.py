"""Versions of Spark that tidemark does not run on, and jars that are missing, are said before a run is planned."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from samples import KEYED, at, obj

from product import Product
from tidemark.errors import TidemarkError
from tidemark.spark.compat import sessions
from tidemark.spark.partitioning.by_task import send
from tidemark.spark.session import isolation
from tidemark.spark.session.versions import SPARK_VERSIONS, require_spark

PAGE = Path(__file__).parents[2] / "docs" / "versions.md"


@pytest.mark.parametrize("version", ["4.0.5", "4.1.4", "4.2.0", "4.2.1-SNAPSHOT"])
def test_versions_that_work_are_accepted(version):
    require_spark(version, "pyspark")


@pytest.mark.parametrize("version", ["3.5.9", "4.3.0", "4.20.0", "5.0"])
def test_another_version_is_one_line_that_says_which_work(version):
    with pytest.raises(TidemarkError, match=rf"on Spark 4\.0, 4\.1 and 4\.2; this one is {version}") as refused:
        require_spark(version, "pyspark")
    assert refused.value.hint.startswith("pip install 'pyspark==4.2.*'")


def test_the_page_has_each_version_that_works():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| Spark")]
    working = [row.split("|")[1].split()[1] for row in rows if "| works" in row]
    assert {".".join(version.split(".")[:2]) for version in working} == set(SPARK_VERSIONS)


def test_a_session_of_another_version_is_not_used(spark, monkeypatch):
    monkeypatch.setattr(isolation, "_own", {})
    monkeypatch.setattr(spark, "version", "3.5.9")
    with pytest.raises(TidemarkError, match=r"this one is 3\.5\.9"):
        isolation.own_session(spark, ())


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("lack", ["jars", "version"])
def test_a_run_that_spark_cannot_judge_plans_nothing(tmp_path, monkeypatch, lack):
    product = Product(tmp_path / "product", {"a": KEYED})
    product.land("a", [obj("000", 10)])
    product.run(at(14))
    product.land("a", [obj("001", 20)])
    with monkeypatch.context() as lacking:
        if lack == "jars":
            lacking.setattr(sessions, "has_jvm", lambda: False)
            lacking.setenv("TIDEMARK_JARS", str(tmp_path))
        else:
            lacking.setattr(metadata, "version", lambda _: "4.3.0")
        with pytest.raises(TidemarkError, match={"jars": "are not installed", "version": "one is 4.3.0"}[lack]):
            product.run(at(24))
    assert len(product.pipeline().ledger.batches(1, 9)) == 1
    product.run(at(24))
    assert len(product.events("a")) == 24


@pytest.mark.parametrize("tasks", [1, 2, 7, 64])
def test_rows_reach_their_task_with_and_without_the_function_that_spark_4_0_lacks(spark, monkeypatch, tasks):
    rows = spark.range(300).withColumn("task", (F.col("id") % tasks).cast("int"))
    wanted = [(number, number % tasks) for number in range(300)]
    for _ in range(2):
        reached = send(rows, tasks, F.col("task")).select("id", F.spark_partition_id())
        assert sorted(map(tuple, reached.collect())) == wanted
        monkeypatch.delattr(DataFrame, "repartitionById", raising=False)
