"""What `init` finds in a landing folder, proposes and refuses. Every proposal holds as it is written."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from landing_files import HOUR, SECOND, START, cells, iso, lines, millis, proposed, put, readings
from pyarrow import orc, parquet

import tidemark
from tidemark.commands.init import MOST_LISTED
from tidemark.core.times import DAY
from tidemark.core.times import HOUR as HOUR_MICROS
from tidemark.core.times import SECOND as SECOND_MICROS
from tidemark.errors import UsageError
from tidemark.proposal.objects import MOST_OBJECTS, MOST_ROWS

HOURS = range(6)
ROWS = 40


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    folder = tmp_path / "landing"
    folder.mkdir()
    return folder


def at(hour: int) -> Any:
    """When the file of an hour lands."""
    return START + (hour + 1) * HOUR + timedelta(minutes=2)


def texts(hour: int) -> list[dict[str, str]]:
    return [
        {key: value if isinstance(value, str) else iso(value) for key, value in row.items()} for row in readings(hour)
    ]


def land(folder: Path) -> None:
    """Rows of six hours as JSON lines."""
    for hour in HOURS:
        put(folder / f"{hour}.json", lines(texts(hour)), at(hour))


def only(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record and the settings of the one source that is proposed."""
    found, written = proposed(folder.parent)
    (name,) = found
    assert list(written) == [name]
    return found[name], written[name]


def names(record: dict[str, Any]) -> list[str]:
    return [f"{column['name']} {column['type']}" for column in record["columns"]]


# formats


def test_json_lines(landing):
    land(landing)
    record, written = only(landing)
    assert written["format"] == "json"
    assert written["schema"] == "event_time TIMESTAMP, received_at TIMESTAMP, device STRING"
    assert (written["timestamp_by"], written["arrival_time"]) == ("event_time", "received_at")
    assert written["landing_delay"] == "2h", "62 minutes, rounded up"
    assert written["late_arrival"] == {"tolerance": "5m", "action": "adjust"}
    assert written["out_of_order"] == {"tolerance": "2m", "action": "adjust"}
    assert record["sampled"]["rows"] == len(HOURS) * ROWS
    assert record["interval"] == {"median": HOUR_MICROS, "longest": HOUR_MICROS}
    assert record["times"]["confidence"] == "clear"
    assert record["measured"]["lateness"]["largest"] == 200 * SECOND_MICROS
    assert record["over"] == ["device"]
    json.dumps(record)


def test_compressed_json_lines_with_folders_of_dates(landing):
    for hour in HOURS:
        put(landing / "dt=2026-01-01" / f"hour={hour}" / "part-0.json.gz", lines(texts(hour)), at(hour))
    record, written = only(landing)
    assert written["landing"] == "./landing" or written["landing"] == str(landing)
    assert "partition" not in written
    assert record["objects"] == len(HOURS)


@pytest.mark.parametrize(("sep", "ending"), [(",", "csv"), (";", "csv"), ("\t", "tsv"), ("|", "txt")])
@pytest.mark.parametrize("header", [True, False])
def test_csv_with_any_separator_with_and_without_a_header(landing, sep, ending, header):
    for hour in HOURS:
        rows = [list(row.values()) for row in texts(hour)]
        put(
            landing / f"{hour}.{ending}",
            cells([["event_time", "received_at", "device"]] * header + rows, sep),
            at(hour),
        )
    record, written = only(landing)
    assert written["format"] == "csv"
    options = written.get("options", {})
    assert options.get("sep", ",") == sep
    assert options.get("header") == ("true" if header else None)
    wanted = ["event_time", "received_at", "device"] if header else ["c1", "c2", "c3"]
    assert names(record) == [
        f"{name} {kind}" for name, kind in zip(wanted, ["TIMESTAMP", "TIMESTAMP", "STRING"], strict=True)
    ]
    assert [written["timestamp_by"], written["arrival_time"]] == wanted[:2]
    assert record["sampled"]["rows"] == len(HOURS) * ROWS
    assert record["times"]["confidence"] == ("clear" if header else "a guess")


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columnar_files(landing, kind):
    for hour in HOURS:
        rows = readings(hour)
        zone = "UTC" if kind == "parquet" else None
        table = pa.table({
            "event_time": pa.array([row["event_time"] for row in rows], pa.timestamp("ns", zone)),
            "received_at": pa.array([row["received_at"].replace(tzinfo=None) for row in rows], pa.timestamp("us")),
            "shard": pa.array([number % 4 for number in range(ROWS)], pa.int32() if hour else pa.int16()),
            "price": pa.array([None] * ROWS, pa.decimal128(10, 2)),
            "took": pa.array([1] * ROWS, pa.duration("s") if kind == "parquet" else pa.int64()),
        })  # fmt: skip
        path = put(landing / f"{hour}.{kind}", b"", at(hour))
        (parquet if kind == "parquet" else orc).write_table(table, path)
        put(path, path.read_bytes(), at(hour))
    record, written = only(landing)
    assert names(record)[:4] == ["event_time TIMESTAMP", "received_at TIMESTAMP", "shard INT", "price DECIMAL(10, 2)"]
    assert (written["timestamp_by"], written["arrival_time"]) == ("event_time", "received_at")
    assert written["partition"] == {"column": "shard"}
    assert set(record["left_out"]) == ({"took"} if kind == "parquet" else set())


