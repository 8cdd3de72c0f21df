"""Pictures show what the published figures show: the rows where their times put them, and the watermark's steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from page_warehouse import Page, warehouse

from oracle import Obj, Row, Run, Source
from published import EXAMPLES, at, length
from tidemark.core.policy import Action, Fate, Policy, Tolerance
from tidemark.core.times import DAY, HOUR, MINUTE
from tidemark.report.page.build import build
from tidemark.report.page.charts.fates import adjusted_and_dropped, over_time
from tidemark.report.page.charts.runs import letters_picture, quality_picture
from tidemark.report.page.charts.vega import COLOURS, HOVER, NARROW, WIDE, Picture, count_axis, time_axis, values
from tidemark.report.page.charts.watermark import Frame, watermark_picture
from tidemark.report.page.data.answers import Answers
from tidemark.report.page.data.dead_letters import DeadLetters
from tidemark.report.page.data.fates import FatesOverTime
from tidemark.report.page.data.moves import Move
from tidemark.report.page.data.stretch import Point, Stretch
from tidemark.report.page.data.tables import Tables

FIGURES = ("asa-12-events", "asa-12-events-without-early-policy", "asa-12-events-substreams")
_SYMBOL = re.compile(r'<path transform="translate\(([\d.-]+),([\d.-]+)\)" d="[^"]*" fill="(var\(--[a-z-]+\))"')
_WATERMARK = re.compile(r'<path d="M([^"]*)" stroke="var\(--water\)"')


def tables_of(example: dict[str, Any], place: Path) -> Tables:
    """What a run over the rows of a published example has recorded; it ends when its last row has arrived."""
    policy = example["policy"]
    early, late, order = (
        None if policy[key] == "off" else (length(policy[key]["tolerance"]), policy[key]["action"])
        for key in ("early_arrival", "late_arrival", "out_of_order")
    )
    assert order is not None
    source = Source(early, late, order, over="over" in policy, single=True)
    made = tuple(
        Row(event=at(row["event_time"]), arrival=at(row["arrival_time"]), substream=row["device"])
        for row in example["rows"]
    )
    end = max(at(row["arrival_time"]) for row in example["rows"])
    return warehouse(place, source, [Run(end, (Obj("events.json", end, made),))], pipeline="twelve").tables


def stretch_of(tables: Tables) -> Stretch:
    (judged,) = Answers.of(tables).sources
    assert judged.stretch is not None
    return judged.stretch


@pytest.fixture(params=FIGURES)
def example(request: pytest.FixtureRequest) -> dict[str, Any]:
    return EXAMPLES[request.param]


def test_the_picture_has_every_row_with_its_fate(example: dict[str, Any], tmp_path: Path) -> None:
    stretch = stretch_of(tables_of(example, tmp_path))
    assert stretch.whole
    assert [(p.arrival, p.event, p.fate, p.system) for p in stretch.points] == [
        (
            at(row["arrival_time"]),
            at(row["event_time"]),
            Fate(expected["disposition"]),
            None if expected["system_timestamp"] is None else at(expected["system_timestamp"]),
        )
        for row, expected in zip(example["rows"], example["expected"], strict=True)
    ]


def published_lines(example: dict[str, Any]) -> dict[str | None, list[tuple[int, int]]]:
    """By device, or for all of them: the first watermark from the row that set it, each up to the arrival of the row
    after it, and the last one."""
    lines: dict[str | None, list[tuple[int, int]]] = {}
    over = "over" in example["policy"]
    rows = [(row, expected) for row, expected in zip(example["rows"], example["expected"], strict=True)]
    for device in dict.fromkeys(row["device"] if over else None for row, _ in rows):
        mine = [(row, expected) for row, expected in rows if device in {None, row["device"]}]
        marks = [
            (at(after["arrival_time"]), at(expected["watermark_after"]))
            for (_, expected), (after, _) in pairwise(mine)
        ]
        (first, set_), (last, left) = mine[0], mine[-1]
        lines[device] = [
            (at(first["arrival_time"]), at(set_["watermark_after"])),
            *marks,
            (at(last["arrival_time"]), at(left["watermark_after"])),
        ]
    return lines


def test_the_line_has_the_published_watermarks(example: dict[str, Any], tmp_path: Path) -> None:
    stretch = stretch_of(tables_of(example, tmp_path))
    assert {key[1]: stretch.line(key) for key in stretch.keys} == published_lines(example)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_rows_and_watermarks_are_drawn_where_their_times_put_them(
    example: dict[str, Any], tmp_path: Path, width: int
) -> None:
    stretch = stretch_of(tables_of(example, tmp_path))
    picture = watermark_picture("readings", stretch)
    assert picture is not None
    frame, spec, svg = Frame.of(stretch, stretch.points), picture.spec(width), picture.svg(width, "p")
    across = spec["width"] / (frame.right - frame.left)
    up = spec["height"] / (frame.high - frame.low)
    wanted = [
        (round((p.arrival - frame.left) * across), round((frame.high - p.event) * up), COLOURS[p.fate])
        for p in stretch.points
        if p.arrival is not None and p.event is not None
    ]
    drawn = [(round(float(x)), round(float(y)), colour) for x, y, colour in _SYMBOL.findall(svg)]
    assert drawn[: len(wanted)] == wanted
    lines = [_heights(path) for path in _WATERMARK.findall(svg)]
    assert lines == [
        [round((frame.high - mark) * up) for _, mark in _without_repeats(stretch.line(key))] for key in stretch.keys
    ]


def _heights(path: str) -> list[int]:
    """The levels of a stepped line, from left to right."""
    levels = [round(float(point.split(",")[1])) for point in path.split("L")]
    return [level for place, level in enumerate(levels) if not place or levels[place - 1] != level]


def _without_repeats(line: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [mark for place, mark in enumerate(line) if not place or line[place - 1][1] != mark[1]]


def test_the_bands_are_those_of_the_policy(tmp_path: Path) -> None:
    stretch = stretch_of(tables_of(EXAMPLES["asa-12-events"], tmp_path))
    picture = watermark_picture("readings", stretch)
    assert picture is not None
    layers = picture.spec(WIDE)["layer"]
    area = layers[1]["data"]["values"]
    assert {(row["to"] - row["arrival"], row["arrival"] - row["from"]) for row in area} == {(300_000, 300_000)}
    order = next(layer for layer in layers if layer["mark"].get("interpolate") and layer["mark"]["type"] == "area")
    assert {row["upper"] - row["time"] for row in order["data"]["values"]} == {120_000}
    assert picture.caption == (
        "All 12 rows that have both times: 8 on time, 3 adjusted, 1 dropped. A row on the thin diagonal arrives when "
        "it happens; the further below, the later it is. The stepped line is the watermark. A row above the band is "
        "early (5m) and is dropped; a row below the band is late (5m) and is moved to its edge; a row below the "
        "watermark (it trails the latest row by 2m) is moved up to it."
    )


def test_a_page_of_the_example_tells_its_fates(tmp_path: Path) -> None:
    page = Page.of(build(tables_of(EXAMPLES["asa-12-events"], tmp_path)))
    assert page.facts[1::2] == ["12", "8", "3", "1", "0"]
    assert "lags-readings" not in page.captions, "a log that is shown whole needs no sample"
    assert {"early limit", "late limit", "watermark"} <= set(page.drawn["watermark-readings"])


def test_a_text_in_a_picture_is_never_markup() -> None:
    data = values([{"t": "<script>&", "hover": '<script>"&/></title>'}])
    for mark, channel in (("text", {"text": {"field": "t"}}), ("point", HOVER)):
        spec = {"data": data, "mark": mark, "encoding": channel}
        svg = Picture("", "", "", lambda _, spec=spec: spec).svg(WIDE, "x")
        assert svg.count("&lt;script&gt;") == 1
        assert "<script" not in svg
        assert svg.count("</title>") == (mark == "point")


def test_marks_of_a_wide_picture_have_their_values_as_titles() -> None:
    counts = {(6 * HOUR, Fate.DROPPED): 1_200, (DAY, Fate.DROPPED): 1}
    picture = over_time("readings", FatesOverTime({}, 6 * HOUR, DAY, 0, HOUR, counts))
    assert picture is not None
    assert re.findall("<title>([^<]*)</title></path>", picture.svg(WIDE, "x")) == [
        "1970-01-01 06:00:00 to 07:00:00: 1,200 dropped",
        "1970-01-02 00:00:00 to 01:00:00: 1 dropped",
    ]
    assert "<title>" not in picture.svg(NARROW, "x")


def test_rows_in_the_picture_of_the_watermark_say_which_they_are(tmp_path: Path) -> None:
    stretch = stretch_of(tables_of(EXAMPLES["asa-12-events"], tmp_path))
    picture = watermark_picture("readings", stretch)
    assert picture is not None
    titles = re.findall("<title>([^<]*)</title>", picture.svg(WIDE, "x"))
    assert [title.partition(": arrival ")[0] for title in titles] == [f"0 {point.offset}" for point in stretch.points]
    assert [title.rpartition(", ")[2] for title in titles] == [
        point.fate.replace("_", " ") for point in stretch.points
    ]


@pytest.mark.parametrize(
    ("span", "form"),
    [(HOUR, "%H:%M"), (MINUTE, "%H:%M:%S"), (1, "%H:%M:%S.%L"), (240 * HOUR, "%d %b"), (24 * 1000 * HOUR, "%b %Y")],
)
def test_an_axis_names_times_as_finely_as_its_span_needs(span: int, form: str) -> None:
    assert time_axis(0, span, WIDE, "")["format"] == form


@pytest.mark.parametrize("most", [*range(1, 12), 49, 50, 51, 999, 1_000, 1_001, 10**7])
def test_an_axis_of_counts_has_whole_numbers_each_once(most: int) -> None:
    found = count_axis(most, 3, None)["values"]
    assert found[0] == 0
    assert most / 3 <= found[-1] <= most
    assert len(found) <= 4
    assert len({after - before for before, after in pairwise(found)}) == 1


def test_a_single_row_is_drawn_on_an_axis_from_0_to_1() -> None:
    counts = {(0, Fate.DROPPED): 1, (DAY, Fate.DROPPED): 1}
    bars = over_time("readings", FatesOverTime({}, 0, DAY, 0, HOUR, counts))
    moved = adjusted_and_dropped("readings", [Move("G1", "late", 1, 0, 0, None)])
    late = letters_picture(DeadLetters("hourly", 1, 1, (), HOUR, {0: 1}))
    for picture in (bars, moved, late):
        assert picture is not None
        texts = re.findall(r'text-anchor="[a-z]+"[^>]*>(\d+)</text>', picture.svg(WIDE, "x"))
        assert (texts.count("0"), texts.count("1")) in {(1, 1), (1, 2)}, texts  # the second 1 is beside its bar


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_an_axis_of_a_few_days_names_each_day_once(width: int) -> None:
    counts = {(day * DAY + 2 * HOUR, Fate.ON_TIME): 100 for day in range(4)}
    picture = over_time("readings", FatesOverTime({}, 2 * HOUR, 3 * DAY + 2 * HOUR, 0, HOUR, counts))
    assert picture is not None
    days = re.findall(r">(\d\d Jan)<", picture.svg(width, "x"))
    assert len(days) >= 2
    assert len(days) == len(set(days))


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_labels_of_an_axis_do_not_touch(width: int) -> None:
    counts = {(day * DAY, Fate.ON_TIME): 100 for day in range(32)}
    picture = over_time("readings", FatesOverTime({}, 0, 31 * DAY + 2 * HOUR, 0, DAY, counts))
    assert picture is not None
    shown = re.compile(r'text-anchor="(\w+)" transform="translate\(([\d.]+),[^>]*opacity="1">\d\d \w{3}<')
    before = {"start": 0, "middle": 18, "end": 36}  # a label is 36 pixels wide
    lefts = [float(at) - before[anchor] for anchor, at in shown.findall(picture.svg(width, "x"))]
    assert len(lefts) >= 3
    assert all(after - left > 40 for left, after in pairwise(lefts))


def test_the_name_of_a_limit_is_not_where_that_of_the_watermark_is() -> None:
    """A watermark that rests in the middle of a picture, on its late limit."""
    policy = Policy(Tolerance(HOUR, Action.DROP), Tolerance(6 * HOUR, Action.DROP), Tolerance(0, Action.ADJUST))
    times = [0, HOUR, 2 * HOUR, 22 * HOUR, 23 * HOUR, 24 * HOUR]
    key = ("0", None)
    points = tuple(Point(key, n, Fate.ON_TIME, at, at, at, at - 6 * HOUR) for n, at in enumerate(times))
    picture = watermark_picture("readings", Stretch(points, False, policy))
    assert picture is not None
    texts = [layer for layer in picture.spec(WIDE)["layer"] if layer["mark"]["type"] == "text"]
    *limits, mark = [layer["data"]["values"][0]["arrival"] for layer in texts]
    assert len(limits) == 2
    assert min(abs(limit - mark) for limit in limits) > 4 * HOUR / 1000


def test_the_name_of_a_limit_is_where_it_covers_no_row() -> None:
    """Half an hour late for hours, just below the late limit."""
    policy = Policy(None, Tolerance(MINUTE, Action.DROP), Tolerance(0, Action.ADJUST))
    late = [at * MINUTE for at in range(200, 1_200, 4)]
    points = tuple(Point(("0", None), n, Fate.DROPPED, at, at - 30 * MINUTE, None, 0) for n, at in enumerate(late))
    ends = tuple(Point(("0", None), n, Fate.ON_TIME, at, at, at, at) for n, at in enumerate((0, DAY), len(late)))
    picture = watermark_picture("readings", Stretch((*points, *ends), False, policy))
    assert picture is not None
    (label,) = [each for each in picture.spec(WIDE)["layer"] if each["mark"].get("text") == "late limit"]
    at = label["data"]["values"][0]["arrival"] * 1000
    assert not 200 * MINUTE - 2 * HOUR < at < 1_200 * MINUTE


def test_narrow_pictures_tell_checks_apart() -> None:
    names = (
        "dropped_share",
        "system_timestamp_is_null_where_dropped",
        "system_timestamp_is_event_time_where_on_time",
    )
    checks = [
        {"table": table, "expectation": name, "run_id": "r", "success": True, "observed": None, "limit": None}
        for table, name in [("events/readings", each) for each in names] + [("watermarks", "dropped_share")]
    ]
    picture = quality_picture(checks)
    assert picture is not None
    shown = picture.spec(NARROW)["encoding"]["y"]["sort"]
    assert shown[0] == "dropped_share"
    assert len(set(shown)) == 4
    assert shown[1].endswith("e_dropped")


def test_a_bar_of_moved_rows_says_what_it_counts() -> None:
    svg = adjusted_and_dropped("readings", [Move("G1", "late", 1_200, 3, 0, None)]).svg(WIDE, "x")
    assert re.findall("<title>([^<]*)</title>", svg) == ["late: 1,200 adjusted", "late: 3 dropped"]


def test_a_punctuated_source_has_no_bands_and_its_line_ends_where_its_last_row_met_it(tmp_path: Path) -> None:
    tables = tables_of(EXAMPLES["asa-12-events"], tmp_path)
    source = replace(tables.sources[0], punctuated=True, policy=Policy.of_punctuations())
    stretch = stretch_of(replace(tables, sources=[source]))
    picture = watermark_picture("readings", stretch)
    assert picture is not None
    assert picture.caption.endswith("It is set by punctuations: what lies below it violates a promise.")
    assert not [layer for layer in picture.spec(WIDE)["layer"] if layer["mark"]["type"] in {"area", "text"}][1:]
    assert stretch.line(stretch.keys[0])[-1][1] == stretch.points[-1].watermark
