"""Parses column lists in Spark's DDL: `DeviceId STRING, Speed DOUBLE, Where STRUCT<Lat: DOUBLE, Lon: DOUBLE>`.

A small strict parser of its own: general SQL parsers guess where Spark refuses, and they rename types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

EVENT_COLUMNS = (
    "_partition", "_offset", "_arrival_time", "_arrival_date", "_event_time", "_end_time",
    "_system_timestamp", "_disposition", "_reasons", "_watermark", "_substream", "_batch_id", "_file", "_raw",
)  # fmt: skip
"""Columns of the events tables before the payload, in their order."""
SYSTEM_COLUMNS = frozenset({
    *EVENT_COLUMNS,
    "_window_start", "_window_end", "_source", "_start_batch_id", "_end_offset", "_closed_date",
})  # fmt: skip

INTERNAL = "__tidemark_"
"""Beginning of the names of internal columns, which rows have between reading and writing."""

_SIMPLE = {
    "STRING": "STRING", "BOOLEAN": "BOOLEAN", "BINARY": "BINARY", "DATE": "DATE",
    "TINYINT": "TINYINT", "BYTE": "TINYINT", "SMALLINT": "SMALLINT", "SHORT": "SMALLINT",
    "INT": "INT", "INTEGER": "INT", "BIGINT": "BIGINT", "LONG": "BIGINT",
    "FLOAT": "FLOAT", "REAL": "FLOAT", "DOUBLE": "DOUBLE",
    "TIMESTAMP": "TIMESTAMP", "TIMESTAMP_LTZ": "TIMESTAMP", "TIMESTAMP_NTZ": "TIMESTAMP_NTZ",
}  # fmt: skip
_DECIMAL = {"DECIMAL", "DEC", "NUMERIC"}
_INSTEAD = {
    "VARCHAR": "STRING", "CHAR": "STRING", "TEXT": "STRING", "CHARACTER": "STRING", "VARIANT": "STRING",
    "DATETIME": "TIMESTAMP", "BOOL": "BOOLEAN", "NUMBER": "DECIMAL(p, s)", "INTERVAL": "STRING",
    "UUID": "STRING",     "INT64": "BIGINT", "INT32": "INT", "FLOAT64": "DOUBLE", "TIME": "STRING",
}  # fmt: skip
_TYPES = "STRING, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), DATE, TIMESTAMP, " \
    "TIMESTAMP_NTZ, BINARY, ARRAY<...>, MAP<..., ...>, STRUCT<name: ...>"  # fmt: skip
_TOKEN = re.compile(r"\s+|(`(?:[^`]|``)+`)|('(?:[^'\\]|\\.)*')|(\w+)|([<>(),:])|(.)", re.DOTALL)
_NESTED = re.compile(r"\s*(ARRAY|MAP|STRUCT)\s*<", re.IGNORECASE)
_BAD_IN_NAME = re.compile(r"[ ,;{}()\n\t=]")


@dataclass(frozen=True)
class Type:
    """A column's type; `fields` are the members of a STRUCT, `element` the values of an ARRAY or MAP,
    `key` the keys of a MAP."""

    text: str
    fields: tuple[Column, ...] = ()
    element: Type | None = None
    key: Type | None = None

    @property
    def nested(self) -> bool:
        return bool(self.fields) or self.element is not None

    def parts(self) -> Iterator[Type]:
        """The type itself and every type within it."""
        yield self
        within = [parse_type(member.type) for member in self.fields]
        for part in (*within, *(each for each in (self.key, self.element) if each is not None)):
            yield from part.parts()


@dataclass(frozen=True)
class Column:
    """A payload column: its name, and its type as Spark DDL text."""

    name: str
    type: str


def parse_schema(text: str) -> tuple[Column, ...]:
    """Parse a DDL text into columns, with one spelling for each type (LONG is BIGINT).

    Raises ValueError with every column that is doubled, reserved or has a name that tables cannot hold.
    """
    columns = tuple(_DdlReader(text).columns())
    findings = [
        *_doubled(columns),
        *(finding for column in columns for finding in _name_findings(column.name)),
        *(finding for column in columns for finding in _member_findings(column)),
    ]
    if findings:
        raise ValueError("; ".join(findings))
    return columns


def parse_type(text: str) -> Type:
    """Parse one type text. Raises ValueError."""
    reader = _DdlReader(text)
    result = reader.type()
    reader.expect("")
    return result


def parse_members(text: str) -> Type:
    """Parse the type of a nested value: the columns of a STRUCT, or an ARRAY, MAP or STRUCT.

    Raises ValueError with every member that is doubled or has a name that tables cannot hold.
    """
    if not text.strip():
        raise ValueError("it has no columns: write such as id BIGINT, name STRING")
    nested = _NESTED.match(text)
    if not nested:
        list(_DdlReader(text, colons=False).columns())
    kind = parse_type(text if nested else f"STRUCT<{text}>")
    findings = [finding for part in kind.parts() for member in part.fields for finding in unstorable(member.name)]
    if findings:
        raise ValueError("; ".join(findings))
    return kind


def schema_text(columns: tuple[Column, ...]) -> str:
    """DDL text of columns, which `parse_schema` reads back."""
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)


def quoted(name: str) -> str:
    """A name as SQL needs it: in backquotes unless it is a plain word."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"


