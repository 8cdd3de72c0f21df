"""Models of one source of a pipeline."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, PrivateAttr, field_validator, model_validator

from tidemark.config.formats import FORMATS, Format, any_of_them
from tidemark.config.models.duplicates import DeduplicateSpec
from tidemark.config.models.fields import (
    Columns,
    Duration,
    Expression,
    Expressions,
    Factor,
    Fraction,
    MemberPath,
    Names,
    NamesInFiles,
    PositiveDuration,
    Predicates,
    ReaderOptions,
    Settings,
)
from tidemark.config.models.landing_time import LandedAtSpec, one_group
from tidemark.config.models.punctuation import POINTS, PunctuationSpec, ShapeSpec, shape_of, written_shape
from tidemark.config.models.values import unfit
from tidemark.config.options import canonical
from tidemark.config.types import Column
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.punctuation import Punctuation, Shape
from tidemark.core.times import DAY, MINUTE, SECOND, format_duration

MAX_LATE = 21 * DAY - SECOND
SINGLE_PARTITION = "0"
READING = 2
"""Version of the rules for reading objects. Version 1 kept what was left of values and members that were lost or
changed, and of objects that ended early; version 2 quarantines them. It is recorded with each batch, so that a replay
reads as the run did."""


class PartitionSpec(Settings):
    """`partition`: what names a row's partition: an expression, or a part of the object's path."""

    column: Expression | None = Field(None, description="Column or Spark SQL expression")
    path: str | None = Field(None, description="Regular expression with one group, searched in the object's URI")

    @field_validator("path")
    @classmethod
    def _path(cls, value: str | None) -> str | None:
        return None if value is None else one_group(value)

    @model_validator(mode="after")
    def _one(self) -> PartitionSpec:
        if (self.column is None) == (self.path is None):
            raise ValueError("must have one of column and path, such as {column: PartitionId}")
        return self


class ToleranceSpec(Settings):
    """Longest distance that an event may stray, and the action for an event beyond it."""

    tolerance: Duration
    action: Literal["drop", "adjust"]

    def core(self) -> Tolerance:
        """The tolerance as a value of the time rules."""
        return Tolerance(self.tolerance, Action(self.action))


class LateSpec(ToleranceSpec):
    """`late_arrival`: at most 20 days 23:59:59."""

    @field_validator("tolerance")
    @classmethod
    def _bounded(cls, value: int) -> int:
        if value > MAX_LATE:
            raise ValueError(f"{format_duration(value)!r} is more than the most there is, 20d23h59m59s")
        return value


class OutOfOrderSpec(Settings):
    """`out_of_order`: how far an event may be behind the events before it."""

    tolerance: Duration
    action: Literal["drop", "adjust", "keep"]

    def core(self) -> Tolerance:
        """The tolerance as a value of the time rules."""
        return Tolerance(self.tolerance, Action(self.action))


class QualitySpec(Settings):
    """`quality`: what a run must hold to; an absent limit is not checked."""

    max_dropped: Fraction | None = Field(None, description="Largest share of dropped rows")
    max_adjusted: Fraction | None = Field(None, description="Largest share of adjusted rows")
    max_quarantined: Fraction | None = Field(None, description="Largest share of quarantined rows")
    max_watermark_delay: Duration | None = Field(
        None, description="Longest time from a source's largest watermark to as_of"
    )
    max_output_delay: Duration | None = Field(
        None, description="Longest time from a source's combined watermark to as_of, which consumers wait for"
    )
    max_jump: Factor | None = Field(None, description="Largest factor between this run's rows and what is usual")
    on_failure: Literal["block", "warn"] | None = Field(None, description="Absent: recorded, never blocks")


def _policy(example: str, *, can_be_off: bool = True) -> BeforeValidator:
    def read(value: object) -> object:
        if value == "off" and can_be_off:
            return None
        if not isinstance(value, dict | Settings):
            raise unfit(value, f"is not a policy: write {example}{', or off' * can_be_off}")
        return value

    return BeforeValidator(read)


def _written(value: Settings | None) -> object:
    return "off" if value is None else value.model_dump(mode="json")


class SourceSpec(Settings):
    """One source: where its objects land, how they are read, and how their rows are judged.

    Durations are microseconds; `landing` is absolute; `columns` are those of `schema`.
    """

    name: str = Field("", exclude=True, repr=True)
    landing: str = Field(
        description="Folder, or s3://, abfss:// or gs:// and a prefix, taken recursively; {yyyy} {MM} {dd} {HH}"
        " may stand in it"
    )
    landed_at: LandedAtSpec | None = Field(
        None, description="Landing time from the object's name; absent: last-modified"
    )
    settle: Duration = Field(0, description="An object younger than this at as_of waits for the next run")
    max_object_age: PositiveDuration | None = Field(
        None, description="Older objects are not looked for; absent: no limit"
    )
    format: str = Field(description="json is JSON lines", json_schema_extra={"enum": [*FORMATS]})
    options: ReaderOptions = Field(default_factory=dict, description="Spark reader options")
    columns: Columns = Field(alias="schema", description="Column list in Spark DDL, or {file: name.ddl}")
    header_columns: NamesInFiles = Field(
        default_factory=dict,
        description="Columns by the names that a CSV header or JSON members give them, where they differ",
    )
    rows: MemberPath | None = Field(
        None,
        description="json: rows are the elements of this member (Records[]), or of the document itself ([])",
    )
    rescue: str | None = Field(
        None,
        description="json: column for members outside the schema, as JSON text; absent: they are not read",
    )
    require: Predicates = Field(
        default_factory=dict, description="Predicates by name: rows for which one is not true are quarantined"
    )
    deduplicate: DeduplicateSpec | None = Field(
        None, description="Rows that repeat an earlier one of their partition are dropped; absent: none is"
    )
    partition: PartitionSpec | None = Field(None, description='What names a row\'s partition; absent: one, "0"')
    partitions: Names = Field((), description="Declared partitions")
    arrival_time: Expression | None = Field(None, description="Column or expression; absent: the landing time")
    landing_delay: Duration = Field(0, description="Longest time from a row's arrival to its object being listed")
    clock_skew: Duration = Field(5 * MINUTE, description="An arrival this much after its landing time is quarantined")
    timestamp_by: Expression | None = Field(
        None, description="Column or expression of the event time; absent: arrival"
    )
    over: Expressions = Field((), description="Column or expression (or a list) of substreams")
    early_arrival: Annotated[
        ToleranceSpec | None,
        _policy("{tolerance: 5m, action: drop}"),
        PlainSerializer(_written),
    ] = Field(ToleranceSpec(tolerance="5m", action="drop"), description="Event time after arrival")  # type: ignore[arg-type] # parsed
    late_arrival: Annotated[
        LateSpec | None,
        _policy("{tolerance: 5s, action: adjust}"),
        PlainSerializer(_written),
    ] = Field(LateSpec(tolerance="5s", action="adjust"), description="Event time before arrival")  # type: ignore[arg-type] # parsed
    out_of_order: Annotated[
        OutOfOrderSpec,
        _policy("{tolerance: 0s, action: adjust}", can_be_off=False),
    ] = Field(OutOfOrderSpec(tolerance="0s", action="adjust"), description="Event time before the watermark")  # type: ignore[arg-type] # parsed
    shape: Annotated[ShapeSpec, BeforeValidator(shape_of), PlainSerializer(written_shape)] = Field(
        POINTS, description="How long rows live: point, {interval: ...} or {edge: ...}; edges need punctuation"
    )
    punctuation: PunctuationSpec | None = Field(
        None, description="What says how far the source has come, instead of tolerances"
    )
    quality: QualitySpec | None = Field(None, description="As the pipeline's, for this source alone")
    _reading: int = PrivateAttr(READING)

    @model_validator(mode="before")
    @classmethod
    def _single_partition(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("partition") is None and not values.get("partitions"):
            return {**values, "partitions": [SINGLE_PARTITION]}
        return values

    @field_validator("format", mode="before")
    @classmethod
    def _format(cls, value: object) -> object:
        if isinstance(value, str) and value in FORMATS:
            return value
        raise unfit(value, f"is not allowed: write {any_of_them()}")

    @property
    def file_format(self) -> Format:
        """Facts about the format of the source's objects."""
        return FORMATS[self.format]

    @property
    def exact(self) -> bool:
        """True if rows that cannot be read without loss are quarantined; False for batches read by version 1."""
        return self._reading > 1

    def read_as(self, reading: int) -> SourceSpec:
        """A copy of the source that is read by this version of the rules."""
        source = self.model_copy()
        source._reading = reading
        return source

    @property
    def policy(self) -> Policy:
        """Tolerances that rows are judged by; a punctuated source has none that acts."""
        if self.punctuation is not None:
            return Policy.of_punctuations()
        if self.timestamp_by is None:
            return Policy.of_arrival()
        early = self.early_arrival.core() if self.early_arrival else None
        late = self.late_arrival.core() if self.late_arrival else None
        return Policy(early, late, self.out_of_order.core())

    @property
    def punctuated(self) -> Punctuation | None:
        """The punctuation that replaces tolerances, as a value of the time rules; None if there is none."""
        return None if self.punctuation is None else self.punctuation.core()

    @property
    def lifetimes(self) -> Shape:
        """The shape of rows, as a value of the time rules."""
        return self.shape.core()

    @property
    def interval_end(self) -> str | None:
        """The expression of the ends of intervals that tolerances judge; None for other sources."""
        return self.lifetimes.end_time if self.punctuation is None else None

    @property
    def longest(self) -> int | None:
        """Longest lifetime that a row can have, microseconds; None if only the data say."""
        return self.lifetimes.longest

    @property
    def names_in_files(self) -> dict[str, str]:
        """Names that files give to the columns of the schema, by column. The column of `rescue` has none."""
        given = {column: name for name, column in self.header_columns.items()}
        return {each.name: given.get(each.name, each.name) for each in self.columns if not self.rescues(each.name)}

    @property
    def spans_lines(self) -> bool:
        """True if a row may span lines, so that one task reads the whole object."""
        return self.rows is not None or self.options.get("multiLine", "").lower() == "true"

    @property
    def counts_unknown(self) -> bool:
        """True if rows are counted that have members outside the schema."""
        return self.file_format.members and self.exact

    def rescues(self, column: str) -> bool:
        """True if a column keeps members outside the schema."""
        return self.rescue is not None and column.lower() == self.rescue.lower()

    def held(self) -> Columns:
        """Columns of the schema, followed by that of `rescue` if the schema does not name it."""
        if self.rescue is None or any(map(self.rescues, (column.name for column in self.columns))):
            return self.columns
        return (*self.columns, Column(self.rescue, "STRING"))

    def effective(self) -> SourceSpec:
        """A copy of the source in canonical spelling, without settings that are ignored."""
        update: dict[str, Any] = {"options": canonical(self.format, self.options), "columns": self.held()}
        if self.timestamp_by is None:
            defaults = {name: field.default for name, field in type(self).model_fields.items()}
            ignored = ("over", "early_arrival", "late_arrival", "out_of_order")
            update |= {name: defaults[name] for name in ignored}
        return self.model_copy(update=update)


def field_key(name: str) -> str:
    """Key in the file for a field of SourceSpec."""
    return SourceSpec.model_fields[name].alias or name


SOURCE_KEYS = tuple(field_key(name) for name in SourceSpec.model_fields if name != "name")
