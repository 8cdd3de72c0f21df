"""Schemas as Spark DDL text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemark.config.types import SYSTEM_COLUMNS, Column, parse_schema, parse_type, schema_text


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a STRING", [("a", "STRING")]),
        ("a string, b int", [("a", "STRING"), ("b", "INT")]),
        ("a: STRING, b: LONG", [("a", "STRING"), ("b", "BIGINT")]),
        (
            "a BYTE, b SHORT, c INTEGER, d REAL",
            [("a", "TINYINT"), ("b", "SMALLINT"), ("c", "INT"), ("d", "FLOAT")],
        ),
        (
            "a DECIMAL(10,2), b DEC, c NUMERIC(5)",
            [("a", "DECIMAL(10, 2)"), ("b", "DECIMAL(10, 0)"), ("c", "DECIMAL(5, 0)")],
        ),
        ("a TIMESTAMP_LTZ, b TIMESTAMP_NTZ", [("a", "TIMESTAMP"), ("b", "TIMESTAMP_NTZ")]),
        ("a ARRAY<MAP<STRING,INT>>", [("a", "ARRAY<MAP<STRING, INT>>")]),
        ("a STRUCT<x: INT, y ARRAY<STRING>>", [("a", "STRUCT<x: INT, y: ARRAY<STRING>>")]),
        ("`odd-name` INT, `a``b` INT, `x.y` INT", [("odd-name", "INT"), ("a`b", "INT"), ("x.y", "INT")]),
        (
            "date DATE, timestamp TIMESTAMP, order INT, map STRING",
            [("date", "DATE"), ("timestamp", "TIMESTAMP"), ("order", "INT"), ("map", "STRING")],
        ),
        ("a INT COMMENT 'it''s, fine', b INT", [("a", "INT"), ("b", "INT")]),
        (
            "_id STRING, _metadata STRING, straße INT",
            [("_id", "STRING"), ("_metadata", "STRING"), ("straße", "INT")],
        ),
        ("a\n  INT,\n  b\tINT\n", [("a", "INT"), ("b", "INT")]),
    ],
)
def test_a_schema_is_a_list_of_columns(text: str, columns: list[tuple[str, str]]) -> None:
    assert parse_schema(text) == tuple(Column(*column) for column in columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no columns"),
        ("  ", "has no columns"),
        ("a", "column 'a' has no type: write one after it, such as a STRING"),
        ("a, b INT", "column 'a' has no type"),
        ("a STRING,", "expected a column name but found 'the end'"),
        ("a STRING b STRING", "expected a comma or the end but found 'b' after 'a STRING b'"),
        ("a-b STRING", "'-' is not a type that can be used"),
        ("a STRNG", "'STRNG' is not a type that can be used: write STRING, or another of"),
        ("a VARCHAR(10)", "write STRING, or another"),
        ("a VARIANT", "write STRING, or another"),
        ("a INTERVAL", "write STRING, or another"),
        ("a DATETIME", "write TIMESTAMP, or another"),
        ("a int64", "write BIGINT, or another"),
        ("a ARRAY<INT", "expected '>' but found 'the end'"),
        ("a ARRAY", "expected '<' but found 'the end'"),
        ("a MAP<STRING>", "expected ',' but found '>'"),
        ("a STRUCT<>", "expected a column name but found '>'"),
        ("a STRUCT<x: INT, X: INT>", "in a STRUCT, column 'X' is there twice"),
        ("a DECIMAL(39, 2)", "precision is 1 to 38"),
        ("a DECIMAL(2, 3)", "scale at most that"),
        ("a DECIMAL(x)", "expected a whole number but found 'x'"),
        ("a INT NOT NULL", "column 'a': every column may be null"),
        ("a INT DEFAULT 5", "column 'a': every column may be null"),
        ("a INT, A STRING", "column 'A' is there twice (as 'a', whatever the case): rename one"),
        ("`a b` INT", "column 'a b' cannot be stored by Delta"),
        ("a INT); DROP TABLE x", "expected a comma or the end but found ')'"),
    ],
)
def test_a_schema_that_cannot_be_read_says_where(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 # the message is compared as it is
        parse_schema(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", sorted(SYSTEM_COLUMNS))
@pytest.mark.parametrize("spell", [str, str.upper, str.title], ids=["lower", "upper", "title"])
def test_a_name_of_a_system_column_is_refused_in_any_case(name: str, spell: type[str]) -> None:
    with pytest.raises(ValueError, match=f"{spell(name)}' has the name of a column of the events tables: call it"):
        parse_schema(f"ok INT, {spell(name)} STRING")


def test_every_bad_name_is_reported_at_once() -> None:
    with pytest.raises(ValueError, match=r"'A' is there twice.*'_FILE' has the name.*'b c' cannot be stored"):
        parse_schema("a INT, A INT, _FILE INT, `b c` INT")


def test_the_members_of_a_struct_are_known() -> None:
    kind = parse_type("STRUCT<x: INT, y: ARRAY<STRUCT<z: DATE>>>")
    assert [field.name for field in kind.fields] == ["x", "y"]
    assert parse_type(kind.fields[1].type).element == parse_type("STRUCT<z: DATE>")


_names = st.text(
    st.characters(codec="utf-8", exclude_characters=" ,;{}()\n\t=", exclude_categories=["C", "Z"]), min_size=1
)
_types = st.recursive(
    st.sampled_from(["STRING", "BIGINT", "DECIMAL(38, 18)", "TIMESTAMP", "BINARY"]),
    lambda inner: st.one_of(
        inner.map(lambda kind: f"ARRAY<{kind}>"),
        st.tuples(inner, inner).map(lambda kinds: f"MAP<{kinds[0]}, {kinds[1]}>"),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda kinds: f"STRUCT<{', '.join(f'f{index}: {kind}' for index, kind in enumerate(kinds))}>"
        ),
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(_names, _types), min_size=1, max_size=5, unique_by=lambda column: column[0].lower()))
def test_a_schema_survives_being_written(columns: list[tuple[str, str]]) -> None:
    schema = tuple(Column(name, kind) for name, kind in columns if name.lower() not in SYSTEM_COLUMNS)
    if schema:
        assert parse_schema(schema_text(schema)) == schema


def test_a_name_that_begins_as_those_of_columns_on_the_way_is_refused_with_another() -> None:
    with pytest.raises(ValueError, match="'__Tidemark_row' begins as our own columns do: call it 'row'"):
        parse_schema("x STRING, __Tidemark_row STRING")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s STRUCT<__tidemark_x: INT>", "in column 's', column '__tidemark_x' begins as our own columns do"),
        ("s STRUCT<`a b`: INT>", "in column 's', column 'a b' cannot be stored by Delta"),
        ("m MAP<STRING, ARRAY<STRUCT<`a=b`: INT>>>", "in column 'm', column 'a=b' cannot be stored by Delta"),
        ("n INT, `` STRING", "`"),
    ],
)
def test_a_name_that_no_table_can_have_is_refused_wherever_it_is(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_schema(text)