def test_a_word_for_null_is_found(landing):
    for hour in HOURS:
        rows = [[row["event_time"], "NA" if n % 5 else n, n] for n, row in enumerate(texts(hour))]
        put(landing / f"{hour}.csv", cells([["ts", "delay", "n"], *rows]), at(hour))
    record, written = only(landing)
    assert written["options"] == {"header": "true", "nullValue": "NA"}
    assert names(record) == ["ts TIMESTAMP", "delay BIGINT", "n BIGINT"]
    assert record["columns"][1]["nulls"] == len(HOURS) * 32


def test_quotes_blanks_and_comments_of_csv(landing):
    put(landing / "a.csv", '# made by hand\nid,note\n1,"say ""x"""\n2,\n3,a\n', START)
    assert only(landing)[1]["options"] == {"escape": '"', "comment": "#", "header": "true"}


def test_values_with_blanks_around_them_are_read_without(landing):
    put(landing / "a.csv", "id, n\n1, 2\n2, 3\n", START)
    record, written = only(landing)
    assert written["options"]["ignoreLeadingWhiteSpace"] == "true"
    assert names(record) == ["id BIGINT", "n BIGINT"]


def test_lines_that_are_no_rows_are_counted(landing):
    put(landing / "a.json", lines(texts(0)) + '{"event_time": \n' + "[1]\n", at(0))
    record, _ = only(landing)
    assert (record["sampled"]["rows"], record["sampled"]["unread"]) == (ROWS, 2)


# times


def test_milliseconds_since_1970(landing):
    for hour in HOURS:
        rows = [
            {"p": {"ts": millis(row["event_time"])}, "recv": millis(row["received_at"])} for row in readings(hour)
        ]
        put(landing / f"{hour}.json", lines(rows), at(hour))
    record, written = only(landing)
    assert names(record) == ["p STRUCT<ts: BIGINT>", "recv BIGINT"]
    assert written["timestamp_by"] == "timestamp_millis(p.ts)"
    assert written["arrival_time"] == "timestamp_millis(recv)"


def test_a_column_named_like_a_word_of_the_grammar_stands_in_backquotes(landing):
    put(landing / "a.json", lines({"when": millis(row["event_time"])} for row in readings(0)), at(0))
    assert only(landing)[1]["timestamp_by"] == "timestamp_millis(`when`)"


def test_days_before_months_are_told_by_those_after_the_twelfth(landing):
    rows = [[f"{13 + n % 10}/01/2026 0{n % 10}:00:00", n] for n in range(ROWS)]
    put(landing / "a.csv", cells([["time", "n"], *rows]), START + 40 * 24 * HOUR)
    assert only(landing)[1]["timestamp_by"] == "to_timestamp(time, 'd/M/yyyy H:mm[:ss][.SSSSSS]')"


def test_scheduled_times_are_no_event_times(landing):
    for hour in HOURS:
        rows = [row | {"scheduled": row["event_time"]} for row in texts(hour)]
        put(landing / f"{hour}.json", lines(rows), at(hour))
    record, written = only(landing)
    assert written["timestamp_by"] == "event_time"
    assert {each["column"] for each in record["times"]["candidates"]} == {"event_time", "received_at", "scheduled"}


