"""A pipeline file made of few keys, for tests that change one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tidemark.config import Loaded, PipelineSpec, SourceSpec, load_pipeline
from tidemark.errors import ConfigError, Problem

COLUMNS = (
    "DeviceId STRING, EventTime TIMESTAMP, EnqueuedAt TIMESTAMP, Speed DOUBLE, Lane STRING, ts BIGINT,"
    " day DATE, text STRING, local TIMESTAMP_NTZ,"
    " `odd-name` TIMESTAMP, `a.b` STRING, flag BOOLEAN, raw BINARY,"
    " payload STRUCT<at: TIMESTAMP, n: INT, inner: STRUCT<x: STRING>>, list ARRAY<INT>,"
    " items ARRAY<STRUCT<x: INT>>, tags MAP<STRING, STRING>"
)


@dataclass
class Files:
    """A folder with a pipeline of one source, `readings`; a key given as None is left out."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def text(self, text: str, name: str = "pipeline.yml") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def pipeline(self, settings: Mapping[str, Any] | None = None, /, **source: Any) -> Path:
        (self.folder / "landing").mkdir(exist_ok=True)
        keys = {"landing": "./landing", "format": "json", "schema": COLUMNS} | source
        readings = {key: value for key, value in keys.items() if value is not None}
        content = {"pipeline": "toll", "sources": {"readings": readings}} | dict(settings or {})
        return self.text(json.dumps({key: value for key, value in content.items() if value is not None}))

    def load(self, settings: Mapping[str, Any] | None = None, /, **source: Any) -> Loaded:
        return load_pipeline(self.pipeline(settings, **source), self.environ)

    def spec(self, settings: Mapping[str, Any] | None = None, /, **source: Any) -> PipelineSpec:
        return self.load(settings, **source).spec

    def source(self, **source: Any) -> SourceSpec:
        return self.spec(**source).sources["readings"]

    def problems(self, settings: Mapping[str, Any] | None = None, /, **source: Any) -> list[Problem]:
        return self.problems_of(self.pipeline(settings, **source))

    def problems_of(self, path: Path) -> list[Problem]:
        with pytest.raises(ConfigError) as caught:
            load_pipeline(path, self.environ)
        return caught.value.problems

    def problem(self, settings: Mapping[str, Any] | None = None, /, **source: Any) -> tuple[str, str]:
        """(key, message) of the one problem there is."""
        (problem,) = self.problems(settings, **source)
        return problem.key, problem.message
