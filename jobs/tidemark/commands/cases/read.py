"""Reads files of test cases and names all their mistakes at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidemark.commands.cases import values
from tidemark.commands.cases.case import Case, CaseRun, GivenRow
from tidemark.commands.cases.keys import (
    CASE_KEYS,
    RUN_KEYS,
    columns_of_table,
    missing_name,
    row_keys,
    tables_of,
)
from tidemark.commands.cases.landing import landed_twice, refusal
from tidemark.config import PipelineSpec, SourceSpec, load_pipeline
from tidemark.config.files.documents import Part, read_documents
from tidemark.config.files.messages import unknown_key
from tidemark.config.files.yaml import KeyPath, key_text
from tidemark.config.models.values import shown
from tidemark.config.types import parse_type
from tidemark.core.times import parse_time
from tidemark.errors import ConfigError, Problem

_A_ROW = "{at: 2026-01-01T00:00:40Z, DeviceId: A}"
_A_RUN = "a time, or {as_of: 2026-01-01T00:10:00Z, close: true}"


def read_cases(files: Sequence[Path], spec: PipelineSpec, environ: Mapping[str, str] | None = None) -> list[Case]:
    """The cases of some files, in order. Raises ConfigError with every mistake of all files."""
    problems: list[Problem] = []
    cases: list[Case] = []
    specs: dict[tuple[str, ...], PipelineSpec] = {(): spec}
    for file in files:
        known: dict[str, int] = {}
        for part in _parts(file, problems):
            reader = _CaseReader(part, spec, specs, environ, known, problems)
            cases += reader.cases()
    if problems:
        raise ConfigError(problems)
    return cases


def _parts(file: Path, problems: list[Problem]) -> list[Part]:
    """The documents of a file. If it cannot be read or is empty, there are none, and a problem is added."""
    try:
        parts = read_documents(file)
    except ConfigError as error:
        problems += error.problems
        return []
    if not parts:
        problems.append(Problem(str(file), "", "has no case: write case, given, runs and expect"))
    problems += [problem for part in parts for problem in part.problems]
    return parts


@dataclass
class _CaseReader:
    """Reads one document: a case, or a list of cases. `known`: case names used in the file, with their lines."""

    part: Part
    spec: PipelineSpec
    specs: dict[tuple[str, ...], PipelineSpec]
    environ: Mapping[str, str] | None
    known: dict[str, int]
    problems: list[Problem] = field(default_factory=list)

    def cases(self) -> Iterator[Case]:
        content = self.part.content
        listed = content if isinstance(content, list) else [content]
        for index, each in enumerate(listed):
            path: KeyPath = (index,) if isinstance(content, list) else ()
            if isinstance(each, dict):
                yield self.case(each, path)
            else:
                self.wrong(path, f"{shown(each)} is not a case: write a mapping with case, given, runs and expect")

    def case(self, content: dict[str, Any], path: KeyPath) -> Case:
        for key in content:
            if key not in CASE_KEYS:
                self.wrong((*path, key), unknown_key(key, CASE_KEYS))
        spec = self.changed(content.get("set"), (*path, "set"))
        given = self.given(content.get("given"), spec, (*path, "given"))
        line = int(self.part.at((*path, "case")).rpartition(":")[2])
        return Case(
            self.name(content.get("case"), (*path, "case"), line),
            self.part.path,
            line,
            spec,
            given,
            self.runs(content.get("runs"), spec, given, (*path, "runs")),
            self.expected(content.get("expect"), spec, (*path, "expect")),
        )

    def name(self, value: object, path: KeyPath, line: int) -> str:
        if not isinstance(value, str) or not value.strip():
            self.wrong(path, "is missing: write a sentence, such as case: a late reading is moved to the bound")
            return ""
        first = self.known.setdefault(value, line)
        if first != line:
            self.wrong(path, f"{shown(value)} is the case of line {first} already: give it another name")
        return value

    def changed(self, value: object, path: KeyPath) -> PipelineSpec:
        """The pipeline with the settings of a case."""
        if value is None:
            return self.spec
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self.wrong(path, f"{shown(value)} is not a list of KEY=VALUE, such as [sources.s.over=DeviceId]")
            return self.spec
        settings = tuple(value)
        if settings not in self.specs:
            try:
                self.specs[settings] = load_pipeline(self.spec.path, self.environ, settings).spec
            except ConfigError as error:
                self.problems += [
                    Problem(self.part.at(path), key_text(path), f"{each.key}: {each.message}")
                    for each in error.problems
                ]
                return self.spec
        return self.specs[settings]

    def given(self, value: object, spec: PipelineSpec, path: KeyPath) -> dict[str, tuple[GivenRow, ...]]:
        if not isinstance(value, dict):
            self.wrong(path, f"must be rows by source: write given: {{{next(iter(spec.sources))}: [{_A_ROW}]}}")
            return {}
        found = {}
        for name, rows in value.items():
            here = (*path, name)
            if name not in spec.sources:
                self.wrong(here, missing_name("source", name, spec.sources))
                continue
            listed = self.rows(rows, here, _A_ROW)
            self.fit(spec.sources[name], here)
            read = [self.row(row, spec.sources[name], position) for row, position in listed]
            found[name] = tuple(row for row in read if row is not None)
            for file in landed_twice(found[name]):
                self.wrong(here, f"file {shown(file)} has rows with two landing times: an object lands once")
        return found

    def fit(self, source: SourceSpec, path: KeyPath) -> None:
        """Add a problem if lines of JSON cannot hold rows of a source."""
        for column in source.columns:
            if any(part.key and part.key.text != "STRING" for part in parse_type(column.type).parts()):
                self.wrong(path, f"column {column.name!r} has a map whose keys are no text: a case cannot give rows")

    def rows(self, value: object, path: KeyPath, example: str) -> Iterator[tuple[dict[str, Any], KeyPath]]:
        if not isinstance(value, list):
            self.wrong(path, f"{shown(value)} is not a list of rows: write [{example}], or [] for none")
            return
        for index, row in enumerate(value):
            if isinstance(row, dict):
                yield row, (*path, index)
            else:
                self.wrong((*path, index), f"{shown(row)} is not a row: write such as {example}")

    def row(self, row: dict[str, Any], source: SourceSpec, path: KeyPath) -> GivenRow | None:
        keys = row_keys(source)
        payload = {name: value for name, value in row.items() if name not in keys.values()}
        columns = [column.name for column in source.columns if not source.rescues(column.name)]
        for name in payload:
            if name not in columns and (source.rescue is None or source.rescues(name)):
                known = [*columns, *keys.values()]
                self.wrong((*path, name), missing_name("column", name, known, f" in source {source.name}"))
        at = self.time(row.get(keys["at"]), (*path, keys["at"]))
        landed = self.time(row[keys["landed"]], (*path, keys["landed"])) if keys["landed"] in row else at
        raw, file = (self.text(row.get(keys[key]), (*path, keys[key])) for key in ("raw", "file"))
        if raw is not None and payload:
            self.wrong((*path, keys["raw"]), "is a line that is no row: leave the other columns out")
        if file is not None and (why := refusal(file)) is not None:
            self.wrong((*path, keys["file"]), f"{shown(file)} {why}")
        return None if at is None or landed is None else GivenRow(at, landed, payload, raw, file)

    def runs(
        self, value: object, spec: PipelineSpec, given: Mapping[str, Sequence[GivenRow]], path: KeyPath
    ) -> tuple[CaseRun, ...]:
        """The runs; by default one, as of the first time at which all rows are taken."""
        if value is None:
            last = [row.landed + spec.sources[name].settle for name, rows in given.items() for row in rows]
            if not last:
                self.wrong(path, f"is missing: no row says when to run; write {_A_RUN}")
            return (CaseRun(max(last)),) if last else ()
        if not isinstance(value, list) or not value:
            self.wrong(path, f"{shown(value)} is not a list of runs: each is {_A_RUN}")
            return ()
        found = [self.run(each, spec, (*path, index)) for index, each in enumerate(value)]
        return tuple(run for run in found if run is not None)

    def run(self, value: object, spec: PipelineSpec, path: KeyPath) -> CaseRun | None:
        given = value if isinstance(value, dict) else {"as_of": value}
        for key in given:
            if key not in RUN_KEYS:
                self.wrong((*path, key), unknown_key(key, RUN_KEYS))
        as_of = self.time(given.get("as_of"), (*path, "as_of") if isinstance(value, dict) else path)
        close = given.get("close", False)
        names = [*spec.sources] if close is True else [] if close is False else close
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list):
            self.wrong((*path, "close"), f"{shown(close)} is neither true nor a list of sources")
            names = []
        for name in names:
            if name not in spec.sources:
                self.wrong((*path, "close"), missing_name("source", name, spec.sources))
        return None if as_of is None else CaseRun(as_of, tuple(names))

    def expected(self, value: object, spec: PipelineSpec, path: KeyPath) -> dict[str, tuple[dict[str, Any], ...]]:
        if not isinstance(value, dict) or not value:
            self.wrong(path, "must be rows by table, a table or more, such as events/SOURCE: [{_offset: 0}]")
            return {}
        found = {}
        for table, rows in value.items():
            here = (*path, table)
            if table not in tables_of(spec):
                self.wrong(here, missing_name("table", table, tables_of(spec)))
                continue
            schema = columns_of_table(spec, table)
            listed = [*self.rows(rows, here, "{_offset: 0, _disposition: adjusted}")]
            found[table] = tuple(row for row, _ in listed)
            for row, position in listed:
                for name, each in row.items() if schema is not None else ():
                    self.value(name, each, table, schema, (*position, name))
        return found

    def value(self, name: str, value: object, table: str, schema: Any, path: KeyPath) -> None:  # noqa: ANN401
        if name not in schema.names:
            self.wrong(path, missing_name("column", name, schema.names, f" in {table}"))
            return
        try:
            values.read(value, schema.field(name).type)
        except ValueError as error:
            self.wrong(path, str(error))

    def time(self, value: object, path: KeyPath) -> int | None:
        if not isinstance(value, str):
            self.wrong(path, f"{shown(value)} is not a time: write it like 2026-01-01T00:00:00Z")
            return None
        try:
            return parse_time(value)
        except ValueError as error:
            self.wrong(path, str(error))
            return None

    def text(self, value: object, path: KeyPath) -> str | None:
        if value is None or isinstance(value, str):
            return value
        self.wrong(path, f"{shown(value)} is not text: put it in quotes")
        return None

    def wrong(self, path: KeyPath, message: str) -> None:
        self.problems.append(Problem(self.part.at(path), key_text(path), message))
