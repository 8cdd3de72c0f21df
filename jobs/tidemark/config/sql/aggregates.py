"""Checks expressions over the rows of a window, and finds those that depend on the order of rows.

Calls are found in the tokens as written: the parser renames some aggregates and does not know others.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import sqlglot
from sqlglot.errors import SqlglotError

from tidemark.config.sql import checks
from tidemark.config.sql.functions import AGGREGATES
from tidemark.config.sql.names import plain_names
from tidemark.config.sql.row import ReadableColumns

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
"""Most digits that a sum of decimals may have without overflowing on the way, in whatever order rows are added."""
_VALUE = "`the value`"
"""Placeholder for an aggregate's value; no column has this name, since Delta allows no blank in a name."""


@dataclass(frozen=True)
class Call:
    """An aggregate that a text calls. `start` and `end` include its clauses; `arguments` are without DISTINCT;
    `clauses` has WITHIN GROUP and IGNORE NULLS as written (`within`, `nulls`) and the condition of FILTER
    (`filter`)."""

    name: str
    start: int
    end: int
    arguments: str
    nested: tuple[str, ...]
    distinct: bool
    clauses: Mapping[str, str]

    def where(self, column: str) -> str:
        """This aggregate over all of its rows for which a column is true, instead of over distinct ones."""
        within, nulls = (f" {self.clauses[name]}" if name in self.clauses else "" for name in ("within", "nulls"))
        also = f" AND ({self.clauses['filter']})" if "filter" in self.clauses else ""
        return f"{self.name}({self.arguments}){within} FILTER (WHERE {column}{also}){nulls}"


def aggregate_findings(text: str, row: ReadableColumns, grouped: Container[str] | None) -> list[str]:
    """Problems of an expression over a window's rows, each a `row`.

    `grouped` has the lower-case names of columns that are equal in all rows of a window; None: any column may be read
    beside the aggregates.
    """
    if not text.strip():
        return ["is empty: write an aggregate, such as count(*)"]
    found = [f"the function {name}() needs rollups, which windows do not have" for name in called(text) & ROLLUPS]
    calls = outermost(text)
    for call in calls:
        found += [f"{name}() within {call.name}(): aggregates cannot be nested" for name in call.nested]
    found = found or checks.findings(text, row, constants=True, aggregates=_USABLE)
    if found or grouped is None:
        return found
    outside = checks.columns_read(_with_values(text, calls))
    loose = dict.fromkeys(names[0] for names in outside if names[0] != _VALUE[1:-1])
    return [
        f"{name!r} differs from row to row of a window: name it in group_by, or in an aggregate, such as max({name})"
        for name in loose
        if name.lower() not in grouped
    ]


def order_sensitive(text: str, types: Mapping[str, str | None]) -> tuple[str, ...]:
    """Aggregates in an expression whose result may depend on the order of rows, without repetition.

    `types` are Spark DDL types by lower-case column name, None if they are not known.
    """
    return tuple(dict.fromkeys(call.name for call in outermost(text) if not _order_free(call, types)))


def wrapping(text: str, types: Mapping[str, str | None]) -> bool:
    """True if an expression has a `sum` of a BIGINT column, which Spark wraps beyond the range of BIGINT."""
    return any(
        call.name == "sum" and len(names) == 1 and types.get(names[0].lower()) == "BIGINT"
        for call in outermost(text)
        if (names := plain_names(call.arguments))
    )


def distinct_calls(text: str) -> list[str]:
    """Texts of the DISTINCT aggregates in an expression."""
    return [text[call.start : call.end] for call in outermost(text) if call.distinct]


def without_distinct(text: str, columns: Mapping[str, str]) -> str:
    """Replace each DISTINCT aggregate by an aggregate over the rows for which a column is true; `columns` gives that
    column by the aggregate's text."""
    for call in reversed(outermost(text)):
        if call.distinct:
            text = text[: call.start] + call.where(columns[text[call.start : call.end]]) + text[call.end :]
    return text


def called(text: str) -> frozenset[str]:
    """Lower-case names of the aggregates in a text."""
    tokens = _tokens(text)
    return frozenset(tokens[index].text.lower() for index in _names(tokens))


def outermost(text: str) -> list[Call]:
    """Aggregates in a text that are not inside another one."""
    tokens = _tokens(text)
    calls: list[Call] = []
    after = 0
    for index in _names(tokens):
        if index >= after:
            close = _partner(tokens, index + 1)
            after = _after(tokens, close)
            calls.append(_call(text, tokens[index:after], close - index))
    return calls


def _call(text: str, tokens: Sequence[sqlglot.Token], close: int) -> Call:
    opening = 2 if tokens[2].text.lower() == "distinct" else 1
    return Call(
        tokens[0].text.lower(),
        tokens[0].start,
        tokens[-1].end + 1,
        text[tokens[opening].end + 1 : tokens[close].start].strip(),
        tuple(dict.fromkeys(tokens[index].text.lower() for index in _names(tokens) if index)),
        opening == 2,
        {name: text[tokens[first].start : tokens[last].end + 1] for name, first, last in _clauses(tokens, close)},
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
    """Positions of the names of called aggregates."""
    for index, token in enumerate(tokens):
        member = index > 0 and tokens[index - 1].text == "."
        if token.text.lower() in AGGREGATES and not member and checks.is_call(tokens, index):
            yield index


def _partner(tokens: Sequence[sqlglot.Token], opening: int) -> int:
    """Position of the matching closing parenthesis; of the last token if there is none."""
    depth = 0
    for index in range(opening, len(tokens)):
        kind = tokens[index].token_type.name
        depth += (kind == "L_PAREN") - (kind == "R_PAREN")
        if depth == 0:
            return index
    return len(tokens) - 1


def _after(tokens: Sequence[sqlglot.Token], close: int) -> int:
    """Position of the token after a call and its clauses."""
    while (clause := _clause(tokens, close)) is not None:
        close = clause[1]
    return close + 1


def _clauses(tokens: Sequence[sqlglot.Token], close: int) -> Iterator[tuple[str, int, int]]:
    """Clauses that follow a call, each with the first and last token to keep."""
    while (clause := _clause(tokens, close)) is not None:
        name, last = clause
        yield (name, close + 4, last - 1) if name == "filter" else (name, close + 1, last)
        close = last


def _clause(tokens: Sequence[sqlglot.Token], close: int) -> tuple[str, int] | None:
    """The clause after a token, and its last token: WITHIN GROUP (...), FILTER (WHERE ...), IGNORE NULLS."""
    words = [token.text.lower() for token in tokens[close + 1 : close + 4]]
    if words[:2] in (["ignore", "nulls"], ["respect", "nulls"]):
        return "nulls", close + 2
    if words == ["within", "group", "("]:
        return "within", _partner(tokens, close + 3)
    return ("filter", _partner(tokens, close + 2)) if words[:2] == ["filter", "("] else None


def _with_values(text: str, calls: Sequence[Call]) -> str:
    """The text with a placeholder for each aggregate."""
    edges = [0, *(edge for call in calls for edge in (call.start, call.end)), len(text)]
    return _VALUE.join(text[start:end] for start, end in list(pairwise(edges))[::2])
