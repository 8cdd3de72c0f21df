"""Expressions over a row are checked without a JVM."""

from __future__ import annotations

import subprocess
import sys

import pytest

from config.pipeline_files import COLUMNS
from tidemark.config.sql.expressions import expression_findings, key_findings, time_findings
from tidemark.config.sql.functions import AGGREGATES, ALLOWED_FUNCTIONS, SESSION_WORDS, WINDOW_FUNCTIONS
from tidemark.config.sql.row import ReadableColumns
from tidemark.config.types import parse_schema

_REFUSED = """
rand randn random uuid shuffle randstr uniform now curdate current_timestamp current_date localtimestamp
current_user session_user version input_file_name input_file_block_start monotonically_increasing_id
spark_partition_id java_method reflect try_reflect assert_true raise_error to_number from_avro from_protobuf
from_xml xpath explode posexplode inline stack json_tuple window session_window aes_encrypt ai_query
read_files sleep
"""
ROW = ReadableColumns(parse_schema(COLUMNS + ", `timestamp` TIMESTAMP, `order` STRING, `größe` STRING"))


@pytest.mark.parametrize(
    "text",
    [
        "EventTime",
        "eventtime",
        "  EventTime ",
        "`EventTime`",
        "`odd-name`",
        "`a.b`",
        "text",
        "day",
        "local",
        "timestamp",
        "payload.at",
        "PAYLOAD.`at`",
        "timestamp_millis(ts)",
        "TIMESTAMP_MILLIS(`ts`)",
        "to_utc_timestamp(text, 'America/New_York')",
        "to_timestamp(concat(text, ' ', `a.b`), 'yyyy-MM-dd HH:mm')",
        "EventTime + interval 5 minutes",
        "EventTime - make_interval(0, 0, 0, 0, 0, Speed)",
        "coalesce(EventTime, timestamp_seconds(ts / 1000))",
        "CAST(text AS TIMESTAMP)",
        "try_cast(text AS TIMESTAMP)",
        "text::timestamp",
        "case when flag then EventTime else EnqueuedAt end",
        "if(ts > 100000000000, timestamp_millis(ts), timestamp_seconds(ts))",
        "get_json_object(text, '$.at')",
        "TIMESTAMP '2020-01-01 00:00:00' + make_interval(0, 0, 0, day(local))",
        "`größe`",
        "upper('größe') || `größe`",
        "payload.inner.x",
        "items[0].x || text",
        "date_trunc('HOUR', EventTime)",
        "timestampadd(HOUR, 1, EventTime)",
        "to_timestamp(tags['at'])",
        "timestamp_micros(cast(ts as decimal(20, 0)))",
        "(EventTime)",
        "timestamp_seconds(unix_timestamp(text))",
    ],
)
def test_a_column_or_an_expression_over_the_row_can_be_a_time(text: str) -> None:
    assert time_findings(text, ROW) == []


