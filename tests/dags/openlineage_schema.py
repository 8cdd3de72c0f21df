"""Holds events to OpenLineage's own JSON schemas: of its specification (Apache License 2.0), as of 2026-08-20."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

_SCHEMAS = Path(__file__).parents[1] / "data" / "openlineage"
_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json"


def openlineage_problems(event: dict[str, Any]) -> list[str]:
    """What is wrong with an event, and with those of its datasets' facets that tidemark makes."""
    found = _problems(f"{_EVENT}#/$defs/RunEvent", event)
    for dataset in [*event.get("inputs", ()), *event.get("outputs", ())]:
        for kind in ("facets", "inputFacets", "outputFacets"):
            for name, facet in dataset.get(kind, {}).items():
                known = facet["_schemaURL"].partition("#")[0].rpartition("/")[2]
                if known in _contents():
                    found += _problems(_contents()[known]["$id"], {name: facet})
    return found


def _problems(of: str, value: Any) -> list[str]:
    validator = Draft202012Validator({"$ref": of}, registry=_registry())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


@cache
def _contents() -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text()) for path in _SCHEMAS.glob("*.json")}


@cache
def _registry() -> Registry[Any]:
    return Registry().with_resources(
        [(content["$id"], Resource.from_contents(content)) for content in _contents().values()]
    )
