"""What a run owes, to the microsecond: output that watermarks have passed as of its as_of, not published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oracle import SECOND, Source
from product import Product
from row_engine import without_streams
from strategies import at, objects
from tidemark.commands.alerts import trouble as trouble_module
from tidemark.commands.alerts.due import OwedOutput, owed
from tidemark.commands.alerts.messages import NamedRun, check_failed, failed, overdue
from tidemark.commands.alerts.trouble import trouble
from tidemark.errors import Blocked

SOURCE = Source(late=(4 * SECOND, "drop"), out_of_order=(2 * SECOND, "adjust"), landing_delay=3 * SECOND)
WINDOWS = {"windows": {"from": "s", "tumbling": "10s", "select": {"n": "count(*)"}}}
TICK = 1


@pytest.fixture(autouse=True)
def no_spark(monkeypatch) -> None:
    without_streams(monkeypatch)


def made(folder: Path, **settings: Any) -> Product:
    """A pipeline whose only run, as of second 21, has rows up to second 19."""
    product = Product(folder, {"s": SOURCE}, {"streams": WINDOWS, **settings})
    product.land("s", objects("a", 0))
    product.run(at(21))
    return product


def owes(product: Product, as_of: int) -> list[OwedOutput]:
    return owed(product.pipeline().context, as_of)


def test_a_window_is_due_once_time_alone_moves_the_watermark_past_its_end(tmp_path):
    """An idle partition's watermark is at as_of - landing_delay - late, less the 2 s from its last row to the as_of
    of its run: the window until 20 closes as of 29."""
    product = made(tmp_path)
    assert owes(product, at(29) - TICK) == []
    assert owes(product, at(29)) == [OwedOutput("windows", at(17), at(20))]


def test_rows_that_landed_and_were_not_read_make_nothing_due(tmp_path):
    product = made(tmp_path)
    product.land("s", objects("b", 21))
    assert owes(product, at(29) - TICK) == []


def test_a_committed_run_of_a_later_as_of_owes_nothing(tmp_path):
    product = made(tmp_path)
    product.run(at(40))
    assert owes(product, at(40)) == []
    assert owes(product, at(29)) == []


def test_a_blocked_run_owes_what_it_has_judged_and_no_earlier_run_owes_that(tmp_path):
    product = made(tmp_path, quality={"max_dropped": "10%", "on_failure": "block"})
    product.land("s", objects("b", 30, late=5))
    with pytest.raises(Blocked):
        product.run(at(51), run_id="bad")
    assert owes(product, at(51)) == [OwedOutput("windows", at(17), at(45))]
    assert owes(product, at(29) - TICK) == []


def test_what_only_rows_can_say_owes_nothing_and_other_streams_do(tmp_path):
    sessions = {
        "visits": {"from": "s", "session": {"gap": "2s", "max_duration": "10s"}, "select": {"n": "count(*)"}},
        "visited": {"from": "visits", "publish": True},
        "idle": {"from": "s", "tumbling": "10s", "idle_timeout": "5s", "select": {"n": "count(*)"}},
    }
    product = made(tmp_path, streams=WINDOWS | sessions)
    assert [each.stream for each in owes(product, at(60))] == ["windows"]


def test_a_pipeline_without_streams_owes_the_events_of_what_landed(tmp_path):
    product = made(tmp_path, streams={})
    assert owes(product, at(60)) == []
    product.land("s", objects("b", 30))
    assert owes(product, at(50) - TICK) == []
    assert owes(product, at(60)) == [OwedOutput(None, None, None)]


def test_a_pipeline_in_whose_landing_nothing_has_landed_owes_nothing(tmp_path):
    product = Product(tmp_path, {"s": SOURCE}, {"streams": WINDOWS})
    assert owes(product, at(10_000)) == []


def test_the_message_about_a_blocked_run_has_values_with_limits_cause_and_commands(tmp_path, monkeypatch):
    cause = {"sentence": "All 5 dropped rows are 0's, from b.json."}
    monkeypatch.setattr(trouble_module, "why", lambda *_: {"causes": [cause]})
    product = made(tmp_path, quality={"max_dropped": "10%", "on_failure": "block"})
    product.land("s", objects("b", 30, late=5))
    with pytest.raises(Blocked):
        product.run(at(51), run_id="bad")
    found = trouble(product.pipeline().context, with_causes=True)
    said = check_failed(NamedRun("tested", "bad", [("The run", "http://here/run")]), "check_quality", "", found)
    assert said.subject == "tidemark: tested: quality blocks run bad"
    text = said.text()
    assert "dropped rows of the run: 25 % of at most 10 %" in text
    assert "dropped rows of s: 25 % of at most 10 %" in text
    assert "All 5 dropped rows are 0's, from b.json." in text
    file = product.config
    for command in (
        f"tidemark why {file} --run bad",
        f"tidemark release {file} bad --reason",
        f"tidemark abandon {file} bad --reason",
        f"tidemark advise {file}",
    ):
        assert text.count(command) == 1
    assert "The run: http://here/run" in text
    denied = failed(NamedRun("tested", "bad"), "release", "the bucket denies access", found)
    assert denied.subject == "tidemark: tested: run bad failed at release"
    assert "What failed:\n  the bucket denies access" in denied.text()
    assert "dropped rows of s: 25 % of at most 10 %" in denied.text()
    late = overdue(NamedRun("tested", "bad"), "1h after it was queued", owes(product, at(51)), found).text()
    assert "has not published what is due 1h after it was queued" in late
    assert "stream windows: due up to" in late
