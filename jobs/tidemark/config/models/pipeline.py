"""Model of one pipeline: its own settings, its sources and its streams."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, PrivateAttr, ValidationError, field_validator

from tidemark.config.credentials import masked
from tidemark.config.models.cron import checked_schedule
from tidemark.config.models.fields import Count, Instant, PositiveDuration, Settings, Size
from tidemark.config.models.sources import QualitySpec, SourceSpec
from tidemark.config.models.streams import StreamSpec
from tidemark.config.models.values import unfit
from tidemark.config.secrets import ENVIRONMENT, Taken

NAME = r"[a-z][a-z0-9_]*"

IRRELEVANT = frozenset({"pipeline", "warehouse", "schedule", "micro_batch", "retention", "airflow", "quality"})
"""Settings of a pipeline that no result depends on."""
IRRELEVANT_IN_SOURCES = frozenset({"landing", "quality"})
"""Settings of a source that no result depends on: objects are named relative to `landing`."""
_ABSENT_IN_SOURCES: Mapping[str, Any] = {
    "header_columns": {},
    "rows": None,
    "rescue": None,
    "require": {},
    "deduplicate": None,
}
"""Settings of a source that count only if they are given, so that older fingerprints stay valid."""
_ABSENT_IN_STREAMS: Mapping[str, Any] = {"except": [], "unnest": None, "how": "inner", "preceding": None}
"""Settings of a stream that count only if they are given, for the reason above."""


_GIVEN = object()


class MicroBatchSpec(Settings):
    """`micro_batch`: where a run is cut; both None is `auto`, about 256 MiB a core."""

    max_files: Count | None = None
    max_bytes: Size | None = None


class RetentionSpec(Settings):
    """`retention`: how long rows are kept; None is for ever."""

    events: PositiveDuration | None = None
    dead_letters: PositiveDuration | None = None
    ledger: PositiveDuration | None = None
    versions: Count | None = None


def _micro_batch(value: object) -> object:
    if value == "auto":
        return MicroBatchSpec()
    if isinstance(value, MicroBatchSpec) or (isinstance(value, dict) and value):
        return value
    raise unfit(value, "is not a size of micro-batches: write auto, or {max_files: 100, max_bytes: 1GiB}")


def _written_micro_batch(value: MicroBatchSpec) -> object:
    return "auto" if value == MicroBatchSpec() else value.model_dump(mode="json")


class PipelineSpec(Settings):
    """A whole configuration, as its YAML file says it and with every default filled in.

    `path` is the file, `warehouse` an absolute folder, `start` microseconds since the epoch (None:
    from the first row).
    """

    name: str = Field(alias="pipeline", description="Name of the pipeline, [a-z][a-z0-9_]*")
    path: Path = Field(Path(), exclude=True)
    warehouse: str = Field(
        description="Folder of all tables, or s3://, abfss:// or gs:// and a prefix; default $TIDEMARK_WAREHOUSE,"
        " else ./warehouse"
    )
    schedule: str | None = Field(
        None, description="Cron of 5 fields, or a preset such as @daily; absent: not scheduled"
    )
    start: Instant | None = Field(None, description="First output time; absent: from the first row")
    micro_batch: Annotated[MicroBatchSpec, BeforeValidator(_micro_batch), PlainSerializer(_written_micro_batch)] = (
        Field(MicroBatchSpec(), description="auto, or the most files and bytes of a micro-batch")
    )
    retention: RetentionSpec = Field(RetentionSpec(), description="How long rows are kept; absent: for ever")
    sources: dict[str, SourceSpec] = Field(description="The sources by name")
    streams: dict[str, StreamSpec] = Field(default_factory=dict, description="The streams by name")
    airflow: dict[str, Any] = Field(default_factory=dict, description="Passed to the DAG")
    quality: QualitySpec | None = Field(None, description="Limits a run must hold to")
    _taken: Taken = PrivateAttr(default=Taken())

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        return checked_name(value)

    @field_validator("schedule")
    @classmethod
    def _cron(cls, value: str | None) -> str | None:
        return None if value is None else checked_schedule(value)

    def resolved(self) -> dict[str, Any]:
        """Settings by their keys in the file, defaults filled in, credentials masked; plain JSON."""
        content: dict[str, Any] = masked(self.model_dump(mode="json", by_alias=True))
        return content

    @property
    def taken(self) -> Taken:
        """Values that the configuration has from the environment."""
        return self._taken

    def having(self, taken: Taken) -> PipelineSpec:
        """A copy of the configuration with these values from the environment."""
        found = self.model_copy()
        found._taken = taken  # of the copy alone
        return found

    def recorded(self, key: bytes) -> dict[str, Any]:
        """`resolved()` as it is recorded: values from the environment as references, with their keyed hashes."""
        content = self._referring()
        hashes = self._taken.hashes(key, content)
        return content | ({ENVIRONMENT: hashes} if hashes else {})

    def _referring(self) -> dict[str, Any]:
        """`resolved()` with references wherever a setting may be any text. Other settings (durations, words) keep
        their values, since a record must stay readable under any environment."""
        taken = self._taken
        while True:
            content = taken.referring(self.resolved())
            try:
                PipelineSpec.model_validate(named(content))
            except ValidationError as error:
                wrong = [each["loc"] for each in error.errors(include_url=False)]
                kept = {path: own for path, own in taken.paths.items() if not any(_meet(path, loc) for loc in wrong)}
                if len(kept) == len(taken.paths):
                    raise
                taken = replace(taken, paths=kept)
            else:
                return content

    def fingerprint(self, key: bytes = b"") -> str:
        """SHA-256 (hex) over all settings that results depend on; values from the environment count as references
        with keyed hashes."""
        content = relevant(self._referring())
        hashes = self._taken.hashes(key, content)
        content |= {ENVIRONMENT: hashes} if hashes else {}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


def tables_of_rows(streams: Mapping[str, StreamSpec], sources: Mapping[str, SourceSpec]) -> list[str]:
    """Names of the tables that hold rows of these streams and sources."""
    published = [name for name, step in streams.items() if step.published]
    edges = [name for name, source in sources.items() if source.lifetimes.edges]
    return [
        *[f"events/{name}" for name in sources],
        *[f"streams/{name}" for name in published],
        *[f"dead_letters/{name}" for name in published if streams[name].windowed],
        *[f"{kind}/{name}" for name in edges for kind in ("lifetimes", "open_lifetimes")],
        *[f"seen/{name}" for name, source in sources.items() if source.deduplicate],
    ]


def named(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved configuration with the names of sources and streams inside them, as models need them."""
    return {
        **resolved,
        **{
            key: {name: {**each, "name": name} for name, each in resolved.get(key, {}).items()}
            for key in ("sources", "streams")
        },
    }


