"""Writes a case as YAML: one row a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidemark.commands.cases.case import Case, CaseRun, GivenRow
from tidemark.commands.cases.keys import row_keys
from tidemark.config import SourceSpec
from tidemark.core.times import format_time

_PLAIN = re.compile(r"(?!(?:null|true|false|y|n|yes|no|on|off)$)[A-Za-z_][A-Za-z0-9_]*", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(/[a-z0-9_]+)?")
_NOT_IN_YAML = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def case_text(case: Case, remarks: Iterable[str]) -> str:
    """A case as the text of a file, with remarks above it."""
    lines = [*(f"# {remark}" for remark in remarks), f"case: {value_text(case.name)}", "given:"]
    for name, rows in case.given.items():
        lines += _rows(name, [_given(row, case.spec.sources[name]) for row in rows])
    lines.append("runs:")
    lines += [f"  - {_run(run, [*case.spec.sources])}" for run in case.runs]
    lines.append("expect:")
    for table, expected in case.expect.items():
        lines += _rows(table, expected)
    return "\n".join(lines) + "\n"


def value_text(value: object) -> str:
    """A value as YAML on one line; our reader of YAML reads this value from it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {value_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, str) and (_PLAIN.fullmatch(value) or _TIME.fullmatch(value)):
        return value
    return _NOT_IN_YAML.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _key(name: object) -> str:
    return str(name) if _KEY.fullmatch(str(name)) else value_text(str(name))


def _rows(name: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not rows:
        yield f"  {_key(name)}: []"
        return
    yield f"  {_key(name)}:"
    yield from (f"    - {value_text(row)}" for row in rows)


def _given(row: GivenRow, source: SourceSpec) -> dict[str, Any]:
    keys = row_keys(source)
    found: dict[str, Any] = {keys["at"]: format_time(row.at)}
    if row.landed != row.at:
        found[keys["landed"]] = format_time(row.landed)
    if row.file is not None:
        found[keys["file"]] = row.file
    if row.raw is not None:
        found[keys["raw"]] = row.raw
    return found | dict(row.values)


def _run(run: CaseRun, sources: Sequence[str]) -> str:
    if not run.closing:
        return format_time(run.as_of)
    close = True if set(run.closing) == set(sources) else [*run.closing]
    return value_text({"as_of": format_time(run.as_of), "close": close})
