"""Backfills with punctuated sources, held against the oracle: by other policies of a source that one follows, and by
other punctuations, which only landing has the rows for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from samples import at, feed, fork
from test_punctuation import EDGES, FIELDS, FOLLOWED, HOP, OFFSET, SIZE, by_window, product_of, streams_over

import oracle_versions
from oracle import SECOND, Obj, Run
from oracle_punctuation import Log, judge, windows
from product import DAY, Product, verdicts
from strategies_punctuation import log_of
from tidemark.errors import ConfigError

pytestmark = [pytest.mark.usefixtures("quick"), pytest.mark.long]
NAMES = ("p0", "p1")
RUNS = tuple(Run(at(time), (Obj(f"{time}", at(time)),)) for time in (10, 20, 30))
FOLLOWED_NOW = replace(
    FOLLOWED,
    early=(2 * SECOND, "adjust"),
    late=(9 * SECOND, "drop"),
    out_of_order=(4 * SECOND, "adjust"),
    partitions=NAMES,
)
SET = [
    "sources.followed.early_arrival={tolerance: 2s, action: adjust}",
    "sources.followed.late_arrival={tolerance: 9s, action: drop}",
    "sources.followed.out_of_order={tolerance: 4s, action: adjust}",
]
SOURCES = {
    "edges": replace(EDGES, import_from="followed", rows=False, count=None, partitions=NAMES),
    "followed": replace(FOLLOWED, partitions=NAMES),
}
EDGES_NOW = replace(SOURCES["edges"], count=3, delay=SECOND, violations="drop")
BEGIN = at(0) - DAY
STREAM = "edges_windows"


class Second(Product):
    """A pipeline whose version 2 is looked at."""

    def folder_of(self, table: str) -> Path:
        return self.folder / "warehouse" / "tested" / "v2" / table


def logs(runs: slice, **changed: Any) -> dict[str, Log]:
    """Some of the runs of each source; `changed` ones are judged otherwise."""
    made = {name: log_of(source, 10, RUNS, NAMES, 14) for name, source in SOURCES.items()}
    return {name: (changed.get(name, source), all_[runs]) for name, (source, all_) in made.items()}


@pytest.fixture(scope="module")
def live(request, tmp_path_factory) -> Product:
    request.getfixturevalue("quick")
    streams = {"streams": {STREAM: streams_over(["edges"])[STREAM]}}
    product = product_of(tmp_path_factory.mktemp("followed"), logs(slice(0)), streams)
    feed(product, logs(slice(2)))
    return product


def hold_rows(product: Product, outcomes: Mapping[str, Any]) -> None:
    for name, outcome in outcomes.items():
        rows = sorted(outcome.verdicts, key=lambda verdict: (verdict.partition, verdict.offset))
        wanted = [tuple(getattr(row, field, None) for field in FIELDS) for row in rows]
        assert verdicts(product.events(name), "_watermark", "_end_time") == wanted, name


def hold_windows(product: Product, outcomes: Mapping[str, Any]) -> None:
    closed = [each for run in windows(outcomes["edges"], SIZE, HOP, OFFSET) for each in run.closed.items()]
    assert len(closed) > 2
    assert by_window(product.table(f"streams/{STREAM}")) == {
        bounds: [(item.start, item.partition) for item in items] for bounds, items in closed
    }


def hold_merged(product: Product, number: int) -> None:
    """The version is what a whole run of the first runs comes to now; rows that have no time in either stand."""
    before, now = judge(logs(slice(2))), judge(logs(slice(number), followed=FOLLOWED_NOW))
    hold_rows(product, {name: oracle_versions.rows(before[name], now[name], BEGIN, None) for name in now})
    hold_windows(product, now)


def test_lifetimes_follow_the_source_that_is_judged_otherwise_and_go_on(live, tmp_path):
    product = fork(live, tmp_path / "copy")
    made = product.pipeline().backfill(BEGIN, settings_=SET)
    assert made["difference"]["rows"].keys() == {"edges", "followed"}
    hold_merged(Second(product.folder, product.sources, product.settings), 2)
    product.pipeline().promote(2)
    promoted = Second(product.folder, {**product.sources, "followed": FOLLOWED_NOW}, product.settings)
    feed(promoted, logs(slice(2, 3)))
    hold_merged(promoted, 3)
    assert promoted.pipeline().replay()["identical"]


def test_other_punctuations_are_judged_by_from_landing_alone(live, tmp_path):
    product = fork(live, tmp_path / "copy")
    changed = Second(product.folder, {**product.sources, "edges": EDGES_NOW}, product.settings)
    with pytest.raises(ConfigError, match="cannot judge by other punctuations") as refused:
        changed.pipeline().backfill(BEGIN)
    assert "--from-landing" in refused.value.hint
    assert not changed.pipeline().backfill(BEGIN, from_landing=True)["identical"]
    outcomes = judge(logs(slice(2), edges=EDGES_NOW))
    hold_rows(changed, outcomes)
    hold_windows(changed, outcomes)
