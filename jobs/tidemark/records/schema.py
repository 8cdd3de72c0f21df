"""The JSON Schema of what each command prints with `--json`, made from the types of its records.

`python -m tidemark.records.schema` prints it: `$defs` has an entry for each command. With the name of a command it
prints that schema alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from tidemark.records import SCHEMA_VERSION
from tidemark.records.advice import AdviseRecord
from tidemark.records.cases import CasesRecord, RecordedCaseRecord
from tidemark.records.causes import WhyRecord
from tidemark.records.failures import FailureRecord, ValidateRecord
from tidemark.records.proposal import CheckRecord, InitRecord
from tidemark.records.rows import (
    CompletionRecord,
    ExplainRecord,
    ExportRecord,
    GroupsRecord,
    PathRecord,
    RowsRecord,
    TablePathRecord,
)
from tidemark.records.runs import (
    AbandonRecord,
    BlockedRecord,
    DemoRecord,
    MaintainRecord,
    MaintenancePlan,
    PlanRecord,
    ReleaseRecord,
    ReplayRecord,
    RunRecord,
)
from tidemark.records.status import StatusRecord
from tidemark.records.verify import VerifyRecord
from tidemark.records.versions import (
    BackfillRecord,
    ExcludeRecord,
    PromoteRecord,
    RegisterRecord,
    RepairRecord,
    VersionsRecord,
)

COMMANDS: dict[str, tuple[type, ...]] = {
    "init": (InitRecord, CheckRecord),
    "validate": (ValidateRecord,),
    "test": (CasesRecord, RecordedCaseRecord),
    "run": (RunRecord, PlanRecord),
    "process": (RunRecord, BlockedRecord),
    "maintain": (MaintainRecord, MaintenancePlan),
    "close": (RunRecord,),
    "release": (ReleaseRecord,),
    "replay": (ReplayRecord,),
    "rows": (RowsRecord, GroupsRecord, ExportRecord),
    "explain": (ExplainRecord,),
    "status": (StatusRecord,),
    "why": (WhyRecord,),
    "advise": (AdviseRecord,),
    "report": (PathRecord,),
    "path": (TablePathRecord,),
    "demo": (DemoRecord,),
    "serve": (),
    "setup": (PathRecord,),
    "completion": (CompletionRecord,),
    "backfill": (BackfillRecord,),
    "versions": (VersionsRecord,),
    "promote": (PromoteRecord,),
    "register": (RegisterRecord,),
    "exclude": (ExcludeRecord,),
    "repair": (RepairRecord,),
    "verify": (VerifyRecord,),
    "abandon": (AbandonRecord,),
}
"""The records that each command may print, if it does not fail."""


class _Printed(GenerateJsonSchema):
    """Describes values as they are printed: objects have no further keys, and numbers that JSON lacks are text."""

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return {**super().typed_dict_schema(schema), "additionalProperties": False}

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return {"anyOf": [super().float_schema(schema), {"enum": ["NaN", "Infinity", "-Infinity"]}]}

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 # pydantic's signature
        return False


def json_schema(command: str | None = None) -> dict[str, Any]:
    """Build the schema of a command; without one, a schema that only defines the records of all commands."""
    kinds = {kind.__name__: kind for kinds in (*COMMANDS.values(), (FailureRecord,)) for kind in kinds}
    mode: Literal["serialization"] = "serialization"
    records = [(name, mode, TypeAdapter[Any](kind)) for name, kind in kinds.items()]
    _, whole = TypeAdapter.json_schemas(records, schema_generator=_Printed)
    defined = whole["$defs"]
    commands = {
        name: {"anyOf": [*(_top(defined[kind.__name__]) for kind in kinds), {"$ref": "#/$defs/failure"}]}
        for name, kinds in COMMANDS.items()
    }
    commands["failure"] = _top(defined["FailureRecord"])
    used = json.dumps([commands, defined])
    parts = {name: part for name, part in defined.items() if f'"#/$defs/{name}"' in used}
    entry = {} if command is None else {"$ref": f"#/$defs/{command}"}
    title = "records of tidemark" if command is None else f"tidemark {command} --json"
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": title, **entry, "$defs": commands | parts}


def schema_text(command: str | None = None) -> str:
    """The schema as text, indented."""
    return json.dumps(json_schema(command), indent=2) + "\n"


def _top(record: dict[str, Any]) -> dict[str, Any]:
    """A record that is printed by itself: with its version, and with `truncated` if a list was cut."""
    added = {"schema_version": {"const": SCHEMA_VERSION}, "truncated": {"type": "boolean"}}
    return record | {
        "properties": added | record["properties"],
        "required": ["schema_version", *record["required"]],
    }


if __name__ == "__main__":
    _arguments = argparse.ArgumentParser(description="Print the JSON Schema of what a command prints with --json.")
    _arguments.add_argument("command", nargs="?", choices=[*COMMANDS], help="default: definitions of all")
    sys.stdout.write(schema_text(_arguments.parse_args().command))
