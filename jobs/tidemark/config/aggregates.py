"""Checking expressions over the rows of a window, and telling which of them depend on the order of rows.

Calls are found in the words as written: the parser renames some aggregates and does not know others.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import sqlglot
from sqlglot.errors import SqlglotError

from tidemark.config import sql
from tidemark.config.expressions import plain_names
from tidemark.config.functions import AGGREGATES
from tidemark.config.row import Row

ROLLUPS = frozenset({"grouping", "grouping_id"})
_USABLE = AGGREGATES - ROLLUPS
_ORDER_FREE = frozenset({
    "any", "approx_count_distinct", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "count", "count_if",
    "every", "max", "median", "min", "percentile", "some",
})  # fmt: skip
_SUMS = frozenset({"sum", "try_sum"})
_MEANS = frozenset({"avg", "mean", "try_avg"})
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_DECIMAL = re.compile(r"DECIMAL\(([0-9]+), [0-9]+\)")
_INTEGER = re.compile(r"[-+]?\s*[0-9]+")
_ROOM = 28
"""Digits that a sum of decimals can have and still never be too long on the way, whatever the order."""
_VALUE = "`the value`"
"""Stands for an aggregate's value; no column is called so, since Delta stores no blank in a name."""


@dataclass(frozen=True)
class Call:
    """An aggregate called in a text, with its FILTER and WITHIN GROUP: where it is, and its arguments."""

    name: str
    start: int
    end: int
    arguments: str
    nested: tuple[str, ...]


def aggregate_findings(text: str, row: Row, grouped: Container[str]) -> list[str]:
    """What is wrong with an expression over a window's rows, each of them a `row`.

    `grouped` has the names, in lower case, of what is the same in all of them.
    """
    if not text.strip():
        return ["is empty: write an aggregate, such as count(*)"]
    found = [f"the function {name}() needs rollups, which windows do not have" for name in called(text) & ROLLUPS]
    calls = outermost(text)
    for call in calls:
        found += [f"{name}() within {call.name}(): aggregates cannot be nested" for name in call.nested]
    found = found or sql.findings(text, row, constants=True, aggregates=_USABLE)
    if found:
        return found
    outside = sql.columns_read(_with_values(text, calls))
    loose = dict.fromkeys(names[0] for names in outside if names[0] != _VALUE[1:-1])
    return [
        f"{name!r} differs from row to row of a window: name it in group_by, or in an aggregate, such as max({name})"
        for name in loose
        if name.lower() not in grouped
    ]


def order_sensitive(text: str, types: Mapping[str, str | None]) -> tuple[str, ...]:
    """The aggregates in an expression whose result may depend on the order of rows, each once.

    `types` are Spark DDL types by column name in lower case, None where they are not known.
    """
    return tuple(dict.fromkeys(call.name for call in outermost(text) if not _order_free(call, types)))


def called(text: str) -> frozenset[str]:
    """The aggregates in a text, in lower case."""
    tokens = _tokens(text)
    return frozenset(tokens[index].text.lower() for index in _names(tokens))


def outermost(text: str) -> list[Call]:
    """The aggregates in a text that are in no other one."""
    tokens = _tokens(text)
    calls: list[Call] = []
    after = 0
    for index in _names(tokens):
        if index >= after:
            close = _partner(tokens, index + 1)
            after = _with_clauses(tokens, close) + 1
            calls.append(_call(text, tokens[index:after], close - index))
    return calls


def _call(text: str, tokens: Sequence[sqlglot.Token], close: int) -> Call:
    return Call(
        tokens[0].text.lower(),
        tokens[0].start,
        tokens[-1].end + 1,
        text[tokens[1].end + 1 : tokens[close].start].strip(),
        tuple(dict.fromkeys(tokens[index].text.lower() for index in _names(tokens) if index)),
    )


def _order_free(call: Call, types: Mapping[str, str | None]) -> bool:
    if call.name in _ORDER_FREE:
        return True
    names = plain_names(call.arguments)
    kind = (types.get(names[0].lower()) if len(names) == 1 else None) or ""
    decimal = _DECIMAL.fullmatch(kind)
    roomy = decimal is not None and int(decimal[1]) <= _ROOM
    if call.name in _SUMS:
        whole = kind in _WHOLE and (call.name, kind) != ("try_sum", "BIGINT")
        return whole or roomy or bool(_INTEGER.fullmatch(call.arguments))
    return call.name in _MEANS and roomy


def _tokens(text: str) -> list[sqlglot.Token]:
    try:
        return list(sqlglot.tokenize(text, dialect="spark"))
    except SqlglotError:
        return []


def _names(tokens: Sequence[sqlglot.Token]) -> Iterator[int]:
    """Where aggregates are called."""
    for index, token in enumerate(tokens):
        member = index > 0 and tokens[index - 1].text == "."
        if token.text.lower() in AGGREGATES and not member and sql.is_call(tokens, index):
            yield index


def _partner(tokens: Sequence[sqlglot.Token], opening: int) -> int:
    """The parenthesis that closes one; the last token where none does."""
    depth = 0
    for index in range(opening, len(tokens)):
        kind = tokens[index].token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0:
            return index
    return len(tokens) - 1


def _with_clauses(tokens: Sequence[sqlglot.Token], close: int) -> int:
    """The last token of the clauses that follow a call: IGNORE NULLS, WITHIN GROUP (...), FILTER (...)."""
    words = [token.text.lower() for token in tokens[close + 1 : close + 4]]
    if words[:2] in (["ignore", "nulls"], ["respect", "nulls"]):
        return _with_clauses(tokens, close + 2)
    for clause in (["within", "group", "("], ["filter", "("]):
        if words[: len(clause)] == clause:
            return _with_clauses(tokens, _partner(tokens, close + len(clause)))
    return close


def _with_values(text: str, calls: Sequence[Call]) -> str:
    """The text with a name in place of each aggregate."""
    edges = [0, *(edge for call in calls for edge in (call.start, call.end)), len(text)]
    return _VALUE.join(text[start:end] for start, end in list(pairwise(edges))[::2])
