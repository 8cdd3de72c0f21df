"""Whole pipelines, made at random, give the rows that DuckDB computes from the rows of the oracle.

`CASES=` pipelines are made (2,000 in the long suite), others with `SEED=`. Pipelines over equal sources share the
landing, and their streams share jobs.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pair_counts
import pytest
from engines import Duck, Together, assert_equal
from payload import columns_of
from pipelines import Author, Generated, Stream
from pyspark.sql import DataFrame
from samples import drawn
from sources import Landing, judged, judged_by_oracle, landings, shape_of, used

from interpreted import COMPILED, settings
from oracle import Source
from product import expected, verdicts
from tidemark.spark.tables import file_pruning

CASES = int(os.environ.get("CASES", "2000"))
PAGE = Path(__file__).parents[2] / "docs" / "proven.md"
_SEED = os.environ.get("SEED", "7")
_OF_A_LANDING, _OF_A_JOB = 50, 10
_PARTS = min(20, -(-CASES // _OF_A_LANDING))
_STREAMS = (0, 1, 1, 1, 2, 2, 3, 6)
_ONE_STAGE = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "2"}
_SPLIT = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "64b",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1b",
    "spark.sql.adaptive.forceOptimizeSkewedJoin": "true",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.0",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1b",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold": "1",
    "spark.sql.sortMergeJoinExec.buffer.spill.threshold": "20",
    "spark.sql.TungstenAggregate.testFallbackStartsAt": "1,2",
    "spark.sql.windowExec.buffer.in.memory.threshold": "1",
    "spark.sql.windowExec.buffer.spill.threshold": "20",
}
"""Settings with which Spark does what it does with many rows: tasks are split, hashed aggregates are sorted, and
buffers go to disk."""


def streams_of(landing: Landing) -> dict[str, Stream]:
    """The sources of a landing, as pipelines may read them."""
    found = {}
    for name, (source, _) in landing.logs.items():
        tolerant = isinstance(source, Source)
        own_time = tolerant and source.timestamp_by
        found[name] = Stream(
            columns_of(landing.formats[name]),
            kept=own_time and source.out_of_order[1] == "keep",
            open=shape_of(source) == "edge",
            keyed=own_time and source.over,
            hidden=(("v",) if source.interval else ()) if tolerant else ("t", "v"),
            moved=shape_of(source) == "edge" and source.violations == "adjust",
            later=shape_of(source) == "edge",
        )
    return found


def pipelines_of(landing: Landing, number: int) -> Iterator[Generated]:
    """Pipelines over a landing, in a fixed order."""
    known = streams_of(landing)
    for index in range(_OF_A_LANDING):
        dice = Random(f"{_SEED}:{number}:{index}")  # noqa: S311 - the same pipelines each time
        yield Author(dice, dict(known)).write(dice.choice(_STREAMS))


@pytest.fixture
def kept_rows(monkeypatch):
    """Event rows of a table are read once, in one task or in three; each pipeline selects those that it needs."""
    kept: dict[str, DataFrame] = {}

    def rows_of(spark, place, *_):
        if place not in kept:
            rows = spark.read.format("delta").load(place)
            rows = spark.createDataFrame(rows.toArrow(), rows.schema)
            split = spark.conf.get("spark.sql.adaptive.enabled") == "true"
            kept[place] = rows.repartition(3) if split else rows.coalesce(1)
        return kept[place]

    monkeypatch.setattr(file_pruning, "rows_of", rows_of)


def hold_landing(spark, folder, landing, number, count):
    """The first pipelines over a landing have DuckDB's rows in all tables."""
    taken = judged(folder / f"landing-{number}", landing)
    outcomes = judged_by_oracle(landing)
    for name, (source, _) in landing.logs.items():
        if isinstance(source, Source):
            assert verdicts(taken.events(name)) == expected(outcomes[name]), (number, name)
    bounded = all(isinstance(source, Source) and not source.interval for source, _ in landing.logs.values())
    duck, together = Duck(landing), Together(spark, taken, alone=bounded and number % 4 > 1)
    made = list(islice(pipelines_of(landing, number), count))
    for first in range(0, len(made), _OF_A_JOB):
        some = made[first : first + _OF_A_JOB]
        for index, (each, found) in enumerate(zip(some, together.tables(some), strict=True)):
            wanted = duck.tables(each)
            where = f"SEED={_SEED}, landing {number}, pipeline {first + index}: {json.dumps(each.streams)}"
            assert_equal(found, wanted, where)


def hold(spark, folder, count, part, parts):
    """A part of `count` pipelines have DuckDB's rows in all tables."""
    for number, landing in list(enumerate(drawn(landings(), -(-count // _OF_A_LANDING))))[part::parts]:
        chosen = _SPLIT | (COMPILED if number == 5 else {}) if number % 4 == 1 else _ONE_STAGE
        with settings(spark, chosen):
            hold_landing(spark, folder, landing, number, min(count - number * _OF_A_LANDING, _OF_A_LANDING))


@pytest.mark.usefixtures("kept_rows")
def test_a_few_generated_pipelines_have_the_rows_of_another_engine(quick, tmp_path):
    hold(quick, tmp_path, 12, 0, 1)


@pytest.mark.long
@pytest.mark.usefixtures("kept_rows")
@pytest.mark.parametrize("part", range(_PARTS))
def test_generated_pipelines_have_the_rows_of_another_engine(quick, tmp_path, part):
    hold(quick, tmp_path, CASES, part, _PARTS)


@pytest.mark.skipif(_SEED != "7", reason="the page has the counts of pipelines without SEED=")
def test_every_pair_occurs_and_the_page_says_how_often(tmp_path):
    found: Counter[tuple[str, str]] = Counter()
    for number, landing in enumerate(drawn(landings(), 2000 // _OF_A_LANDING)):
        found.update(used(landing))
        for each in pipelines_of(landing, number):
            found.update(each.used)
    assert [pair for pair in pair_counts.possible() if not found[pair]] == []
    (tmp_path / "tables.md").write_text(tables := pair_counts.tables(found))
    assert tables in PAGE.read_text(), f"put {tmp_path / 'tables.md'} into the page"
