"""Finds and loads pipeline files, and says how each is to be scheduled.

The scheduler and the dashboard both read files by this module, so that they give a pipeline's DAG one name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tidemark.config import PipelineSpec, load_pipeline
from tidemark.config.periods import periods_of
from tidemark.core.times import parse_duration
from tidemark.errors import ConfigError, Problem, TidemarkError

FOLDER_VARIABLE = "TIDEMARK_PIPELINES"
_SUFFIXES = (".yml", ".yaml")


@dataclass(frozen=True)
class Scheduling:
    """The `airflow` key of a pipeline file, with defaults filled in."""

    start_date: datetime
    owner: str = "tidemark"
    retries: int = 2
    retry_delay: timedelta = timedelta(minutes=1)
    catchup: bool = True
    tags: tuple[str, ...] = ()
    pool: str | None = None
    queue: str | None = None
    periods: Mapping[str, Any] = field(default_factory=dict)
    assets: tuple[str, ...] = ()


@dataclass(frozen=True)
class PipelineFile:
    """A valid pipeline file, and its schedule settings."""

    path: Path
    spec: PipelineSpec
    scheduling: Scheduling

    @classmethod
    def load(cls, path: Path) -> PipelineFile:
        """Load a file. Raises ConfigError with everything that is wrong in it, including its `airflow` key."""
        spec = load_pipeline(path).spec
        scheduling = scheduling_of(path, spec.airflow)
        periods_of(spec)
        if spec.schedule and scheduling.assets:
            raise ConfigError([Problem(str(path), "airflow.assets", "goes without `schedule`: choose one of them")])
        return cls(path, spec, scheduling)


@dataclass(frozen=True)
class Files:
    """Valid pipeline files, the first of each name, and the errors of the others by file."""

    sound: Mapping[str, PipelineFile]
    broken: Mapping[Path, str]


def dag_id(pipeline: str) -> str:
    """The name of a pipeline's DAG."""
    return f"tidemark_{pipeline}"


def folder(default: Path) -> Path:
    """The folder of pipeline files: $TIDEMARK_PIPELINES, else `default`."""
    return Path(os.environ.get(FOLDER_VARIABLE) or default).expanduser().absolute()


def paths(place: Path) -> list[Path]:
    """Pipeline files of a folder, sorted by name. Files in subfolders do not count: they are source files that
    pipelines extend."""
    return sorted(path for path in place.iterdir() if path.suffix in _SUFFIXES) if place.is_dir() else []


def read(place: Path, load: Callable[[Path], PipelineFile] = PipelineFile.load) -> Files:
    """Load every pipeline file of a folder; `load` raises TidemarkError for an invalid one."""
    sound: dict[str, PipelineFile] = {}
    broken: dict[Path, str] = {}
    for path in paths(place):
        try:
            file = load(path)
        except TidemarkError as error:
            broken[path] = str(error)
            continue
        name = file.spec.name
        first = sound.setdefault(name, file)
        if first is not file:
            broken[path] = f"{path}: pipeline: {name!r} is the pipeline of {first.path} already: give it another name"
    return Files(sound, broken)


def scheduling_of(path: Path, given: Mapping[str, Any]) -> Scheduling:
    """Parse the `airflow` key; without `start_date` runs begin on the day on which the file was last changed."""
    problems = [
        Problem(str(path), f"airflow.{key}", f"is not known: there are {', '.join(_READERS)}")
        for key in given
        if key not in _READERS
    ]
    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    values: dict[str, Any] = {"start_date": changed.replace(hour=0, minute=0, second=0, microsecond=0)}
    for key, read in _READERS.items():
        if key in given:
            try:
                values[key] = read(given[key])
            except (TypeError, ValueError) as error:
                problems.append(Problem(str(path), f"airflow.{key}", f"{given[key]!r}: {error}"))
    if problems:
        raise ConfigError(problems)
    return Scheduling(**values)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be a text")
    return value


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("must be a whole number, 0 or more")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("must be true or false")
    return value


def _delay(value: object) -> timedelta:
    return timedelta(microseconds=parse_duration(_text(value)))


def _date(value: object) -> datetime:
    found = datetime.fromisoformat(str(value))
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("must be a list of texts")
    return tuple(map(_text, value))


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("must be a mapping")
    return value


_READERS = {
    "owner": _text,
    "retries": _count,
    "retry_delay": _delay,
    "start_date": _date,
    "catchup": _flag,
    "tags": _texts,
    "pool": _text,
    "queue": _text,
    "periods": _mapping,
    "assets": _texts,
}
