"""Aggregates over the rows of a window: which are allowed, and which depend on the order of rows."""

from __future__ import annotations

import pytest

from config.pipeline_files import COLUMNS
from tidemark.config.models.stream_graph import StreamColumn
from tidemark.config.sql.aggregates import aggregate_findings, distinct_calls, order_sensitive, without_distinct
from tidemark.config.sql.row import ReadableColumns
from tidemark.config.types import parse_schema

ROW = ReadableColumns(
    parse_schema(COLUMNS + ", price DECIMAL(10, 2), `two words` INT".replace("two words", "two-words"))
)


@pytest.mark.parametrize(
    "text",
    [
        "count(*)",
        "COUNT(DISTINCT Lane)",
        "count(Speed) filter (where Speed > 1)",
        "listagg(text, ',') within group (order by ts)",
        "mode() within group (order by ts) filter (where flag)",
        "first(Speed) ignore nulls",
        "first(Speed, true)",
        "max(Speed) - min(Speed)",
        "max(named_struct('a', ts, 'b', Lane)).b",
        "transform(collect_list(ts), x -> x + 1)",
        "concat('äöü', max(text), lane)",
        "any(flag) and some(flag) or every(flag)",
        "upper(Lane)",
        "`max`(`odd-name`)",
        "percentile(ts, array(0.1, 0.9))",
        "max(_event_time)",
        "1",
    ],
)
def test_an_expression_over_the_rows_of_a_window(text: str) -> None:
    row = ReadableColumns((*(ROW.columns or ()), StreamColumn("_event_time", "TIMESTAMP")))
    assert aggregate_findings(text, row, {"lane"}) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "is empty"),
        ("max(ts", "is not a Spark SQL expression"),
        ("max(nope)", "'nope' is not a column"),
        ("sum(count(ts))", "count() within sum(): aggregates cannot be nested"),
        ("sum(ts) filter (where max(ts) > 1)", "max() within sum()"),
        ("count(*) over ()", "has a window function"),
        ("lag(ts)", "the function lag() looks at other rows"),
        ("(select max(ts) from t)", "has a subquery"),
        ("grouping(Lane)", "grouping() needs rollups"),
        ("grouping_id()", "grouping_id() needs rollups"),
        ("max(rand())", "the function rand() cannot be used"),
        ("max(current_date)", "current_date reads the clock"),
        ("count(distinct *)", "has a `*` that is not alone in count(*)"),
        ("count(*, ts)", "has a `*`"),
        ("max(*)", "has a `*`"),
        ("max(ts) + Speed", "'Speed' differs from row to row of a window: name it in group_by"),
        ("payload.n", "'payload' differs from row to row"),
        ("max(ts) filter (where flag) + ts", "'ts' differs from row to row"),
        ("transform(collect_list(ts), x -> x + Speed)", "'Speed' differs from row to row"),
    ],
)
def test_an_expression_that_is_more_than_a_windows_rows_is_refused(text: str, message: str) -> None:
    assert message in "\n".join(aggregate_findings(text, ROW, {"lane"}))


_TYPES = {"i": "INT", "l": "BIGINT", "d": "DECIMAL(10, 2)", "big": "DECIMAL(38, 2)", "x": "DOUBLE", "u": None}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("count(*) + count(distinct x) + count_if(x > 1)", ""),
        ("max(x) - min(x)", ""),
        ("bit_xor(i) + bit_and(i) + bit_or(i)", ""),
        ("bool_and(x > 1) or any(x > 1) or every(x > 2) or some(x > 1) or bool_or(x > 3)", ""),
        ("approx_count_distinct(x) + percentile(x, 0.5) + median(x)", ""),
        ("sum(1) + sum( - 1 ) + try_sum(2)", ""),
        ("sum(I) + SUM(`l`) + try_sum(i) + sum(d)", ""),
        ("avg(d) + mean(d) + try_avg(d)", ""),
        ("upper(x)", ""),
        ("sum(x)", "sum"),
        ("sum(u)", "sum"),
        ("sum(nope)", "sum"),
        ("sum(i + 1)", "sum"),
        ("sum(1.5)", "sum"),
        ("avg(i) + avg(x) + mean(x)", "avg mean"),
        ("try_sum(l)", "try_sum"),
        ("sum(big) + avg(big)", "sum avg"),
        ("First(x) + last(x)", "first last"),
        ("max_by(x, i) + count(*)", "max_by"),
        ("size(collect_set(x)) + size(collect_list(x))", "collect_set collect_list"),
        ("stddev(x) filter (where i > 1)", "stddev"),
        ("sum(DISTINCT i) + max(DISTINCT x)", ""),
        ("sum(DISTINCT x)", "sum"),
    ],
)
def test_aggregates_that_may_depend_on_the_order_of_rows_are_named(text: str, names: str) -> None:
    assert order_sensitive(text, _TYPES) == tuple(names.split())


@pytest.mark.parametrize(
    ("text", "calls", "plain"),
    [
        ("sum(x) + count(*)", [], "sum(x) + count(*)"),
        ("count(DISTINCT x, i)", ["count(DISTINCT x, i)"], "count(x, i) FILTER (WHERE c0)"),
        (
            "2 * sum(distinct f(x, 1)) FILTER (WHERE i > 1 OR l > 2) - count(DISTINCT i)",
            ["sum(distinct f(x, 1)) FILTER (WHERE i > 1 OR l > 2)", "count(DISTINCT i)"],
            "2 * sum(f(x, 1)) FILTER (WHERE c0 AND (i > 1 OR l > 2)) - count(i) FILTER (WHERE c1)",
        ),
        (
            "listagg(DISTINCT k, ')') WITHIN GROUP (ORDER BY k) FILTER (WHERE i > 1)",
            ["listagg(DISTINCT k, ')') WITHIN GROUP (ORDER BY k) FILTER (WHERE i > 1)"],
            "listagg(k, ')') WITHIN GROUP (ORDER BY k) FILTER (WHERE c0 AND (i > 1))",
        ),
        (
            "first(DISTINCT k) FILTER (WHERE i > 1) IGNORE NULLS",
            ["first(DISTINCT k) FILTER (WHERE i > 1) IGNORE NULLS"],
            "first(k) FILTER (WHERE c0 AND (i > 1)) IGNORE NULLS",
        ),
    ],
    ids=["none", "several arguments", "in an expression", "within a group", "without nulls"],
)
def test_distinct_aggregates_become_filters(text: str, calls: list[str], plain: str) -> None:
    assert distinct_calls(text) == calls
    assert without_distinct(text, {call: f"c{number}" for number, call in enumerate(calls)}) == plain
