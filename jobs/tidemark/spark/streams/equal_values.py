"""Makes values that SQL takes for equal identical to the last bit: zeros of both signs, and all NaN."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
)

Leaf = Callable[[DataType, Column], Column]


def holds_floats(kind: DataType) -> bool:
    """True if there are floats anywhere in values of a type, except in maps."""
    if isinstance(kind, StructType):
        return any(holds_floats(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return holds_floats(kind.elementType)
    return isinstance(kind, FloatType | DoubleType)


def alike(kind: DataType, value: Column) -> Column:
    """A value in which each zero is 0.0 and each NaN has one bit pattern; maps are unchanged."""
    return _rebuilt(kind, value, _float) if holds_floats(kind) else value


def orderable(kind: DataType, value: Column) -> Column:
    """A value that can be ordered, and equals another's if the originals are equal.

    A map becomes its entries sorted by key, an interval its text.
    """
    return _rebuilt(kind, value, _ordered) if _unordered(kind) else value


def _rebuilt(kind: DataType, value: Column, leaf: Leaf) -> Column:
    """A value whose innermost parts are replaced by the results of `leaf`."""
    if isinstance(kind, StructType):
        parts = [_rebuilt(field.dataType, value.getField(field.name), leaf).alias(field.name) for field in kind]
        return F.when(value.isNotNull(), F.struct(*parts)) if parts else value
    if isinstance(kind, ArrayType):
        element = kind.elementType
        return F.transform(value, lambda each: _rebuilt(element, each, leaf))
    return leaf(kind, value)


def _float(kind: DataType, value: Column) -> Column:
    if not isinstance(kind, FloatType | DoubleType):
        return value
    same = F.when(value == 0, F.lit(0.0)).when(F.isnan(value), F.lit(float("nan")))
    return same.otherwise(value).cast(kind)


def _ordered(kind: DataType, value: Column) -> Column:
    if isinstance(kind, MapType):
        entry = StructType().add("key", kind.keyType).add("value", kind.valueType)
        return F.array_sort(_rebuilt(ArrayType(entry), F.map_entries(value), _ordered))
    return value.cast("string") if isinstance(kind, CalendarIntervalType) else value


def _unordered(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_unordered(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return _unordered(kind.elementType)
    return isinstance(kind, MapType | CalendarIntervalType)
