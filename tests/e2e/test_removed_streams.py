"""Streams that are removed and come back: one table never follows two sets of rules, and none is in the way."""

from __future__ import annotations

from typing import Any

import pytest
from samples import PLAIN, Crash, at, obj

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


@pytest.mark.parametrize(
    ("streams", "key"),
    [
        ({"some": SOME, "w": WIDER}, "streams.w.tumbling"),
        ({"some": SOME, "w": LISTED}, "streams.w.select.n"),
        ({"some": {**SOME, "where": "k = 'a'"}, "w": COUNTED}, "streams.some.where"),
    ],
)
def test_one_that_comes_back_by_other_rules_is_refused_before_anything_is_planned(removed, streams, key):
    with_streams(removed, {"all": STREAMS["all"], **streams})
    with pytest.raises(ConfigError, match="rows from before it was removed") as caught:
        removed.run(at(44))
    assert "tidemark backfill" in caught.value.hint
    assert key in [".".join(problem.key.split(".")[: key.count(".") + 1]) for problem in caught.value.problems]
    assert not removed.pipeline().ledger.last().pending


def test_a_backfill_refuses_other_columns_and_takes_other_rules(removed):
    with_streams(removed, STREAMS | {"w": LISTED})
    with pytest.raises(ConfigError, match="give the changed stream a name of its own"):
        removed.pipeline().backfill(at(0))
    built = with_streams(removed, STREAMS | {"w": WIDER}).pipeline().backfill(at(0))
    assert built["difference"]["streams"]["w"]["gone"], "windows of before, which are in the range"


def test_one_that_comes_back_as_it_was_goes_on_after_a_gap(removed):
    before = removed.table("streams/w")
    with_streams(removed, STREAMS)
    removed.land("s", [obj("3", 60)])
    notes = removed.run(at(62))["notes"]
    assert [note.partition(":")[0] for note in notes if "the stream is there again" in note] == [
        "streams.some",
        "streams.w",
    ]
    assert "a gap" in notes[-1]
    after = removed.table("streams/w")
    assert [row for row in after if row in before] == before
    assert len(after) > len(before)
    assert removed.pipeline().replay(all_batches=True)["identical"]


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
