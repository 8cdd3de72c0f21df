"""Whole pipelines, made at random, write in many runs the rows that DuckDB computes at once from the oracle's rows.

The streams are there from the first run on: what they write may not depend on how the log is cut into runs (law 1).
Every batch comes out again, and a backfill of any range changes nothing. `PIPELINES=` are made, others with `SEED=`.
"""

from __future__ import annotations

import pytest
from engines import Duck, assert_equal, written
from sources import judged
from wholes import PIPELINES, whole

from oracle import SECOND


@pytest.mark.long
@pytest.mark.parametrize("number", range(PIPELINES))
def test_generated_pipelines_write_run_by_run_what_another_engine_computes_at_once(quick, tmp_path, number):
    drawn = whole("runs", number)
    product = judged(tmp_path, drawn.landing, streams=drawn.made.streams)
    wanted = Duck(drawn.landing).tables(drawn.made)
    found = written(quick, product, drawn.made)
    assert_equal(found, wanted, drawn.where)
    assert wanted
    assert product.pipeline().replay()["identical"]
    for length in (None, 3 * SECOND):
        begin = drawn.a_time(product)
        built = product.pipeline().backfill(begin, None if length is None else begin + length)
        assert built["identical"], (begin, length, built["difference"], drawn.where)
