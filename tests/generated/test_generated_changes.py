"""Pipelines made at random whose policies change, between runs and for backfills.

A backfill from the beginning gives the tables that DuckDB computes from the oracle's rows under the last policies. In
a backfill of a range, rows take new fates by the rule of versions, and windows that end in it are new. `PIPELINES=`
are made, others with `SEED=`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest
from engines import Duck, Rows, assert_equal, written
from pyspark.sql import SparkSession
from samples import hold_replay
from sources import Given, Landing, bounded_landings, judged, judged_by_oracle, keys_of
from wholes import PIPELINES, Whole, whole

import oracle_versions
from oracle import MIN_TIME, Outcome, Source
from product import Product
from strategies import LATE_ACTIONS, ORDER_ACTIONS, TOLERANCES, admitting

FEW = 6


def changed(given: Given, dice: Random, bounded: bool) -> Given:
    """The source under other policies. Its rows are read as before, and its punctuations stay."""
    if isinstance(given, Source) and given.timestamp_by:
        off = () if bounded else (None,)
        late = dice.choice(LATE_ACTIONS if given.over else (*off, *LATE_ACTIONS))
        early = dice.choice((*off, *LATE_ACTIONS))
        order = dice.choice(ORDER_ACTIONS if given.out_of_order[1] == "keep" else LATE_ACTIONS)
        given = replace(
            given,
            early=early and (dice.choice(TOLERANCES), early),
            late=late and (dice.choice(TOLERANCES), late),
            out_of_order=(dice.choice(TOLERANCES), order),
        )
    return admitting(replace(given, require=False, by=(), within=0))


@dataclass
class Changing:
    """A pipeline whose policies change (`bounded`: they are never off). `judged` has its rows by source, as the
    oracle keeps them."""

    drawn: Whole
    bounded: bool = False
    landing: Landing = field(init=False)
    judged: dict[str, Outcome] = field(init=False)

    def __post_init__(self) -> None:
        self.landing = self.drawn.landing
        self.judged = dict(judged_by_oracle(self.landing))

    def change(self, product: Product) -> None:
        """Change the policies of some sources."""
        for name in product.sources:
            if self.drawn.dice.random() < 0.6:
                product.sources[name] = changed(product.sources[name], self.drawn.dice, self.bounded)
        product.write(**keys_of(self.drawn.landing))
        logs = {name: (product.sources[name], runs) for name, (_, runs) in self.landing.logs.items()}
        self.landing = replace(self.landing, logs=logs)

    def rebuild(self, product: Product, run: int, begin: int, end: int | None) -> None:
        """Backfill a range after a run; rows have a new fate where the old or the new time is in the range."""
        product.version = product.pipeline().backfill(begin, end)["version"]
        product.pipeline().promote(product.version)
        for name, now in judged_by_oracle(self.landing).items():
            taken = {item.uri for each in self.landing.logs[name][1][: run + 1] for item in each.objects}
            rows = [row for row in self.judged[name].verdicts if row.uri in taken]
            self.judged[name] = oracle_versions.rows(
                replace(self.judged[name], verdicts=tuple(rows)), now, begin, end
            )
            wanted = {
                key: fate(row) for row in self.judged[name].verdicts if row.uri in taken for key in [key_of(row)]
            }
            found = {
                (row["_partition"], row["_offset"]): tuple(row[each] for each in FATE) for row in product.events(name)
            }
            assert found == wanted, (name, begin, end, self.drawn.where)


FATE = ("_system_timestamp", "_disposition", "_reasons")


def key_of(row: Any) -> tuple[str, int]:
    return row.partition, row.offset


def fate(row: Any) -> tuple[int | None, str, list[str]]:
    return row.system_timestamp, row.disposition, list(row.reasons)


@pytest.mark.long
@pytest.mark.parametrize("number", range(PIPELINES))
def test_pipelines_rebuilt_under_changed_policies_have_the_rows_of_another_engine(quick, tmp_path, number):
    drawn = whole("changed", number, FEW)
    changing = Changing(drawn)

    def between(product: Product, run: int) -> None:
        if drawn.dice.random() < 0.5:
            changing.change(product)
            changing.rebuild(product, run, MIN_TIME, None)

    product = judged(tmp_path, drawn.landing, between, streams=drawn.made.streams)
    wanted, found = Duck(changing.landing).tables(drawn.made), written(quick, product, drawn.made)
    assert_equal(found, wanted, drawn.where)
    assert wanted
    hold_replay(product)
    hold_ranges(quick, changing, product, 1)


@pytest.mark.long
@pytest.mark.parametrize("number", range(PIPELINES))
def test_ranges_that_policies_bound_have_the_rows_of_another_engine(quick, tmp_path, number):
    drawn = whole("bounded", number, FEW, bounded_landings())
    product = judged(tmp_path, drawn.landing, streams=drawn.made.streams)
    hold_ranges(quick, Changing(drawn, bounded=True), product, 3)


def hold_ranges(spark: SparkSession, changing: Changing, product: Product, backfills: int) -> None:
    """Windows that end in the range of a backfill under changed policies are new, the others stay."""
    drawn, all_rows = changing.drawn, len(changing.landing.logs["a"][1])
    before = written(spark, product, drawn.made)
    for _ in range(backfills):
        begin, end = drawn.a_range(product)
        changing.change(product)
        changing.rebuild(product, all_rows, begin, end)
        after, found = Duck(changing.landing).tables(drawn.made), written(spark, product, drawn.made)
        for name in by_end(drawn):
            wanted = merged(before, after, name, begin, end)
            assert found.get(name, Counter()) == wanted, (name, begin, end, drawn.where)
        before = found
    hold_replay(product)


def by_end(drawn: Whole) -> list[str]:
    """Tables of the streams whose outputs are merged by their ends."""
    steps = ("tumbling", "hopping", "session", "snapshot", "sliding", "join")
    names = [name for name, keys in drawn.made.streams.items() if any(step in keys for step in steps)]
    return [table.name for table in drawn.made.tables if table.name.removeprefix("streams/") in names]


def merged(before: Mapping[str, Rows], after: Mapping[str, Rows], table: str, begin: int, end: int | None) -> Rows:
    def ours(row: str) -> bool:
        time = json.loads(row)["_e"]
        return (time is None and end is None) or (time is not None and time > begin and (end is None or time <= end))

    stays = Counter({row: n for row, n in before.get(table, Counter()).items() if not ours(row)})
    return stays + Counter({row: n for row, n in after.get(table, Counter()).items() if ours(row)})
