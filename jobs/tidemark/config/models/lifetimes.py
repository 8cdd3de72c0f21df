"""`lifetime` of a stream's rows: a duration, the time that an expression gives, or the start of the next row."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PlainSerializer, PlainValidator, TypeAdapter, WithJsonSchema

from tidemark.config.models import values
from tidemark.config.models.fields import Expression, Expressions, PositiveDuration, Settings
from tidemark.core.times import recorded_duration


class UntilSpec(Settings):
    """`lifetime: {until: ...}`: a row lives until a time of its own (null: it has no end), or until the next row."""

    until: Expression = Field(
        description="Column or expression of the time at which a row ends (null: it has no end), or next: the start"
        " of the next row"
    )
    by: Expressions = Field((), description="Of until: next, columns or expressions that are equal in the next row")
    at_most: PositiveDuration | None = Field(
        None, description="A row lives no longer than this from its start; absent: there is no bound"
    )

    @property
    def next_row(self) -> bool:
        """True if a row ends where the next one starts. A column of the name `next` is written in backquotes."""
        return self.until.lower() == "next"


def _lifetime(value: object) -> int | UntilSpec:
    if isinstance(value, UntilSpec):
        return value
    return UntilSpec.model_validate(value) if isinstance(value, dict) else values.positive_duration(value)


def _written(value: int | UntilSpec) -> str | dict[str, Any]:  # JSON
    """Text or mapping that `_lifetime` reads back."""
    return (
        recorded_duration(value) if isinstance(value, int) else value.model_dump(mode="json", exclude_defaults=True)
    )


Lifetime = Annotated[
    int | UntilSpec,
    PlainValidator(_lifetime),
    PlainSerializer(_written),
    WithJsonSchema({"anyOf": [TypeAdapter(PositiveDuration).json_schema(), UntilSpec.model_json_schema()]}),
]
"""Microseconds, one or more, or what gives the end."""
