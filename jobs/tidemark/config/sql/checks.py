"""Checks Spark SQL over one row, or over the rows of a window.

An expression that passes has a value that depends on these rows alone: it uses known columns and allowed functions,
and nothing that reads other rows, files, the session or a clock. Functions are found in the tokens as written, since
the parser renames them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from difflib import get_close_matches
from itertools import chain, pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from tidemark.config.sql.arities import counted
from tidemark.config.sql.functions import (
    AGGREGATES,
    ALLOWED_FUNCTIONS,
    KEYWORDS,
    NUMBER_FUNCTIONS,
    SESSION_WORDS,
    WINDOW_FUNCTIONS,
)
from tidemark.config.sql.json_schemas import NAME as FROM_JSON
from tidemark.config.sql.json_schemas import json_findings
from tidemark.config.sql.names import CONSTANTS, plain_names
from tidemark.config.sql.row import ReadableColumns

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DATED = re.compile(r"[\"'](epoch|\s*[+-]?[0-9]{4,}(-[^\\]*)?)\s*[\"']", re.IGNORECASE)
"""A literal, as written, that has a year: Spark reads any other as a time of today."""
_TYPED_LITERALS = {"timestamp", "timestamp_ntz", "timestamp_ltz", "date"}
PARSER_ERRORS = (SqlglotError, LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""Errors of the parser: its own, and those that it trips over at some wrong calls, such as map() of three."""
_ROW_ONLY = "results may depend on the row only"

_COLLATED = (
    "has COLLATE: text is compared by its bytes, since it would depend on the order of rows which of several equal"
    " texts is kept; write lower(column)"
)
_SHAPES: tuple[tuple[tuple[type[exp.Expr], ...], str], ...] = (
    ((exp.Query, exp.Subquery), "has a subquery: an expression reads no other table"),
    ((exp.Window,), "has a window function: an expression sees no rows before or after its own"),
    ((exp.Placeholder, exp.Parameter, exp.SessionParameter), "has a parameter: write the value itself"),
    ((exp.AtTimeZone,), "has AT TIME ZONE, which Spark does not know: use to_utc_timestamp(column, zone)"),
    ((exp.Block, exp.Alias, exp.Command), "is more than one expression: write one"),
    ((exp.Collate, exp.CollateColumnConstraint), _COLLATED),
)
_OF_ONE_ROW: tuple[tuple[tuple[type[exp.Expr], ...], str], ...] = (
    ((exp.Count,), "counts rows: an expression sees one row only"),
    ((exp.Star,), "has a `*`: name the columns"),
)


def findings(
    text: str, row: ReadableColumns, *, constants: bool = False, aggregates: Container[str] = frozenset()
) -> list[str]:
    """Problems of a text as an expression over `row`; with `constants` it need not read a column.

    With `aggregates` it is an expression over a window's rows, which may call these.
    """
    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError as error:
        return [f"{text!r} is not a Spark SQL expression{_position(error)}"]
    in_tokens = (_functions(text, tokens, aggregates), _session_words(tokens), _miscounted(tokens), _unquoted(tokens))
    found = list(dict.fromkeys(chain(*in_tokens)))
    try:
        tree = _parsed(text)
    except PARSER_ERRORS as error:
        collated = any(token.token_type.name == "COLLATE" for token in tokens)  # older parsers fail at it
        unread = _COLLATED if collated else f"is not a Spark SQL expression{_unclosed(tokens) or _position(error)}"
        return found or [f"{text!r} {unread}"]
    shape = _shape(tree, tokens) or (_stars(tree) if aggregates else _first_of(_OF_ONE_ROW, tree))
    if shape:
        return [f"{text!r} {shape}"]
    columns = _columns(tree)
    if not found and not columns and not constants:
        return [f"{text!r} reads no column: name a column (text in quotes is a text, not a column)"]
    return found or list(dict.fromkeys(finding for names in columns for finding in row.findings(names)))


def columns_read(text: str) -> list[list[str]]:
    """Columns in an expression that passed `findings`, each with the members that follow it.

    The parser takes some names that Spark reads as columns, such as `when`, for words of the grammar.
    """
    names = plain_names(text)
    return [names] if names and text.strip().lower() not in CONSTANTS else _columns(_parsed(text))


def no_time(text: str) -> list[str]:
    """A problem if the outermost part of an expression that passed `findings` cannot give a time; else empty."""
    tree = _parsed(text).unnest()
    called = text.strip().partition("(")[0].strip().lower() if isinstance(tree, exp.Func) else ""
    number = isinstance(tree, exp.Mul | exp.Div | exp.IntDiv | exp.Mod) or called in NUMBER_FUNCTIONS
    if number or (isinstance(tree, exp.Cast) and tree.to.this in exp.DataType.NUMERIC_TYPES):
        return [
            f"{text!r} is a number, not a time: put timestamp_millis(...) around milliseconds since 1970,"
            " timestamp_seconds(...) around seconds"
        ]
    if isinstance(tree, exp.Predicate | exp.Connector | exp.Not):
        return [f"{text!r} is true or false, not a time"]
    return []


def _parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, dialect="spark", into=exp.Condition)


def _columns(tree: exp.Expr) -> list[list[str]]:
    return [[part.name for part in column.parts] for column in tree.find_all(exp.Column)]


