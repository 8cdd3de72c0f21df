"""Great Expectations judges the shipped suites as they are meant, and users' as they are written."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plain_checks
from tidemark.core.quality import Check, Severity
from tidemark.errors import ConfigError
from tidemark.quality import docs
from tidemark.quality.metrics import Line
from tidemark.quality.suites import SHIPPED, Suite, names_of, shipped
from tidemark.quality.validate import Validation, made

pytestmark = pytest.mark.usefixtures("expectations")
COLUMNS = {
    "events": ("taken", "fates", "recorded", "counted", "offsets_wrong", "event_time", "moved", "judged", "within"),
    "batches": ("dropped", "max_dropped", "adjusted", "max_adjusted", "dropped_jump", "max_jump"),
    "watermarks": (
        "step",
        "watermark_delay",
        "max_watermark_delay",
        "output_delay",
        "max_output_delay",
        "standing",
    ),
    "streams": ("not_due",),
    "digests": ("differs",),
}


def judging(severity: Severity = Severity.BLOCK) -> Validation:
    return Validation(lambda _: severity)


def of(name: str, *lines: Line) -> dict[tuple[str, str], Check]:
    return {(check.table, check.expectation): check for check in judging().lines(shipped(name), lines)}


def test_each_shipped_suite_is_one_for_great_expectations():
    for name in SHIPPED:
        assert len(made(shipped(name)).expectations) == len(plain_checks.names(shipped(name)))
        assert all(config["notes"] and config["severity"] for config in shipped(name).content["expectations"])


values = st.one_of(st.none(), st.integers(-2, 3).map(float))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(SHIPPED), st.data())
def test_it_comes_to_the_same_as_plain_python(name, data):
    drawn = st.fixed_dictionaries(dict.fromkeys(COLUMNS[name], values))
    tables = data.draw(st.lists(st.tuples(st.sampled_from("ab"), drawn), min_size=1, max_size=4))
    every = {
        config["kwargs"][key]
        for config in shipped(name).content["expectations"]
        for key in config["kwargs"]
        if key.startswith("column")
    }
    lines = [Line(table, dict.fromkeys(every) | numbers) for table, numbers in tables]
    found = list(judging().lines(shipped(name), lines))
    assert found == list(plain_checks.judged(judging(), shipped(name), lines))


def test_a_failed_check_says_what_was_observed_where_and_why():
    line = Line("events/readings", {"taken": 3.0, "fates": 2.0, "within": 2.0}, "partition 0", {"within": ("r 0 1",)})
    columns = dict.fromkeys(COLUMNS["events"] + ("not_behind",))
    found = of("events", Line(line.table, columns | dict(line.values), line.where, line.examples))
    check = found["events/readings", "within_tolerances_of_arrival"]
    assert (check.observed, check.limit, check.success, check.examples) == (2.0, 0.0, False, ("r 0 1",))
    assert check.message.endswith("(in partition 0)")
    lost = found["events/readings", "rows_in_equal_fates_out"]
    assert (lost.observed, lost.limit, lost.success) == (2.0, 3.0, False)
    assert ("events/readings", "rows_recorded_are_rows_judged") not in found


def test_a_warning_never_blocks_and_a_record_never_warns():
    columns = dict.fromkeys(COLUMNS["watermarks"])
    standing = Line("watermarks", columns | {"standing": 1.0, "step": -1.0})
    assert of("watermarks", standing)["watermarks", "partitions_progress"].severity is Severity.WARN
    assert of("watermarks", standing)["watermarks", "watermarks_never_go_back"].blocks
    recorded = judging(Severity.RECORD).lines(shipped("watermarks"), [standing])
    assert {check.severity for check in recorded} == {Severity.RECORD}


def delays(*given: tuple[str, float, float | None]) -> list[Line]:
    """A line a source: its watermark delay and its limit."""
    columns = dict.fromkeys(COLUMNS["watermarks"])
    return [
        Line("watermarks", columns | {"watermark_delay": delay, "max_watermark_delay": limit}, f"source {name}")
        for name, delay, limit in given
    ]


@pytest.mark.parametrize(
    ("given", "observed", "limit", "success", "source"),
    [
        ([("fast", 18000.0, 86400.0), ("slow", 3000.0, 3600.0)], 3000.0, 3600.0, True, "slow"),
        ([("fast", 4000.0, 3600.0), ("slow", 18000.0, 17000.0)], 4000.0, 3600.0, False, "fast"),
        ([("fast", 90000.0, None), ("slow", 3000.0, 3600.0)], 3000.0, 3600.0, True, "slow"),
        ([("fast", 100.0, None), ("slow", 3000.0, None)], 3000.0, None, True, "slow"),
        ([("fast", 1.0, 0.0), ("slow", 7200.0, 3600.0)], 1.0, 0.0, False, "fast"),
    ],
)
def test_of_several_sources_the_one_furthest_off_its_own_limit_is_told(given, observed, limit, success, source):
    check = of("watermarks", *delays(*given))["watermarks", "watermark_delay"]
    assert (check.observed, check.limit, check.success) == (observed, limit, success)
    assert f"(in source {source}" in check.message


def test_a_delay_does_what_the_source_says_and_one_that_blocks_comes_before_a_longer_one_that_warns():
    effects = {"events/fast": Severity.BLOCK, "events/slow": Severity.WARN}
    judging = Validation(lambda table: effects.get(table, Severity.RECORD))

    def check(*given: tuple[str, float, float | None]) -> Check:
        lines = [replace(line, source=line.where.removeprefix("source ")) for line in delays(*given)]
        return next(each for each in judging.lines(shipped("watermarks"), lines) if each.observed is not None)

    failed = check(("slow", 9000.0, 3600.0), ("fast", 4000.0, 3600.0))
    assert (failed.severity, failed.observed) == (Severity.BLOCK, 4000.0)
    assert failed.message.endswith("(in source fast, source slow)")
    assert check(("slow", 9000.0, 3600.0), ("fast", 1.0, 3600.0)).severity is Severity.WARN


def test_of_sources_equally_far_off_the_first_by_name_is_told_in_whichever_order_they_come():
    given = [("slow", 7.0, None), ("fast", 7.0, None)]
    for lines in (given, given[::-1]):
        assert of("watermarks", *delays(*lines))["watermarks", "watermark_delay"].message == "(in source fast)"


def test_of_several_partitions_the_smallest_step_and_the_most_lost_rows_are_told():
    columns = dict.fromkeys(COLUMNS["watermarks"])
    steps = [Line("watermarks", columns | {"step": step}, f"p{step:g}") for step in (5.0, 2.0, 9.0)]
    check = of("watermarks", *steps)["watermarks", "watermarks_never_go_back"]
    assert (check.observed, check.limit, check.success) == (2.0, 0.0, True)
    columns = dict.fromkeys((*COLUMNS["events"], "not_behind"))
    counts = ((1.0, 2.0), (9.0, 8.0), (50.0, 50.0))
    lines = [Line("events/r", columns | {"fates": a, "taken": b}, f"partition {a:g}") for a, b in counts]
    lost = of("events", *lines)["events/r", "rows_in_equal_fates_out"]
    assert (lost.observed, lost.limit, lost.success) == (1.0, 2.0, False)
    assert lost.message.endswith("(in partition 1, partition 9)")


def suite(tmp_path, *expectations) -> Suite:
    return Suite({"name": "own", "expectations": list(expectations)}, "events/readings", tmp_path / "own.json")


def test_an_expectation_that_is_none_is_an_error_with_its_place(tmp_path):
    wrong = suite(
        tmp_path, {"type": "expect_nothing", "kwargs": {}}, {"type": "expect_column_to_exist", "kwargs": {}}
    )
    with pytest.raises(ConfigError) as raised:
        made(wrong)
    assert [(problem.file, problem.key) for problem in raised.value.problems] == [
        (str(tmp_path / "own.json"), "expectations.0"),
        (str(tmp_path / "own.json"), "expectations.1"),
    ]
    assert "expect_nothing" in raised.value.problems[0].message


def test_the_page_of_a_run_names_each_expectation():
    judged = judging()
    columns = dict.fromkeys(
        COLUMNS["batches"] + ("quarantined", "max_quarantined", "adjusted_jump", "quarantined_jump")
    )
    list(judged.lines(shipped("batches"), [Line("batches", columns | {"dropped": 0.5, "max_dropped": 0.1})]))
    page = docs.page(judged.results, "nightly <b>")
    assert page.startswith("<!DOCTYPE html>")
    assert "max_dropped" in page
    assert "nightly <b>" not in page


def test_values_of_rows_can_do_no_harm_in_a_page(tmp_path):
    own = suite(
        tmp_path, {"type": "expect_column_values_to_be_in_set", "kwargs": {"column": "n", "value_set": ["x"]}}
    )
    judged = judging()
    judged.validated(own, "pandas", pd.DataFrame({"n": ["<script>alert(1)</script>", "x"]}), "COMPLETE")
    page = docs.page(judged.results, "run")
    assert "alert(1)" in page
    assert "<script>alert" not in page


BETWEEN = "expect_column_values_to_be_between"
DIVERGENCE = "expect_column_kl_divergence_to_be_less_than"
UNEVEN = {"values": [1], "weights": [3]}


def test_what_cannot_be_evaluated_has_failed_with_its_reason_and_the_others_go_on(tmp_path):
    own = suite(
        tmp_path,
        {"type": "expect_nothing", "kwargs": {}},
        {"type": BETWEEN, "kwargs": {"column": "text", "max_value": 5}},
        {"type": "expect_column_to_exist", "kwargs": {"column": "n"}},
        {"type": BETWEEN, "kwargs": {"column": "gone", "max_value": 5}, "severity": "warning"},
        {"type": BETWEEN, "kwargs": {"column": "n", "max_value": 5}},
        {"type": BETWEEN, "kwargs": {"column": "n", "max_value": 1}},
        {"type": DIVERGENCE, "kwargs": {"column": "n", "partition_object": UNEVEN, "threshold": 0.1}},
    )
    found = judging().validated(own, "pandas", pd.DataFrame({"n": [1, 2], "text": ["a", "b"]}), "COMPLETE")
    assert [result["success"] for result in found] == [False, False, True, False, True, False, False]
    reasons = [result.get("not_evaluated") for result in found]
    assert [reason is None for reason in reasons] == [False, False, True, False, True, True, False]
    assert "expect_nothing" in reasons[0]
    assert "gone" in reasons[3]
    assert reasons[6] == "Invalid partition_object provided", "Great Expectations raises this for the whole suite"
    assert found[3]["expectation_config"]["severity"] == "warning"


def test_expectations_of_one_type_are_told_apart_by_what_they_are_about():
    asked = [
        {"type": BETWEEN, "kwargs": {"column": "a"}},
        {"type": BETWEEN, "kwargs": {"column": "b"}},
        {"type": BETWEEN, "kwargs": {"column": "b"}},
        {"type": "expect_column_pair_values_to_be_equal", "kwargs": {"column_A": "a", "column_B": "b"}},
        {"type": "expect_compound_columns_to_be_unique", "kwargs": {"column_list": ["a", "b"]}},
        {"type": "expect_table_row_count_to_equal", "kwargs": {"value": 3}, "meta": {"name": "three"}},
        {"type": "expect_table_row_count_to_equal", "kwargs": {"value": 3}},
    ]
    assert names_of(asked) == [
        f"{BETWEEN}(a)",
        f"{BETWEEN}(b)",
        f"{BETWEEN}(b) #2",
        "expect_column_pair_values_to_be_equal(a, b)",
        "expect_compound_columns_to_be_unique(a, b)",
        "three",
        "expect_table_row_count_to_equal",
    ]
