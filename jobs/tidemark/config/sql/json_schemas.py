"""Checks calls of `from_json`, whose schema is text in the expression, and gives the type of their value.

Its schema is a text in the expression, so its type is known when a pipeline is loaded. It reads no times: it would
complete a time of day with today's date, and take a number in quotes for a number of days.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot.errors import SqlglotError

from tidemark.config.types import Type, parse_members

NAME = "from_json"
_TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE")
_CORRUPT = "_corrupt_record"
"""Member in which Spark puts the text of a document that is no JSON."""


def json_findings(tokens: Sequence[sqlglot.Token], index: int) -> Iterator[str]:
    """Problems with the schema of the call of `from_json` that begins at a token."""
    arguments = _arguments(tokens, index + 1)
    if len(arguments) > 2:
        yield f"{NAME}() has options: leave them out, since text must be read in one way only"
    schema = _text(arguments[1]) if len(arguments) > 1 else ""
    if schema is None:
        yield f"{NAME}() needs its schema as text in quotes, such as {NAME}(body, 'id BIGINT, name STRING')"
    elif schema or len(arguments) > 1:
        yield from (f"{NAME}(): {finding}" for finding in _schema_findings(schema))


def json_type(text: str) -> Type | None:
    """The type of an expression that is one call of `from_json`; None for any other, or with a wrong schema."""
    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError:
        return None
    arguments = _arguments(tokens, 1) if [each.text.lower() for each in tokens[:2]] == [NAME, "("] else []
    whole = len(arguments) == 2 and tokens[-1].text == ")" and arguments[1][-1] is tokens[-2]
    schema = _text(arguments[1]) if whole else None
    try:
        return None if schema is None else parse_members(schema)
    except ValueError:
        return None


def _schema_findings(schema: str) -> Iterator[str]:
    try:
        kind = parse_members(schema)
    except ValueError as error:
        yield f"the schema {schema!r} cannot be used: {error}"
        return
    parts = list(kind.parts())
    times = [part.text for part in parts if part.text in _TIMES]
    if times:
        yield (
            f"the schema {schema!r} has {times[0]}: read the member as STRING, and convert it, as in"
            f" cast(text AS {times[0]})"
        )
    if any(part.key is not None and part.key.text != "STRING" for part in parts):
        yield f"the schema {schema!r} has a MAP whose keys are no STRING: names of JSON members are text"
    if any(member.name.lower() == _CORRUPT for part in parts for member in part.fields):
        yield f"the schema {schema!r} has {_CORRUPT!r}, a name that Spark uses itself: leave it out"


def _text(tokens: Sequence[sqlglot.Token]) -> str | None:
    """The text that an argument is; None if it is no text in quotes."""
    return tokens[0].text if len(tokens) == 1 and tokens[0].token_type.name == "STRING" else None


def _arguments(tokens: Sequence[sqlglot.Token], opening: int) -> list[list[sqlglot.Token]]:
    """The tokens of each argument of a call whose parenthesis is at `opening`."""
    found: list[list[sqlglot.Token]] = [[]]
    depth = 0
    for token in tokens[opening:]:
        kind = token.token_type.name
        depth -= kind in ("R_PAREN", "R_BRACKET")
        if depth == 0 and found[-1]:
            break
        if depth == 1 and kind == "COMMA":
            found.append([])
        elif depth:
            found[-1].append(token)
        depth += kind in ("L_PAREN", "L_BRACKET")
    return [each for each in found if each]
