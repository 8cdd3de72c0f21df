"""Finds streams that were removed from a pipeline and are in its file again: their tables still have old rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.config import PipelineSpec
from tidemark.core.stream_output import OUTPUTS
from tidemark.ledger.ledger import Ledger
from tidemark.storage import Location, delta_table, is_table


def returned_streams(ledger: Ledger, recorded: Mapping[str, Any], spec: PipelineSpec) -> frozenset[str]:
    """Streams that are not in a `recorded` configuration, but have rows in a table of this version."""
    new = spec.streams.keys() - (recorded.get("streams") or {}).keys()
    return frozenset(name for name in new if any(_has_rows(ledger.folder / f"{kind}/{name}") for kind in OUTPUTS))


def _has_rows(table: Location) -> bool:
    return is_table(table) and bool(delta_table(table).file_uris())