@pytest.mark.parametrize(
    "text",
    [
        "Speed",
        "concat_ws('-', Lane, DeviceId)",
        "substr(Lane, 1, 2)",
        "regexp_extract(text, '([0-9]+)', 1)",
        "xxhash64(DeviceId) % 16",
        "transform(list, x -> x + ts)[0]",
        "aggregate(list, 0, (acc, x) -> acc + x)",
        "exists(list, x -> x > 1)",
        "filter(items, item -> item.x > 1)[0].x",
        "transform(list, x -> transform(list, y -> y + x))[0][0]",
        "Lane in ('0', '1')",
        "not flag and (Speed > 3 or Lane is null)",
        "Lane like 'a%'",
        "map_filter(tags, (k, v) -> k > v)['a']",
        "coalesce(Lane, 'now()')",
        "`order`",
        "named_struct('q', Lane).q",
        "from_json(text, 'a INT, b ARRAY<STRUCT<c: STRING>>').b[0].c",
    ],
)
def test_an_expression_over_the_row_can_be_a_key(text: str) -> None:
    assert key_findings(text, ROW) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("EvntTime", "'EvntTime' is not a column of the schema: did you mean EventTime?"[:-1]),
        ("nothing_like_it", "there are DeviceId, EventTime, EnqueuedAt"),
        ("odd-name", "write the column as `odd-name`"),
        ("odd-nam", "'odd' is not a column of the schema"),
        ("payload.att", "'att' is not a member of 'payload'"),
        ("payload.inner.y", "'y' is not a member of 'payload.inner'"),
        ("DeviceId.x", "'DeviceId' is STRING and has no members such as 'x'"),
        ("to_timestamp(payload.nope)", "'nope' is not a member of 'payload'"),
        ("to_timestamp(EvntTime)", "'EvntTime' is not a column of the schema"),
        ("transform(list, x -> x + z)", "'z' is not a column of the schema"),
        ("from_json(text, 'a INT', map('mode', 'FAILFAST')).a", "from_json() has options: leave them out"),
        ("from_json(text, Lane).a", "from_json() needs its schema as text in quotes, such as from_json(body, 'id"),
        ("from_json(text, 'a INT' || Lane).a", "from_json() needs its schema as text in quotes"),
        ("from_json(text).a", "from_json() has 1 argument: it takes 2 to 3"),
        ("from_json(text, '').a", "the schema '' cannot be used: it has no columns"),
        ("from_json(text, 'a INT, b: INT').a", "column 'b' has a colon, which only members of a STRUCT have"),
        ("from_json(text, 'a INTT').a", "the schema 'a INTT' cannot be used: 'INTT' is not a type"),
        ("from_json(text, 'a INT, A INT').a", "column 'A' is there twice"),
        ("from_json(text, '`a b` INT').a", "column 'a b' cannot be stored by Delta"),
        ("from_json(text, 'a ARRAY<TIMESTAMP>').a", "has TIMESTAMP: read the member as STRING, and convert it"),
        ("from_json(text, 'a DATE').a", "as in cast(text AS DATE)"),
        ("from_json(text, 'MAP<INT, STRING>')[1]", "has a MAP whose keys are no STRING"),
        ("from_json(text, 'a INT, _corrupt_record STRING').a", "a name that Spark uses itself: leave it out"),
        ("to_timestamp(text", "is not a Spark SQL expression: a ) is missing"),
        ("try_cast(text as timestamp", "has a parenthesis without its partner"),
        ("a +", "is not a Spark SQL expression"),
        ("EventTime AS x", "is not a Spark SQL expression"),
        ("EventTime, Speed", "is not a Spark SQL expression"),
        ("EventTime; Speed", "is more than one expression"),
        ("select 1", "is not a Spark SQL expression"),
        ("(select max(x) from t)", "has a subquery"),
        ("EventTime in (select x from t)", "has a subquery"),
        ("exists(select 1 from t)", "has a subquery"),
        ("sum(Speed) over (partition by Lane)", "has a window function"),
        ("row_number() over (order by ts)", "has a window function"),
        ("count(*)", "counts rows"),
        ("count(Speed)", "counts rows"),
        ("max(EventTime)", "the function max() looks at other rows"),
        ("lag(EventTime)", "the function lag() looks at other rows"),
        ("*", "has a `*`"),
        (":x", "has a parameter"),
        ("?", "has a parameter"),
        ("{{ x }}", "has a parameter"),
        ("text -> 'a'", "has an arrow that belongs to no function"),
        ("text ->> 'a'", "has an arrow that belongs to no function"),
        ("'EventTime'", "reads no column"),
        ('"EventTime"', "reads no column"),
        ("5", "reads no column"),
        ("unix_timestamp()", "unix_timestamp() without arguments reads the clock"),
        ("EventTime + unix_timestamp( )", "unix_timestamp() without arguments reads the clock"),
        ("unix_timestamp /* x */ ()", "has a comment"),
        ("EventTime -- the time", "has a comment"),
        ("coalesce(EventTime,)", "has a comma with nothing after it"),
        ("EventTime at time zone 'UTC'", "has AT TIME ZONE, which Spark does not know"),
        ("max(text COLLATE UTF8_LCASE)", "has COLLATE: text is compared by its bytes"),
        ("cast(text AS STRING COLLATE UTF8_LCASE)", "write lower(column)"),
        ("cast(list AS ARRAY<STRING COLLATE UNICODE_CI>)", "has COLLATE"),
        ("cast(payload AS STRUCT<a: STRING COLLATE UNICODE_CI>)", "has COLLATE"),
        ("greatest(EventTime, TIMESTAMP 'now')", "TIMESTAMP 'now' reads the clock"),
        ("greatest(day, date ' Today UTC')", "date ' Today UTC' reads the clock"),
        ('greatest(EventTime, timestamp_ntz"tomorrow")', "reads the clock"),
        ("date_add(current_date, 1)", "current_date reads the clock or the session"),
        ("greatest(EventTime, current_timestamp)", "current_timestamp reads the clock or the session"),
        ("concat(text, user)", "user reads the clock or the session"),
        ("`rand`() + Speed", "the function rand() cannot be used"),
        ("system.builtin.rand() + Speed", "rand() is called with a qualified name"),
        ("payload.rand()", "rand() is called with a qualified name"),
        ("to_timestmp(text)", "the function to_timestmp() cannot be used"),
        ("to_timestmp(text)", "there are to_timestamp"),
        ("map(text, ts, Speed)", "map() has 3 arguments: it takes an even number"),
        ("coalesce(rand(), uuid())", "the function uuid() cannot be used"),
        ("größe", "write the column as `größe`"),
        ("upper(größe)", "'größe' has other letters than a to z: write it in backquotes, `größe`"),
        ("payload.größe", "`größe`"),
        ("upper(text) || straße", "`straße`"),
    ],
)
def test_an_expression_that_is_more_than_its_row_is_refused(text: str, message: str) -> None:
    assert message in "\n".join(expression_findings(text, ROW))


