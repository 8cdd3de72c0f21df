"""Expressions of a configuration never read the clock, whatever text they are given."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime
from random import Random

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from interpreted import settings
from tidemark.config.sql.json_schemas import json_type
from tidemark.errors import ConfigError
from tidemark.spark.expressions import aggregate_of, value_of
from tidemark.spark.session.settings import ARITHMETIC, arithmetic_of

SOUND = {"text": "2013-02-03 04:05:06", "list": ["2013-02-03 04:05:06"]}
MOMENT = datetime(2013, 2, 3, 4, 5, 6, tzinfo=UTC)
READ_AS_TIMES = {
    "cast(text AS timestamp)": MOMENT,
    "text::timestamp": MOMENT,
    "try_cast(text AS timestamp)": MOMENT,
    "timestamp(text)": MOMENT,
    "to_timestamp(text)": MOMENT,
    "try_to_timestamp(text)": MOMENT,
    "to_timestamp(concat('', text))": MOMENT,
    "to_utc_timestamp(text, 'America/New_York')": datetime(2013, 2, 3, 9, 5, 6, tzinfo=UTC),
    "date_trunc('DAY', text)": datetime(2013, 2, 3, tzinfo=UTC),
    "date_add(to_timestamp(text), 1)": date(2013, 2, 4),
    "coalesce(cast(text AS timestamp), timestamp '2000-01-01')": MOMENT,
    "to_timestamp(list[0])": MOMENT,
    "transform(list, x -> cast(x AS timestamp))[0]": MOMENT,
    "filter(list, x -> x > timestamp '2000-01-01')[0]": SOUND["text"],
    "cast(list AS array<timestamp>)[0]": MOMENT,
    "try_cast(list AS array<timestamp>)[0]": MOMENT,
    "(list::array<timestamp>)[0]": MOMENT,
    "cast(struct(1 AS n, text) AS struct<n: int, t: timestamp>).t": MOMENT,
    "cast(map('k', text) AS map<string, timestamp>)['k']": MOMENT,
    "cast(array(map('k', struct(list))) AS array<map<string, struct<l: array<timestamp>>>>)[0]['k'].l[0]": MOMENT,
    "if(text BETWEEN timestamp '2000-01-01' AND timestamp '2020-01-01', text, 'x')": SOUND["text"],
    "nullif(cast(text AS timestamp), timestamp '2000-01-01')": MOMENT,
    "if(text > timestamp '2000-01-01', text, 'x')": SOUND["text"],
    "hour(text) + 2000": 2004,
    "aggregate(list, timestamp '2000-01-01', (a, x) -> greatest(a, cast(x AS timestamp)))": MOMENT,
}
NOT_TIMES = {
    "to_timestamp(text, 'yyyy-MM-dd HH:mm:ss')": MOMENT,
    "cast(text AS date)": date(2013, 2, 3),
    "substr(text, 1, 4)": "2013",
}
CLOCKS = [
    "from_json(text, 'at ARRAY<TIMESTAMP>').at[0]",
    "variant_get(parse_json(text), '$.at', 'timestamp')",
    "if(text IS NULL, cast('now' AS timestamp), timestamp '2000-01-01')",
    "if(text IS NULL, cast('today' AS date), date '2000-01-01')",
    "if(text IS NULL, cast('to' || 'day' AS date), date '2000-01-01')",
    "if(text IS NULL, to_timestamp('12:30'), timestamp '2000-01-01')",
]


def rows_of(spark: SparkSession, *texts: str) -> DataFrame:
    return spark.createDataFrame([(text, [text]) for text in texts], "text STRING, list ARRAY<STRING>")


def values(rows: DataFrame, columns: Iterable[Column]) -> list[list[object]]:
    """By column, its values in all rows; computed side by side, as in a `select`."""
    shown = [rows.select(column).schema[0].dataType.typeName() == "timestamp" for column in columns]
    named = [
        (F.unix_micros(column) if time else column).alias(f"c{index}")
        for index, (column, time) in enumerate(zip(columns, shown, strict=True))
    ]
    return [list(each) for each in zip(*rows.select(*named).collect(), strict=True)]


def computed(rows: DataFrame, expressions: Iterable[str]) -> dict[str, list[object]]:
    """By expression, its values in all rows."""
    texts = list(expressions)
    found = values(rows, [value_of(rows, text, "timestamp_by")[0] for text in texts])
    return dict(zip(texts, found, strict=True))


def instant(found: object) -> object:
    return int(found.timestamp() * 1e6) if isinstance(found, datetime) else found


@pytest.fixture(params=["compiled", "quick"])
def either(request: pytest.FixtureRequest) -> SparkSession:
    """The session, with plans that are compiled, and with plans that are interpreted."""
    session: SparkSession = request.getfixturevalue(request.param)
    return session


def test_text_with_a_date_is_read_and_a_time_of_day_is_null(either: SparkSession) -> None:
    found = computed(rows_of(either, SOUND["text"], "12:30", " T04:05", "7:00:00Z"), READ_AS_TIMES)
    assert found == {text: [instant(value), None, None, None] for text, value in READ_AS_TIMES.items()}


def test_spark_itself_reads_a_time_of_day_as_of_another_day_elsewhere(quick: SparkSession) -> None:
    """So what is null above would have differed from day to day: there are never one date in these two zones."""
    texts = [text for text, value in READ_AS_TIMES.items() if value is MOMENT]
    days = []
    for zone in ("Pacific/Kiritimati", "Etc/GMT+12"):
        with settings(quick, {"spark.sql.session.timeZone": zone}):
            found = rows_of(quick, "12:30").select(*[F.expr(text).cast("string") for text in texts]).collect()[0]
            days.append([(text, value[:10]) for text, value in zip(texts, found, strict=True)])
    assert [text for text, _ in set(days[0]) & set(days[1])] == []


def test_text_that_is_no_time_of_a_zone_is_left_alone(quick: SparkSession) -> None:
    found = computed(rows_of(quick, SOUND["text"]), NOT_TIMES)
    assert found == {text: [instant(value)] for text, value in NOT_TIMES.items()}


@pytest.mark.parametrize("expression", CLOCKS)
def test_an_expression_that_reads_the_clock_is_a_configuration_error(spark: SparkSession, expression: str) -> None:
    with pytest.raises(ConfigError) as raised:
        value_of(rows_of(spark, "x"), expression, "timestamp_by")
    assert [problem.key for problem in raised.value.problems] == ["timestamp_by"]


JSON_SCHEMA = "n BIGINT, s STRING, l ARRAY<INT>"


def member(name: str, value: object) -> object:
    """A member's value by the rules: null if it is of another kind or does not fit; text of what is no text."""
    if name == "s":
        return value if value is None or isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if name == "n":
        return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else None
    whole = isinstance(value, list) and all(each is None or type(each) is int for each in value)
    return value if whole else None


