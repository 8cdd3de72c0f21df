"""What `init` takes for granted: which time may be the arrival, zones, and each guess with what it costs."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from landing_files import HOUR, SECOND, START, cells, iso, landed, lines, proposed, put, readings
from pyarrow import orc, parquet

import tidemark
from tidemark.proposal.guesses import Guess
from tidemark.proposal.objects import MOST_OBJECTS, MOST_ROWS, sample_newest

LANDED = START + 20 * HOUR
MINUTE = timedelta(minutes=1)


def tickets(*more: dict[str, Any]) -> list[dict[str, Any]]:
    """Tickets in no order, resolved 5 to 174 minutes after they were reported."""
    found = []
    for n in range(60):
        reported = START + n * 37 % 600 * MINUTE
        found.append({"reported_at": iso(reported), "resolved_at": iso(reported + (5 + n * 13 % 170) * MINUTE)})
    return [row | each for row, each in zip(found, more or [{}] * 60, strict=True)]


def text_of(folder: Path) -> str:
    return " ".join((folder / "proposed.yml").read_text().replace("#", " ").split())


def guesses(folder: Path) -> list[dict[str, Any]]:
    record = tidemark.init(folder / "landing", folder / "proposed.yml")
    return record["proposal"]["guesses"]


def of_key(found: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return [each for each in found if each["key"] == key]


# which time is never before which


def test_a_time_that_is_never_before_the_event_may_be_the_arrival(tmp_path):
    put(tmp_path / "landing" / "a.json", lines(tickets()), LANDED)
    record, written = proposed(tmp_path)
    source = written["landing"]
    assert (source["timestamp_by"], source.get("arrival_time")) == ("reported_at", None)
    said = (
        "resolved_at is never before reported_at, by 1h 23m in the middle and 2h 54m at most: it may be the arrival"
    )
    text = text_of(tmp_path)
    assert f"{said}. arrival_time: resolved_at" in text
    minute = 60_000_000
    assert record["landing"]["times"]["orders"] == [
        {"later": "resolved_at", "earlier": "reported_at", "rows": 60, "median": 83 * minute, "largest": 174 * minute}
    ]


def test_a_time_that_is_once_before_the_event_is_not(tmp_path):
    rows = tickets()
    rows[7]["resolved_at"] = iso(START - HOUR)
    put(tmp_path / "landing" / "a.json", lines(rows), LANDED)
    record, _ = proposed(tmp_path)
    assert record["landing"]["times"]["orders"] == []
    assert "may be the arrival" not in text_of(tmp_path)


def test_beside_a_chosen_arrival_others_are_remarked_on(tmp_path):
    rows = [row | {"stage_two": iso(row["received_at"] + 60 * SECOND)} for row in readings(0)]
    rows = [{key: v if isinstance(v, str) else iso(v) for key, v in row.items()} for row in rows]
    put(tmp_path / "landing" / "a.json", lines(rows), LANDED)
    _, written = proposed(tmp_path)
    assert written["landing"]["arrival_time"] == "received_at"
    assert "stage_two is never before event_time, by 1m 1s in the middle and 4m 20s at most" in text_of(tmp_path)


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("due_at", lambda at: at + HOUR),
        ("promised", lambda at: at + 30 * HOUR),
        ("day", lambda _: "2026-01-01"),
        ("loading", lambda _: LANDED - HOUR),
        ("opening", lambda _: START - HOUR),
        ("founded", lambda at: at - timedelta(days=4000)),
        ("copy", lambda at: at),
    ],
)
def test_plans_constants_days_and_times_after_the_landing_cannot_be_the_arrival(tmp_path, name, of):
    made = [of(START + n * 37 % 600 * MINUTE) for n in range(60)]
    rows = [{"reported_at": iso(START + n * 37 % 600 * MINUTE)} for n in range(60)]
    more = [{name: iso(each) if isinstance(each, datetime) else each} for each in made]
    put(tmp_path / "landing" / "a.json", lines(row | each for row, each in zip(rows, more, strict=True)), LANDED)
    assert "may be the arrival" not in text_of(proposed(tmp_path) and tmp_path)


def test_without_an_arrival_the_event_itself_may_be_it(tmp_path):
    rows = [{"booked": row["reported_at"], "event_time": row["resolved_at"]} for row in tickets()]
    put(tmp_path / "landing" / "a.json", lines(rows), LANDED)
    _, written = proposed(tmp_path)
    assert written["landing"]["timestamp_by"] == "event_time"
    assert "event_time is never before booked, by 1h 23m in the middle" in text_of(tmp_path)


def test_four_rows_show_no_order(tmp_path):
    put(tmp_path / "landing" / "a.json", lines(tickets()[:4]), LANDED)
    put(tmp_path / "five" / "a.json", lines(tickets()[:5]), LANDED)
    assert proposed(tmp_path)[0]["landing"]["times"]["orders"] == []
    found = tidemark.init(tmp_path / "five", tmp_path / "five.yml")["proposal"]["sources"]["five"]
    assert [each["rows"] for each in found["times"]["orders"]] == [5]


def test_members_such_as_date_are_known_by_the_name_above(tmp_path):
    rows = [{"updatedAt": {"$date": iso(START + n * MINUTE)}, "createdAt": {"$date": iso(START + n // 2 * MINUTE)}}
            for n in range(60)]  # fmt: skip
    put(tmp_path / "landing" / "a.json", lines(rows), LANDED)
    assert proposed(tmp_path)[1]["landing"]["timestamp_by"] == "createdAt.`$date`"


# zones

ZONED = "to_utc_timestamp({}, 'Europe/Berlin')"


def write_json(path: Path, times: list[datetime]) -> None:
    put(path / "a.json", lines({"seen": f"{at:%Y-%m-%dT%H:%M:%S}", "stamp": iso(at)} for at in times), LANDED)


def write_csv(path: Path, times: list[datetime]) -> None:
    rows = [[f"{at:%d.%m.%Y %H:%M}", iso(at)] for at in times]
    put(path / "a.csv", cells([["seen", "stamp"], *rows]), LANDED)


def write_parquet(path: Path, times: list[datetime]) -> None:
    local = [{"at": each.replace(tzinfo=None)} for each in times]
    table = pa.table({
        "seen": pa.array([each["at"] for each in local], pa.timestamp("us")),
        "stamp": pa.array(times, pa.timestamp("us", "UTC")),
        "inside": pa.array(local, pa.struct([("at", pa.timestamp("us"))])),
    })  # fmt: skip
    parquet.write_table(table, put(path / "a.parquet", b"", LANDED))
    put(path / "a.parquet", (path / "a.parquet").read_bytes(), LANDED)


def write_orc(path: Path, times: list[datetime]) -> None:
    orc.write_table(pa.table({"seen": pa.array([t.replace(tzinfo=None) for t in times], pa.timestamp("us"))}),
                    put(path / "a.orc", b"", LANDED))  # fmt: skip
    put(path / "a.orc", (path / "a.orc").read_bytes(), LANDED)


@pytest.mark.parametrize(
    ("write", "expression"),
    [
        (write_json, "seen"),
        (write_csv, "to_timestamp(seen, 'd.M.yyyy H:mm[:ss][.SSSSSS]')"),
        (write_parquet, "seen"),
        (write_parquet, "`inside`.`at`"),
        (write_orc, "seen"),
    ],
)
def test_times_without_a_zone_are_named_with_how_to_say_it(tmp_path, write, expression):
    write(tmp_path / "landing", [START + n * 17 % 600 * MINUTE for n in range(60)])
    record, _ = proposed(tmp_path)
    text = text_of(tmp_path).replace("`", "")
    assert (
        f"says no zone and is read as UTC: if it is local time, write {ZONED.format(expression).replace('`', '')}"
        in text
    )
    assert "stamp says no zone" not in text
    zones = {each["column"]: each["without_zone"] for each in record["landing"]["times"]["candidates"]}
    assert zones.pop("stamp", 0) == 0
    assert set(zones.values()) == {60}


def test_the_zone_is_one_guess_with_all_columns_that_lack_it(tmp_path):
    rows = [
        {"event_time": "2026-01-01 08:00:00", "received_at": f"2026-01-01 08:{n:02}:00", "n": n} for n in range(60)
    ]
    put(tmp_path / "landing" / "a.json", lines(rows), LANDED)
    (zone,) = [each for each in guesses(tmp_path) if "no zone" in each["message"]]
    assert zone["message"].startswith(("event_time (and received_at)", "received_at (and event_time)"))
    assert (zone["rows"], zone["effect"]) == (60, "mistimed")


# guesses


def test_the_most_expensive_guess_comes_first():
    order = [
        Guess("a", "", "quarantined", 50),
        Guess("b", "", "mistimed", 60),
        Guess("c", "", "text", 60),
        Guess("d", "", "quarantined", 1),
        Guess("e", "", "quarantined", None),
        Guess("f", "", "delayed", None),
        Guess("g", "", "quarantined", 0),
    ]
    backward = sorted(order, key=lambda each: each.key, reverse=True)
    assert sorted(backward, key=lambda each: each.cost, reverse=True) == order


def test_each_guess_has_its_setting_its_effect_and_the_rows_it_touches(tmp_path):
    rows = [
        row | {"site": f"s{n % 3}", "code": n if n % 6 else "x", "count": n, "event_time": row["event_time"]}
        for n, row in enumerate(readings(0))
    ]
    rows = [{key: v if isinstance(v, str | int) else iso(v) for key, v in row.items()} for row in rows]
    del rows[3]["event_time"]
    for number in range(30):
        put(tmp_path / "landing" / f"{number:02}.json", lines(rows) + "{\n" * (number == 29), LANDED + number * HOUR)
    put(tmp_path / "landing" / "notes.txt", "hello")
    found = guesses(tmp_path)
    known = {(each["key"], each["effect"]): each["rows"] for each in found}
    assert known["format", "quarantined"] == 1
    assert known["landing", "quarantined"] is None
    assert known["timestamp_by", "quarantined"] == 20
    assert known["schema", "text"] == 20 * 40
    assert known["schema", "quarantined"] is None
    assert {"partition", "landing_delay", "late_arrival", "out_of_order", "early_arrival"} <= {
        each["key"] for each in found
    }
    messages = " ".join(each["message"] for each in found)
    assert "20 of 30 objects were looked at" in messages
    assert "only whole numbers were seen in count, so BIGINT" in messages
    assert {each["source"] for each in found} == {"landing"}
    text = text_of(tmp_path)
    places = [text.index(f"landing.{each['key']}: {each['message']}") for each in found]
    assert places == sorted(places)
    assert places[-1] < text.index("pipeline:")


def test_a_partition_costs_the_rows_that_are_in_order_only_within_it(tmp_path):
    for site, start in (("a", START), ("b", START + 5 * HOUR)):
        rows = [{"ts": iso(start + n * SECOND), "v": n} for n in range(40)]
        put(tmp_path / "landing" / f"site={site}" / "x.json", lines(rows), START + 6 * HOUR - (site == "b") * SECOND)
    (found,) = of_key(guesses(tmp_path), "partition")
    assert (found["rows"], found["effect"]) == (40, "adjusted")


def test_tolerances_cost_the_sampled_rows_that_they_act_on(tmp_path):
    rows = [{"event_time": iso(START + (n - 3600 * (n == 700)) * SECOND), "received_at": iso(START + n * SECOND)}
            for n in range(1500)]  # fmt: skip
    put(tmp_path / "landing" / "a.json", lines(rows), START + HOUR)
    found = guesses(tmp_path)
    assert [each["rows"] for each in of_key(found, "late_arrival")] == [1]
    assert [each["effect"] for each in of_key(found, "early_arrival")] == ["dropped"]


def test_a_missing_arrival_and_a_missing_time_are_guesses(tmp_path):
    put(tmp_path / "landing" / "one" / "a.json", lines({"ts": iso(START + n * SECOND)} for n in range(60)), LANDED)
    put(tmp_path / "landing" / "two" / "b.csv", cells([["id", "word"], *[[n, "x"] for n in range(7)]]), LANDED)
    found = {(each["source"], each["key"], each["rows"]): each["message"] for each in guesses(tmp_path)}
    assert "no column says when a row arrived" in found["one", "arrival_time", 60]
    assert "no column holds times" in found["two", "timestamp_by", 7]


def test_a_word_for_null_and_nanoseconds_cost_values(tmp_path):
    rows = [[iso(START + n * SECOND), "?" if n % 5 == 2 else n] for n in range(50)]
    put(tmp_path / "landing" / "cells" / "a.csv", cells([["ts", "v"], *rows]), LANDED)
    path = put(tmp_path / "landing" / "columns" / "a.parquet", b"", LANDED)
    nanos = [1_767_225_600_000_000_000 + n * 10**9 + (n % 2) for n in range(50)]
    parquet.write_table(pa.table({"ts": pa.array(nanos, pa.timestamp("ns", "UTC"))}), path)
    put(path, path.read_bytes(), LANDED)
    lost = {each["source"]: (each["key"], each["rows"]) for each in guesses(tmp_path) if each["effect"] == "unread"}
    assert lost == {"cells": ("options", 10), "columns": ("schema", 25)}


def test_a_header_that_may_be_a_row_costs_a_row_a_file(tmp_path):
    for number in range(3):
        put(tmp_path / "landing" / f"{number}.csv", cells([[f"x{number}", "y"], *[["a", "b"]] * 5]), LANDED)
    put(tmp_path / "one" / "a.csv", cells([["w", "x"], *[["a", "b"]] * 5]), LANDED)
    assert of_key(guesses(tmp_path), "options") == []
    record = tidemark.init(tmp_path / "one", tmp_path / "one.yml")
    (found,) = of_key(record["proposal"]["guesses"], "options")
    assert (found["rows"], found["effect"]) == (1, "quarantined")


def test_how_lines_of_cells_are_split_is_a_guess(tmp_path):
    put(tmp_path / "landing" / "a.csv", "id;word\n" + "".join(f"{n};x\n" for n in range(50)) + "1;2;3\n", LANDED)
    (found,) = of_key(guesses(tmp_path), "format")
    assert found["message"].startswith("lines are values between semicolons, with a header")
    assert (found["rows"], found["effect"]) == (1, "quarantined")


def test_numbers_and_times_that_stay_text_are_guesses(tmp_path):
    rows = [[f"{START + n * SECOND:%Y-%m-%d %H:%M:%S}.12345678{1 + n % 9}", f"1.{n:03},5" if n % 2 else n, f"a, {n}"]
            for n in range(50)]  # fmt: skip
    put(tmp_path / "landing" / "a.csv", cells([["ts", "price", "note"], *rows], ";"), LANDED)
    found = {each["message"]: each["rows"] for each in guesses(tmp_path) if each["effect"] == "text"}
    assert found == {
        "ts: times with nanoseconds, which TIMESTAMP does not hold: kept as text": 50,
        "price: numbers with a decimal comma: kept as text": 50,
    }


def test_landing_times_from_names_and_copies_are_guesses(tmp_path):
    for hour in range(5):
        start = START + hour * HOUR
        rows = lines({"ts": iso(start + n * MINUTE)} for n in range(60))
        put(tmp_path / "landing" / f"{start:%Y-%m-%d-%H}.json", rows, START + 9000 * HOUR)
    (found,) = of_key(guesses(tmp_path), "landed_at")
    assert (found["rows"], found["effect"]) == (300, "mistimed")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a_%Y-%m-%d_%H%M%S.json", "yyyy-MM-dd_HHmmss"),
        ("a-%Y-%m-%d-%H%M.json", "yyyy-MM-dd-HHmm"),
        ("%Y/%m/%d/%H%M.json", "yyyy/MM/dd/HHmm"),
        ("%Y-%m-%d/%H-%M.json", "yyyy-MM-dd/HH-mm"),
        ("%Y.%m.%d %H.%M.%S.json", "yyyy.MM.dd HH.mm.ss"),
        ("%Y%m%d/a%H.json", "yyyyMMdd"),
        ("a%Y%m%d%H%M.json", "yyyyMMddHHmm"),
        ("%Y/%m/%d/%H/a_%Y%m%d%H%M.json", "yyyyMMddHHmm"),
    ],
)
def test_times_of_day_in_names_are_landing_times_of_copies(tmp_path, name, form):
    for hour in range(5):
        start = START + hour * HOUR + 15 * MINUTE
        rows = lines({"ts": iso(start - 15 * MINUTE + n * MINUTE)} for n in range(60))
        put(tmp_path / "landing" / start.strftime(name), rows, START + 9000 * HOUR)
    assert proposed(tmp_path)[1]["landing"]["landed_at"]["format"] == form


def test_a_number_after_a_day_is_no_time_of_day(tmp_path):
    for day in range(4):
        start = START + day * 24 * HOUR
        rows = lines({"ts": iso(start + n * 24 * MINUTE)} for n in range(60))
        put(tmp_path / "landing" / f"a-{start:%Y-%m-%d}-000{day}.json", rows, START + 9000 * HOUR)
    assert proposed(tmp_path)[1]["landing"]["landed_at"]["format"] == "yyyy-MM-dd"


def test_copies_without_a_time_in_their_names_are_a_guess(tmp_path):
    for number in range(4):
        rows = [{"ts": iso(START + (number * 24 + n) * HOUR)} for n in range(24)]
        put(tmp_path / "landing" / f"{number}.json", lines(rows), START + 9000 * HOUR + number * SECOND)
    (found,) = of_key(guesses(tmp_path), "landed_at")
    assert (found["rows"], found["effect"]) == (96, "adjusted")


def test_the_first_rows_of_a_file_are_not_all(tmp_path):
    put(tmp_path / "landing" / "a.json", lines([{"ts": iso(START)}] * (MOST_ROWS + 1)), LANDED)
    messages = [each["message"] for each in guesses(tmp_path)]
    assert any(each.startswith("1 of 1 objects were looked at, and of these the first rows") for each in messages)


# day and time of day


@pytest.mark.parametrize(
    ("day", "clock", "expression"),
    [
        ("%Y-%m-%d", "%H:%M:%S", "to_timestamp(concat(day, ' ', clock))"),
        ("%d.%m.%Y", "%H:%M", "to_timestamp(concat(day, ' ', clock), 'd.M.yyyy H:mm[:ss][.SSSSSS]')"),
    ],
)
def test_a_day_and_the_time_of_day_beside_it_are_one_time(tmp_path, day, clock, expression):
    rows = [[f"{at:{day}}", f"{at:{clock}}"] for at in (START + n * 13 % 500 * MINUTE for n in range(60))]
    put(tmp_path / "landing" / "a.csv", cells([["day", "clock"], *rows]), LANDED)
    record, written = proposed(tmp_path)
    assert written["landing"]["timestamp_by"] == expression
    assert record["landing"]["measured"]["fates"]["quarantined"] == 0
    (checked,) = tidemark.commands.init.check(tmp_path / "proposed.yml")["sources"].values()
    assert (checked["drifts"], checked["unseen"]) == ([], [])


# the sample


def test_half_of_the_sample_is_the_newest_objects_and_the_record_has_them_first(tmp_path):
    for number in range(50):
        put(tmp_path / "landing" / f"{number:02}.json", lines([{"ts": iso(START)}] * 3), START + number * HOUR)
    chosen = sample_newest(landed(tmp_path / "landing"))
    assert len(chosen) == MOST_OBJECTS
    assert [item.uri for item in chosen[-10:]] == [f"{number}.json" for number in range(40, 50)]
    assert [item.uri for item in chosen[:4]] == ["00.json", "01.json", "09.json", "10.json"]
    record, _ = proposed(tmp_path)
    assert record["landing"]["sampled"]["objects"] == [item.uri for item in reversed(chosen)]
