"""Streams that are removed and come back: one table never follows two sets of rules, nor has a gap unseen."""

from __future__ import annotations

from typing import Any

import pytest
from samples import PLAIN, Crash, at, fork, obj

from product import Product
from tidemark.errors import ConfigError

pytestmark = pytest.mark.usefixtures("quick")
COUNTED: dict[str, Any] = {"from": "some", "tumbling": "5s", "select": {"n": "count(*)"}}
SOME: dict[str, Any] = {"from": "s", "where": "k IS NOT NULL"}
STREAMS: dict[str, Any] = {"all": {"from": "s", "publish": True}, "some": SOME, "w": COUNTED}
LISTED = {**COUNTED, "select": {"n": "collect_list(k)"}}
WIDER = {**COUNTED, "tumbling": "10s"}


def with_streams(product: Product, streams: dict[str, Any]) -> Product:
    product.settings["streams"] = streams
    product.write()
    return product


@pytest.fixture(scope="module")
def removed(tmp_path_factory) -> Product:
    """A pipeline from which windows, and the stream that they counted, were removed by its second run."""
    product = with_streams(Product(tmp_path_factory.mktemp("removed"), {"s": PLAIN}), STREAMS)
    product.land("s", [obj("0", 10), obj("1", 30)])
    product.run(at(32))
    with_streams(product, {"all": STREAMS["all"]}).land("s", [obj("2", 40)])
    product.run(at(42))
    assert product.table("streams/w")
    return product


@pytest.mark.parametrize("again", [COUNTED, WIDER, LISTED], ids=["as it was", "by other rules", "other columns"])
def test_one_that_comes_back_is_refused_before_anything_is_planned(removed, again):
    with_streams(removed, STREAMS | {"w": again})
    with pytest.raises(ConfigError, match="its table has rows from before") as caught:
        removed.run(at(44))
    assert [problem.key for problem in caught.value.problems] == ["streams.w"]
    assert "tidemark backfill" in caught.value.hint
    assert not removed.pipeline().ledger.last().pending


@pytest.mark.parametrize(
    ("select", "said"),
    [(LISTED["select"], "n was bigint, is now array<string>"), ({"m": "count(*)"}, "m was not there, is now bigint")],
)
def test_a_backfill_refuses_other_columns(removed, select, said):
    with_streams(removed, STREAMS | {"w": COUNTED | {"select": select}})
    with pytest.raises(ConfigError, match=f"{said}: give the changed stream a name of its own"):
        removed.pipeline().backfill(at(0))


def test_a_backfill_brings_one_back_with_what_it_missed(removed, tmp_path):
    product = fork(with_streams(removed, STREAMS), tmp_path / "p")
    product.pipeline().promote(product.pipeline().backfill(at(20))["version"])
    product.version = 2
    product.land("s", [obj("3", 60)])
    product.run(at(62))
    whole = with_streams(Product(tmp_path / "whole", {"s": PLAIN}), STREAMS)
    for uris, as_of in ((("0", "1"), 32), (("2",), 42), (("3",), 62)):
        whole.land("s", [obj(uri, {"0": 10, "1": 30, "2": 40, "3": 60}[uri]) for uri in uris])
        whole.run(at(as_of))
    counted = [sorted((row["_window_end"], row["n"]) for row in each.table("streams/w")) for each in (product, whole)]
    assert counted[0] == counted[1]


def dies_at_streams(step: str) -> None:
    if step == "streams":
        raise Crash(step)


def test_a_stream_whose_first_run_was_abandoned_may_have_other_columns(tmp_path):
    product = Product(tmp_path, {"s": PLAIN})
    product.land("s", [obj("0", 10)])
    product.run(at(12))
    with_streams(product, {"w": {**LISTED, "from": "s"}}).land("s", [obj("1", 30)])
    product.hooks = {"on_checkpoint": dies_at_streams}
    with pytest.raises(Crash):
        product.run(at(32))
    product.hooks = {}
    assert isinstance(product.table("streams/w")[0]["n"], list)
    run = product.pipeline().status()["standing"]["run_id"]
    product.pipeline().abandon(run, "w was meant otherwise", published=True)
    with_streams(product, {"w": {**COUNTED, "from": "s"}}).run(at(34))
    assert {type(row["n"]) for row in product.table("streams/w")} == {int}
    assert product.pipeline().replay(all_batches=True)["identical"]
