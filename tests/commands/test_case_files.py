"""Files of test cases: what they may have, how rows are compared, and what is written."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.cli.text.cases import cases_text
from tidemark.commands.cases import values
from tidemark.commands.cases.compare import TableRows, unmatched
from tidemark.commands.cases.files import case_files
from tidemark.commands.cases.junit import junit
from tidemark.commands.cases.landing import as_file, placed
from tidemark.commands.cases.mask import Pseudonyms
from tidemark.commands.cases.read import read_cases
from tidemark.commands.cases.write import value_text
from tidemark.config import load_pipeline
from tidemark.config.files.documents import read_documents
from tidemark.config.pipeline_files import paths
from tidemark.errors import ConfigError, UsageError

PIPELINE = """
pipeline: toll
sources:
  readings:
    landing: ./landing/readings
    format: csv
    schema: "DeviceId STRING, at TIMESTAMP, Speed DOUBLE, P STRING"
    timestamp_by: at
    late_arrival: {tolerance: 15s, action: adjust}
    partition: {path: 'p=([0-9]+)'}
    over: DeviceId
  rates:
    landing: ./landing/rates
    format: parquet
    schema: "Toll STRING, Rate INT, Until DATE, Tags ARRAY<STRING>"
streams:
  per_minute: {from: readings, tumbling: 1m, select: {n: count(*), top: max(Speed)}}
"""
SECOND = 1_000_000
GOOD = """
case: good
given: {rates: [{at: 2026-01-01T00:00:40Z, Toll: A}]}
expect: {events/rates: []}
"""
MISTAKES = """
- case: one
  givn: {}
  given:
    reading: []
    readings: [{_at: 2026-01-01T00:00:00Z, Sped: 1}, {at: 2026-01-01T00:00:00Z}, 7]
    rates: [{at: yesterday, file: ../x, raw: line, Toll: B}, {at: 2026-01-01T00:00:00Z, file: _x.gz}]
  runs: [{as_of: 5, close: rate}, {asof: 2026-01-01T00:00:00Z}]
  expect:
    events/reading: []
    streams/per_minute: [{nn: 1}, {n: one, _window_start: 2026-01-01}]
    events/rates: {}
    diagnostics: [{sample: {fil: x}}]
- case: one
  set: [sources.rates.settle=long]
  given: {}
  expect: {}