def test_an_arrival_is_known_by_its_order_when_no_name_tells(landing):
    for hour in HOURS:
        rows = [{"a": row["event_time"], "b": row["received_at"]} for row in texts(hour)]
        put(landing / f"{hour}.json", lines(rows), at(hour))
    record, written = only(landing)
    assert (written["timestamp_by"], written["arrival_time"]) == ("a", "b")
    assert record["times"]["confidence"] == "a guess"


def test_without_an_arrival_late_allows_for_the_age_of_a_file_and_the_trap_is_told(landing):
    for hour in HOURS:
        put(landing / f"{hour}.json", lines({"ts": row["event_time"]} for row in texts(hour)), at(hour))
    record, written = only(landing)
    assert "arrival_time" not in written
    assert "landing_delay" not in written
    assert written["late_arrival"] == {"tolerance": "2h", "action": "adjust"}
    text = (landing.parent / "proposed.yml").read_text()
    assert "No column says when a row arrived, so all rows of an object arrive when it lands" in text
    assert record["measured"]["late_costs"][-1]["rows"] == 0


def test_without_any_time_rows_count_as_of_their_landing(landing):
    put(landing / "a.json", lines({"id": n, "name": "x"} for n in range(ROWS)), at(0))
    record, written = only(landing)
    assert not {"timestamp_by", "arrival_time", "late_arrival"} & set(written)
    assert record["measured"] is None
    assert "No column holds times" in (landing.parent / "proposed.yml").read_text()


def test_an_arrival_alone_is_the_event_time_too(landing):
    put(landing / "a.json", lines({"received_at": row["received_at"]} for row in texts(0)), at(0))
    _, written = only(landing)
    assert written["arrival_time"] == "received_at"
    assert "timestamp_by" not in written


def test_a_month_a_file_in_order_arrives_in_that_order(landing):
    """Lateness against the landing would be more than there may be."""
    rows = [{"observed": iso(START + n * HOUR)} for n in range(24 * 31)]
    put(landing / "a.json", lines(rows), START + 31 * 24 * HOUR)
    _, written = only(landing)
    assert (written["arrival_time"], written["landing_delay"]) == ("observed", "31d")


def test_a_month_a_file_in_no_order_turns_late_off(landing):
    rows = [{"observed": iso(START + (n * 7 % 744) * HOUR)} for n in range(24 * 31)]
    put(landing / "a.json", lines(rows), START + 31 * 24 * HOUR)
    _, written = only(landing)
    assert (written["timestamp_by"], written["late_arrival"]) == ("observed", "off")


def test_copied_files_landed_when_their_names_say(landing):
    for day in range(6):
        moment = START + day * 24 * HOUR
        rows = [{"ts": iso(moment + n * SECOND * 1800)} for n in range(48)]
        put(landing / f"{moment:%Y/%m/%d}.json", lines(rows), START + 300 * 24 * HOUR + day * SECOND)
    record, written = only(landing)
    assert written["landed_at"] == {
        "path": "(?:^|[^0-9])([0-9]{4}/[0-9]{2}/[0-9]{2})(?![0-9])",
        "format": "yyyy/MM/dd",
        "plus": "1d",
    }
    assert written["late_arrival"]["tolerance"] == "1d"
    assert record["measured"]["lateness"]["largest"] == DAY


def test_copied_files_without_a_date_in_their_names_are_told(landing):
    for number in range(6):
        rows = [{"ts": iso(START + (number * 24 + n) * HOUR)} for n in range(24)]
        put(landing / f"{number}.json", lines(rows), START + 300 * 24 * HOUR + number * SECOND)
    assert "landed_at" not in only(landing)[1]
    assert "as copies do" in (landing.parent / "proposed.yml").read_text()


def test_times_without_a_zone_that_lie_after_their_landing_may_be_local(landing):
    rows = [{"event_time": f"{row['event_time'] + 2 * HOUR:%Y-%m-%d %H:%M:%S}"} for row in readings(0)]
    put(landing / "a.json", lines(rows), START + HOUR)
    only(landing)
    text = " ".join((landing.parent / "proposed.yml").read_text().replace("#", " ").split())
    assert "read as UTC, but some values lie after their landing, by up to 1h 52m: if" in text


def test_rows_without_a_required_time_are_told(landing):
    rows = texts(0)
    del rows[3]["event_time"], rows[4]["received_at"]
    put(landing / "a.json", lines(rows), at(0))
    record, _ = only(landing)
    assert record["sampled"]["without_time"] == 2
    assert record["measured"]["fates"]["quarantined"] == 2


