"""The configuration of a pipeline: one YAML file in, one immutable specification out.

Durations and times are int microseconds, folders absolute, every default filled in.
"""

from __future__ import annotations

from tidemark.config.evolution import changes
from tidemark.config.load import Loaded, from_resolved, load_pipeline
from tidemark.config.models.landing_time import LandedAtSpec
from tidemark.config.models.pipeline import MicroBatchSpec, PipelineSpec, RetentionSpec, with_on_failure
from tidemark.config.models.sources import PartitionSpec, QualitySpec, SourceSpec
from tidemark.config.models.streams import StreamSpec
from tidemark.config.schema import json_schema
from tidemark.config.types import SYSTEM_COLUMNS, Column

__all__ = [
    "SYSTEM_COLUMNS",
    "Column",
    "LandedAtSpec",
    "Loaded",
    "MicroBatchSpec",
    "PartitionSpec",
    "PipelineSpec",
    "QualitySpec",
    "RetentionSpec",
    "SourceSpec",
    "StreamSpec",
    "changes",
    "from_resolved",
    "json_schema",
    "load_pipeline",
    "with_on_failure",
]
