"""Streams that are added to pipelines made at random, after their first run.

Each has the rows that DuckDB computes for it as if it had always been there, from the time on that the ledger records
for it."""

from __future__ import annotations

import json
import os
from collections import Counter
from random import Random
from typing import Any

import pytest
from engines import Duck, written
from pipelines import Author
from samples import drawn
from sources import Landing, judged, keys_of, landings
from test_generated_pipelines import streams_of

from oracle import SECOND
from product import Product
from strategies import BASE
from tidemark.errors import ConfigError
from tidemark.runner.kept_rows import ensure_rows

_PIPELINES = int(os.environ.get("PIPELINES", "2"))
_SEED = os.environ.get("SEED", "7")
_STREAMS = 10


@pytest.mark.long
@pytest.mark.parametrize("number", range(_PIPELINES))
def test_streams_that_are_added_have_the_rows_that_another_engine_computes(quick, tmp_path, number):
    dice = Random(f"{_SEED}:added:{number}")  # noqa: S311 - the same pipelines each time
    several = [each for each in drawn(landings(), 3 * _PIPELINES) if len(each.logs["a"][1]) > 2]
    landing = several[number]
    made = Author(dice, streams_of(landing)).write(_STREAMS)
    first = dict(list(made.streams.items())[: dice.choice((0, _STREAMS // 2))])

    def added(product: Product, number: int) -> None:
        if number == 0:
            product.settings["streams"] = possible(product, landing, made.streams, first)

    product = judged(tmp_path, landing, added, streams=first)
    ledger = product.pipeline().ledger
    (last,) = ledger.batches(ledger.last().committed_through, ledger.last().committed_through)
    begins = {name: end.state.begins for name, end in last.streams.items()}
    wanted, found = Duck(landing).tables(made), written(quick, product, made)
    where = f"SEED={_SEED}, pipeline {number}: {json.dumps(made.streams)}"
    for table in wanted.keys() | found.keys():
        folder, _, name = table.partition("/")
        expected = wanted.get(table, Counter())
        if name not in begins:
            continue
        if name not in first:
            if folder != "streams":
                continue
            expected = Counter({row: n for row, n in expected.items() if _ends_after(row, begins[name])})
        assert found.get(table, Counter()) == expected, (table, begins[name], where)
    assert product.pipeline().replay()["identical"]


def possible(product: Product, landing: Landing, streams: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """The streams without those that may need windows of any age, which are refused."""
    refused = {""}
    while refused:
        product.settings["streams"], refused = streams, set()
        product.write(**keys_of(landing))
        pipeline = product.pipeline()
        try:
            ensure_rows(pipeline.ledger, pipeline.spec)
        except ConfigError as error:
            refused = {problem.key.split(".")[1].split("_")[0] for problem in error.problems}
            assert refused.isdisjoint(first)
        streams = {name: keys for name, keys in streams.items() if name not in refused}
    return streams


def passed(product: Product) -> int:
    """The time that all streams and sources have passed, microseconds."""
    ledger = product.pipeline().ledger
    (last,) = ledger.batches(ledger.last().committed_through, ledger.last().committed_through)
    marks = [*last.combined.values(), *(end.state for end in last.streams.values())]
    return min((BASE if mark.watermark is None else mark.watermark) for mark in marks)


def _ends_after(row: str, begins: int | None) -> bool:
    end = json.loads(row)["_e"]
    return begins is None or end is None or end > begins


@pytest.mark.long
@pytest.mark.parametrize("number", range(_PIPELINES))
def test_runs_go_on_from_promoted_versions_with_the_rows_that_another_engine_computes(quick, tmp_path, number):
    """After each run but the last a backfill of a random range is built and made live, which changes nothing."""
    dice = Random(f"{_SEED}:promoted:{number}")  # noqa: S311 - the same pipelines each time
    several = [each for each in drawn(landings(), 3 * _PIPELINES) if len(each.logs["a"][1]) > 2]
    landing = several[number]
    made = Author(dice, streams_of(landing)).write(_STREAMS)

    def promoted(product: Product, _: int) -> None:
        rows = [row for name in landing.logs for row in product.events(name)]
        times = sorted(row["_system_timestamp"] for row in rows if row["_system_timestamp"] is not None) or [BASE]
        begin = dice.choice(times)
        end = begin + 3 * SECOND if dice.random() < 0.5 and begin + 3 * SECOND < passed(product) else None
        built = product.pipeline().backfill(begin, end)
        assert built["identical"], (begin, end, built["difference"], where)
        product.pipeline().promote(built["version"])
        product.version = built["version"]

    where = f"SEED={_SEED}, pipeline {number}: {json.dumps(made.streams)}"
    product = judged(tmp_path, landing, promoted, streams=made.streams)
    wanted, found = Duck(landing).tables(made), written(quick, product, made)
    for table in wanted.keys() | found.keys():
        assert found.get(table, Counter()) == wanted.get(table, Counter()), (table, where)
    assert product.pipeline().replay()["identical"]