def test_numbers_that_only_could_be_times_are_none(landing):
    put(landing / "a.json", lines({"id": 1_500_000_000 + n * 7919 * 7919, "n": n} for n in range(ROWS)), at(0))
    assert "timestamp_by" not in only(landing)[1]


def test_numbers_shortly_before_the_landing_are_times_whatever_their_name(landing):
    put(landing / "a.json", lines({"x": millis(row["event_time"])} for row in readings(0)), at(0))
    assert only(landing)[1]["timestamp_by"] == "timestamp_millis(x)"


def test_what_was_created_long_before_is_not_the_event_of_a_row_in_order(landing):
    rows = [
        {"ts": row["received_at"], "created_at": iso(START - (n * 7 % 40) * 24 * HOUR)}
        for n, row in enumerate(texts(0))
    ]
    put(landing / "a.json", lines(rows), at(0))
    _, written = only(landing)
    assert written["timestamp_by"] == "ts"
    assert "arrival_time" not in written


def test_the_columns_of_a_broker_are_told_apart(landing):
    for hour in HOURS:
        rows = [
            dict.fromkeys(["EventProcessedUtcTime", "EventEnqueuedUtcTime"], row["received_at"])
            | {"EventTime": row["event_time"]}
            for row in texts(hour)
        ]
        put(landing / f"{hour}.json", lines(rows), at(hour))
    _, written = only(landing)
    assert (written["timestamp_by"], written["arrival_time"]) == ("EventTime", "EventEnqueuedUtcTime")


def test_a_month_in_a_name_is_a_landing_time_too(landing):
    for month in (1, 2, 3):
        rows = [{"pickup_datetime": f"2025-0{month}-{1 + n * 5 % 28:02} 08:00:00", "n": n} for n in range(60)]
        put(
            landing / f"trips_2025-0{month}.csv",
            cells([rows[0], *[row.values() for row in rows]]),
            START + month * SECOND,
        )
    _, written = only(landing)
    assert written["landed_at"]["format"] == "yyyy-MM"
    assert written["late_arrival"] == "off"


def test_a_day_alone_says_how_to_add_the_time_of_day(landing):
    put(landing / "a.csv", cells([["day", "n"], *[["2026-01-01", n] for n in range(ROWS)]]), at(9))
    only(landing)
    assert "to_timestamp(concat(day, ' ', it))" in (landing.parent / "proposed.yml").read_text()


# partitions


def test_a_column_of_few_values_named_like_a_partition(landing):
    for hour in HOURS:
        rows = [row | {"site": f"s{n % 3}", "kind": "ab"[n % 2]} for n, row in enumerate(texts(hour))]
        put(landing / f"{hour}.json", lines(rows), at(hour))
    record, written = only(landing)
    assert written["partition"] == {"column": "site"}
    assert record["partition"]["values"] == ["s0", "s1", "s2"]


def test_a_column_with_nulls_is_no_partition(landing):
    rows = [row | {"site": f"s{n % 3}" if n else None} for n, row in enumerate(texts(0))]
    put(landing / "a.json", lines(rows), at(0))
    assert "partition" not in only(landing)[1]


def test_folders_such_as_p_0_are_partitions(landing):
    for hour in HOURS:
        put(landing / "dt=2026-01-01" / f"p={hour % 2}" / f"{hour}.json", lines(texts(hour)), at(hour))
    record, written = only(landing)
    assert written["partition"] == {"path": "(?:^|/)p=([^/]+)/"}
    assert record["partition"]["values"] == ["0", "1"]


def test_folders_with_the_same_columns_are_partitions_of_one_source(landing):
    for hour in HOURS:
        put(landing / ["eu", "us"][hour % 2] / f"{hour}.json", lines(texts(hour)), at(hour))
    record, written = only(landing)
    assert written["partition"] == {"path": "^([^/]+)/"}
    assert record["partition"]["values"] == ["eu", "us"]


def test_hundreds_of_folders_are_one_source(landing):
    for number in range(80):
        put(landing / f"dev-{number}" / "a.json", lines(texts(0)[:2]), at(0))
    record, written = only(landing)
    assert record["objects"] == 80
    assert "partition" not in written


# names


