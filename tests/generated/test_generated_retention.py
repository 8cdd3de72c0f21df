"""Pipelines made at random, whose tables are compacted after each run, and events deleted that no stream needs.

They write the rows that DuckDB computes from all rows. `PIPELINES=` are made, others with `SEED=`."""

from __future__ import annotations

import pytest
from engines import Duck, assert_equal, written
from sources import judged
from wholes import PIPELINES, newest, whole

from product import DAY, Product
from strategies import BASE
from tidemark.runner.maintenance import Maintenance

LATER = BASE + 36500 * DAY
"""A time by which the days of all rows are over."""
FEW = 4
"""Of many streams one always looks far back, and keeps the rows that the others need."""


@pytest.mark.long
@pytest.mark.parametrize("number", range(PIPELINES))
def test_streams_lack_no_row_that_retention_deletes(quick, tmp_path, number):
    drawn = whole("retained", number, FEW)
    deleted = []

    def kept(product: Product, _: int) -> None:
        pipeline = product.pipeline()
        maintenance = Maintenance(pipeline.spec, pipeline.ledger, pipeline.context.tables)
        before = count(product)
        maintenance.now(newest(product))
        pipeline.context.tables().retain(list(drawn.landing.logs), LATER, maintenance.needed(newest(product)))
        deleted.append(before - count(product))

    def count(product: Product) -> int:
        return sum(len(product.events(name)) for name in drawn.landing.logs)

    product = judged(tmp_path, drawn.landing, kept, streams=drawn.made.streams)
    wanted, found = Duck(drawn.landing).tables(drawn.made), written(quick, product, drawn.made)
    assert any(deleted)
    assert_equal(found, wanted, drawn.where)
    assert wanted
