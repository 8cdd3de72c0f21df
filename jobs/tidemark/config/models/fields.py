"""Types of values in models: each is parsed, serialized and described to editors."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, PlainValidator, WithJsonSchema

from tidemark.config.models import values
from tidemark.config.types import Column, schema_text
from tidemark.core.times import DURATION_PATTERN, format_size, format_time, recorded_duration

REFERENCE = r"\$\{[^}]+\}"


class Settings(BaseModel):
    """Base of all models: values cannot be changed, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def pattern(allowed: str, *examples: str) -> WithJsonSchema:
    """JSON Schema of text with a pattern; a reference to the environment is always allowed."""
    return WithJsonSchema({"type": "string", "pattern": f"^(?:{allowed})$|{REFERENCE}", "examples": list(examples)})


def described(kind: str | list[str], *examples: str, **more: Any) -> WithJsonSchema:  # JSON
    """JSON Schema of a value."""
    return WithJsonSchema({"type": kind, **({"examples": list(examples)} if examples else {}), **more})


_DURATION = pattern(DURATION_PATTERN, "250ms", "5s", "2h10m", "1d")
_TEXTS = {"type": "array", "items": {"type": "string"}}
_SCHEMA_FILE = {
    "type": "object",
    "properties": {"file": {"type": "string"}},
    "required": ["file"],
    "additionalProperties": False,
}

Duration = Annotated[int, BeforeValidator(values.duration), PlainSerializer(recorded_duration), _DURATION]
"""Microseconds, zero or more."""
PositiveDuration = Annotated[
    int, BeforeValidator(values.positive_duration), PlainSerializer(recorded_duration), _DURATION
]
"""Microseconds, one or more."""
SignedDuration = Annotated[
    int,
    BeforeValidator(values.signed_duration),
    PlainSerializer(recorded_duration),
    pattern(f"-?{DURATION_PATTERN}", "5m", "-1h"),
]
"""Microseconds; may be negative."""
Instant = Annotated[
    int,
    BeforeValidator(values.instant),
    PlainSerializer(format_time),
    described("string", "2026-01-01T00:00:00Z"),
]
"""Microseconds since the epoch, UTC."""
Size = Annotated[
    int,
    BeforeValidator(values.size),
    PlainSerializer(format_size),
    described(["string", "integer"], "256MiB", "1GiB"),
]
"""Bytes, one or more."""
Count = Annotated[int, BeforeValidator(values.count), described(["integer", "string"])]
Fraction = Annotated[
    float,
    BeforeValidator(values.fraction),
    PlainSerializer(values.percent),
    pattern(r"[0-9]+(\.[0-9]+)?%", "1%"),
]
"""A share from 0 to 1, written as a percentage."""
Factor = Annotated[float, BeforeValidator(values.factor), described(["number", "string"])]
Names = Annotated[tuple[str, ...], BeforeValidator(values.strings), WithJsonSchema(_TEXTS)]
Expression = Annotated[str, BeforeValidator(values.expression), described("string", "EventTime")]
Expressions = Annotated[
    tuple[str, ...],
    BeforeValidator(values.expressions),
    WithJsonSchema({"anyOf": [{"type": "string"}, _TEXTS]}),
]
Predicates = Annotated[
    dict[str, str],
    BeforeValidator(values.predicates),
    described("object", additionalProperties={"type": "string"}),
]
"""Predicates over the row, by names of letters, digits and _."""
ReaderOptions = Annotated[
    dict[str, str],
    BeforeValidator(values.option_texts),
    described("object", additionalProperties={"type": ["string", "boolean", "number"]}),
]
NamesInFiles = Annotated[
    dict[str, str],
    BeforeValidator(values.names_in_files),
    described("object", additionalProperties={"type": "string"}),
]
"""Column names of the schema, by the names that files give these columns."""
MemberPath = Annotated[str, BeforeValidator(values.member_path), described("string", "Records[]", "[]")]
"""Path of the array of rows in a JSON document."""
Selected = Annotated[
    dict[str, str],
    BeforeValidator(values.selected),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "*"},
                {"type": "object", "additionalProperties": {"type": ["string", "boolean", "number"]}},
            ]
        }
    ),
]
"""Expressions by the column that they give; empty: all columns stay."""
Columns = Annotated[
    tuple[Column, ...],
    PlainValidator(values.columns),
    PlainSerializer(schema_text),
    WithJsonSchema({"anyOf": [{"type": "string", "examples": ["DeviceId STRING, Speed DOUBLE"]}, _SCHEMA_FILE]}),
]
