"""Model of `deduplicate`: which rows of a partition repeat an earlier one."""

from __future__ import annotations

from pydantic import Field, field_validator

from tidemark.config.models.fields import Expressions, PositiveDuration, Settings


class DeduplicateSpec(Settings):
    """`deduplicate`: rows with equal `by` are duplicates of an earlier one that arrived less than `within` before."""

    by: Expressions = Field(description="Columns or expressions that are equal in a row and its duplicates")
    within: PositiveDuration = Field(description="How long after a row others that repeat it are duplicates")

    @field_validator("by")
    @classmethod
    def _some(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("names no column: write those in which duplicates are equal, such as [EventId]")
        return value