def documents(count: int) -> dict[str, tuple[object, ...]]:
    """Random JSON texts, some of them cut short, with what their members are."""
    dice, made = Random(7), {}  # noqa: S311 - the same texts each time
    values = (None, 0, -7, 1 << 63, True, "x", "12", "\u00e9\u4e2d", [], [1, None], [1, "a"], {"a": 1}, [[1]])
    for _ in range(count):
        found = {name: dice.choice(values) for name in "nslz" if dice.random() < 0.8}
        text = json.dumps(found, ensure_ascii=dice.random() < 0.5)
        if dice.random() < 0.2:
            text, found = text[:-1], {}
        made[text] = tuple(member(name, found.get(name)) for name in "nsl")
    return made


def test_members_of_json_text_are_read_and_null_where_they_do_not_fit(either: SparkSession) -> None:
    texts = documents(300)
    assert len(set(map(repr, texts.values()))) > 30
    found = computed(
        rows_of(either, *texts, "no JSON", ""), [f"from_json(text, '{JSON_SCHEMA}').{each}" for each in "nsl"]
    )
    nothing = (None, None, None)
    assert dict(zip([*texts, "no JSON", ""], zip(*found.values(), strict=True), strict=True)) == {
        **texts,
        "no JSON": nothing,
        "": nothing,
    }


def test_json_text_gives_the_type_that_is_known_without_spark(quick: SparkSession) -> None:
    for schema in (JSON_SCHEMA, "ARRAY<STRUCT<a: DECIMAL(5, 2)>>", "map<string, double>", "`x.y` LONG, b REAL"):
        text = f"from_json(text, '{schema}')"
        told = json_type(text)
        assert told is not None
        assert (
            value_of(rows_of(quick, "{}"), text, "select")[1]
            == quick.createDataFrame([], f"v {told.text}").schema[0].dataType
        )


def test_an_unknown_column_is_named(spark: SparkSession) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        value_of(rows_of(spark, "x"), "upper(nowhere)", "over")


def test_the_reason_of_sparks_parser_is_given_with_the_key(spark: SparkSession) -> None:
    rows = rows_of(spark, "x")
    for make in (
        lambda: value_of(rows, "größe", "over"),
        lambda: aggregate_of(rows.groupBy(), rows, "max(größe)", "over"),
    ):
        with pytest.raises(ConfigError, match=r"over: .*cannot be resolved: .*INVALID_IDENTIFIER.*größe"):
            make()


