"""`group_by`: columns of the payload, and columns that an expression gives, such as `{hour: "hour(at)"}`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from tidemark.config.models.values import selected, unfit


@dataclass(frozen=True)
class GroupColumn:
    """A column that windows are grouped by, and the expression that gives it; None: a column of the payload."""

    name: str
    text: str | None = None


def _groups(value: object) -> tuple[GroupColumn, ...]:
    entries = [value] if isinstance(value, str | dict) else value
    if not isinstance(entries, list | tuple):
        raise unfit(value, "must be columns in a list, such as [DeviceId], or [DeviceId, {hour: hour(EventTime)}]")
    wide = next((each for each in entries if isinstance(each, dict) and len(each) > 1), None)
    if wide is not None and not isinstance(value, dict):
        raise unfit(wide, "is more than one column: write an entry of the list for each")
    return tuple(column for entry in entries for column in _columns(entry))


def _columns(entry: object) -> Iterator[GroupColumn]:
    if isinstance(entry, GroupColumn):
        yield entry
    elif isinstance(entry, str):
        yield GroupColumn(entry)
    elif isinstance(entry, dict) and entry:
        yield from (GroupColumn(name, text) for name, text in selected(entry).items())
    else:
        raise unfit(entry, "is not a column: write its name, or a name with an expression, {hour: hour(EventTime)}")


def _written(groups: tuple[GroupColumn, ...]) -> list[object]:
    return [each.name if each.text is None else {each.name: each.text} for each in groups]


_TEXT = {"type": "string"}
_COMPUTED = {"type": "object", "additionalProperties": {"type": ["string", "boolean", "number"]}, "minProperties": 1}
Groups = Annotated[
    tuple[GroupColumn, ...],
    PlainValidator(_groups),
    PlainSerializer(_written),
    WithJsonSchema({"anyOf": [_TEXT, _COMPUTED, {"type": "array", "items": {"anyOf": [_TEXT, _COMPUTED]}}]}),
]
