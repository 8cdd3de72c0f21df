"""Turns pydantic's errors into sentences that show the value and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tidemark.config.formats import FORMATS
from tidemark.config.models.values import shown

_FIRST, *_OTHERS = FORMATS
_EXAMPLES = {
    "pipeline": "pipeline: toll",
    "sources": 'sources: {readings: {landing: ./landing/readings, format: json, schema: "DeviceId STRING"}}',
    "landing": "landing: ./landing/readings",
    "format": f"format: {_FIRST} (or {', '.join(_OTHERS)})",
    "schema": 'schema: "DeviceId STRING, EventTime TIMESTAMP"',
    "tolerance": "tolerance: 5s",
    "action": "action: drop, or adjust",
    "path": "path: 'dt=([0-9-]{10})/'",
    "violations": "violations: drop, or adjust",
    "kind": "kind: Kind, the column that tells start edges from end edges",
    "end_time": "end_time: ValidTo, the column of the end",
}
_MAPPING = "must be a mapping: write keys with values below it"
_WRONG_KINDS = {
    "string_type": "is not text: write text, or a number in quotes",
    "model_type": _MAPPING,
    "dict_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "bool_type": "is neither true nor false",
}


def findings(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """(key path below the model, sentence) for everything a validation found."""
    for detail in error.errors(include_url=False):
        yield detail["loc"], _sentence(detail, model)


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Message for a key that does not exist, with similar keys, or else with all keys."""
    return f"there is no such key {key!r}: {instead(key.lower(), known)}"


def instead(name: str, known: Iterable[str]) -> str:
    """End of a message for a name that does not exist: similar names, or else all names."""
    names = list(known)
    close = get_close_matches(name, names, 3, 0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(names) or 'no others'}"


def _sentence(detail: ErrorDetails, model: type[BaseModel]) -> str:
    kind, value, key = detail["type"], detail.get("input"), str(detail["loc"][-1]) if detail["loc"] else ""
    if kind == "value_error":
        return str(detail["ctx"]["error"])
    if kind == "missing":
        return f"is missing: write {_EXAMPLES.get(key, key)}"
    if kind == "extra_forbidden":
        return unknown_key(key, _keys_at(model, detail["loc"][:-1]))
    if kind == "literal_error":
        return f"{shown(value)} is not allowed: write {detail['ctx']['expected'].replace(chr(39), '')}"
    return f"{shown(value)} {_WRONG_KINDS.get(kind, 'cannot stand here: ' + detail['msg'])}"


def _keys_at(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """Keys of the model at a path inside `model`."""
    for part in path:
        found = next((field for name, field in model.model_fields.items() if part in (name, field.alias)), None)
        inner = _model_in(found.annotation) if found else None
        if inner is None:
            return []
        model = inner
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := _model_in(part))), None)