HUGE = "2147483647"
WITHOUT_ROOM = [
    f"space({HUGE})",
    f"length(repeat(text, {HUGE}))",
    f"lpad(text, {HUGE}, 'x')",
    f"rpad(text, {HUGE})",
    f"lpad(cast(text AS binary), {HUGE}, cast('x' AS binary))",
    f"array_max(array_repeat(text, {HUGE}))",
    "array_repeat(array_repeat(text, 50000), 50000)",
    f"array_insert(list, {HUGE} - 16, text)",
    f"format_string('%{HUGE}s', text)",
    f"format_number(n, {HUGE})",
    "aggregate(array_repeat(1, 40), text, (a, x) -> a || a)",
]
BEYOND = [
    "9223372036854775807 + n",
    "-9223372036854775807 - n - n",
    "9223372036854775807 * (n + 1)",
    "(least - 1 + 1) div (-n)",
    "-least",
    "abs(least)",
    "cast(1e30 + n AS int)",
    "cast(double('NaN') * n AS bigint)",
    "cast(300 + n AS tinyint)",
    "cast(least AS int)",
    "cast(timestamp '2300-01-01' + make_interval(0, 0, 0, 0, 0, 0, n) AS int)",
    "ceil(1e30 + n)",
    "floor(-1e30 - n)",
    "round(2147483646 + n, -1)",
    "timestamp_seconds(cast('999999999999999999999999999999' AS decimal(30, 0)))",
    "timestamp_seconds(9223372036854775807 - n)",
    "nullif(timestamp_seconds(9223372036854775807 - n), timestamp '2000-01-01')",
]
WITHIN = {
    "9223372036854775806 + n": (1 << 63) - 1,
    "-(least + n)": (1 << 63) - 1,
    "cast(2147483647.9 AS int)": (1 << 31) - 1,
    "cast(-1.9e0 AS int)": -1,
    "cast('12.7' AS int)": 12,
    "coalesce(9223372036854775807 + n, 7)": 7,
    "ceil(1.5e0)": 2,
    "round(1234 + n, -1)": 1240,
    "7 div 0": None,
    "space(3)": "   ",
    "length(repeat(text, 1000))": 2000,
    "lpad(text, 4, 'x')": "xxok",
    "if(timestamp_seconds(9223372036854775807 - n) > timestamp '2000-01-01', 1, 2)": None,
    "nullif(array(), array(text))": [],
}


def test_what_cannot_be_computed_is_null_and_ends_no_job(either: SparkSession) -> None:
    """Each twice, since Spark computes what expressions have in common ahead of them."""
    rows = rows_of(either, "ok").selectExpr("*", "1 AS n", "-9223372036854775807 - 1 AS least")
    texts = [*WITHOUT_ROOM, *BEYOND, *WITHIN]
    found = computed(rows, [*texts, *(f"struct({text})" for text in texts)])
    assert {text: found[text] for text in texts} == {text: [WITHIN.get(text)] for text in texts}


def test_a_text_too_long_for_a_pattern_is_null(either: SparkSession) -> None:
    rows = rows_of(either, "ok", "ab" * 20_000, "b")
    texts = ["text RLIKE '^(a|b|ok)*$'", "regexp_extract(text, '^(a|b|ok)*$', 1)"]
    found = computed(rows, texts)
    assert found[texts[0]] == [True, None, True]
    assert found[texts[1]] == ["ok", None, "b"]


def test_aggregates_take_what_cannot_be_computed_as_null(quick: SparkSession) -> None:
    rows = rows_of(quick, "ok", "ab" * 20_000, "12:30").selectExpr("*", "9223372036854775807 AS n")
    groups = rows.groupBy()
    texts = {
        "count(text RLIKE '^(a|b|ok)*$')": 2,
        "count(CASE WHEN text RLIKE '^(a|b|ok)*$' THEN 1 END)": 1,
        "count(*) FILTER (WHERE text RLIKE '^(a|b|ok)*$')": 1,
        "max(n) + 1": None,
        "max(n + 1)": None,
        "count(*) + 1": 4,
        "cast(min(text) AS timestamp)": None,
        "if(min(text) > timestamp '2000-01-01', 1, 2)": None,
        "space(cast(max(n) AS int))": None,
        "max(space(2147483647))": None,
    }
    told = [aggregate_of(groups, rows, text, "select").alias(f"c{n}") for n, text in enumerate(texts)]
    assert dict(zip(texts, groups.agg(*told).collect()[0], strict=True)) == texts


def test_whole_numbers_wrap_under_the_rule_of_older_batches(quick: SparkSession) -> None:
    rows = quick.range(1, 2).selectExpr("id AS n")
    with settings(quick, {ARITHMETIC: arithmetic_of("{}")}):
        assert computed(rows, ["9223372036854775807 + n", "cast(1e30 + n AS int)"]) == {
            "9223372036854775807 + n": [-(1 << 63)],
            "cast(1e30 + n AS int)": [(1 << 31) - 1],
        }
