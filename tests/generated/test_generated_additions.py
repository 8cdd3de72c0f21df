"""Streams that are added to pipelines made at random, after their first run.

Each has the rows that DuckDB computes for it as if it had always been there, from the time on that the ledger records
for it. Versions that are made live between runs change no row."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from engines import Duck, assert_equal, written
from sources import Landing, judged, keys_of
from wholes import PIPELINES, STREAMS, newest, whole

from product import Product
from tidemark.errors import ConfigError
from tidemark.runner.kept_rows import ensure_rows


@pytest.mark.long
@pytest.mark.parametrize("number", range(PIPELINES))
def test_streams_that_are_added_have_the_rows_that_another_engine_computes(quick, tmp_path, number):
    drawn = whole("added", number)
    first = dict(list(drawn.made.streams.items())[: drawn.dice.choice((0, STREAMS // 2))])

    def added(product: Product, run: int) -> None:
        if run == 0:
            product.settings["streams"] = possible(product, drawn.landing, drawn.made.streams, first)

    product = judged(tmp_path, drawn.landing, added, streams=first)
    begins = {name: end.state.begins for name, end in newest(product).streams.items()}
    wanted, found = Duck(drawn.landing).tables(drawn.made), written(quick, product, drawn.made)
    compared = [
        table
        for table in wanted.keys() | found.keys()
        for folder, _, name in (table.partition("/"),)
        if name in begins and (name in first or folder == "streams")
    ]
    for table in compared:
        name, expected = table.partition("/")[2], wanted.get(table, Counter())
        if name not in first:
            expected = Counter({row: n for row, n in expected.items() if _ends_after(row, begins[name])})
        assert found.get(table, Counter()) == expected, (table, begins[name], drawn.where)
    assert compared
    assert product.pipeline().replay()["identical"]


@pytest.mark.long
@pytest.mark.parametrize("number", range(PIPELINES))
def test_runs_go_on_from_promoted_versions_with_the_rows_that_another_engine_computes(quick, tmp_path, number):
    """After each run a backfill of a random range is built and made live, which changes nothing."""
    drawn = whole("promoted", number)

    def promoted(product: Product, _: int) -> None:
        begin, end = drawn.a_range(product)
        built = product.pipeline().backfill(begin, end)
        assert built["identical"], (begin, end, built["difference"], drawn.where)
        product.pipeline().promote(built["version"])
        product.version = built["version"]

    product = judged(tmp_path, drawn.landing, promoted, streams=drawn.made.streams)
    wanted, found = Duck(drawn.landing).tables(drawn.made), written(quick, product, drawn.made)
    assert_equal(found, wanted, drawn.where)
    assert wanted
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


def _ends_after(row: str, begins: int | None) -> bool:
    end = json.loads(row)["_e"]
    return begins is None or end is None or end > begins