def _meet(one: tuple[str | int, ...], other: tuple[str | int, ...]) -> bool:
    """True if one key path is the other or is below it."""
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def with_on_failure(spec: PipelineSpec, action: str) -> PipelineSpec:
    """The configuration of a run in which every failed check has this action: block, warn or record."""
    own = spec.quality.model_dump() if spec.quality else {}
    quality = QualitySpec.model_validate(own | {"on_failure": None if action == "record" else action})
    sources = {
        name: source
        if source.quality is None
        else source.model_copy(update={"quality": source.quality.model_copy(update={"on_failure": None})})
        for name, source in spec.sources.items()
    }
    return spec.model_copy(update={"sources": sources, "quality": quality})


def checked_name(value: str) -> str:
    """`value`, if it is a valid name of a pipeline, a source or a stream. Raises ValueError."""
    if not re.fullmatch(NAME, value):
        raise ValueError(
            f"{value!r} is not a name: write small letters, digits and _, a letter first, such as toll_booths"
        )
    return value


def relevant(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a resolved configuration that results depend on; streams only if there are some."""
    sources = {
        name: {key: value for key, value in source.items() if _counts(key, value)}
        | {"partitions": sorted(source["partitions"])}
        for name, source in resolved["sources"].items()
    }
    ignored = IRRELEVANT if resolved.get("streams") else IRRELEVANT | {"streams"}
    streams = {
        name: {key: value for key, value in stream.items() if _ABSENT_IN_STREAMS.get(key, _GIVEN) != value}
        for name, stream in resolved.get("streams", {}).items()
    }
    counting = {**resolved, "sources": sources, "streams": streams}
    return {key: value for key, value in counting.items() if key not in ignored}


def _counts(key: str, value: object) -> bool:
    given = key not in _ABSENT_IN_SOURCES or value != _ABSENT_IN_SOURCES[key]
    return key not in IRRELEVANT_IN_SOURCES and given


PIPELINE_KEYS = tuple(field.alias or name for name, field in PipelineSpec.model_fields.items() if name != "path")
