"""Converts values of Delta columns, including nested ones, to JSON values."""

from __future__ import annotations

import base64
import math
from typing import Any, TypeAlias

import pyarrow as pa

from tidemark.core.times import DAY
from tidemark.report.words import iso

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def plain(value: pa.Scalar[Any]) -> Plain:
    """Return one value as a JSON value.

    Times become ISO 8601 (with Z unless the column has no zone), dates ISO, decimals text (exact), bytes base64. NaN
    and infinities become the texts NaN, Infinity and -Infinity. A map becomes an object if its keys are text, else a
    list of pairs.
    """
    if not value.is_valid:
        return None
    if isinstance(value, pa.StructScalar):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, pa.MapScalar):
        return _map(value)
    if isinstance(value, pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar):
        return [plain(each) for each in value.values or ()]
    return _timed(value) if isinstance(value, pa.TimestampScalar | pa.Date32Scalar) else _simple(value.as_py())


def micros_of(value: pa.Scalar[Any]) -> int | None:
    """Return the microseconds of a timestamp, even where Python has no datetime for it; None for null."""
    if not isinstance(value, pa.TimestampScalar) or value.value is None:
        return None
    return value.value * 1_000_000 // _PER_SECOND[value.type.unit]


def _timed(value: pa.TimestampScalar[Any, Any] | pa.Date32Scalar) -> str | None:
    if isinstance(value, pa.Date32Scalar):
        text = iso(value.cast(pa.int32()).as_py() * DAY)
        return text.removesuffix("T00:00:00Z") if text else None
    text = iso(micros_of(value))
    return text if value.type.tz or text is None else text.removesuffix("Z")


def _map(value: pa.MapScalar[Any, Any]) -> Plain:
    pairs = [(plain(each["key"]), plain(each["value"])) for each in value.values or ()]
    if pa.types.is_string(value.type.key_type):
        return {str(key): item for key, item in pairs}
    return [{"key": key, "value": item} for key, item in pairs]


def _simple(value: object) -> Plain:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    return value if isinstance(value, str | int | float | bool) else str(value)
