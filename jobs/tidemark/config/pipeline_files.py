"""Finds and loads pipeline files, and says how each is to be scheduled.

The scheduler and the dashboard both read files by this module, so that they give a pipeline's DAG one name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from tidemark.config import PipelineSpec, load_pipeline
from tidemark.config.files.yaml import read_yaml
from tidemark.config.scheduling import values as read_value
from tidemark.config.scheduling.notify import Recipient, recipients, span
from tidemark.config.scheduling.periods import periods_of
from tidemark.config.scheduling.placement import Placement, placement
from tidemark.config.secrets import ENVIRONMENT
from tidemark.errors import ConfigError, Problem, TidemarkError

T = TypeVar("T")
FOLDER_VARIABLE = "TIDEMARK_PIPELINES"
OPERATE = "operate"
RESERVED = ("backfill", "maintenance", OPERATE, "quality_report")
"""Names that no pipeline may have, since the DAGs for all pipelines are called so; nor one that begins with OPERATE
and an underscore."""
SINCE = datetime(2000, 1, 1, tzinfo=UTC)
"""First day of a schedule without `start_date`. No interval of before today runs, since `catchup` is then false."""
CASES = (".test.yml", ".test.yaml")
"""Endings of the names of files of test cases."""
_SUFFIXES = (".yml", ".yaml")
_DIGITS = 12


@dataclass(frozen=True)
class Scheduling:
    """The `airflow` key of a pipeline file, with defaults filled in."""

    start_date: datetime = SINCE
    owner: str = "tidemark"
    retries: int = 2
    retry_delay: timedelta = timedelta(minutes=1)
    catchup: bool = False
    tags: tuple[str, ...] = ()
    pool: str | None = None
    queue: str | None = None
    spark: Placement = field(default_factory=Placement)
    backoff: float = 0
    paused: bool | None = None
    timezone: tzinfo = UTC
    description: str | None = None
    owner_link: str | None = None
    notify: tuple[Recipient, ...] = ()
    deadline: timedelta | None = None
    timeout: timedelta | None = None
    approval: bool = False
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
        problems = list(_of_name(path, spec.name))
        scheduling = _kept(problems, lambda: scheduling_of(path, spec.airflow))
        _kept(problems, lambda: periods_of(spec))
        problems += () if scheduling is None else _of_assets(path, spec, scheduling.assets)
        if problems or scheduling is None:
            raise ConfigError(problems)
        return cls(path, spec, scheduling)


def asked_by(path: Path) -> tuple[str, Scheduling]:
    """The pipeline's name, and who gets messages about it, whatever else is wrong in its file. Raises ConfigError if
    the file is no YAML, or if these keys are wrong."""
    content = read_yaml(path, os.environ).content
    given = content.get("airflow")
    known = given if isinstance(given, Mapping) else {}
    asked = {key: known[key] for key in ("notify", "deadline") if key in known}
    return str(content.get("pipeline", path.stem)), scheduling_of(path, asked)


@dataclass(frozen=True)
class Files:
    """Valid pipeline files, the first of each name, and the errors of the others by file."""

    sound: Mapping[str, PipelineFile]
    broken: Mapping[Path, str]


def dag_id(pipeline: str) -> str:
    """The name of a pipeline's DAG."""
    return f"tidemark_{pipeline}"


def content_of(spec: PipelineSpec) -> str:
    """Return the first digits of a hash of all settings: those of the file and of the files that it names. A value
    from the environment counts as its reference, since it may differ between processes of one Airflow."""
    content = {key: value for key, value in spec.recorded(b"").items() if key != ENVIRONMENT}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def folder(default: Path) -> Path:
    """The folder of pipeline files: $TIDEMARK_PIPELINES, else `default`."""
    return Path(os.environ.get(FOLDER_VARIABLE) or default).expanduser().absolute()


def paths(location: Path) -> list[Path]:
    """Pipeline files of a folder, sorted by name. Files in subfolders do not count: they are source files that
    pipelines extend. Nor do files of test cases."""
    found = location.iterdir() if location.is_dir() else ()
    return sorted(path for path in found if path.suffix in _SUFFIXES and not has_cases(path))