- word
"""
NAMED = {
    "[0].givn": "did you mean given?",
    "[0].given.reading": "there is no source 'reading': did you mean readings?",
    "[0].given.readings[0].Sped": "there is no column 'Sped' in source readings: did you mean Speed?",
    "[0].given.readings[1]._at": "null is not a time",
    "[0].given.readings[2]": "7 is not a row",
    "[0].given.rates[0].at": "'yesterday' is not a time: write it like 2026-01-01T00:00:00Z",
    "[0].given.rates[0].file": "'../x' is not a name below the landing folder",
    "[0].given.rates[0].raw": "leave the other columns out",
    "[0].given.rates[1].file": "'_x.gz' is a name that no run takes",
    "[0].runs[0].as_of": "5 is not a time",
    "[0].runs[0].close": "there is no source 'rate': did you mean rates?",
    "[0].runs[1].asof": "did you mean as_of?",
    "[0].runs[1].as_of": "null is not a time",
    "[0].expect.events/reading": "did you mean events/readings or events/rates?",
    "[0].expect.streams/per_minute[0].nn": "did you mean n?",
    "[0].expect.streams/per_minute[1].n": "'one' is not a whole number",
    "[0].expect.streams/per_minute[1]._window_start": "'2026-01-01' is not a time",
    "[0].expect.events/rates": "is not a list of rows",
    "[0].expect.diagnostics[0].sample": "there is no member 'fil'",
    "[1].case": "'one' is the case of line 2 already",
    "[1].set": "sources.rates.settle: 'long' is not a duration",
    "[1].runs": "no row says when to run",
    "[1].expect": "must be rows by table",
    "[2]": "'word' is not a case",
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "toll.yml").write_text(PIPELINE)
    return tmp_path / "toll.yml"


def read(config: Path, text: str) -> list:
    file = config.with_name("toll.test.yml")
    file.write_text(text)
    return read_cases([file], load_pipeline(config, {}).spec, {})


def test_every_mistake_of_a_file_is_named_with_its_key_and_what_is_allowed(config):
    with pytest.raises(ConfigError) as caught:
        read(config, MISTAKES)
    found = {problem.key: problem.message for problem in caught.value.problems}
    assert {key: text for key, text in NAMED.items() if text not in found.get(key, "")} == {}
    assert found.keys() == NAMED.keys()
    lines = {problem.key: int(problem.file.rpartition(":")[2]) for problem in caught.value.problems}
    assert (lines["[0].given.readings[0].Sped"], lines["[1].case"], lines["[2]"]) == (6, 14, 18)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no case"),
        ("a: [", "is not YAML"),
        ("case: x\ncase: y\ngiven: {}\nruns: [2026-01-01T00:00:00Z]\nexpect: {quality: []}", "is given twice"),
    ],
)
def test_a_file_that_is_no_file_of_cases_is_refused(config, text, message):
    with pytest.raises(ConfigError, match=message):
        read(config, text)


def test_a_file_has_documents_or_a_list_and_its_texts_are_taken_as_they_are(config):
    cases = read(config, f"{GOOD}---\n- case: '${{NAME}} password=x'\n  given: {{}}\n  runs: [2026-01-01T00:00:00Z]\n"
                         "  expect: {quality: []}\n")  # fmt: skip
    assert [case.name for case in cases] == ["good", "${NAME} password=x"]
    (row,) = cases[0].given["rates"]
    assert (row.at, row.landed, row.values, cases[0].runs[0].as_of) == (row.at, row.at, {"Toll": "A"}, row.at)


def test_a_column_may_have_the_name_of_a_key(config):
    (case,) = read(config, GOOD.replace("rates: [{at: 2026-01-01T00:00:40Z, Toll: A}]",
        "readings: [{_at: 2026-01-01T00:00:40Z, at: 2026-01-01T00:00:10Z, file: p=1/x}]"))  # fmt: skip
    (row,) = case.given["readings"]
    assert (row.values, row.file) == ({"at": "2026-01-01T00:00:10Z"}, "p=1/x")


def test_cases_of_other_pipeline_files_of_the_folder_are_left_out(config):
    with pytest.raises(UsageError, match="no cases beside"):
        case_files(config)
    for name in ("rates.yml", "rates.test.yml", "rates.night.test.yml", "toll.test.yml", "late.test.yaml"):
        config.with_name(name).write_text("")
    assert [path.name for path in case_files(config)] == ["late.test.yaml", "toll.test.yml"]
    assert [path.name for path in case_files(config.with_name("rates.yml"))] == [
        "late.test.yaml",
        "rates.night.test.yml",
        "rates.test.yml",
    ]
    assert [path.name for path in paths(config.parent)] == ["rates.yml", "toll.yml"]


@pytest.mark.parametrize("tolerance", ["15s", "5s"])
def test_a_pipeline_file_that_is_kept_says_what_the_case_ran(config, tmp_path, tolerance):
    config.write_text(PIPELINE.replace("15s", tolerance))
    spec = placed(load_pipeline(config, {}).spec, tmp_path)
    config.write_text(value_text(as_file(spec)))
    again = load_pipeline(config, {}).spec
    assert again.fingerprint() == spec.fingerprint()
    assert (again.sources["rates"].format, again.sources["rates"].landing) == (
        "json",
        str(tmp_path / "landing/rates"),
    )


# values


@pytest.mark.parametrize(
    ("written", "kind", "held"),
    [
        ("2026-01-01T00:00:01+01:00", pa.timestamp("us", "UTC"), 1_767_222_001 * SECOND),
        ("2026-01-01T00:00:01", pa.timestamp("us"), 1_767_225_601 * SECOND),
        (1, pa.float64(), 1.0),
        ("NaN", pa.float64(), float("nan")),
        (0.1, pa.float32(), 0.10000000149011612),
        ("1.50", pa.decimal128(5, 2), Decimal("1.5")),
        ("AAE=", pa.binary(), b"\0\1"),
        ([1, None], pa.list_(pa.int32()), [1, None]),
        ({"b": 2, "a": 1}, pa.map_(pa.string(), pa.int64()), [("a", 1), ("b", 2)]),
        ({"x": "t"}, pa.struct({"x": pa.string(), "y": pa.string()}), {"x": "t", "y": "not compared"}),
    ],
)
def test_a_value_of_a_case_equals_that_of_its_column(written, kind, held):
    assert values.equal(values.read(written, kind), values.form(held, kind))


@pytest.mark.parametrize(
    ("written", "kind"),
    [(1, pa.string()), ("1", pa.int64()), (True, pa.int64()), (1, pa.bool_()), ("x", pa.decimal128(5, 2)),
     ("2026-01-01T00:00:00", pa.timestamp("us", "UTC")), ("x", pa.list_(pa.int64())), (1e300, pa.float32())],
)  # fmt: skip
def test_a_value_that_its_column_cannot_hold_is_refused(written, kind):
    with pytest.raises(ValueError, match=r"is not|is neither|has no offset|larger"):
        values.read(written, kind)


NUMBERS = st.lists(st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.integers(0, 1)}), max_size=6)
WANTED = st.lists(st.fixed_dictionaries({}, optional={"a": st.integers(0, 2), "b": st.integers(0, 1)}), max_size=6)


def most_pairs(expected: list[dict], rows: list[dict]) -> int:
    """The most expected rows that get a row of their own, by trying everything."""
    if not expected:
        return 0
    first, *others = expected
    fits = [number for number, row in enumerate(rows) if first.items() <= row.items()]
    ways = [1 + most_pairs(others, rows[:number] + rows[number + 1 :]) for number in fits]
    return max([most_pairs(others, rows), *ways])


@given(WANTED, NUMBERS)
def test_as_many_rows_as_can_be_are_matched_and_each_other_one_is_a_difference(expected, rows):
    schema = pa.schema({"a": pa.int64(), "b": pa.int64()})
    pairs = unmatched(expected, TableRows(schema, rows))
    matched = most_pairs(expected, rows)
    assert sum(pair.expected is not None for pair in pairs) == len(expected) - matched
    assert sum(pair.found is not None for pair in pairs) == len(rows) - matched


def test_the_nearest_rows_are_shown_beside_each_other():
    rows = [{"a": 1, "b": 5}, {"a": 2, "b": 6}]
    expected = [{"a": 2, "b": 7}, {"a": 1, "b": 5}]
    (pair,) = unmatched(expected, TableRows(pa.schema({"a": pa.int64(), "b": pa.int64()}), rows))
    assert (pair.expected, pair.found) == (expected[0], 1)


# what is written


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SIMPLE = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text() | FLOATS
NESTED = st.recursive(SIMPLE, lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(min_size=1), each))


@given(NESTED)
def test_a_value_that_is_written_is_read_back(tmp_path_factory, value):
    file = tmp_path_factory.mktemp("written") / "c.yml"
    file.write_text(f"- {value_text({'v': value})}", encoding="utf-8")
    ((found,),) = [part.content for part in read_documents(file)]
    assert found == {"v": value}


def test_equal_values_have_equal_pseudonyms_of_their_type(config):
    masked = Pseudonyms(load_pipeline(config, {}).spec, ["toll", "Rate", "Until"])
    rows = [{"Toll": "A", "Rate": 7, "Until": "2026-01-01"}, {"Toll": "B", "Rate": 7}, {"Toll": "A", "Rate": None}]
    found = [masked.row("rates", row) for row in rows]
    assert found[0]["Toll"] == found[2]["Toll"] != found[1]["Toll"]
    assert found[0]["Rate"] == found[1]["Rate"] != 7
    assert isinstance(found[0]["Rate"], int)
    assert found[2]["Rate"] is None
    assert masked.names == ["Toll", "Rate", "Until"]


@pytest.mark.parametrize(
    ("column", "message"),
    [("Tol", "did you mean Toll"), ("at", "timestamp_by reads it"), ("Tags", "cannot be masked")],
)
def test_a_column_that_cannot_be_masked_is_named(config, column, message):
    with pytest.raises(UsageError, match=message):
        Pseudonyms(load_pipeline(config, {}).spec, [column])


DIFFERENT = {"table": "events/s", "given": [{"v": "a\x1b"}], "expected": {"n": 1}, "got": None, "columns": []}


def case_record(name: str, line: int, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "file": "t.yml",
        "line": line,
        "passed": False,
        "seconds": 0.5,
        "failure": None,
        "differences": [],
        **more,
    }


RECORD: Any = {
    "cases": [
        case_record("a\0b", 1, differences=[DIFFERENT]),
        case_record("broken", 9, failure="no"),
        case_record("good", 1, passed=True, file="u.yml"),
    ],
    "passed": 1,
    "failed": 2,
    "kept": None,
    "junit": None,
}


def test_junit_has_a_suite_a_file_and_a_failure_or_error_a_case():
    root = ElementTree.fromstring(junit(RECORD, "toll").encode())  # noqa: S314 # our own
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "time")} == {
        "tests": "3", "failures": "1", "errors": "1", "time": "1.500",
    }  # fmt: skip
    assert [(suite.get("name"), len(suite)) for suite in root] == [("t.yml", 2), ("u.yml", 1)]
    failed, broken, good = root.iter("testcase")
    assert failed.get("name") == "a?b"
    assert (failed[0].tag, 'expected {"n": 1}, got no row' in (failed[0].text or "")) == ("failure", True)
    assert (broken[0].tag, broken[0].get("message"), len(good)) == ("error", "no", 0)


def test_people_see_failed_cases_with_given_expected_and_got():
    from rich.console import Console

    console = Console(width=100)
    with console.capture() as captured:
        console.print(cases_text(RECORD))
    said = captured.get()
    assert "FAILED a\\x00b (t.yml:1)" in said
    assert all(word in said for word in ("v: a\\x1b", "n: 1", "no row", "FAILED broken", "1 case passed, 2 failed"))
    assert "good" not in said
