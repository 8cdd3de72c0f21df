"""Streams that are added to pipelines made at random, after their first run.

Each has the rows that DuckDB computes for it as if it had always been there, from the time on that the ledger records
for it."""

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
    product = judged(tmp_path, landing, later={"streams": made.streams}, streams=first)
    ledger = product.pipeline().ledger
    (last,) = ledger.batches(ledger.last().committed_through, ledger.last().committed_through)
    begins = {name: end.state.begins for name, end in last.streams.items()}
    wanted, found = Duck(landing).tables(made), written(quick, product, made)
    where = f"SEED={_SEED}, pipeline {number}: {json.dumps(made.streams)}"
    for table in wanted.keys() | found.keys():
        folder, _, name = table.partition("/")
        expected = wanted.get(table, Counter())
        if name not in first:
            if folder != "streams":
                continue
            expected = Counter({row: n for row, n in expected.items() if _ends_after(row, begins[name])})
        assert found.get(table, Counter()) == expected, (table, begins[name], where)
    assert product.pipeline().replay()["identical"]


def _ends_after(row: str, begins: int | None) -> bool:
    end = json.loads(row)["_e"]
    return begins is None or end is None or end > begins
