"""Text for people fits its terminal, shows data as data, and says what matters in words."""

from __future__ import annotations

import io
import shlex
from typing import Any

import pytest
from rich.console import Console, RenderableType
from test_report_status import dropping

from tidemark.cli.text.run_results import _streams
from tidemark.core.quality import compared, figure
from tidemark.core.times import DAY, HOUR, MINUTE, SECOND, parse_time
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.report.status import status
from tidemark.report.text import explanation_view, rows_view, safe, status_view
from tidemark.report.words import brief, duration, iso, moment, signed

T0 = parse_time("2026-01-01T12:00:00Z")


def drawn(view: RenderableType, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(view)
    return out.getvalue().splitlines()


def row(offset: int = 1, **values: Any) -> dict[str, Any]:
    given = {
        "source": "readings",
        "partition": "0",
        "offset": offset,
        "disposition": "adjusted",
        "reasons": ["late", "out_of_order"],
        "event_time": iso(T0 - 6 * MINUTE),
        "arrival_time": iso(T0 + 250_000),
        "moved_micros": 61 * SECOND,
        "batch_id": 3,
        "file": "readings/a.json",
    }
    return given | values


def listing(*rows: dict[str, Any], total: int | None = None) -> dict[str, Any]:
    return {"rows": list(rows), "total": len(rows) if total is None else total, "truncated": total is not None}


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal_and_each_row_is_one_line(width: int) -> None:
    long = row(123_456_789, partition="a-partition-with-a-name", file="readings/" + "x" * 200, source="other")
    lines = drawn(rows_view(listing(row(), long, total=5_000), width), width)
    assert max(len(line) for line in lines) <= width
    assert len(lines) == 2 + 2 + 2


def test_a_row_is_one_line_with_times_trimmed_and_distances_in_words() -> None:
    line = drawn(rows_view(listing(row()), 80), 80)[2]
    assert line.startswith("0 ")
    for text in ("2026-01-01 12:00:00 ", "6m before", "adjusted", "late, out of order", "+1m 1s"):
        assert text in line


def test_the_list_says_how_many_match_and_how_to_read_on() -> None:
    lines = drawn(rows_view(listing(row(), total=5_000), 80, "toll.yml"), 80)
    assert lines[-2].startswith("5,000 rows match, the newest 1 are shown.")
    assert lines[-1].strip() == "tidemark explain toll.yml readings 0 1"
    assert drawn(rows_view(listing(), 80), 80) == ["No row matches."]
    lines = drawn(rows_view(listing(row(partition="-1")), 80, "toll.yml"), 80)
    assert lines[-1].strip() == "tidemark explain -- toll.yml readings -1 1", "no option"


def test_a_command_that_continues_on_a_second_line_is_still_the_same_for_a_shell() -> None:
    config = "/srv/data platform/pipelines of the toll team/toll booths.yml"
    lines = drawn(rows_view(listing(row(partition="lane 1")), 80, config), 80)
    begin = next(n for n, line in enumerate(lines) if line.startswith("  tidemark"))
    assert max(map(len, lines)) <= 80
    words = ["tidemark", "explain", config, "readings", "lane 1", "1"]
    assert shlex.split("\n".join(lines[begin:]).replace("\\\n", "")) == words, "no blank is behind a backslash"


def test_a_row_without_times_is_shown() -> None:
    bare = row(event_time=None, arrival_time=None, moved_micros=None, disposition="quarantined", file=None)
    assert "quarantined" in drawn(rows_view(listing(bare), 120), 120)[2]


def test_markup_and_terminal_codes_in_data_are_shown_as_they_are() -> None:
    assert safe("\x1b[31m\n[red]é") == "\\x1b[31m\\n[red]é"
    line = drawn(rows_view(listing(row(partition="[red]\x1b[2J")), 80), 80)[2]
    assert line.startswith("[red]\\x1b[2J")


def test_a_story_is_told_one_sentence_a_paragraph() -> None:
    record = {"row": row(), "sentences": ["Row 1 came from a [bold]file.", "Result: adjusted.", "x " * 60]}
    lines = drawn(explanation_view(record), 80)
    assert lines[0].rstrip() == "Row 1 came from a [bold]file."
    assert lines[1].rstrip() == "  Result: adjusted."
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("width", [80, 120])
def test_status_fits_and_ends_with_the_command(width: int) -> None:
    states = {
        ("readings", str(n)): PartitionState(
            watermark=T0 + n,
            high=T0,
            last_arrival=T0,
            last_seen=T0,
            estimated_arrival=T0,
            idle=n == 0,
            next_offset=10**6,
        )
        for n in range(3)
    }
    found = status(states, {"readings": Combined(T0)}, T0 + HOUR, [dropping(1, T0), dropping(2, T0 + HOUR)])
    lines = drawn(status_view(found, width), width)
    assert max(len(line) for line in lines) <= width
    assert lines[-1].strip() == "tidemark rows CONFIG --fate dropped --batch 2"
    text = "\n".join(lines)
    assert "holds back" in text
    assert "readings: combined watermark 2026-01-01 12:00:00, output delay 1h." in text
    failed = "dropped share of all rows is 4 %, at most 1 % is allowed, in run r2."
    lines = drawn(status_view({**found, "failed": [failed]}, width), width)
    assert [lines.index(failed), lines[0][:5]] == [2, "As of"]


def test_status_before_the_first_run_says_so() -> None:
    assert drawn(status_view(status({}, {}, None, []), 80), 80) == ["Nothing has run yet."]


@pytest.mark.parametrize(
    ("micros", "exact", "rough"),
    [
        (0, "0s", "0s"),
        (200 * SECOND, "3m 20s", "3m 20s"),
        (-6 * MINUTE, "-6m", "-6m"),
        (DAY + 2 * HOUR + 3 * MINUTE, "1d 2h 3m", "1d 2h"),
        (DAY + 3 * MINUTE, "1d 3m", "1d"),
        (1_500_001, "1s 500ms 1us", "1s 500ms"),
    ],
)
def test_a_duration_is_written_in_its_units(micros: int, exact: str, rough: str) -> None:
    assert (duration(micros), brief(micros)) == (exact, rough)
    assert signed(micros) == (f"+{exact}" if micros > 0 else exact)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12_345_678.0, "12,345,678"),
        (0, "0"),
        (-0.5, "-0.5"),
        (100 / 3, "33.3"),
        (99.96, "99.96"),
        (999.7, "999.7"),
        (12_345.678, "12,346"),
        (100_000.4, "100,000"),
        (100 * 0.07, "7"),
        (100 * 0.29, "29"),
        (0.00012345, "0.000123"),
        (float("inf"), "inf"),
    ],
)
def test_a_number_below_a_thousand_looks_whole_only_if_it_is_and_a_whole_one_is_written_in_full(
    value: float, shown: str
) -> None:
    assert figure(value) == shown


