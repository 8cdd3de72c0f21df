"""What people and programs are told of streams: summaries, status, paths and tables."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from samples import at, obj

from oracle import SECOND, Source
from product import Product, iso
from tidemark.cli.text.runs import run_text
from tidemark.errors import UsageError
from tidemark.report.text import status_view

pytestmark = pytest.mark.usefixtures("quick")
SOURCE = Source(late=(SECOND, "adjust"), partitions=("0", "1"))
STREAMS = {
    "kept": {"from": "s", "where": "k IS NOT NULL"},
    "copy": {"from": "kept", "publish": True},
    "counted": {"from": "kept", "tumbling": "1s", "select": {"n": "count(*)"}},
}


@pytest.fixture(scope="module")
def product(tmp_path_factory) -> Product:
    made = Product(tmp_path_factory.mktemp("reading"), {"s": SOURCE}, {"streams": STREAMS})
    made.land("s", [obj("a", 10), obj("b", 14)])
    made.said = made.run(at(15))  # type: ignore[attr-defined]
    return made


def shown(view) -> str:
    console = Console(width=140, record=True, file=StringIO())
    console.print(view)
    return console.export_text()


def test_a_run_says_what_it_wrote_to_each_stream(product):
    said = product.said["streams"]
    assert set(said) == {"kept", "copy", "counted"}
    assert said["kept"]["rows"] == 0
    assert said["copy"]["rows"] == len(product.table("streams/copy")) > 0
    assert said["counted"]["rows"] == len(product.table("streams/counted")) > 0
    text = shown(run_text(product.config, product.pipeline())(product.said))
    assert "counted" in text
    assert "dead letters" in text


def test_status_says_how_far_each_stream_has_come(product):
    status = product.pipeline().status()
    by_name = {entry["stream"]: entry for entry in status["streams"]}
    assert by_name["copy"]["watermark"] == product.said["streams"]["copy"]["watermark"]
    assert by_name["copy"]["published"]
    assert not by_name["kept"]["published"]
    behind = by_name["counted"]["output_delay_micros"]
    assert iso(at(15) - behind).startswith(by_name["counted"]["watermark"][:19])
    text = shown(status_view(status, 140))
    assert "counted: watermark" in text
    assert "rows written by the last run" in text
    assert "kept: " not in text


def test_tables_of_streams_have_a_path_and_are_read_to_the_last_committed_batch(product):
    pipeline = product.pipeline()
    assert Path(pipeline.path("streams/counted")["path"]) == product.folder_of("streams/counted")
    assert pipeline.table("streams/counted").count_rows() == product.said["streams"]["counted"]["rows"]
    with pytest.raises(UsageError, match="there is no table 'streams/kept'"):
        pipeline.path("streams/kept")
    assert pipeline.table("dead_letters/counted").count_rows() == 0


def test_a_run_that_brings_nothing_and_closes_nothing_starts_no_jvm(product, monkeypatch):
    pipeline = product.pipeline()
    monkeypatch.setattr(type(pipeline.context), "engine", property(lambda _: pytest.fail("a JVM was asked for")))
    said = pipeline.run(at(15))
    assert {name: stream["rows"] for name, stream in said["streams"].items()} == {"kept": 0, "copy": 0, "counted": 0}