def has_cases(path: Path) -> bool:
    """True for the name of a file of test cases, such as toll.test.yml."""
    return path.name.endswith(CASES)


def read(location: Path, load: Callable[[Path], PipelineFile] = PipelineFile.load) -> Files:
    """Load every pipeline file of a folder; `load` raises TidemarkError for an invalid one."""
    sound: dict[str, PipelineFile] = {}
    broken: dict[Path, str] = {}
    for path in paths(location):
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
    """Parse the `airflow` key. `start_date` is a time of `timezone`, and missed intervals run one by one if it is
    given (`catchup`)."""
    problems = [
        Problem(str(path), f"airflow.{key}", f"is not known: there are {', '.join(_READERS)}")
        for key in given
        if key not in _READERS
    ]
    values: dict[str, Any] = {}
    for key, read in _READERS.items():
        if key in given:
            try:
                values[key] = read(given[key])
            except read_value.KeyProblem as error:
                problems.append(Problem(str(path), f"airflow.{key}.{error.key}", error.message))
            except (TypeError, ValueError) as error:
                problems.append(Problem(str(path), f"airflow.{key}", f"{given[key]!r}: {error}"))
    if values.get("catchup") and "start_date" not in given:
        problems.append(Problem(str(path), "airflow.catchup", "needs airflow.start_date, the first day to catch up"))
    if "deadline" in given and not given.get("notify"):
        problems.append(Problem(str(path), "airflow.deadline", "needs airflow.notify: nobody would get its message"))
    if problems:
        raise ConfigError(problems)
    return _dated(Scheduling(**{"catchup": "start_date" in given} | values))


def _kept(problems: list[Problem], read: Callable[[], T]) -> T | None:
    """What a function reads; None, with its problems added to the others, if it raises ConfigError."""
    try:
        return read()
    except ConfigError as error:
        problems += error.problems
        return None


def _of_name(path: Path, name: str) -> Iterator[Problem]:
    if name in RESERVED or name.startswith(f"{OPERATE}_"):
        reason = f"{name!r} is taken: DAGs for all pipelines are called so; choose another name"
        yield Problem(str(path), "pipeline", reason)


def _of_assets(path: Path, spec: PipelineSpec, assets: tuple[str, ...]) -> Iterator[Problem]:
    if mute := [each for each in assets if _of_stream(each)]:
        what = "its events have partition keys, which start no pipeline: wait for the asset tidemark_PIPELINE"
        yield Problem(str(path), "airflow.assets", f"{mute[0]}: {what}")
    if spec.schedule and assets:
        yield Problem(str(path), "airflow.assets", "goes without `schedule`: choose one of them")


def _of_stream(asset: str) -> bool:
    """True if an asset is named as that of a stream, or as the record of what was emitted: pipelines have no dots."""
    return asset.startswith("tidemark_") and any(each in asset for each in (".", ":"))


def _dated(scheduling: Scheduling) -> Scheduling:
    """A schedule whose first day is in its own time zone: cron expressions follow the zone of this time."""
    begin, own = scheduling.start_date, scheduling.timezone
    begin = begin.replace(tzinfo=own) if begin.tzinfo is None else begin.astimezone(own)
    return replace(scheduling, start_date=begin)


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("must be a mapping")
    return value


_READERS = {
    "owner": read_value.text,
    "retries": read_value.count,
    "retry_delay": read_value.delay,
    "start_date": read_value.date,
    "catchup": read_value.flag,
    "tags": read_value.texts,
    "pool": read_value.text,
    "queue": read_value.text,
    "spark": placement,
    "backoff": read_value.multiplier,
    "paused": read_value.flag,
    "timezone": read_value.zone,
    "description": read_value.text,
    "owner_link": read_value.address,
    "notify": recipients,
    "deadline": span,
    "timeout": span,
    "approval": read_value.flag,
    "periods": _mapping,
    "assets": read_value.texts,
}
