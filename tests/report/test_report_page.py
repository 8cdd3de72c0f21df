"""Every number of a page is what its tables hold; what it shows is text and nothing else."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from page_warehouse import HOSTILE, SETTINGS, T0, Page, Warehouse, found, rows, two_runs, warehouse

from oracle import Obj, Row, Run, Verdict
from strategies import Log, logs
from tidemark.core.policy import Fate, Reason
from tidemark.core.times import DAY, HOUR, MINUTE
from tidemark.report.page.build import build
from tidemark.report.page.charts.vega import Picture
from tidemark.report.page.data import lags, tables
from tidemark.report.page.data.answers import Answers
from tidemark.report.page.data.fates import MOST_STEPS, step_of
from tidemark.report.page.data.moves import drawn_together
from tidemark.report.page.data.tables import Scope
from tidemark.report.page.measures import bounded, measured
from tidemark.report.words import duration, percent

LAST = Run(T0 + 3 * HOUR, ())
"""A run without rows."""


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are not drawn, which takes longest; their captions stay."""
    monkeypatch.setattr(Picture, "svg", lambda *_: "")


@pytest.fixture
def usual(tmp_path: Path) -> Warehouse:
    letters = [
        {
            "_source": "readings",
            "_partition": "0",
            "_offset": n % 3,
            "_watermark": T0 + (n + 1) * MINUTE,
            "_window_start": T0 - MINUTE,
            "_window_end": T0,
            "_batch_id": 2,
        }
        for n in range(5)
    ]
    checks = [
        {"batch_id": n, "run_id": f"r{n}", "table": "events/readings", "expectation": "max_dropped"}
        | {"observed": n / 100, "limit": 0.015, "success": n < 2, "severity": "warn", "examples": ["0:3"]}
        for n in (1, 2)
    ]
    findings = [found(count=4), found(batch_id=2, partition="1", count=3, first_time=T0, last_time=T0 + MINUTE)]
    return warehouse(tmp_path, SETTINGS, [*two_runs(), LAST], letters=letters, quality=checks, findings=findings)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def shifts(verdicts: Sequence[Verdict]) -> list[str]:
    """The four sizes of a table, each the size of a row: the first that so many are at most."""
    sizes = sorted(
        abs(v.system_timestamp - v.event)
        for v in verdicts
        if v.disposition == "adjusted" and v.event is not None and v.system_timestamp is not None
    )
    if not sizes:
        return ["-"] * 4
    at = [max(0, -(-len(sizes) * percent // 100) - 1) for percent in (50, 95, 99, 100)]
    return [duration(sizes[place]) for place in at]


def check_against_rows(page: Page, verdicts: Sequence[Verdict]) -> None:
    """Totals, partitions, reasons and sizes, from nothing but the rows."""
    counts = Counter(verdict.disposition for verdict in verdicts)
    if verdicts:
        expected = {"rows": len(verdicts)} | {fate.replace("_", " "): counts[fate] for fate in Fate}
        told = dict(zip(page.facts[::2], page.facts[1::2], strict=True))
        assert {name.split(" (")[0]: number(value) for name, value in told.items()} == expected
    for line in page.lines("fates-by-partition"):
        mine = [v for v in verdicts if v.partition == line["partition"]]
        shown = [number(line[name]) for name in ("rows", "on time", "adjusted", "dropped", "quarantined")]
        assert shown == [len(mine), *(sum(v.disposition == fate for v in mine) for fate in Fate)]
    assert {line["partition"] for line in page.lines("fates-by-partition")} == {v.partition for v in verdicts}
    combinations = set()
    for line in page.lines("moves-table"):
        mine = [
            v
            for v in verdicts
            if v.disposition != "on_time"
            and line["reason"] in {"all", *v.reasons}
            and line["partition"] in {"all", v.partition}
        ]
        assert [number(line[fate]) for fate in ("adjusted", "dropped", "quarantined")] == [
            sum(v.disposition == fate for v in mine) for fate in ("adjusted", "dropped", "quarantined")
        ]
        assert [line[name] for name in ("median", "95 %", "99 %", "largest")] == shifts(mine)
        combinations.add((line["reason"], line["partition"]))
    moved = [v for v in verdicts if v.disposition != "on_time"]
    single = len({v.partition for v in verdicts}) == 1
    found = defaultdict(list)
    for v in moved:
        for reason in ("all", *v.reasons):
            for partition in ("all", *((v.partition,) if not single else ())):
                found[reason, partition].append(v)
    alone = {(of, len(rows)) for (reason, of), rows in found.items() if reason != "all"}
    assert combinations == {
        (reason, of) for (reason, of), rows in found.items() if reason != "all" or (of, len(rows)) not in alone
    }


def punctual(partition: str, first: int) -> tuple[Row, ...]:
    """Five rows on time, from minute `first` on."""
    return tuple(Row(partition, T0 + n * MINUTE, T0 + n * MINUTE) for n in range(first, first + 5))


def looks_of(place: Path, *runs: Run) -> list[str]:
    page = Page.of(build(warehouse(place, SETTINGS, runs).tables))
    return page.sentences[: page.sentences.index("Fates") - 2]


@pytest.mark.usefixtures("undrawn")
def test_nothing_needs_a_look_where_rows_are_on_time_and_some_partition_is_lowest(tmp_path: Path) -> None:
    both = Run(T0 + HOUR, tuple(Obj(name, T0 + HOUR, punctual(name, n)) for n, name in enumerate("01")))
    calm = "Nothing needs a look: no check of the newest run failed, and nothing is out of the ordinary."
    assert looks_of(tmp_path / "healthy", both) == [calm]
    one = Run(T0 + 3 * HOUR, (Obj("later", T0 + 3 * HOUR, punctual("1", 175)),))
    (told,) = looks_of(tmp_path / "idle", both, one)
    assert told.startswith(
        "Source readings: partition 0 is lowest, at 2026-01-01 13:54:00: it has brought no row since"
    )
    unread = Run(T0 + HOUR, (Obj("bad", T0 + HOUR, (*punctual("0", 0), Row("0", None, T0 + 5 * MINUTE))),))
    assert looks_of(tmp_path / "unread", unread) == [
        "readings: 1 row quarantined (16.7 %), in no stream: 1 invalid time, most from bad."
    ]


@pytest.mark.usefixtures("undrawn")
def test_every_number_is_what_the_rows_say(usual: Warehouse) -> None:
    page, verdicts = Page.of(build(usual.tables)), usual.outcome.verdicts
    check_against_rows(page, verdicts)
    counts = Counter(v.disposition for v in verdicts)
    assert min(counts[fate] for fate in Fate) > 0, "the rows meet every fate"
    reasons = Counter(reason for v in verdicts for reason in v.reasons)
    sizes = shifts(verdicts)
    listed = ", ".join(f"{reasons[reason]} {reason.replace('_', ' ')}" for reason in Reason if reasons[reason])
    dropped = counts["dropped"]
    numbers = page.sentences.index("Fates") - 1
    assert page.sentences[numbers - 1 : numbers + 1] == [
        "3 runs in 3 micro-batches, as of times from 2026-01-01 13:00:00 to 2026-01-01 15:00:00 (UTC), "
        f"took 6 objects with {len(verdicts)} rows. When they ran is no longer known. "
        "This page covers everything that is recorded; all times are UTC.",
        f"readings: {len(verdicts)} rows; reasons: {listed}. Adjusted rows were moved by {sizes[0]} in the middle, "
        f"by {sizes[3]} at most.",
    ]
    looks = page.sentences[: numbers - 1]
    files = Counter(v.uri for v in verdicts if v.disposition == "quarantined")
    unread = counts["quarantined"]
    assert looks[:4] == [
        "max dropped of readings is 0.02, limit 0.015, in run r2.",
        f"readings: {dropped} rows dropped ({percent(dropped, len(verdicts))}), in no stream.",
        f"readings: {unread} rows quarantined ({percent(unread, len(verdicts))}), in no stream: "
        f"{unread} invalid time, most from {max(sorted(files), key=lambda name: files[name])}.",
        "Stream rolling: 5 times a row was late for a window, and is not in it.",
    ]


@pytest.mark.usefixtures("undrawn")
def test_the_tables_of_runs_streams_checks_and_findings_are_what_is_recorded(usual: Warehouse) -> None:
    page, verdicts = Page.of(build(usual.tables)), usual.outcome.verdicts
    runs = [[sum(v.run == run for v in verdicts)] for run in (2, 1, 0)]
    for run, line in zip((2, 1, 0), page.lines("runs-table"), strict=True):
        mine = [v for v in verdicts if v.run == run]
        assert [line["run"], number(line["objects"]), number(line["rows"])] == [f"r{run + 1}", run + 1, len(mine)]
        for fate in Fate:
            assert number(line[fate.value.replace("_", " ")]) == sum(v.disposition == fate for v in mine)
    assert runs[0] == [0]
    assert page.tables["streams"][1:] == [["rolling", "42", "6", "5"]]
    assert page.tables["late-table"][1:] == [["rolling", "readings", "0", "5", "3", "3m", "5m", "5m", "5m"]]
    (finding,) = page.lines("findings")
    assert [finding[name] for name in ("type", "source", "count", "partitions", "first", "last")] == [
        "LateInputEvent", "readings", "7", "2", "1970-01-01 00:00:00", "2026-01-01 12:01:00"
    ]  # fmt: skip
    assert finding["newest example"] == "partition 1, offset 3, file a.json"
    assert [line["result"] for line in page.lines("quality-table")] == ["failed"]
    (check,) = page.lines("quality-table")
    assert [check[name] for name in ("run", "observed", "limit", "examples")] == ["r2", "0.02", "0.015", "0:3"]
    assert page.captions["quality-history"] == "2 checks in 2 runs, oldest on the left: 1 failed."
    assert page.tables["digests"][1:] == [["events/readings", "0", "d" * 16]]
    assert page.tables["engines"][1:] == [["1 to 3", "3", "f" * 16, "pyspark 4.2.0; 0 settings, checksum 44136fa3"]]
    assert page.tables["versions-table"][1:] == [["1", "live", "1970-01-01 00:00:00", "1970-01-01 00:00:00"]]


@pytest.mark.usefixtures("undrawn")
def test_a_check_of_all_rows_that_one_source_fails_alike_is_shown_once(tmp_path: Path) -> None:
    checks = [
        {"batch_id": n, "run_id": f"r{n}", "table": table, "expectation": "dropped_share"}
        | {"observed": share, "limit": 0.02, "success": share <= 0.02, "severity": "block", "examples": []}
        for n, share in ((1, 0.5), (2, 0.0625), (3, 0.0625))
        for table in ("events/readings", "batches")
    ]
    page = Page.of(build(warehouse(tmp_path / "alike", SETTINGS, [*two_runs(), LAST], quality=checks).tables))
    shown = [[line[name] for name in ("run", "table", "observed", "limit")] for line in page.lines("quality-table")]
    assert shown == [
        [run, "events/readings", value, "at most 2 %"]
        for run, value in (("r3", "6.25 %"), ("r2", "6.25 %"), ("r1", "50 %"))
    ]
    assert page.captions["quality-history"] == "3 checks in 3 runs, oldest on the left: 3 failed."
    for check in checks[::2]:
        check |= {"limit": 0.6, "success": True}
    page = Page.of(build(warehouse(tmp_path / "own", SETTINGS, [*two_runs(), LAST], quality=checks).tables))
    failed = {line["table"] for line in page.lines("quality-table") if line["result"] == "failed"}
    assert failed == {"batches"}, "the source has a limit of its own, and keeps it"
    assert page.captions["quality-history"].endswith("3 failed.")


def test_a_target_is_a_share() -> None:
    told = measured("dropped_target", 0.0158), bounded("adjusted_target", 0.05)
    assert told == ("1.58 %", "at most 5 %")


def test_a_share_below_all_and_a_multiple_below_a_thousand_are_not_rounded_to_them() -> None:
    assert (measured("dropped_share", 0.9996), measured("dropped_jump", 999.7)) == ("99.96 %", "999.7 times")


@pytest.mark.usefixtures("undrawn")
def test_a_stream_that_is_not_published_is_not_said_to_have_written_no_row(usual: Warehouse) -> None:
    progress = [{"stream": "rolling", "published": False}]
    text = build(replace(usual.tables, status={**usual.tables.status, "streams": progress}))
    assert Page.of(text).tables["streams"][1:] == [["rolling", "not published", "6", "5"]]
    assert '<td class="number">not published</td>' in text, "in line with the numbers of other streams"


@pytest.mark.usefixtures("undrawn")
def test_progress_is_that_of_the_recorded_states(usual: Warehouse) -> None:
    page, ends = Page.of(build(usual.tables)), usual.outcome.ends
    answers = Answers.of(usual.tables)
    for delay, end in zip(answers.delays, ends, strict=True):
        marks = [state.watermark for state in end.states.values() if state.watermark is not None]
        assert (delay.as_of, delay.largest) == (end.as_of, end.as_of - max(marks))
        assert delay.combined == end.as_of - (end.combined or 0)
    newest = duration(answers.delays[-1].largest or 0)
    assert f"Newest: readings {newest}." in page.captions["delay"]
    idle = {(each.partition, each.as_of) for each in answers.idle}
    assert idle == {(name, end.as_of) for end in ends for name, state in end.states.items() if state.idle}
    assert page.captions["idle"] == (
        "A mark is a run that brought the partition no row. Of 3 runs: readings/1 2; readings/0 1."
    )
    assert [line["partition"] for line in page.lines("partitions")] == ["0", "1"]


@given(log=logs())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("undrawn")
def test_the_page_of_any_log_has_the_numbers_of_its_rows(log: Log, tmp_path_factory: pytest.TempPathFactory) -> None:
    made = warehouse(tmp_path_factory.mktemp("any"), log.source, log.runs)
    text = build(made.tables)
    check_against_rows(Page.of(text), made.outcome.verdicts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "HELD", -1)
        assert build(made.tables) == text, "a source that is streamed gives the same page as one in memory"


@pytest.mark.usefixtures("undrawn")
def test_a_page_of_some_batches_counts_no_others(usual: Warehouse) -> None:
    page = Page.of(build(replace(usual.tables, scope=Scope(2, 2, "runs as of that day"))))
    check_against_rows(page, [v for v in usual.outcome.verdicts if v.run == 1])
    assert [line["run"] for line in page.lines("runs-table")] == ["r2"]
    (covered,) = (each for each in page.sentences if "This page covers" in each)
    assert covered.endswith("This page covers runs as of that day; all times are UTC.")


@pytest.mark.usefixtures("undrawn")
def test_a_scope_without_runs_is_told(usual: Warehouse) -> None:
    page = Page.of(build(replace(usual.tables, scope=Scope(4, 3, "runs as of today"))))
    assert page.sentences[0] == "No run: there are no runs as of today."
    assert page.lines("runs-table") == []
    assert "No checks have run yet." in Page.of(build(replace(usual.tables, quality=None))).sentences


@pytest.mark.usefixtures("undrawn")
def test_batches_that_are_not_committed_are_named(usual: Warehouse) -> None:
    status = {**usual.tables.status, "pending": [4, 5]}
    page = Page.of(build(replace(usual.tables, status=status)))
    told = "Batches 4, 5 of a run that is not committed: in no count of this page."
    assert told in page.sentences


@pytest.mark.usefixtures("undrawn")
def test_events_that_are_no_longer_kept_are_told(usual: Warehouse) -> None:
    rest = usual.tables.sources[0].events.filter(Scope(2, 3).of("_batch_id"))
    kept = sum(v.run == 1 for v in usual.outcome.verdicts)
    source = replace(usual.tables.sources[0], events=rest)
    page = Page.of(build(replace(usual.tables, sources=[source])))
    whole = len(usual.outcome.verdicts)
    told = f"readings: rows in the ledger: {whole}; the events table still has {kept} of them."
    assert told in page.sentences


# -- what is shown is text, and nothing is fetched


def page_of_hostile_names(tmp_path: Path) -> str:
    source = replace(SETTINGS, over=True, out_of_order=(0, "drop"))
    made = tuple(replace(row, substream=HOSTILE) for row in rows(40, HOSTILE))
    runs = [Run(T0 + HOUR, (Obj(f"{HOSTILE}.json", T0 + HOUR, made),)), Run(T0 + 2 * HOUR, ())]
    findings = [found(partition=HOSTILE, message=HOSTILE)]
    quality = [
        {"batch_id": 1, "run_id": HOSTILE, "table": HOSTILE, "expectation": HOSTILE}
        | {"observed": 1.0, "limit": 2.0, "success": False, "severity": HOSTILE, "examples": [HOSTILE]}
    ]
    tables = warehouse(tmp_path, source, runs, findings=findings, quality=quality, config=HOSTILE).tables
    stream = tables.spec.streams["rolling"].model_copy(update={"where": HOSTILE, "select": {"n": HOSTILE}})
    spec = tables.spec.model_copy(update={"name": HOSTILE, "streams": {"rolling": stream}})
    return build(replace(tables, spec=spec))


def test_names_and_texts_of_any_origin_stay_text(tmp_path: Path) -> None:
    text = page_of_hostile_names(tmp_path)
    page = Page.of(text)
    assert not page.tags["script"]
    assert not {name for _, name, _ in page.attributes if name.startswith("on")}
    assert "\x1b" not in text
    assert "\u202e" not in text
    shown = HOSTILE.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert page.lines("fates-by-partition")[0]["partition"] == shown
    assert shown in page.captions["idle"]
    assert [line["table"] for line in page.lines("quality-table")] == [shown]
    assert [line["computed as"] for line in page.lines("definition-rolling")] == [shown]
    assert f"<title>rolling; tumbling 1h; where {escape(shown)}</title>" in text


OUTSIDE = re.compile(
    r"https?:|//|src\s*=|@import|url\((?!#)|xlink|srcset|<(link|script|iframe|object|embed|img|base|form)\b", re.I
)


@pytest.mark.parametrize("hostile", [False, True], ids=["usual", "hostile"])
def test_a_page_asks_for_nothing_from_elsewhere(usual: Warehouse, tmp_path: Path, hostile: bool) -> None:
    text = page_of_hostile_names(tmp_path / "hostile") if hostile else build(usual.tables)
    assert OUTSIDE.search(text) is None, OUTSIDE.search(text)
    assert "default-src 'none'" in text


def test_pictures_have_a_text_both_sizes_and_colours_of_the_page(usual: Warehouse) -> None:
    text = build(usual.tables)
    page = Page.of(text)
    names = ["over-time-readings", "shares-readings", "moves-readings", "shifts-readings", "missed-readings"]
    names += ["watermark-readings", "delay", "idle"]
    assert list(page.captions) == [*names, "late-rolling", "quality-history"]
    described = [value for _, name, value in page.attributes if name == "aria-label" and (value or "").endswith(".")]
    drawings = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "class")].count("drawing")
    assert drawings == 2 * len(page.captions) == len(described)
    assert not re.search(r'(?:fill|stroke)="(?:#|rgb|black|white)', text), "a colour that one theme can't show"
    identities = [value for _, name, value in page.attributes if name == "id"]
    assert len(identities) == len(set(identities))
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_the_same_tables_give_the_same_page(usual: Warehouse) -> None:
    assert build(usual.tables) == build(usual.tables)


# -- samples and steps


def big(tmp_path: Path, count: int) -> Warehouse:
    return warehouse(tmp_path, SETTINGS, [Run(T0 + 30 * DAY, (Obj("a", T0 + 30 * DAY, rows(count)),))])


@pytest.mark.usefixtures("undrawn")
def test_a_large_log_is_sampled_for_its_picture_and_says_so(tmp_path: Path) -> None:
    made = big(tmp_path, 3_000)
    judged = Answers.of(made.tables).sources[0]
    drawn, timed = (
        Counter(p.fate for p in judged.lags.points),
        [v for v in made.outcome.verdicts if v.disposition != "quarantined"],
    )
    assert all(lags.MOST / 2 < drawn[fate] < 2 * lags.MOST for fate in (Fate.ON_TIME, Fate.ADJUSTED, Fate.DROPPED))
    assert judged.lags.rows == len(timed)
    far = sorted(abs(v.event - v.arrival) for v in timed if v.event is not None and v.arrival is not None)
    assert max(abs(p.lag) for p in judged.lags.points) == far[-1]
    counted = ", ".join(f"{drawn[fate]} {fate.replace('_', ' ')}" for fate in Fate if drawn[fate])
    told = Page.of(build(made.tables)).captions["lags-readings"]
    assert told.startswith(f"A sample of {len(judged.lags.points)} of {len(timed):,} rows: {counted}. ")
    assert Answers.of(made.tables).sources[0].lags == judged.lags


@pytest.mark.usefixtures("undrawn")
def test_a_large_log_shows_a_stretch_of_its_newest_rows_whole(tmp_path: Path) -> None:
    made = big(tmp_path, 3_000)
    stretch = Answers.of(made.tables).sources[0].stretch
    assert stretch is not None
    offsets = [point.offset for point in stretch.points]
    assert offsets == list(range(offsets[0], offsets[-1] + 1))
    newest = max(v.offset for v in made.outcome.verdicts if v.disposition in {"adjusted", "dropped"})
    assert offsets[0] <= newest <= offsets[-1]
    by_offset = {v.offset: v for v in made.outcome.verdicts}
    for point in stretch.points:
        told = by_offset[point.offset]
        assert (point.arrival, point.event, point.system, point.watermark) == (
            told.arrival, told.event, told.system_timestamp, told.watermark
        )  # fmt: skip


@pytest.mark.parametrize(
    "span", [0, 1, 59_999, 60_000, HOUR, DAY, 60 * DAY - 1, 60 * DAY, 366 * DAY, 9999 * 366 * DAY]
)
def test_a_step_is_the_smallest_of_which_few_cover_a_span(span: int) -> None:
    step = step_of(span)
    assert span // step < MOST_STEPS


@pytest.mark.usefixtures("undrawn")
def test_bars_begin_at_whole_steps_and_count_every_row_with_an_arrival(usual: Warehouse) -> None:
    fates = Answers.of(usual.tables).sources[0].fates
    wanted: Counter[tuple[int, str]] = Counter()
    for verdict in usual.outcome.verdicts:
        if verdict.arrival is not None:
            wanted[verdict.arrival // fates.step * fates.step, verdict.disposition] += 1
    assert dict(fates.bars) == dict(wanted)


@pytest.mark.parametrize(
    ("part", "whole", "told"),
    [(0, 9, "0 %"), (9, 9, "100 %"), (1, 3, "33.3 %"), (1, 5000, "under 0.1 %"), (4999, 5000, "over 99.9 %")],
)
def test_a_share_never_rounds_to_none_or_to_all(part: int, whole: int, told: str) -> None:
    assert percent(part, whole) == told


def test_reasons_and_partitions_are_drawn_together_if_they_are_few_and_else_apart(tmp_path: Path) -> None:
    few = Answers.of(warehouse(tmp_path / "few", SETTINGS, [*two_runs("a", "b"), LAST]).tables).sources[0]
    (together,) = drawn_together(few.moves, 12)
    assert {(move.reason, move.partition) for move in together} == {
        (reason, name) for reason in (Reason.EARLY, Reason.LATE, Reason.OUT_OF_ORDER) for name in "ab"
    }
    made = warehouse(tmp_path / "many", SETTINGS, [*two_runs(*"abcdefghijklmnop"), LAST])
    reasons, partitions = drawn_together(Answers.of(made.tables).sources[0].moves, 12)
    assert {move.reason for move in reasons} == {Reason.EARLY, Reason.LATE, Reason.OUT_OF_ORDER}
    for move in partitions:
        mine = [v.disposition for v in made.outcome.verdicts if v.partition == move.partition]
        assert (move.adjusted, move.dropped) == (mine.count("adjusted"), mine.count("dropped"))
    assert len(partitions) == 12
    page = Page.of(build(made.tables))
    assert {"moves-readings", "moves-partitions-readings", "shifts-partitions-readings"} <= page.captions.keys()
