"""The JSON Schema of a pipeline file, made from the models, so that editors complete and check its keys.

`pipeline.schema.json` beside this module holds its text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tidemark.config.models.pipeline import PipelineSpec
from tidemark.config.models.sources import SourceSpec
from tidemark.config.models.streams import SEVERAL, StreamSpec
from tidemark.config.rules.several_windows import OF_A_WINDOW

SCHEMA_FILE = Path(__file__).with_name("pipeline.schema.json")

_SOURCE = {"landing": "/", "format": "json", "schema": "column STRING"}


def json_schema() -> dict[str, Any]:
    """Build the schema; values that only `extends` or the environment can determine stay open."""
    schema = _untitled(PipelineSpec.model_json_schema(by_alias=True))
    del schema["properties"]["path"]
    schema["required"] = ["pipeline", "sources"]
    schema["properties"]["micro_batch"] = {
        "description": schema["properties"]["micro_batch"]["description"],
        "anyOf": [{"const": "auto"}, {"$ref": "#/$defs/MicroBatchSpec"}],
    }
    models = schema["$defs"]
    _adapt_source(models["SourceSpec"])
    models["PunctuationSpec"]["properties"]["delay"]["default"] = "0s"
    _streams(models)
    minimal = PipelineSpec.model_validate({"pipeline": "p", "warehouse": "/", "sources": {"s": _SOURCE}})
    _defaults(schema["properties"], minimal.resolved())
    models["LandedAtSpec"]["properties"]["plus"]["default"] = "0s"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "tidemark pipeline", **schema}


def _adapt_source(source: dict[str, Any]) -> None:
    """Give the model of a source the keys, choices and defaults that its file has."""
    del source["required"], source["properties"]["name"]
    source["properties"]["extends"] = {
        "description": "The source's own file; keys given here win",
        "type": "string",
    }
    for key in ("early_arrival", "late_arrival"):
        choices = source["properties"][key]["anyOf"]
        choices[:] = [{"const": "off"}, *(choice for choice in choices if choice.get("type") != "null")]
    shape = source["properties"]["shape"]
    source["properties"]["shape"] = {
        "description": shape["description"],
        "anyOf": [{"const": "point"}, {"$ref": "#/$defs/ShapeSpec"}],
    }
    _defaults(source["properties"], SourceSpec.model_validate(_SOURCE).model_dump(mode="json", by_alias=True))


def schema_text() -> str:
    """The schema as `SCHEMA_FILE` holds it."""
    return json.dumps(json_schema(), indent=2) + "\n"


def _streams(models: dict[str, Any]) -> None:
    stream = models["StreamSpec"]["properties"]
    del stream["name"]
    tumbling = models["TumblingSpec"]["properties"]
    size = tumbling["size"]
    stream["tumbling"]["anyOf"].insert(0, {"description": size["description"], **size["anyOf"][0]})
    for key in ("calendar", "zone", "size"):
        del tumbling[key]["default"]
    kinds = {key: stream[key] for key in OF_A_WINDOW}
    stream[SEVERAL] = {
        "description": "Several windows by name, each a stream <step>_<name> with the step's other keys",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"type": "object", "properties": kinds, "additionalProperties": False},
    }
    _defaults(stream, StreamSpec.model_validate({}).model_dump(mode="json", by_alias=True))
    for window in ("TumblingSpec", "HoppingSpec"):
        models[window]["properties"]["offset"]["default"] = "0s"


def _defaults(properties: dict[str, Any], resolved: dict[str, Any]) -> None:
    """Set defaults as a file writes them; keys that must be given or that are absent by default get none."""
    for key, described in properties.items():
        described.pop("default", None)
        if key not in (*_SOURCE, "pipeline", "sources", "warehouse") and resolved.get(key) not in (
            None,
            {},
            [],
        ):
            described["default"] = resolved[key]


def _untitled(schema: Any) -> Any:  # noqa: ANN401 # JSON
    if isinstance(schema, dict):
        return {key: _untitled(value) for key, value in schema.items() if key != "title"}
    return [_untitled(item) for item in schema] if isinstance(schema, list) else schema
