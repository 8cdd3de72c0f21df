"""Calls functions of the Java module `jvm/`. Other modules reach its classes through `java_class`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntFlag
from typing import Any, cast

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemark.spark.compat.jvm import running, scala_columns, scala_map, scala_sequence
from tidemark.spark.compat.plain import Way
from tidemark.spark.compat.plain import plain as takes_public

_NONE = -(1 << 63)
_CORRUPT = "columnnameofcorruptrecord"


class LineScan(IntFlag):
    """Bits that a scan sets for a JSON line. FILLED: it is not empty. EARLY: a brace is closed before its end.
    DUBIOUS: a value may be invalid although the parser accepts it. INVALID: it is not UTF-8."""

    FILLED = 1
    EARLY = 2
    DUBIOUS = 4
    INVALID = 8

    def of(self, scanned: Column) -> Column:
        """Condition that a line's bits have this one."""
        return scanned.bitwiseAND(F.lit(self.value)) != 0


def scan_line(line: Column) -> Column:
    """The bits of `LineScan` for a line of JSON."""
    return call("text.LineScan", line.cast("binary"))


def json_line(
    line: Column,
    schema: str,
    options: Mapping[str, str],
    plain: str | None = None,
    excused: Sequence[str] | None = None,
    unknown: str | None = None,
) -> Column:
    """Parse one line as Spark's `from_json` does, but faster; times without a zone are UTC. The BOOLEAN column
    `plain` of the schema becomes true for a line in which nothing is doubtful, else null.

    With `excused`, a value is null if its column's type cannot hold it exactly or if its member occurs twice; `plain`
    is false if the column is not excused. The STRING column `unknown` then gets the names of members that the schema
    lacks, one a line; null if there are none.
    """
    if takes_public(Way.JSON):
        return _from_json(line, schema, options, plain, excused, unknown)
    spared = None if excused is None else scala_sequence(excused)
    return invoked("text.JsonLineParser", line, settings=(schema, scala_map(options), "UTC", plain, spared, unknown))


def _from_json(
    line: Column,
    schema: str,
    options: Mapping[str, str],
    plain: str | None,
    excused: Sequence[str] | None,
    unknown: str | None,
) -> Column:
    """`json_line` by Spark's own `from_json` and a separate search for lost values; `plain` is never true."""
    parsed = F.from_json(line, schema, dict(options))
    if plain is None:
        return parsed
    added = [plain, *([unknown] if unknown else []), *(options[name] for name in options if name.lower() == _CORRUPT)]
    losses = F.struct(F.array().cast("array<string>").alias("lost"))
    if excused is not None:
        losses = invoked("text.JsonLosses", line, settings=(schema, scala_map(options), scala_sequence(added)))
    names = cast(StructType, StructType.fromDDL(schema)).names
    harmless = F.array(*[F.lit(name) for name in excused or ()]).cast("array<string>")

    def sound(both: Column) -> Column:
        lost = both["losses"]["lost"]
        own = {plain: F.when(F.size(F.array_except(lost, harmless)) > 0, F.lit(False))}
        if unknown is not None and excused is not None:
            own[unknown] = both["losses"]["unknown"]
        return _without_lost(both["row"], lost, names, added, own)

    once = F.array(F.struct(parsed.alias("row"), losses.alias("losses")))
    return F.transform(once, sound)[0]


def _without_lost(
    row: Column, lost: Column, names: Sequence[str], added: Sequence[str], own: Mapping[str, Column]
) -> Column:
    """A parsed row with null in the columns named in `lost`, except `added` columns, and with the values of `own`;
    null if the row is null."""
    columns = {name: row.getField(name) for name in names}
    columns |= {name: F.when(~F.array_contains(lost, name), columns[name]) for name in names if name not in added}
    columns |= own
    return F.when(row.isNotNull(), F.struct(*[value.alias(name) for name, value in columns.items()]))


def unknown_members(row: Column, schema: str, options: Mapping[str, str]) -> Column:
    """Members of a JSON object that the schema lacks, as the JSON text of an object; null if there are none."""
    return invoked("text.UnknownMembers", row, settings=(schema, scala_map(options)))


def call(name: str, *arguments: Column, settings: Sequence[Any] = ()) -> Column:
    """A user-defined function, made with `settings`, as a column."""
    function = java_class(name).function(*settings)
    return Column(function.apply(scala_columns(arguments)))


def invoked(name: str, *arguments: Column, settings: Sequence[Any] = ()) -> Column:
    """A function that compiled code calls with unboxed values, made with `settings`, as a column. Pass numbers that
    may be null through `or_none`."""
    return Column(java_class(name).function(scala_columns(arguments), *settings))


def java_class(name: str) -> Any:  # noqa: ANN401 # py4j has no types
    """A class of the Java module by its package and name, such as `rows.TolerancePolicy`."""
    package, _, simple = name.rpartition(".")
    return getattr(getattr(running().tidemark, package), simple)


def or_none(number: Column) -> Column:
    """A number in which null is replaced by the value that means null to `invoked` functions."""
    return F.coalesce(number, F.lit(_NONE))


def is_utf8(text: Column) -> Column:
    """True if text is UTF-8, as Spark's `is_valid_utf8` but faster."""
    return invoked("text.Utf8", text)
