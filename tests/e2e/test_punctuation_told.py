"""What people and programs are told of punctuated sources: explain, rows, status, runs."""

from __future__ import annotations

import pytest

from oracle import SECOND, Obj
from oracle_punctuation import Row, Source
from product import Product
from strategies import BASE

pytestmark = pytest.mark.usefixtures("quick")
EDGES = Source("adjust", "edge", count=2, delay=SECOND, rows=True, single=True)
IMPORTER = Source("drop", import_from="edges", single=True)
SLOW = Source("drop", rows=True, single=True)
LEAST = Source("drop", import_from=("edges", "slow"), single=True)


def s(seconds: float) -> int:
    return BASE + round(seconds * SECOND)


@pytest.fixture(scope="module")
def product(tmp_path_factory) -> Product:
    declared = {"edges": EDGES, "importer": IMPORTER, "slow": SLOW, "least": LEAST}
    made = Product(tmp_path_factory.mktemp("told"), declared)  # type: ignore[arg-type]
    edges = (
        Row(event=s(1), arrival=s(11), substream="a", kind="start"),
        Row(event=s(5), arrival=s(12), substream="b", kind="start"),
        Row(event=s(2), arrival=s(13), substream="c", kind="start"),
        Row(event=s(1), arrival=s(14), substream="a", kind="end", end=s(3)),
        Row(event=s(2), arrival=s(15), substream="c", kind="end", end=s(9)),
        Row(event=s(7), arrival=s(16), kind="cti"),
        Row(event=s(8), arrival=s(17), substream="d", kind="end", end=s(9)),
    )
    made.land("edges", [Obj("a", s(20), edges)])
    made.land("importer", [Obj("a", s(20), tuple(Row(event=s(3), arrival=s(n)) for n in (11, 13)))])
    made.land("slow", [Obj("a", s(20), tuple(Row(event=s(n), arrival=s(n + 12), kind="cti") for n in (2, 3)))])
    made.land("least", [Obj("a", s(20), tuple(Row(event=s(3), arrival=s(n)) for n in (13, 14.5, 16)))])
    made.said = made.run(s(20))  # type: ignore[attr-defined]
    return made


def told(product: Product, source: str, offset: int) -> str:
    return " ".join(product.pipeline().explain(source, "0", offset)["sentences"])


def test_a_row_is_told_which_row_issued_the_punctuation_that_it_violates(product):
    story = product.pipeline().explain("edges", "0", 2)
    assert (story["set_by"]["kind"], story["set_by"]["offset"]) == ("row", 1)
    assert [step["outcome"] for step in story["steps"]] == ["adjusted"]
    text = told(product, "edges", 2)
    assert "It is a start edge" in text
    assert "less delay 1s" in text
    assert "2s behind the punctuation" in text


def test_an_end_edge_is_told_what_became_of_it(product):
    assert "its end 2026-01-01 00:00:03" in told(product, "edges", 3) or "00:00:03" in told(product, "edges", 3)
    assert "dropped (violation)" in told(product, "edges", 3)
    assert "closes the oldest open start edge" in told(product, "edges", 4)
    assert "no open start edge has this start" in told(product, "edges", 6)


def test_a_punctuation_of_the_producer_is_told_as_such(product):
    assert "a punctuation of the producer" in told(product, "edges", 5)
    assert "which is that punctuation" in told(product, "edges", 6)


def test_an_imported_punctuation_is_told_with_its_source(product):
    assert "No punctuation was in force before it" in told(product, "importer", 0)
    story = product.pipeline().explain("importer", "0", 1)
    assert story["set_by"]["kind"] == "imported"
    assert "imported from source edges" in " ".join(story["sentences"])


def test_of_several_imported_sources_the_least_counts(product):
    watermarks = [row["_watermark"] for row in product.events("least")]
    assert watermarks == [None, s(2), s(3)]
    assert "imported from sources edges and slow: the least that they had reached" in told(product, "least", 2)
    partitions = {entry["source"]: entry for entry in product.pipeline().status()["partitions"]}
    assert partitions["least"]["watermark"] == "2026-01-01T00:00:03Z"


def test_rows_are_found_by_the_reasons_of_punctuated_sources(product):
    rows = product.pipeline().rows(reason="violation", source="edges")["rows"]
    assert sorted(row["offset"] for row in rows) == [2, 3]
    (unmatched,) = product.pipeline().rows(reason="unmatched")["rows"]
    assert (unmatched["offset"], unmatched["end_time"]) == (6, "2026-01-01T00:00:09Z")


def test_runs_and_status_tell_counts_open_lifetimes_and_edges_left_open(product):
    (batch,) = product.said["batches"]
    assert (batch["by_reason"]["violation"], batch["by_reason"]["unmatched"]) == (3, 1)
    assert [finding["type"] for finding in product.said["diagnostics"]] == ["EdgeLeftOpen"]
    partitions = {entry["source"]: entry for entry in product.pipeline().status()["partitions"]}
    assert partitions["edges"]["open_lifetimes"] == 2
    assert partitions["edges"]["watermark"] == partitions["importer"]["watermark"] == "2026-01-01T00:00:07Z"