@pytest.mark.parametrize(
    "name",
    _REFUSED.split(),
)
def test_a_function_that_is_not_of_the_row_alone_is_named(name: str) -> None:
    (finding,) = expression_findings(f"concat(text, {name}(text))", ROW)
    assert finding.startswith(f"the function {name}()")


def test_several_refused_functions_are_all_named() -> None:
    assert len(expression_findings("concat(rand(), uuid(), max(text))", ROW)) == 3


def test_no_function_is_both_allowed_and_refused() -> None:
    assert not ALLOWED_FUNCTIONS & (AGGREGATES | WINDOW_FUNCTIONS | SESSION_WORDS)


@pytest.mark.parametrize("name", sorted(ALLOWED_FUNCTIONS - {"cast", "try_cast", "extract", "position", "div"}))
def test_every_allowed_function_can_be_called(name: str) -> None:
    findings = expression_findings(f"{name}(text, ts, Speed)", ROW) or expression_findings(f"{name}(text)", ROW)
    assert not any("function" in finding for finding in findings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ts",
            "'ts' is a number (BIGINT), not a time: write timestamp_millis(ts) for milliseconds since 1970",
        ),
        ("Speed", "timestamp_seconds(Speed) for seconds"),
        ("payload.n", "timestamp_millis(payload.n)"),
        ("flag", "'flag' is BOOLEAN, not a time"),
        ("raw", "'raw' is BINARY, not a time"),
        ("payload", "not a time: name a column of TIMESTAMP, TIMESTAMP_NTZ, DATE, STRING"),
        ("list", "'list' is ARRAY<INT>, not a time"),
        ("ts / 1000", "is a number, not a time: put timestamp_millis(...) around"),
        ("(ts * 1000)", "is a number, not a time"),
        ("cast(text as bigint)", "is a number, not a time"),
        ("unix_millis(EventTime)", "is a number, not a time"),
        ("ts > 5", "is true or false, not a time"),
        ("flag and ts > 5", "is true or false, not a time"),
    ],
)
def test_what_cannot_be_a_time_is_refused_with_the_way_to_make_it_one(text: str, message: str) -> None:
    (finding,) = time_findings(text, ROW)
    assert message in finding


