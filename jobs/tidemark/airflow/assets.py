"""The assets of a pipeline: one for all that it publishes, one for each stream whose completeness is signalled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import Asset

from tidemark.config import PipelineSpec
from tidemark.config.pipeline_files import dag_id
from tidemark.config.scheduling.periods import periods_of
from tidemark.storage import Location, location_of

if TYPE_CHECKING:
    from airflow.sdk.definitions.asset import AssetRef

_LIVE = "published"
"""The name, beside the versions, of the link to the live one (`tidemark register`): it outlasts promotions."""


def pipeline_asset(spec: PipelineSpec) -> Asset:
    """The asset of a whole pipeline, with its name as URI."""
    return Asset(dag_id(spec.name))


def record_asset(spec: PipelineSpec) -> Asset:
    """The asset whose events record all emitted events. Only `publish` uses it."""
    return Asset(f"{dag_id(spec.name)}:emitted")


def stream_assets(spec: PipelineSpec) -> dict[str, Asset]:
    """The assets of streams by name. The URI is the location of the stream's table in the live version."""
    root = location_of(spec.warehouse) / spec.name / _LIVE / "streams"
    return {name: Asset(name=f"{dag_id(spec.name)}.{name}", uri=_uri(root / name)) for name in periods_of(spec)}


def awaited_asset(named: str) -> AssetRef:
    """The asset of another DAG, by its URI or its name."""
    return Asset.ref(uri=named) if "://" in named else Asset.ref(name=named)


def _uri(location: Location) -> str:
    return location.as_uri() if isinstance(location, Path) else str(location)
