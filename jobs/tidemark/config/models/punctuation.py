"""Models of `shape` and of `punctuation`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    StrictBool,
    WithJsonSchema,
    model_validator,
)

from tidemark.config.models import values
from tidemark.config.models.fields import Expression, Expressions, Settings, SignedDuration
from tidemark.core.policy import Action
from tidemark.core.punctuation import POINT, Every, Punctuation, Shape
from tidemark.core.times import recorded_duration


def _every(value: object) -> Every:
    if isinstance(value, Every):
        return value
    if type(value) is int or (isinstance(value, str) and value.isdecimal()):
        return Every(count=values.count(int(value)))
    if isinstance(value, str):
        return Every(period=values.positive_duration(value))
    raise values.unfit(value, "is not how often: write a number of rows, such as 10, or a duration, such as 5s")


def _written_every(value: Every) -> int | str:
    return recorded_duration(value.period) if value.period is not None else value.count or 0


def _kind(value: object) -> str:
    if isinstance(value, str) or type(value) is int:
        return str(value)
    raise values.unfit(value, "is not a value of the kind: write text or a whole number, such as start")


Often = Annotated[
    Every,
    PlainValidator(_every),
    PlainSerializer(_written_every),
    WithJsonSchema({"type": ["integer", "string"], "examples": [10, "5s"]}),
]
Value = Annotated[str, BeforeValidator(_kind), WithJsonSchema({"type": ["string", "integer"], "examples": ["start"]})]


def _imports(value: object) -> tuple[str, ...]:
    if value is None or isinstance(value, str):
        return () if value is None else (value,)
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise values.unfit(value, "does not name sources: write readings, or a list such as [readings, rates]")
    names = tuple(value)
    if not names and isinstance(value, list):
        raise values.unfit(value, "names no source: name at least one, or remove the key")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise values.unfit(value, f"names {twice!r} twice: name each source once")
    return names


def _written_imports(names: tuple[str, ...]) -> str | list[str] | None:
    """The names as recorded configurations have them: none as null, one as text."""
    return list(names) if len(names) > 1 else names[0] if names else None


Imports = Annotated[
    tuple[str, ...],
    PlainValidator(_imports),
    PlainSerializer(_written_imports),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
            ]
        }
    ),
]
"""Names of sources."""


class EdgeSpec(Settings):
    """`shape: {edge: ...}`: one row starts a lifetime, a later one ends it."""

    kind: Expression = Field(description="Column or expression that says which edge a row is")
    start: Value = Field(description="Value of kind at a start edge")
    end: Value = Field(description="Value of kind at an end edge, whose event time is the start it ends")
    end_time: Expression = Field(description="Column or expression of the end, at an end edge")
    match: Expressions = Field((), description="Columns in which a start edge and its end edge are equal")

    @model_validator(mode="after")
    def _two_kinds(self) -> EdgeSpec:
        if self.start == self.end:
            raise ValueError(f"has {self.start!r} for both edges: start and end must be told apart")
        return self


class IntervalSpec(Settings):
    """`shape: {interval: ...}`: a row says when it ends."""

    end_time: Expression = Field(description="Column or expression of the end, which must be after the start")


class ShapeSpec(Settings):
    """`shape`: how long rows live; neither key is `point`, an instant."""

    edge: EdgeSpec | None = Field(None, description="A row starts a lifetime, another ends it")
    interval: IntervalSpec | None = Field(None, description="A row says when it ends")

    @model_validator(mode="after")
    def _at_most_one(self) -> ShapeSpec:
        if self.edge is not None and self.interval is not None:
            raise ValueError("has edge and interval: rows of a source have one shape, write one of them")
        return self

    def core(self) -> Shape:
        """The shape as a value of the time rules."""
        if self.edge is not None:
            edge = self.edge
            return Shape(edge.end_time, edge.kind, edge.start, edge.end, edge.match)
        return POINT if self.interval is None else Shape(self.interval.end_time)


POINTS = ShapeSpec(edge=None, interval=None)


class PunctuationSpec(Settings):
    """`punctuation`: rows and other sources say what is complete, no tolerance does."""

    every: Often | None = Field(None, description="A punctuation each so many rows (10), or once a period (5s)")
    delay: SignedDuration = Field(0, description="How far a generated punctuation is behind its row; may be negative")
    import_from: Imports = Field(
        (), description="A source whose watermark this one follows, or several: the least of theirs"
    )
    row: Expression | None = Field(None, description="Predicate: rows for which it is true are punctuations")
    violations: Literal["drop", "adjust"] = Field(description="What happens to rows behind the punctuation")
    final: StrictBool = Field(
        False, description="Whether closing completes the source; else it keeps its punctuation"
    )

    def core(self) -> Punctuation:
        """The punctuation as a value of the time rules."""
        return Punctuation(
            Action(self.violations), self.every, self.delay, self.import_from, self.row, final=self.final
        )


def shape_of(value: object) -> object:
    """Validate the forms of `shape`: `point`, or one of its keys."""
    if value == "point":
        return POINTS
    if isinstance(value, ShapeSpec) or (isinstance(value, dict) and value):
        return value
    raise values.unfit(value, "is not a shape: write point, {interval: {end_time: column}}, or {edge: {...}}")


def written_shape(value: ShapeSpec) -> object:
    """Text or mapping that `shape_of` reads back."""
    return "point" if value == POINTS else value.model_dump(mode="json", exclude_none=True)