def test_a_check_tells_two_numbers_apart() -> None:
    assert compared(12_345_678.0, 12_345_679.0) == " is 12,345,678, limit 12,345,679"
    assert compared(0.1000000004, 0.1) == " is 0.1000000004, limit 0.1"
    assert compared(2 / 7, None) == " is 0.285714"
    assert compared(0.1, 0.1) == " is 0.1, limit 0.1"


def test_a_table_of_streams_that_is_cut_says_so() -> None:
    stream = {"rows": 1, "outside": 0, "dead_letters": 0, "watermark": None, "complete": False}
    lines = drawn(_streams({f"s{number:02}": stream for number in range(25)}), 100)  # type: ignore[misc]
    assert lines[-1].split() == ["5", "more", "see", "`tidemark", "status`"]
    assert "s20" not in "".join(lines)


def test_a_time_of_the_day_named_before_is_shown_without_its_date() -> None:
    assert moment(T0 + 250_000, "2026-01-01") == "12:00:00.25"
    assert moment(T0 + DAY, "2026-01-01") == "2026-01-02 12:00:00"
    assert moment(None) == "none"


def test_a_run_that_is_not_committed_is_told_before_anything_else_with_what_leads_on():
    standing = {
        "sentence": "Run r1, as of 2026-01-01T00:00:00Z, is blocked by quality.",
        "failed": ["readings: max_dropped is 1, limit 0.01"],
        "commands": ["tidemark release toll.yml r1 --reason ..."],
    }
    lines = drawn(status_view({**status({}, {}, None, []), "standing": standing}, 80), 80)
    assert lines[0] == standing["sentence"]
    assert [line.strip() for line in lines[1:3]] == [*standing["failed"], *standing["commands"]]
    assert lines[-1] == "No run is committed yet."
