"""What single values and columns of them are taken for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.config.types import parse_schema, parse_type
from tidemark.core.times import format_duration, from_datetime, parse_duration
from tidemark.proposal.columns.names import named
from tidemark.proposal.columns.timestamps import FORMATS, TimeFormat, iso_micros, of_format, reading_of
from tidemark.proposal.columns.types import arrow_type, cell_type, json_type, wider
from tidemark.proposal.columns.words import ARRIVAL, EVENT, identifier, weight, words_of
from tidemark.proposal.durations import LADDER, brief, rounded_up
from tidemark.spark.read.file_types import fits

TIMES = st.datetimes(datetime(1990, 1, 2), datetime(2099, 1, 1))  # noqa: DTZ001 # zones are drawn
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=8))])

# times


@given(TIMES, ZONES, st.sampled_from(["T", " "]))
def test_a_time_in_iso_8601_is_its_instant(time, zone, between):
    zoned = time.replace(tzinfo=zone)
    assert iso_micros(zoned.isoformat(between)) == from_datetime(zoned)
    assert iso_micros(time.isoformat(between)) == from_datetime(time), "without a zone it is UTC"


@pytest.mark.parametrize("text", ["", "12:30", "2026-01-01", "2026-13-01T00:00", "2026-01-01T25:00", "T12:30", "now"])
def test_text_without_a_date_and_a_time_is_none(text):
    assert iso_micros(text) is None


@pytest.mark.parametrize(
    ("form", "python"),
    [
        ("yyyy/MM/dd HH:mm[:ss][.SSSSSS]", "%Y/%m/%d %H:%M:%S.%f"),
        ("d.M.yyyy H:mm[:ss][.SSSSSS]", "%d.%m.%Y %H:%M:%S"),
        ("M/d/yyyy H:mm[:ss][.SSSSSS]", "%m/%d/%Y %H:%M:%S"),
        ("M/d/yyyy h:mm[:ss] a", "%m/%d/%Y %I:%M:%S %p"),
        ("yyyyMMddHHmmss", "%Y%m%d%H%M%S"),
        ("dd/MMM/yyyy:HH:mm:ss Z", "%d/%b/%Y:%H:%M:%S %z"),
    ],
)
@given(time=TIMES)
def test_a_time_in_a_format_is_its_instant(form, python, time):
    time = time.replace(tzinfo=UTC, microsecond=time.microsecond if "%f" in python else 0)
    assert of_format(time.strftime(python), form) == from_datetime(time)


@given(TIMES, st.sampled_from([("seconds", 1), ("millis", 10**3), ("micros", 10**6), ("nanos", 10**9)]))
def test_numbers_since_1970_are_told_by_their_size(time, unit):
    name, size = unit
    number = from_datetime(time) * size // 10**6
    reading, share = reading_of([number])
    assert (reading, share) == (TimeFormat(name), 1)
    assert 0 <= from_datetime(time) - reading.micros(number) < max(10**6 // size, 1)
    assert reading_of([str(number)])[0] == TimeFormat(f"text {name}")


@pytest.mark.parametrize(
    ("values", "way", "expression"),
    [
        ([1_767_225_600], "seconds", "timestamp_seconds(t)"),
        ([1_767_225_600.25], "seconds", "timestamp_seconds(t)"),
        ([1_767_225_600_123], "millis", "timestamp_millis(t)"),
        ([1_767_225_600_123_456], "micros", "timestamp_micros(t)"),
        ([1_767_225_600_123_456_789], "nanos", "timestamp_micros(t div 1000)"),
        (["1767225600123"], "text millis", "timestamp_millis(CAST(t AS BIGINT))"),
        (["2026-01-01T00:00:00Z"] * 9 + ["yesterday"], "timestamp", "t"),
        (["2026-01-01", "2026-01-02"], "date", "t"),
        (["1/2/2026 9:00", "1/13/2026 9:00"], FORMATS[2], f"to_timestamp(t, '{FORMATS[2]}')"),
        (["1/2/2026", "1/13/2026"], "M/d/yyyy", "to_timestamp(t, 'M/d/yyyy')"),
        (["2026-01-01 08:00:00+00"], "timestamp", "t"),
        (["1/2/2026 9:00", "13/1/2026 9:00"], FORMATS[3], f"to_timestamp(t, '{FORMATS[3]}')"),
    ],
)
def test_how_values_are_times(values, way, expression):
    reading, _ = reading_of(values)
    assert (reading.way, reading.expression("t")) == (way, expression)


@pytest.mark.parametrize(
    "values", [[1545, 17], [True], ["a", "b"], ["2026-01-01 08:00", "x", "y"], [None], [{"a": 1}], [float("nan")]]
)
def test_values_that_are_no_times(values):
    assert reading_of(values) is None


# durations


@given(st.integers(0, 10**17))
def test_a_readable_duration_is_at_least_as_long_and_can_be_written(micros):
    found = rounded_up(micros)
    assert found >= micros
    assert parse_duration(format_duration(found)) == found
    assert found in LADDER or found < 2 * micros


def test_a_measured_duration_is_told_in_two_units():
    assert [brief(each) for each in (0, 7_740_000_000, 86_400_000_000, -61_000_000, 1_500)] == [
        "0s", "2h 9m", "1d", "-1m 1s", "1ms 500us",
    ]  # fmt: skip


# types

JSON = [
    ([1, None], "BIGINT"),
    ([1, 1.5], "DOUBLE"),
    ([1 << 63], "STRING"),
    ([True, False], "BOOLEAN"),
    ([True, 1], "STRING"),
    (["a", 1], "STRING"),
    ([None, None], "STRING"),
    (["2026-01-01T00:00:00Z", "2026-01-01 00:00"], "TIMESTAMP"),
    (["2026-01-01"], "DATE"),
    (["2026-01-01", "2026-01-01T00:00:00Z"], "STRING"),
    (["2026-02-31"], "STRING"),
    (["2026-01-01T00:00:00Z", ""], "STRING"),
    ([[1], [], [2.5]], "ARRAY<DOUBLE>"),
    ([[{"a": 1}], [{"b": "x"}]], "ARRAY<STRUCT<a: BIGINT, b: STRING>>"),
    ([{"a": 1}, {"a": 2, "b": {"c": True}}], "STRUCT<a: BIGINT, b: STRUCT<c: BOOLEAN>>"),
    ([{"a.b": 1}], "STRUCT<`a.b`: BIGINT>"),
    ([{"a b": 1}], "STRING"),
    ([{"a": 1, "A": 2}], "STRING"),
    ([{}], "STRING"),
    ([{f"k{n}": n} for n in range(40)], "MAP<STRING, BIGINT>"),
    ([{"a": 1}, [1]], "STRING"),
]


@pytest.mark.parametrize(("values", "kind"), JSON)
def test_the_type_of_json_values(values, kind):
    found = json_type(values)
    assert found.type == kind
    assert (kind in ("STRING",) or kind.startswith("MAP")) == bool(found.note) or all(
        isinstance(value, str) for value in values
    ), "what is kept as text says why"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=6))
def test_any_json_values_have_a_type_that_a_schema_can_have(values):
    kind = json_type(values).type
    assert parse_type(kind).text == kind
    assert parse_schema(f"c {kind}")


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-2", None], "BIGINT"),
        (["1", "2.5", "NaN"], "DOUBLE"),
        (["007", "1"], "STRING"),
        (["1234567890123456789"], "BIGINT"),
        (["9223372036854775808"], "STRING"),
        (["0.1", "12345678901234567.25"], "STRING"),
        (["00.5"], "STRING"),
        (["true", "FALSE"], "BOOLEAN"),
        (["1", "x"], "STRING"),
        (["2026-01-01 08:00:00"], "TIMESTAMP"),
        (["3,14"], "STRING"),
        ([None], "STRING"),
    ],
)
def test_the_type_of_csv_values(texts, kind):
    assert cell_type(texts).type == kind


ARROW = [
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(),
    pa.large_string(), pa.binary(), pa.date32(), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.decimal128(10, 2),
    pa.list_(pa.int32()), pa.map_(pa.string(), pa.int64()), pa.struct([("a", pa.int32())]),
    pa.dictionary(pa.int32(), pa.string()),
]  # fmt: skip


@pytest.mark.parametrize("kind", ARROW, ids=str)
def test_the_type_of_a_columnar_file_is_read_without_loss(kind):
    found = arrow_type(kind)
    assert found is not None
    assert fits(kind, parse_type(found))


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.duration("s"), pa.list_(pa.time32("s"))], ids=str)
def test_a_type_that_no_schema_has_is_told(kind):
    assert arrow_type(kind) is None


def test_numbers_of_different_width_are_read_as_the_wider():
    assert wider("INT", "BIGINT") == "BIGINT"
    assert wider("DOUBLE", "FLOAT") == "DOUBLE"
    assert wider("INT", "STRING") is None


# names


def test_names_are_cut_into_words():
    assert words_of("EventEnqueuedUtcTime") == ["event", "enqueued", "utc", "time"]
    assert words_of("received_at") == words_of("received-At") == ["received", "at"]
    assert weight("enqueuedAt", ARRIVAL) > weight("enqueuedAt", EVENT)


@given(st.lists(st.text(max_size=8), max_size=6))
def test_columns_have_names_that_a_schema_can_hold(names):
    found = named(names)
    assert [each.written for each in found] == names
    assert all(bool(each.reason) == (each.name != each.written) for each in found)
    if found:
        ddl = ", ".join(f"`{each.name.replace('`', '``')}` STRING" for each in found)
        assert [column.name for column in parse_schema(ddl)] == [each.name for each in found]


@pytest.mark.parametrize(
    ("name", "found"), [("Toll Readings!", "toll_readings"), ("2026", "p_2026"), ("ü", "p"), ("a__b", "a_b")]
)
def test_names_of_pipelines_are_made_of_folders(name, found):
    assert identifier(name, "p") == found
