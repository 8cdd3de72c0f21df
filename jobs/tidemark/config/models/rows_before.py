"""Model of `preceding`: columns computed from the rows before each row."""

from __future__ import annotations

from pydantic import Field

from tidemark.config.models.fields import Expression, Expressions, PositiveDuration, Selected, Settings


class PrecedingSpec(Settings):
    """`preceding`: each row gets aggregates over the rows of equal `by` that come before it and start less than
    `within` before it."""

    by: Expressions = Field((), description="Columns or expressions that are equal in a row and those before it")
    within: PositiveDuration = Field(description="Rows that start so long before a row, or longer, are not looked at")
    where: Expression | None = Field(None, description="Spark SQL predicate of the rows that are looked at")
    select: Selected = Field(
        description="Columns that each row gets: aggregates over the rows before it, and columns of its own"
    )
