"""Aggregates and expressions of generated streams: each in Spark SQL and, written independently, in DuckDB's SQL.

In DuckDB's texts `_o` is the position of a row in the order of the sort key. Kinds of aggregates: `plain` (the order
of rows does not matter), `distinct`, `filtered`, `ordered`, `ordered_distinct`, `ordered_filtered`, `nested` (of
values with parts).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KINDS = ("distinct", "filtered", "nested", "ordered", "ordered_distinct", "ordered_filtered", "plain")
_SUM = "list_reduce(list_prepend(0.0::DOUBLE, list({0} ORDER BY _o) FILTER ({0} IS NOT NULL{1})), lambda a, b: a + b)"
_SOME = "count({0}) FILTER ({0} IS NOT NULL{1}) > 0"
_FIRSTS = "list_filter({0}, lambda v, i: list_position({0}, v) = i)"


@dataclass(frozen=True)
class Expression:
    """An expression over one column `needs` of a type, in both languages, and the type of its value."""

    needs: str
    spark: str
    duck: str
    gives: str
    kind: str = ""


def _total(column: str, where: str = "") -> str:
    """The sum of doubles row by row in order; null without any."""
    return f"CASE WHEN {_SOME.format(column, where)} THEN {_SUM.format(column, where)} END"


def _list(value: str, where: str = "") -> str:
    return f"coalesce(list({value} ORDER BY _o) FILTER ({value} IS NOT NULL{where}), [])"


def _aggregate(kind: str, needs: str, spark: str, duck: str, gives: str) -> Expression:
    return Expression(needs, spark, duck, gives, kind)


AGGREGATES = (
    _aggregate("plain", "", "count(*)", "count(*)", "BIGINT"),
    _aggregate("plain", "INT", "count({c})", "count({c})", "BIGINT"),
    _aggregate("plain", "INT", "sum({c})", "sum({c})::BIGINT", "BIGINT"),
    _aggregate("plain", "STRING", "min({c})", "min({c})", "STRING"),
    _aggregate("plain", "DOUBLE", "max({c})", "max({c})", "DOUBLE"),
    _aggregate("plain", "DATE", "max({c})", "max({c})", "DATE"),
    _aggregate("plain", "DECIMAL(20, 2)", "sum({c})", "sum({c})", "DECIMAL(30, 2)"),
    _aggregate("plain", "BOOLEAN", "bool_or({c})", "bool_or({c})", "BOOLEAN"),
    _aggregate("plain", "INT", "percentile({c}, 0.5)", "quantile_cont({c}, 0.5)::DOUBLE", "DOUBLE"),
    _aggregate("distinct", "STRING", "count(DISTINCT {c})", "count(DISTINCT {c})", "BIGINT"),
    _aggregate("distinct", "INT", "sum(DISTINCT {c} % 3)", "sum(DISTINCT {c} % 3)::BIGINT", "BIGINT"),
    _aggregate("distinct", "DATE", "count(DISTINCT {c})", "count(DISTINCT {c})", "BIGINT"),
    _aggregate("filtered", "INT", "count(*) FILTER (WHERE {c} > 2)", "count(*) FILTER ({c} > 2)", "BIGINT"),
    _aggregate("filtered", "BIGINT", "max({c}) FILTER (WHERE {c} < 9)", "max({c}) FILTER ({c} < 9)", "BIGINT"),
    _aggregate(
        "filtered", "STRING", "count(DISTINCT {c}) FILTER (WHERE {c} <> 'a')",
        "count(DISTINCT {c}) FILTER ({c} <> 'a')", "BIGINT",
    ),
    _aggregate("ordered", "STRING", "collect_list({c})", _list("{c}"), "ARRAY<STRING>"),
    _aggregate("ordered", "STRING", "first({c})", "first({c} ORDER BY _o)", "STRING"),
    _aggregate("ordered", "BIGINT", "last({c})", "last({c} ORDER BY _o)", "BIGINT"),
    _aggregate("ordered", "DOUBLE", "sum({c})", _total("{c}"), "DOUBLE"),
    _aggregate("ordered", "DOUBLE", "avg({c})", f"({_total('{c}')}) / count({{c}})", "DOUBLE"),
    _aggregate(
        "ordered", "INT", "string_agg(string({c}), '|')", "string_agg({c}::VARCHAR, '|' ORDER BY _o)", "STRING"
    ),
    _aggregate(
        "ordered_distinct", "INT", "collect_list(DISTINCT {c} % 4)", _FIRSTS.format(_list("{c} % 4")), "ARRAY<INT>"
    ),
    _aggregate(
        "ordered_distinct", "STRING", "string_agg(DISTINCT {c}, '|')",
        f"nullif(array_to_string({_FIRSTS.format(_list('{c}'))}, '|'), '')", "STRING",
    ),
    _aggregate(
        "ordered_filtered", "STRING", "first({c}) FILTER (WHERE {c} <> 'a')",
        "first({c} ORDER BY _o) FILTER ({c} <> 'a')", "STRING",
    ),
    _aggregate(
        "ordered_filtered", "DOUBLE", "sum({c}) FILTER (WHERE {c} > 0)", _total("{c}", " AND {c} > 0"), "DOUBLE"
    ),
    _aggregate(
        "ordered_filtered", "BIGINT", "collect_list({c}) FILTER (WHERE {c} <> 7)", _list("{c}", " AND {c} <> 7"),
        "ARRAY<BIGINT>",
    ),
    _aggregate("nested", "ARRAY<STRING>", "collect_list({c})", _list("{c}"), "ARRAY<ARRAY<STRING>>"),
    _aggregate(
        "nested", "STRUCT<u: INT, w: STRING>", "last({c})", "last({c} ORDER BY _o)", "STRUCT<u: INT, w: STRING>"
    ),
    _aggregate(
        "nested", "DOUBLE", "collect_list(struct({c} AS v))", "coalesce(list({{'v': {c}}} ORDER BY _o), [])",
        "ARRAY<STRUCT<v: DOUBLE>>",
    ),
    _aggregate("nested", "STRUCT<u: INT, w: STRING>", "count(DISTINCT {c})", "count(DISTINCT {c})", "BIGINT"),
)  # fmt: skip

VALUES = (
    Expression("INT", "{c} + 1", "{c} + 1", "INT"),
    Expression("INT", "coalesce({c}, 0) % 3", "coalesce({c}, 0) % 3", "INT"),
    Expression("BIGINT", "{c} % 100", "{c} % 100", "BIGINT"),
    Expression("STRING", "upper({c})", "upper({c})", "STRING"),
    Expression("STRING", "from_json(concat('{{\"v\": \"', {c}, '\"}}'), 'v STRING').v", "{c}", "STRING"),
    Expression("STRING", "concat({c}, '-', {c})", "{c} || '-' || {c}", "STRING"),
    Expression("DOUBLE", "{c} / 2", "{c} / 2", "DOUBLE"),
    Expression("BOOLEAN", "NOT {c}", "NOT {c}", "BOOLEAN"),
    Expression("ARRAY<STRING>", "size(coalesce({c}, array()))", "len(coalesce({c}, []))::INT", "INT"),
    Expression("STRUCT<u: INT, w: STRING>", "{c}.w", "{c}.w", "STRING"),
)
"""Expressions of `select` over one row."""

CONDITIONS = (
    Expression("INT", "{c} > 1", "{c} > 1", "BOOLEAN"),
    Expression("INT", "coalesce({c}, 0) % 2 = 0", "coalesce({c}, 0) % 2 = 0", "BOOLEAN"),
    Expression("STRING", "{c} IS NULL OR {c} <> 'a'", "({c} IS NULL OR {c} <> 'a')", "BOOLEAN"),
    Expression("DOUBLE", "{c} < 2", "{c} < 2", "BOOLEAN"),
    Expression("BOOLEAN", "{c}", "{c}", "BOOLEAN"),
)
"""Expressions of `where`; a row for which one is null is left out."""

ENDS = (
    Expression(
        "INT", "timestamp_micros(unix_micros(_system_timestamp) + {c} * 1000000L)", "_s + {c} * 1000000", "TIMESTAMP",
    ),
    Expression(
        "BOOLEAN",
        "CASE WHEN {c} THEN _system_timestamp + INTERVAL 3 SECONDS WHEN NOT {c} THEN _system_timestamp END",
        "CASE WHEN {c} THEN _s + 3000000 WHEN NOT {c} THEN _s END", "TIMESTAMP",
    ),
    Expression(
        "STRING", "if({c} = 'a', _system_timestamp + INTERVAL 1 SECOND, NULL)",
        "CASE WHEN {c} = 'a' THEN _s + 1000000 END", "TIMESTAMP",
    ),
)  # fmt: skip
"""Expressions of `until`."""

ANYTHING = Expression("", "true", "true", "BOOLEAN")


def fitting(options: tuple[Expression, ...], columns: Mapping[str, str]) -> list[tuple[Expression, str]]:
    """The expressions that columns of these types allow, each with a column; those of no column with none."""
    found = [(each, "") for each in options if not each.needs]
    return found + [(each, name) for each in options for name, type_ in columns.items() if each.needs == type_]
