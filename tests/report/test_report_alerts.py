"""Messages about runs: values with their limits as people write them, and forms in which nothing shown is markup."""

from __future__ import annotations

import pytest

from tidemark.core.quality import Check, Severity
from tidemark.report.alerts.measured import measured
from tidemark.report.alerts.message import LONGEST_LINE, MessagePart, RunMessage


@pytest.mark.parametrize(
    ("table", "name", "observed", "limit", "examples", "said"),
    [
        ("events/readings", "dropped_share", 0.0625, 0.02, (), "dropped rows of readings: 6.25 % of at most 2 %"),
        ("batches", "adjusted_share", 1.0, 0.5, (), "adjusted rows of the run: 100 % of at most 50 %"),
        ("batches", "dropped_share", 0.020001, 0.02, (), "dropped rows of the run: 2.0001 % of at most 2 %"),
        ("batches", "dropped_share", 0.1, None, (), "dropped rows of the run: 10 %"),
        (
            "batches",
            "dropped_jump",
            41.5,
            3.0,
            (),
            "dropped rows of the run: 41.5 times of at most 3 times the",
        ),
        ("watermarks", "output_delay", 93_784.0, 3600.0, ("gps",), "output delay of gps: 1d 2h of at most 1h"),
        ("watermarks", "watermark_delay", 3600.5, 3600.0, ("gps",), "watermark delay of gps: 1h 500ms of at most 1h"),
        ("streams/hours", "expect_n", 3.0, 0.0, (), "expect_n of streams/hours: 3, limit 0"),
        ("streams/hours", "expect_n", 12_345.0, None, (), "expect_n of streams/hours: 12,345"),
        ("streams/hours", "expect_x", None, None, (), "expect_x of streams/hours: failed"),
    ],
)
def test_a_failed_value_is_written_with_its_limit_and_unit(table, name, observed, limit, examples, said):
    check = Check(table, name, observed, limit, False, Severity.BLOCK, examples, "")
    assert measured(check).startswith(said)


ODD = "<b onclick='x'>a&b</b> {{ ti }} <!channel>\u202e\x1b[31m"


def test_what_a_message_shows_is_never_markup():
    parts = [MessagePart("Likely cause", [ODD]), MessagePart("Commands", [f"tidemark status {ODD}"], code=True)]
    message = RunMessage(ODD, ODD, parts, [("Page", "http://here/?a=1&b='\"<")])
    for form in (message.html(), message.chat()):
        assert "<b " not in form
        assert "<!channel>" not in form
        assert "&lt;b onclick=" in form
    assert 'href="http://here/?a=1&amp;b=&#x27;&quot;&lt;"' in message.html()
    assert all("\u202e" not in form and "\x1b" not in form for form in message.fields().values())


def test_no_name_in_a_message_calls_everybody_in_a_chat_and_addresses_stay_as_they_are():
    parts = [
        MessagePart("Likely cause", ["@channel.json, @ALL, me@here"]),
        MessagePart("Commands", ["abfss://c@a.net"]),
    ]
    said = RunMessage("s", "Sentence.", parts).chat()
    assert "@\u200bchannel.json, @\u200bALL, me@\u200bhere" in said
    assert "abfss://c@a.net" in said


def test_a_message_leaves_out_parts_without_lines_and_cuts_long_lines():
    parts = [MessagePart("Empty", []), MessagePart("Long", ["x" * 5_000])]
    text = RunMessage("s", "One sentence.", parts).text()
    assert text.startswith("One sentence.\n\nLong:\n  xxx")
    assert "Empty" not in text
    assert len(text) < LONGEST_LINE + 50
    assert "One sentence." in RunMessage("s", "One sentence.").html()


def test_a_line_of_a_message_stays_one_line():
    assert RunMessage("a\nb", "c\nBcc: d").fields()["subject"] == "a\\nb"
    assert RunMessage("a", "c\nd").text() == "c d"