def test_a_column_with_a_reserved_name_is_left_out_and_it_says_how_to_keep_it(landing):
    put(landing / "a.parquet", b"")
    table = pa.table({"event_time": [iso(START)], "_offset": [1], "a b": [2]})
    parquet.write_table(table, landing / "a.parquet")
    record, _ = only(landing)
    assert record["left_out"].keys() == {"_offset", "a b"}
    assert "have it written as offset to keep it" in record["left_out"]["_offset"]


def test_a_header_with_a_name_twice_is_read_as_a_row(landing):
    rows = [[n, row["event_time"], n] for n, row in enumerate(texts(0))]
    put(landing / "a.csv", cells([["_offset", "event time", "event time"], *rows]), at(0))
    record, written = only(landing)
    assert written["schema"] == "offset BIGINT, event_time TIMESTAMP, event_time_2 BIGINT"
    assert "options" not in written
    assert "one quarantined row a file" in " ".join((landing.parent / "proposed.yml").read_text().split("\n    # "))
    assert record["sampled"]["rows"] == ROWS


# several kinds


def test_folders_of_different_kinds_are_sources(landing):
    for hour in HOURS:
        put(landing / "readings" / "2026" / f"{hour}.json", lines(texts(hour)), at(hour))
        put(landing / "raw" / "rates" / f"{hour}.csv", cells([["valid_from", "rate"], [iso(START), hour]]), at(hour))
    put(landing / "README.md", "what this is", at(0))
    found, written = proposed(landing.parent)
    assert {name: each["format"] for name, each in written.items()} == {"rates": "csv", "readings": "json"}
    assert written["rates"]["landing"].endswith("landing/raw/rates")
    assert [each["objects"] for each in found.values()] == [len(HOURS), len(HOURS)]
    assert "README.md" in (landing.parent / "proposed.yml").read_text()


def test_folders_of_the_same_name_get_names_of_their_own(landing):
    put(landing / "eu" / "a" / "x.json", lines([{"n": 1}]), at(0))
    put(landing / "us" / "a" / "x.json", lines([{"m": 1}]), at(0))
    assert set(proposed(landing.parent)[1]) == {"a", "us_a"}


def test_unrelated_files_are_named_by_kind_with_what_to_do(landing):
    put(landing / "a.json", lines([{"n": 1}]))
    put(landing / "b.json", lines([{"m": 1}]))
    put(landing / "c.csv", "x,y\n1,2\n")
    put(landing / "d.xlsx", b"PK\0\0")
    with pytest.raises(UsageError) as caught:
        proposed(landing.parent)
    for part in (
        "JSON lines with n: 1 file (a.json)",
        "JSON lines with m: 1 file (b.json)",
        "CSV: 1 file (c.csv)",
        ".xlsx",
    ):
        assert part in caught.value.message
    assert "folder of its own" in caught.value.hint
    assert not list(landing.parent.glob("*.yml"))
    assert not list(landing.parent.glob(".*.part"))


def test_one_stray_file_among_many_is_told(landing):
    for number in range(30):
        put(landing / f"{number}.json", lines(texts(0)), at(0))
    put(landing / "notes.txt", "hello")
    record, _ = only(landing)
    assert record["strays"] == ["notes.txt"]
    assert "1 of another kind" in (landing.parent / "proposed.yml").read_text()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.json", "no json\n", ".json"),
        ("a.xml", "<a/>\n", ".xml"),
        ("a.json.gz", b'{"a": 1}\n', "named .gz, but not compressed"),
        ("a.csv", b"\xff\xfe\x00a", "no UTF-8 text"),
        ("a.parquet", b"PAR1 and no more", "damaged"),
        ("a", b"\x00\x01", "no text"),
    ],
)
def test_files_that_cannot_be_read_are_named_for_what_they_are(landing, name, content, reason):
    put(landing / name, content)
    with pytest.raises(UsageError, match="holds no files that can be read") as caught:
        proposed(landing.parent)
    assert reason in caught.value.message
    assert "JSON lines, CSV, Parquet and ORC" in caught.value.hint


def test_a_folder_without_content_is_refused(landing):
    with pytest.raises(UsageError, match="no files with content"):
        proposed(landing.parent)
    put(landing / "a.json", "")
    put(landing / "_SUCCESS", "x")
    with pytest.raises(UsageError, match="no files with content"):
        proposed(landing.parent)
    put(landing / "b.csv", "id,time\n")
    with pytest.raises(UsageError, match=r"hold no rows|can be read"):
        proposed(landing.parent)


