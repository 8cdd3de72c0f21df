"""Loads a pipeline file: reads, merges and checks it, and reports all problems at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from tidemark.config.files.merge import Given, read_source
from tidemark.config.files.messages import findings, unknown_key
from tidemark.config.files.overrides import overridden
from tidemark.config.files.paths import folder
from tidemark.config.files.yaml import Document, KeyFinding, KeyPath, key_text, read_yaml
from tidemark.config.models.pipeline import PIPELINE_KEYS, PipelineSpec, checked_name, named
from tidemark.config.models.sources import SOURCE_KEYS, SourceSpec
from tidemark.config.models.streams import StreamSpec
from tidemark.config.models.values import shown
from tidemark.config.rules.expressions import expression_errors, expression_warnings
from tidemark.config.rules.imports import import_errors
from tidemark.config.rules.joins import join_errors
from tidemark.config.rules.next_rows import next_row_errors
from tidemark.config.rules.read_streams import read_streams
from tidemark.config.rules.rows_before import preceding_errors
from tidemark.config.rules.several_windows import WindowOrigins, plain_steps, written
from tidemark.config.rules.sources import Source, pipeline_errors, pipeline_warnings, source_errors, source_warnings
from tidemark.config.rules.streams import CheckedStreams, structure_errors, structure_warnings
from tidemark.config.rules.unknown_ends import unknown_end_errors
from tidemark.config.secrets import Taken, said
from tidemark.errors import ConfigError, Problem

WAREHOUSE_VARIABLE = "TIDEMARK_WAREHOUSE"
_STAND_INS: dict[str, Any] = {"landing": "/", "format": "json", "schema": "column STRING"}
_RECORDED = "recorded configuration"


@dataclass(frozen=True)
class Loaded:
    """A valid configuration, and warnings about settings that are legal but rarely meant."""

    spec: PipelineSpec
    warnings: list[Problem]


def load_pipeline(path: Path | str, environ: Mapping[str, str] | None = None, settings: Sequence[str] = ()) -> Loaded:
    """Load the pipeline of a YAML file. `environ` (default: the process's) fills `${NAME}`; `settings`, KEY=VALUE
    each, override the file.

    Raises ConfigError with every problem of the file, and of the files it extends, at once.
    """
    environ = os.environ if environ is None else environ
    document = read_yaml(Path(path), environ)
    values = {name: value for own in document.taken.values() for name, value in own.items()}
    try:
        return _loaded(path, document, environ, settings, values)
    except ConfigError as error:
        raise ConfigError(_mask(error.problems, values), hint=error.hint) from None


def _loaded(
    path: Path | str,
    document: Document,
    environ: Mapping[str, str],
    settings: Sequence[str],
    values: dict[str, str],
) -> Loaded:
    """The pipeline of a file that was read; its values from the environment are added to `values`."""
    if settings:
        document = replace(document, content=plain_steps(document.content))
        document = overridden(document, settings, load_pipeline(path, environ).spec.resolved(), environ)
    problems: list[Problem] = []
    sources = _read_sources(document, environ, problems)
    taken = _taken(document, sources)
    values |= {name: value for own in taken.values() for name, value in own.items()}
    specs = {name: _source_spec(given) for name, given in sources.items()}
    problems += [problem for given in sources.values() for problem in given.problems]
    streams, origins = read_streams(document, problems)
    ruled = CheckedStreams(streams, specs, _bad_sources(document, sources))
    problems += _placed(document, sources, _errors(ruled), origins)
    spec = _pipeline_spec(document, specs, ruled.specs, environ, problems)
    if spec is not None:
        sound = {name: each for name, each in specs.items() if "landing" not in sources[name].bad}
        problems += _placed(document, sources, pipeline_errors(spec.model_copy(update={"sources": sound})), origins)
    problems = _in_order(problems, [document, *(given.own for given in sources.values() if given.own)])
    if spec is None or problems:
        raise ConfigError(problems)
    warnings = _mask(_warnings(document, sources, specs, spec, ruled, origins), values)
    paths = {key: frozenset(own) for key, own in taken.items()}
    return Loaded(spec.having(Taken(values, paths, environ, document.path)), warnings)


def _warnings(
    document: Document,
    sources: Mapping[str, Given],
    specs: Mapping[str, SourceSpec],
    spec: PipelineSpec,
    ruled: CheckedStreams,
    origins: WindowOrigins,
) -> list[Problem]:
    """Warnings about the settings of sources, then about those of the whole pipeline."""
    found = [
        given.problem(path, message)
        for name, given in sources.items()
        for path, message in source_warnings(Source(specs[name], given.keys, frozenset()))
    ]
    of_all = (*pipeline_warnings(spec), *structure_warnings(ruled), *expression_warnings(ruled))
    return [*found, *_placed(document, sources, of_all, origins)]


def _errors(streams: CheckedStreams) -> Iterator[KeyFinding]:
    yield from (*structure_errors(streams), *join_errors(streams), *preceding_errors(streams))
    yield from (*next_row_errors(streams), *unknown_end_errors(streams), *expression_errors(streams))
    yield from import_errors(streams.sources, streams.bad)


def _mask(problems: Iterable[Problem], values: Mapping[str, str]) -> list[Problem]:
    """Problems whose messages show the names of environment variables instead of their values."""
    return [Problem(each.file, each.key, said(each.message, values)) for each in problems]


def from_resolved(resolved: Mapping[str, Any], *, at: PipelineSpec | None = None) -> PipelineSpec:
    """The pipeline from a former `resolved()`, for replays; with `at`, in the folders of that pipeline.

    Raises ConfigError if `resolved()` cannot have made it.
    """
    try:
        spec = PipelineSpec.model_validate(named(resolved))
    except ValidationError as error:
        raise ConfigError(
            [Problem(_RECORDED, key_text(path), message) for path, message in findings(error, PipelineSpec)]
        ) from None
    return spec if at is None else relocated(spec, at)


def relocated(spec: PipelineSpec, at: PipelineSpec) -> PipelineSpec:
    """A recorded pipeline with the file, warehouse and landing of another one."""
    sources = {
        name: source.model_copy(update={"landing": at.sources[name].landing}) if name in at.sources else source
        for name, source in spec.sources.items()
    }
    return spec.model_copy(update={"path": at.path, "warehouse": at.warehouse, "sources": sources})


def _read_sources(document: Document, environ: Mapping[str, str], problems: list[Problem]) -> dict[str, Given]:
    entries = document.content.get("sources")
    if entries is None:
        return {}
    if not isinstance(entries, dict) or not entries:
        message = f"{shown(entries)} must name a source or more: sources: {{readings: {{landing: ./in, ...}}}}"
        problems.append(_problem(document, ("sources",), message))
        return {}
    sources = {}
    for name, keys in entries.items():
        here = ("sources", name)
        try:
            checked_name(name)
        except ValueError as error:
            problems.append(_problem(document, here, str(error)))
        if isinstance(keys, dict):
            sources[name] = read_source(name, keys, document, environ)
        else:
            problems.append(
                _problem(document, here, f"{shown(keys)} must be a mapping: write the source's keys below it")
            )
    return sources


def _taken(document: Document, sources: Mapping[str, Given]) -> dict[KeyPath, Mapping[str, str]]:
    """Values from the environment by the key paths of their settings in the pipeline, without the pipeline name,
    which is part of a path."""
    found = {path: own for path, own in document.taken.items() if path != ("pipeline",)}
    for given in sources.values():
        for path, own in () if given.own is None else given.own.taken.items():
            if given.origin.get(str(path[0]), (None,))[0] is given.own:
                found[(*given.prefix, *path)] = own
    return found


def _bad_sources(document: Document, sources: Mapping[str, Given]) -> dict[str, set[str]]:
    """Wrong keys of each source that the file names; all keys of a source that could not be read."""
    entries = document.content.get("sources")
    named = entries if isinstance(entries, dict) else {}
    return {name: sources[name].bad if name in sources else set(SOURCE_KEYS) for name in named}


def _source_spec(given: Given) -> SourceSpec:
    """The source with default values for wrong keys, which are noted in `given`."""
    try:
        spec = SourceSpec.model_validate(given.usable())
    except ValidationError as error:
        for path, message in findings(error, SourceSpec):
            if path[0] not in given.bad:
                given.problems.append(given.problem(path, message))
        given.bad |= {str(detail["loc"][0]) for detail in error.errors()}
        missing = {key: value for key, value in _STAND_INS.items() if key in given.bad}
        spec = SourceSpec.model_validate(given.usable() | missing)
    for path, message in source_errors(Source(spec, given.keys, frozenset(given.bad))):
        given.problems.append(given.problem(path, message))
    return spec.effective().model_copy(update={"name": given.name})


def _pipeline_spec(
    document: Document,
    sources: Mapping[str, SourceSpec],
    streams: Mapping[str, StreamSpec],
    environ: Mapping[str, str],
    problems: list[Problem],
) -> PipelineSpec | None:
    """The pipeline with its sources and streams; None if its own settings are wrong. Problems are added to
    `problems`."""
    content = {key: value for key, value in document.content.items() if value is not None}
    for key in [key for key in content if key not in PIPELINE_KEYS]:
        problems.append(_problem(document, (key,), unknown_key(key, PIPELINE_KEYS)))
        del content[key]
    if "sources" in content:
        content["sources"] = dict(sources)
    content["streams"] = dict(streams)
    warehouse = content.get("warehouse", environ.get(WAREHOUSE_VARIABLE) or "./warehouse")
    if isinstance(warehouse, str):
        try:
            content["warehouse"] = folder(warehouse, document.path.parent)
        except ValueError as error:
            problems.append(_problem(document, ("warehouse",), str(error)))
            content["warehouse"] = os.sep
    try:
        spec = PipelineSpec.model_validate({**content, "path": document.path})
    except ValidationError as error:
        problems += [_problem(document, path, message) for path, message in findings(error, PipelineSpec)]
        return None
    return spec


def _placed(
    document: Document,
    sources: Mapping[str, Given],
    found: Iterable[KeyFinding],
    origins: WindowOrigins = MappingProxyType({}),
) -> list[Problem]:
    """Findings of the whole pipeline, each in the file that has its key; once for several windows of a step."""
    problems = (
        sources[str(path[1])].problem(path[2:], message)
        if path[0] == "sources"
        else _problem(document, written(path, origins), message)
        for path, message in found
    )
    return list(dict.fromkeys(problems))


def _in_order(problems: list[Problem], documents: list[Document]) -> list[Problem]:
    """All problems, sorted by file and line. If a key has a value that cannot be read, only that problem is kept for
    it."""
    unread = [problem for document in documents for problem in document.problems]
    known = {(problem.file, problem.key) for problem in unread}
    others = [problem for problem in problems if (problem.file, problem.key) not in known]

    def line(problem: Problem) -> tuple[str, int]:
        file, _, number = problem.file.rpartition(":")
        return (file, int(number)) if number.isdecimal() else (problem.file, 0)

    return sorted(dict.fromkeys([*unread, *others]), key=line)


def _problem(document: Document, path: KeyPath, message: str) -> Problem:
    return Problem(document.at(path), key_text(path), message)