@pytest.mark.parametrize("text", ["payload", "list", "tags"])
def test_a_key_is_one_value(text: str) -> None:
    (finding,) = key_findings(text, ROW)
    assert "not one value: name a member of it, or write to_json" in finding


def test_any_column_may_be_right_while_the_schema_is_wrong() -> None:
    unknown = ReadableColumns(None)
    assert time_findings("anything", unknown) == []
    assert time_findings("to_timestamp(anything)", unknown) == []
    assert len(time_findings("to_timestamp(rand())", unknown)) == 1


def test_plain_columns_need_no_sql_parser() -> None:
    code = (
        "import sys; from tidemark.config.sql.expressions import *; "
        "from tidemark.config.sql.row import ReadableColumns; "
        "time_findings('a.b', ReadableColumns(None)); sys.exit('sqlglot' in sys.modules)"
    )
    paths = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=paths)  # noqa: S603 # its own code
    assert done.returncode == 0


@pytest.mark.parametrize(
    "literal", ["'12:30'", "'T12:30'", '"7:00"', "' 12:30:00Z'", "'to' 'day'", "r'now'", "'\\u006eow'", "''"]
)
@pytest.mark.parametrize("kind", ["timestamp", "TIMESTAMP_LTZ", "date"])
def test_a_literal_that_says_no_date_reads_the_clock(kind: str, literal: str) -> None:
    (finding,) = expression_findings(f"EventTime > {kind} {literal}", ROW)
    assert "reads the clock" in finding


@pytest.mark.parametrize(
    "literal", ["'2026'", "'2026-01-31'", "'2026-01-31T12:30:00.5Z'", "'epoch'", "'+12026-01-31'"]
)
def test_a_literal_that_says_the_year_does_not_read_the_clock(literal: str) -> None:
    assert expression_findings(f"EventTime > timestamp {literal}", ROW) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("to_unix_timestamp()", "to_unix_timestamp() has no arguments: it takes 1 to 2"),
        ("length(text, ts)", "length() has 2 arguments: it takes 1"),
        ("coalesce()", "coalesce() has no arguments: it takes 1 or more"),
        ("make_timestamp(ts, ts, ts, ts)", "make_timestamp() has 4 arguments: it takes 1 to 3 or 6 to 7"),
        ("upper(concat(text, nullif(text)))", "nullif() has 1 argument: it takes 2"),
    ],
)
def test_a_call_with_more_or_fewer_arguments_than_the_function_takes_is_refused(text: str, message: str) -> None:
    assert message in expression_findings(text, ROW, constants=True)


@pytest.mark.parametrize(
    "text",
    [
        "trim(BOTH 'x' FROM text)",
        "substring(text FROM 1 FOR 2)",
        "position('a' IN text)",
        "overlay(text PLACING 'x' FROM 1)",
        "cast(Speed as decimal(10, 2))",
        "Speed div (2)",
        "text rlike ('a')",
        "text like any ('a', 'b')",
        "date_add(DAY, 1, ts)",
        "if(text in ('a,b', '(', 'c'), concat(text, '),'), left(text, 2))",
        "transform(array(text, text), (x, i) -> x)",
        "array(text, text)[0]",
    ],
)
def test_arguments_are_counted_as_spark_reads_them(text: str) -> None:
    assert not any("argument" in each for each in expression_findings(text, ROW, constants=True))