def _unquoted(tokens: Sequence[sqlglot.Token]) -> Iterator[str]:
    """Names outside of ASCII, which Spark's parser takes in backquotes only."""
    odd = [token.text for token in tokens if token.token_type.name == "VAR" and not token.text.isascii()]
    return (f"{name!r} has other letters than a to z: write it in backquotes, `{name}`" for name in odd)


def _unclosed(tokens: Sequence[sqlglot.Token]) -> str:
    texts = [token.text for token in tokens if token.token_type.name in ("L_PAREN", "R_PAREN")]
    return ": a ) is missing" if texts.count("(") > texts.count(")") else ""


def _position(error: Exception) -> str:
    details = next((detail for detail in getattr(error, "errors", []) if detail.get("highlight")), None)
    return f": not understood at {details['highlight']!r}" if details else ""


def _shape(tree: exp.Expr, tokens: Sequence[sqlglot.Token]) -> str:
    kinds = [token.token_type.name for token in tokens]
    if kinds.count("L_PAREN") != kinds.count("R_PAREN"):
        return "has a parenthesis without its partner"
    if ("COMMA", "R_PAREN") in pairwise(kinds):
        return "has a comma with nothing after it"
    if any(token.comments for token in tokens):
        return "has a comment: write it as a comment of the YAML file"
    shape = _first_of(_SHAPES, tree)
    if not shape and any(kind.args.get("collate") for kind in tree.find_all(exp.DataType)):
        return _COLLATED
    arrows = sum(token.text in ("->", "->>", "=>") for token in tokens)
    if not shape and arrows != len(list(tree.find_all(exp.Lambda))):
        return "has an arrow that belongs to no function: use get_json_object(column, '$.name') to read JSON"
    return shape


def _first_of(shapes: tuple[tuple[tuple[type[exp.Expr], ...], str], ...], tree: exp.Expr) -> str:
    return next((message for kinds, message in shapes if tree.find(*kinds)), "")


def _stars(tree: exp.Expr) -> str:
    """The message about a `*` that is not that of count(*); empty if there is none."""
    for star in tree.find_all(exp.Star):
        if not isinstance(star.parent, exp.Count) or star.parent.expressions:
            return "has a `*` that is not alone in count(*): name the columns"
    return ""


def _functions(text: str, tokens: Sequence[sqlglot.Token], aggregates: Container[str]) -> Iterator[str]:
    """Problems of names before a parenthesis, and of literals that read the clock."""
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        name = token.text.lower()
        if following is None:
            continue
        if name in _TYPED_LITERALS and following.token_type.name.endswith("STRING"):
            if not _DATED.fullmatch(text[following.start : following.end + 1]):
                yield f"{token.text} '{following.text}' reads the clock: {_ROW_ONLY}; write {name} '2026-01-31' or so"
        elif is_call(tokens, index) and name not in aggregates and not _within_group(tokens, index):
            yield from _call(name, _before(tokens, index), tokens[index + 2 : index + 3])


def _miscounted(tokens: Sequence[sqlglot.Token]) -> Iterator[str]:
    """Findings about calls that have more or fewer arguments than their function takes, or a wrong schema."""
    for index in range(len(tokens)):
        if not is_call(tokens, index):
            continue
        if finding := counted(tokens, index):
            yield finding
        elif tokens[index].text.lower() == FROM_JSON:
            yield from json_findings(tokens, index)


def is_call(tokens: Sequence[sqlglot.Token], index: int) -> bool:
    """True if a token is the name of a function that is called there."""
    if index + 1 >= len(tokens) or tokens[index + 1].text != "(":
        return False
    text, kind = tokens[index].text, tokens[index].token_type.name
    word = not kind.endswith("STRING") and bool(_WORD.fullmatch(text)) and text.lower() not in KEYWORDS
    return kind == "IDENTIFIER" or word


def _within_group(tokens: Sequence[sqlglot.Token], index: int) -> bool:
    return tokens[index].text.lower() == "group" and _before(tokens, index).lower() == "within"


def _call(name: str, before: str, first_argument: Sequence[sqlglot.Token]) -> Iterator[str]:
    if before == ".":
        yield f"{name}() is called with a qualified name: only Spark's own functions can be used"
    elif name == "unix_timestamp" and [token.text for token in first_argument] == [")"]:
        yield f"unix_timestamp() without arguments reads the clock: {_ROW_ONLY}"
    elif name in AGGREGATES or name in WINDOW_FUNCTIONS:
        yield f"the function {name}() looks at other rows: an expression sees one row only"
    elif name not in ALLOWED_FUNCTIONS:
        close = get_close_matches(name, ALLOWED_FUNCTIONS, 3, 0.8)
        yield (
            f"the function {name}() cannot be used: only functions whose value depends on the row alone can,"
            " none that read a clock, files, randomness or the session, call Java, or fail on bad values"
            + (f"; there are {', '.join(close)}" if close else "")
        )


def _session_words(tokens: Sequence[sqlglot.Token]) -> Iterator[str]:
    for index, token in enumerate(tokens):
        plain = token.token_type.name != "IDENTIFIER" and not token.token_type.name.endswith("STRING")
        called = index + 1 < len(tokens) and tokens[index + 1].text == "("
        if plain and not called and _before(tokens, index) != "." and token.text.lower() in SESSION_WORDS:
            yield (
                f"{token.text} reads the clock or the session: {_ROW_ONLY} (a column of that name is written"
                f" `{token.text}`)"
            )


def _before(tokens: Sequence[sqlglot.Token], index: int) -> str:
    return tokens[index - 1].text if index else ""
