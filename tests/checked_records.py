"""Validates the records that tests print or get, each against the schema of its command."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any

import click
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from tidemark.cli import output
from tidemark.cli.commands.runs import tidemark
from tidemark.pipeline import Pipeline
from tidemark.records.schema import COMMANDS, json_schema

TO_JSON = output.to_json
"""Prints a record without validating it."""
VERBS = {verb: verb for verb in COMMANDS if hasattr(Pipeline, verb)} | {"export_rows": "rows"}
"""Methods of a pipeline that return the record of a command."""


@cache
def _validator(command: str) -> Draft202012Validator:
    return Draft202012Validator(json_schema(command))


def fault(command: str, printed: str) -> str | None:
    """What is wrong with the record that a command has printed; None if nothing is."""
    error = best_match(_validator(command).iter_errors(json.loads(printed)))
    if error is None:
        return None
    told = [f"{each.json_path}: {each.message[:200]}" for each in (error, *(error.context or ()))]
    return "\n".join([f"tidemark {command} --json is not as its schema says", *told[:9]])


def printed_record(command: str, printed: str) -> dict[str, Any]:
    """The record that a process has printed, once it is validated."""
    wrong = fault("failure" if '"error"' in printed else command, printed)
    assert wrong is None, wrong
    return json.loads(printed)


def use(put: Callable[[object, str, Any], None]) -> list[str]:
    """Validate all records of this process from now on; returns the list to which faults are added. They are not
    raised where they occur, since commands catch every error."""
    faults: list[str] = []
    contexts: list[click.Context] = []
    invoke = tidemark.invoke

    def note(command: str, printed: str) -> None:
        faults.extend(filter(None, [fault(command, printed)]))

    def invoked(context: click.Context) -> Any:
        contexts[:] = [context]
        return invoke(context)

    def to_json(record: Mapping[str, Any]) -> str:
        printed = TO_JSON(record)
        note("failure" if "error" in record else contexts[0].invoked_subcommand, printed)
        return printed

    put(tidemark, "invoke", invoked)
    put(output, "to_json", to_json)
    for verb, command in VERBS.items():
        put(Pipeline, verb, _noted(getattr(Pipeline, verb), command, note))
    return faults


def _noted(method: Callable[..., Any], command: str, note: Callable[[str, str], None]) -> Callable[..., Any]:
    @wraps(method)
    def noted(*given: Any, **options: Any) -> Any:
        record = method(*given, **options)
        note(command, TO_JSON(record))
        return record

    return noted
