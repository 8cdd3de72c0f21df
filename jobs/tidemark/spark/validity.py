"""Checks that every reader of the tables can hold a row's values: times in the years 1 to 9999, text that is UTF-8.
Any other value is null in the payload and makes its row corrupt."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from tidemark.spark.jvm_functions import is_utf8

Leaf = Callable[[Column], Column]
_FIRST, _LAST = "0001-01-01", "9999-12-31"
_LAST_TIME = f"{_LAST} 23:59:59.999999"


def column_of(name: str) -> str:
    """A column's name, quoted for SQL."""
    return f"`{name.replace('`', '``')}`"


def fit(kind: DataType, value: Column) -> Column:
    """A computed value; null if a table could not hold it."""
    found = [check for check in (beyond_years(kind, value), not_utf8(kind, value)) if check is not None]
    return F.when(~F.coalesce(reduce(or_, found), F.lit(False)), value) if found else value


def beyond_years(kind: DataType, value: Column) -> Column | None:
    """Condition that a time anywhere in a value is outside the years 1 to 9999; None if its type has no times."""
    return any_leaf(
        kind,
        value,
        {
            "timestamp": _outside("timestamp", _LAST_TIME),
            "timestamp_ntz": _outside("timestamp_ntz", _LAST_TIME),
            "date": _outside("date", _LAST),
        },
    )


def not_utf8(kind: DataType, value: Column) -> Column | None:
    """Condition that a text anywhere in a value is not UTF-8; None if its type has no text."""
    return any_leaf(kind, value, {"string": lambda text: ~is_utf8(text)})


def any_leaf(kind: DataType, value: Column, leaves: Mapping[str, Leaf]) -> Column | None:
    """Condition that one of `leaves`, conditions by type name, holds anywhere in a value; None if its type has no
    such part.

    It may be null for a null value.
    """
    if isinstance(kind, StructType):
        return _any([any_leaf(field.dataType, value.getField(field.name), leaves) for field in kind])
    if isinstance(kind, ArrayType):
        return _in_elements(kind.elementType, value, leaves)
    if isinstance(kind, MapType):
        keys = _in_elements(kind.keyType, F.map_keys(value), leaves)
        return _any([keys, _in_elements(kind.valueType, F.map_values(value), leaves)])
    leaf = leaves.get(kind.typeName())
    return None if leaf is None else leaf(value)


def payload_of(
    values: Mapping[str, Column], bad: Mapping[str, Column], excused: Container[str]
) -> tuple[list[Column], Column]:
    """The payload, null where a value is bad, and the condition that one is bad in a column that is not excused."""
    payload = [(F.when(~bad[name], value) if name in bad else value).alias(name) for name, value in values.items()]
    misfits = [condition for name, condition in bad.items() if name not in excused]
    return payload, reduce(or_, misfits, F.lit(False))


def _in_elements(kind: DataType, values: Column, leaves: Mapping[str, Leaf]) -> Column | None:
    def check(value: Column) -> Column:
        found = any_leaf(kind, value, leaves)
        return F.lit(False) if found is None else F.coalesce(found, F.lit(False))

    return F.exists(values, check) if _has_leaf(kind, leaves) else None


def _has_leaf(kind: DataType, leaves: Container[str]) -> bool:
    if isinstance(kind, StructType):
        return any(_has_leaf(field.dataType, leaves) for field in kind)
    if isinstance(kind, ArrayType):
        return _has_leaf(kind.elementType, leaves)
    if isinstance(kind, MapType):
        return _has_leaf(kind.keyType, leaves) or _has_leaf(kind.valueType, leaves)
    return kind.typeName() in leaves


def _any(conditions: list[Column | None]) -> Column | None:
    there = [F.coalesce(condition, F.lit(False)) for condition in conditions if condition is not None]
    return reduce(or_, there) if there else None


def _outside(kind: str, last: str) -> Leaf:
    def check(value: Column) -> Column:
        return ~value.between(F.lit(_FIRST).cast(kind), F.lit(last).cast(kind))

    return check
