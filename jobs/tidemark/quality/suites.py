"""Suites of expectations as JSON files: those shipped with tidemark, and users' own.

Users' suites are in `expectations/` beside a pipeline file, one for each table, under the table's name:
`events/<source>.json` and `streams/<stream>.json` for every pipeline there, and under `<pipeline>/` likewise for
one. A run is checked by the suites that existed when it was planned: they are recorded with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tidemark
from tidemark.config import PipelineSpec
from tidemark.errors import ConfigError, Problem

FOLDER = "expectations"
SHIPPED = ("events", "batches", "watermarks", "digests", "streams")
"""Names of the shipped suites, each for a kind of table."""
_SUITES = Path(tidemark.__file__).parent / FOLDER
_COLUMNS, _COLUMN_LISTS = ("column", "column_A", "column_B"), ("column_list", "column_set")
_SEVERITIES = ("critical", "warning", "info")


@dataclass(frozen=True)
class Suite:
    """A suite as Great Expectations reads it, the table whose rows it checks, and its file."""

    content: Mapping[str, Any]
    table: str
    file: Path

    @property
    def name(self) -> str:
        return str(self.content["name"])


def shipped(name: str) -> Suite:
    """Return the shipped suite for a kind of table."""
    file = _SUITES / f"{name}.json"
    return Suite(_content(file), name, file)


def of_users(spec: PipelineSpec) -> list[Suite]:
    """Return the suites beside a pipeline's file for the tables that it has. Raises ConfigError for files that are
    not suites, and for suites of this pipeline whose table it does not have."""
    if spec.path.name == "":
        return []
    folder = spec.path.parent / FOLDER
    tables = [f"events/{name}" for name in spec.sources]
    tables += [f"streams/{name}" for name, step in spec.streams.items() if step.published]
    allowed = [where / f"{table}.json" for table in tables for where in (folder, folder / spec.name)]
    own = folder / spec.name
    strangers = sorted(set(own.rglob("*.json")) - set(allowed)) if own.is_dir() else []
    if strangers:
        message = (
            f"is about no table of pipeline {spec.name}: there are {', '.join(f'{each}.json' for each in tables)}"
        )
        raise ConfigError([Problem(str(file), "", message) for file in strangers])
    found = [file for file in allowed if file.is_file()]
    return [Suite(_content(file), f"{file.parent.name}/{file.stem}", file) for file in found]


def record_of(suites: Iterable[Suite], spec: PipelineSpec) -> str:
    """Return users' suites as JSON text, to be recorded with a run; their files relative to the pipeline's folder."""
    folder = spec.path.parent
    kept = [
        {"table": each.table, "file": each.file.relative_to(folder).as_posix(), "content": each.content}
        for each in suites
    ]
    return json.dumps(kept, sort_keys=True)


def of_run(recorded: str | None, spec: PipelineSpec) -> tuple[Suite, ...]:
    """Return the users' suites of a run from its record. The record is None if the run was planned before suites were
    recorded: the suites that are now beside the pipeline's file are used."""
    if recorded is None:
        return tuple(of_users(spec))
    folder = spec.path.parent
    return tuple(Suite(each["content"], each["table"], folder / each["file"]) for each in json.loads(recorded))


def names_of(expectations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a unique name for each expectation of a suite: its name in the suite, else its type and columns; a
    number follows if names repeat."""
    names = [_name(each) for each in expectations]
    numbers = [names[: index + 1].count(name) for index, name in enumerate(names)]
    return [name if number == 1 else f"{name} #{number}" for name, number in zip(names, numbers, strict=True)]


def _name(config: Mapping[str, Any]) -> str:
    given = (config.get("meta") or {}).get("name")
    if given is not None:
        return str(given)
    columns = columns_named(config)
    return f"{config['type']}({', '.join(columns)})" if columns else str(config["type"])


def columns_named(config: Mapping[str, Any]) -> list[str]:
    """The columns that an expectation names."""
    kwargs = config.get("kwargs") or {}
    columns = [kwargs[key] for key in _COLUMNS if isinstance(kwargs.get(key), str)]
    return columns + [str(each) for key in _COLUMN_LISTS for each in kwargs.get(key) or ()]


def _content(file: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError([Problem(str(file), "", f"is not JSON: {error}")]) from error
    except OSError as error:
        raise ConfigError([Problem(str(file), "", f"cannot be read: {error.strerror}")]) from error
    problems = [Problem(str(file), key, message) for key, message in _wrong(content)]
    if problems:
        raise ConfigError(problems)
    found: Mapping[str, Any] = content
    return found


def _wrong(content: object) -> Iterator[tuple[str, str]]:
    """Yield faults in the form of a suite; Great Expectations checks the expectations themselves."""
    if not isinstance(content, dict):
        yield "", "is no suite: write {name: ..., expectations: [...]}"
        return
    if not isinstance(content.get("name"), str):
        yield "name", "is missing: a suite has a name"
    expectations = content.get("expectations")
    if not isinstance(expectations, list) or not expectations:
        yield "expectations", "is missing: a suite is a list of expectations"
        return
    for index, each in enumerate(expectations):
        key = f"expectations.{index}"
        if not isinstance(each, dict) or not isinstance(each.get("type"), str):
            yield f"{key}.type", "is missing: an expectation has a type, such as expect_column_values_to_not_be_null"
        elif each.get("severity", "critical") not in _SEVERITIES:
            yield f"{key}.severity", f"{each['severity']!r} is not allowed: write {', '.join(_SEVERITIES)}"
        else:
            for part in ("kwargs", "meta"):
                if not isinstance(each.get(part) or {}, dict):
                    yield f"{key}.{part}", "is no object: write {name: value, ...}"