def doubled(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names of columns that were there before, each with the problem."""
    first: dict[str, str] = {}
    for name in names:
        if name.lower() in first:
            yield name, f"{name!r} is there twice (as {first[name.lower()]!r}, whatever the case): rename one"
        first.setdefault(name.lower(), name)


def _doubled(columns: Iterable[Column]) -> Iterator[str]:
    return (f"column {message}" for _, message in doubled(column.name for column in columns))


def _name_findings(name: str) -> Iterator[str]:
    if name.lower() in SYSTEM_COLUMNS:
        yield (
            f"column {name!r} has the name of a column of the events tables: call it {name.strip('_')!r}"
            " or so (csv: change it here; json: say so in header_columns; other formats: have it written under the"
            " new name, or leave it out of the schema)"
        )
    yield from unstorable(name)


def _member_findings(column: Column) -> Iterator[str]:
    for part in parse_type(column.type).parts():
        for member in part.fields:
            yield from (f"in column {column.name!r}, {finding}" for finding in unstorable(member.name))


def unstorable(name: str) -> Iterator[str]:
    """Reasons why no table can have a column of that name: Delta's rules, or internal columns of that name."""
    if name.lower().startswith(INTERNAL):
        yield f"column {name!r} begins as our own columns do: call it {name[len(INTERNAL) :]!r} or so"
    if _BAD_IN_NAME.search(name):
        yield f"column {name!r} cannot be stored by Delta: no blank , ; {{ }} ( ) = or line break in a name"


class _DdlReader:
    """One pass over the tokens of a DDL text. With `colons` a column's name may have one after it."""

    def __init__(self, text: str, *, colons: bool = True) -> None:
        self.text, self.colons = text, colons
        self.tokens = [match for match in _TOKEN.finditer(text) if not match[0].isspace()]
        self.position = 0

    def columns(self) -> Iterator[Column]:
        if not self.tokens:
            raise ValueError('has no columns: write such as "DeviceId STRING, Speed DOUBLE"')
        while True:
            name = self.name()
            if self.peek() in ("", ","):
                raise ValueError(f"column {name!r} has no type: write one after it, such as {name} STRING")
            if self.take_if(":") and not self.colons:
                raise ValueError(f"column {name!r} has a colon, which only members of a STRUCT have: leave it out")
            yield Column(name, self.type().text)
            self.remarks(name)
            if not self.take_if(","):
                break
        self.expect("")

    def remarks(self, name: str) -> None:
        if self.peek().upper() in ("NOT", "DEFAULT", "GENERATED"):
            raise ValueError(f"column {name!r}: every column may be null, so only a name and a type can be given")
        if self.peek().upper() == "COMMENT":
            self.position += 1
            while self.peek().startswith("'"):
                self.position += 1

    def type(self) -> Type:
        word = self.take()
        upper = word.upper()
        if upper in _SIMPLE:
            return Type(_SIMPLE[upper])
        if upper in _DECIMAL:
            return self.decimal()
        if upper == "ARRAY":
            element = self.arguments(1)[0]
            return Type(f"ARRAY<{element.text}>", element=element)
        if upper == "MAP":
            key, element = self.arguments(2)
            return Type(f"MAP<{key.text}, {element.text}>", element=element, key=key)
        if upper == "STRUCT":
            return self.struct()
        raise ValueError(_unknown_type(word))

    def decimal(self) -> Type:
        precision, scale = 10, 0
        if self.take_if("("):
            precision = self.number()
            scale = self.number() if self.take_if(",") else 0
            self.expect(")")
        if not (1 <= precision <= 38 and scale <= precision):
            raise ValueError(f"DECIMAL({precision}, {scale}) cannot be: precision is 1 to 38, scale at most that")
        return Type(f"DECIMAL({precision}, {scale})")

    def arguments(self, count: int) -> list[Type]:
        self.expect("<")
        types = [self.type()]
        while len(types) < count:
            self.expect(",")
            types.append(self.type())
        self.expect(">")
        return types

    def struct(self) -> Type:
        self.expect("<")
        fields: list[Column] = []
        while not fields or self.take_if(","):
            name = self.name()
            self.take_if(":")
            fields.append(Column(name, self.type().text))
            self.remarks(name)
        self.expect(">")
        doubled = next(_doubled(fields), None)
        if doubled:
            raise ValueError(f"in a STRUCT, {doubled}")
        body = ", ".join(f"{quoted(field.name)}: {field.type}" for field in fields)
        return Type(f"STRUCT<{body}>", fields=tuple(fields))

    def name(self) -> str:
        word = self.take()
        if word.startswith("`"):
            return word[1:-1].replace("``", "`")
        if not re.fullmatch(r"\w+", word):
            raise ValueError(f"expected a column name but found {word or 'the end'!r}{self.near()}")
        return word

    def number(self) -> int:
        word = self.take()
        if not word.isdecimal():
            raise ValueError(f"expected a whole number but found {word or 'the end'!r}{self.near()}")
        return int(word)

    def peek(self) -> str:
        return self.tokens[self.position][0] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        word = self.peek()
        self.position += 1
        return word

    def take_if(self, word: str) -> bool:
        found = self.peek() == word
        self.position += found
        return found

    def expect(self, word: str) -> None:
        found = self.take()
        if found != word:
            wanted = repr(word) if word else "a comma or the end"
            raise ValueError(f"expected {wanted} but found {found or 'the end'!r}{self.near()}")

    def near(self) -> str:
        index = min(self.position, len(self.tokens)) - 1
        end = self.tokens[index].end() if index >= 0 else 0
        before = self.text[max(0, end - 40) : end].strip()
        return f" after {before!r} (names with other characters than letters, digits, _ stand in `backquotes`)"


def _unknown_type(word: str) -> str:
    upper = word.upper()
    close = _INSTEAD.get(upper) or next(
        iter(get_close_matches(upper, [*_SIMPLE, *_DECIMAL, "ARRAY", "MAP", "STRUCT"], 1)), ""
    )
    use = f"write {close}, or another" if close else "write one"
    return f"{word or 'the end'!r} is not a type that can be used: {use} of {_TYPES}"
