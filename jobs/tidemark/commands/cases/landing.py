"""Puts the given rows of a case into a landing folder of its own, as lines of JSON.

A case tests rows, not files. A source of any format keeps its schema and expressions, but not its settings for
reading files (options, names in files, landing times in names).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemark.commands.cases.case import Case, GivenRow
from tidemark.config import MicroBatchSpec, PipelineSpec, RetentionSpec, SourceSpec
from tidemark.config.secrets import ENVIRONMENT
from tidemark.core.times import format_time
from tidemark.landing.listing_remote import COPYING, is_hidden

_ROWS: Mapping[str, Any] = {
    "format": "json",
    "options": {},
    "header_columns": {},
    "rows": None,
    "landed_at": None,
}
"""Settings of a source that is read from lines of JSON."""
_PACKED = (".gz", ".gzip", ".bz2", ".zst", ".zstd", ".lz4", ".snappy", ".deflate")


def placed(spec: PipelineSpec, folder: Path) -> PipelineSpec:
    """The pipeline of a case with its landing and warehouse below a folder."""
    sources = {
        name: source.model_copy(update={**_ROWS, "landing": str(folder / "landing" / name)})
        for name, source in spec.sources.items()
    }
    own = {"warehouse": str(folder / "warehouse"), "micro_batch": MicroBatchSpec(), "retention": RetentionSpec()}
    return spec.model_copy(update={**own, "sources": sources})


def as_file(spec: PipelineSpec) -> dict[str, Any]:
    """The settings of a pipeline in the form of its file, with references to the environment. `late_arrival` is
    written even if it is the default, for sources with `timestamp_by` and without punctuation."""
    content = {key: each for key, each in spec.recorded(b"").items() if key != ENVIRONMENT}
    found: dict[str, Any] = _kept(content, spec.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    for name, source in found["sources"].items():
        if "partition" not in source:
            source.pop("partitions", None)
        if "timestamp_by" in source and "punctuation" not in source:
            source["late_arrival"] = content["sources"][name]["late_arrival"]
    return found


def _kept(content: Any, given: Any) -> Any:  # noqa: ANN401 # JSON
    """Content without the keys that are not among the given ones."""
    if isinstance(content, dict) and isinstance(given, dict):
        return {key: _kept(each, given[key]) for key, each in content.items() if key in given}
    return content


def land(case: Case, folder: Path) -> dict[tuple[str, str], list[GivenRow]]:
    """Write the objects of a case. Returns their rows by source and URI, in the order of their lines."""
    found: dict[tuple[str, str], list[GivenRow]] = {}
    for name, source in case.spec.sources.items():
        home = folder / "landing" / name
        home.mkdir(parents=True)
        for uri, rows in _objects(case.given.get(name, ())):
            path = home / uri
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{_line(row, source)}\n" for row in rows), encoding="utf-8")
            landed = rows[0].landed * 1000
            os.utime(path, ns=(landed, landed))
            found[name, uri] = rows
    return found


def landed_twice(rows: Sequence[GivenRow]) -> list[str]:
    """Names of files whose rows have different landing times."""
    times: dict[str, set[int]] = {}
    for row in rows:
        if row.file is not None:
            times.setdefault(row.file, set()).add(row.landed)
    return [file for file, each in times.items() if len(each) > 1]


def refusal(file: str) -> str | None:
    """The reason why a case cannot have an object of this name; None if it can."""
    parts = file.split("/")
    if any(part in ("", "..") for part in parts):
        return "is not a name below the landing folder"
    if any(is_hidden(part) for part in parts) or file.endswith(COPYING):
        return "is a name that no run takes: see `landing`"
    if file.endswith(_PACKED):
        return "names compressed content: leave the ending out, since rows are written as lines"
    return None


def unpacked(file: str) -> str:
    """The name of an object without the ending of its compression."""
    ending = next((each for each in _PACKED if file.endswith(each)), "")
    return file.removesuffix(ending)


def _objects(rows: Sequence[GivenRow]) -> Iterator[tuple[str, list[GivenRow]]]:
    """Objects by URI: rows of one file, or of one landing time. Names follow the order of landing."""
    groups: dict[tuple[int, str | None], list[GivenRow]] = {}
    for row in rows:
        groups.setdefault((row.landed, row.file), []).append(row)
    ordered = sorted(groups.items(), key=lambda item: item[0][0])
    for number, ((_, file), own) in enumerate(ordered, 1):
        yield file or f"{number:04}.json", own


def _line(row: GivenRow, source: SourceSpec) -> str:
    if row.raw is not None:
        return row.raw
    return json.dumps({**_arrival(row, source), **row.values}, ensure_ascii=False)


def _arrival(row: GivenRow, source: SourceSpec) -> Mapping[str, Any]:
    """The value of the column of arrivals, which a row need not repeat."""
    names = {column.name.lower(): column for column in source.columns}
    column = names.get((source.arrival_time or "").strip("` ").lower())
    if column is None or column.type not in ("TIMESTAMP", "STRING"):
        return {}
    return {column.name: format_time(row.at)}
