"""`lifetime` of a stream's rows: a duration, or the time that an expression over the row gives."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter, WithJsonSchema

from tidemark.config.models import values
from tidemark.config.models.fields import Expression, PositiveDuration, Settings
from tidemark.core.times import recorded_duration


class UntilSpec(Settings):
    """`lifetime: {until: ...}`: a row lives until a time of its own. Null: it has no end."""

    until: Expression = Field(description="Column or expression of the time at which a row ends; null: it has no end")
    at_most: PositiveDuration | None = Field(
        None, description="A row lives no longer than this from its start; absent: there is no bound"
    )


def _lifetime(value: object) -> int | UntilSpec:
    if isinstance(value, UntilSpec):
        return value
    return UntilSpec.model_validate(value) if isinstance(value, dict) else values.positive_duration(value)


def _written(value: int | UntilSpec) -> str | dict[str, Any]:  # JSON
    """Text or mapping that `_lifetime` reads back."""
    return recorded_duration(value) if isinstance(value, int) else value.model_dump(mode="json", exclude_none=True)


Lifetime = Annotated[
    int | UntilSpec,
    PlainValidator(_lifetime),
    PlainSerializer(_written),
    WithJsonSchema({"anyOf": [TypeAdapter(PositiveDuration).json_schema(), UntilSpec.model_json_schema()]}),
]
"""Microseconds, one or more, or the expression of the end."""
