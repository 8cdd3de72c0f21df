"""Whole pipelines, made at random, write in many runs the rows that DuckDB computes at once from the oracle's rows.

The streams are there from the first run on: what they write may not depend on how the log is cut into runs (law 1).
Every batch comes out again, and a backfill of any range changes nothing. `PIPELINES=` are made, others with `SEED=`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from random import Random

import pytest
from engines import Duck, written
from pipelines import Author
from samples import drawn
from sources import judged, landings
from test_generated_pipelines import streams_of

from oracle import SECOND
from strategies import BASE

_PIPELINES = int(os.environ.get("PIPELINES", "2"))
_SEED = os.environ.get("SEED", "7")
_STREAMS = 10


@pytest.mark.long
@pytest.mark.parametrize("number", range(_PIPELINES))
def test_generated_pipelines_write_run_by_run_what_another_engine_computes_at_once(quick, tmp_path, number):
    dice = Random(f"{_SEED}:runs:{number}")  # noqa: S311 - the same pipelines each time
    several = [each for each in drawn(landings(), 3 * _PIPELINES) if len(each.logs["a"][1]) > 2]
    landing = several[number]
    made = Author(dice, streams_of(landing)).write(_STREAMS)
    product = judged(tmp_path, landing, streams=made.streams)
    wanted = Duck(landing).tables(made)
    found = written(quick, product, made)
    where = f"SEED={_SEED}, pipeline {number}: {json.dumps(made.streams)}"
    for table in wanted.keys() | found.keys():
        assert found.get(table, Counter()) == wanted.get(table, Counter()), (table, where)
    assert wanted
    assert product.pipeline().replay()["identical"]
    rows = [row for name in landing.logs for row in product.events(name)]
    times = sorted(row["_system_timestamp"] for row in rows if row["_system_timestamp"] is not None) or [BASE]
    for length in (None, 3 * SECOND):
        begin = dice.choice(times)
        built = product.pipeline().backfill(begin, None if length is None else begin + length)
        assert built["identical"], (begin, length, built["difference"], where)