@pytest.mark.parametrize("place", ["nowhere", "landing/a.json", "ftp://x/y", "landing/{yyyy}", "s3://"])
def test_what_is_no_landing_folder_is_refused(landing, monkeypatch, place):
    put(landing / "a.json", lines(texts(0)))
    monkeypatch.chdir(landing.parent)
    with pytest.raises(UsageError):
        tidemark.init(place)


# the file


def test_by_default_the_file_is_named_for_the_folder_and_paths_are_relative(landing, monkeypatch):
    land(landing)
    monkeypatch.chdir(landing.parent)
    assert tidemark.init("landing")["path"] == "landing.yml"
    text = Path("landing.yml").read_text()
    assert "pipeline: landing\n" in text
    assert "landing: ./landing\n" in text


def test_a_file_is_never_written_over(landing, monkeypatch):
    land(landing)
    monkeypatch.chdir(landing.parent)
    Path("landing.yml").write_text("mine")
    with pytest.raises(UsageError, match="nothing is written over") as caught:
        tidemark.init("landing")
    assert "--out" in caught.value.hint
    assert Path("landing.yml").read_text() == "mine"


def test_the_file_does_not_land(landing, monkeypatch):
    land(landing)
    monkeypatch.chdir(landing)
    with pytest.raises(UsageError, match="taken for an object"):
        tidemark.init(".")
    assert tidemark.init(".", "../toll.yml")["proposal"]["pipeline"] == "toll"


def test_there_must_be_a_folder_for_the_file(landing):
    land(landing)
    with pytest.raises(UsageError, match="no folder"):
        tidemark.init(landing, landing.parent / "none" / "a.yml")


def test_every_proposed_key_has_a_remark_and_costs_are_told(landing):
    land(landing)
    only(landing)
    text = (landing.parent / "proposed.yml").read_text()
    lines = [line for line in text.split("sources:")[1].splitlines() if re.match(r"    [#a-z]", line)]
    for before, line in pairwise(lines):
        assert line.startswith("    #") or before.startswith("    #"), line
    assert "Of 240 sampled rows, late and adjusted would be: with 1s 40 %; with 2s 10 %; with 5m none." in text
    assert max(map(len, text.splitlines())) <= 120


def test_the_sample_is_bounded_and_says_so(landing):
    for number in range(40):
        row = {"event_time": iso(START + number * HOUR), "n": number}
        put(landing / f"{number:02}.json", lines([row] * 1500), at(number))
    record, _ = only(landing)
    assert len(record["sampled"]["objects"]) == MOST_OBJECTS
    assert record["sampled"]["rows"] == MOST_ROWS
    assert not record["sampled"]["whole"]
    assert "20,000 rows of 20 of 40 objects" in (landing.parent / "proposed.yml").read_text()
    assert MOST_LISTED > 40


# whatever lies there

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.datetimes().map(str)
NESTED = st.recursive(
    SCALARS,
    lambda each: st.lists(each, max_size=2) | st.dictionaries(NAMES, each, max_size=2),
    max_leaves=4,
)
JSON_ROWS = st.lists(st.dictionaries(NAMES, NESTED, max_size=4), min_size=1, max_size=5).map(lines)
CELLS = (
    st.sampled_from(["1", "2.5", "", "NA", "x", "2026-01-01 08:00", "1767225600", '"a"', '"a""b"', "'", "_offset"])
    | NAMES
)
CSV_ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=1, max_size=5).map(cells)
TRIED = count()


PLACES = st.sampled_from(["a.json", "b.csv", "x/c.json", "y/d.csv", "p=1/e"])
FILES = st.lists(st.tuples(PLACES, JSON_ROWS | CSV_ROWS | st.text(max_size=30)), min_size=1, max_size=3)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(FILES)
def test_whatever_lies_there_gives_a_file_that_holds_or_one_refusal(tmp_path, files):
    folder = tmp_path / str(next(TRIED))
    for name, content in files:
        put(folder / "landing" / name, content.encode("utf-8", "replace"))
    refused = ""
    try:
        proposed(folder)
    except UsageError as error:
        refused = error.message
    assert "no configuration" not in refused
    assert (folder / "proposed.yml").exists() == (not refused)
