"""Streams that were removed from a pipeline and are in its file again: their tables have rows by former rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from tidemark.config import PipelineSpec, from_resolved
from tidemark.config.evolution import Removed
from tidemark.config.models.stream_graph import streams_below
from tidemark.core.stream_output import OUTPUTS
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.runner.recorded import content_of
from tidemark.storage import Location, delta_table, is_table


def removed_streams(ledger: Ledger, recorded: Mapping[str, Any], spec: PipelineSpec) -> Removed:
    """By name, the definitions of streams of `spec` that are not in a `recorded` configuration, but have rows in a
    table: those in force when the last of these rows was written, with all streams below."""
    found: dict[str, dict[str, Any] | None] = {}
    for name in spec.streams.keys() - (recorded.get("streams") or {}).keys():
        batch = max(_last_batch(ledger.folder / f"{kind}/{name}") for kind in OUTPUTS)
        if batch:
            found |= _streams_of(ledger, batch, name, spec) or {name: None}
    return found


def _last_batch(table: Location) -> int:
    """The last batch of which a table has rows; 0 if it has none, or is not there."""
    if not is_table(table):
        return 0
    files = pa.table(delta_table(table).get_add_actions(flatten=True))
    batches = files["max._batch_id"].to_pylist() if files.num_rows else []
    return max((batch for batch in batches if batch is not None), default=0)


def _streams_of(ledger: Ledger, batch: int, name: str, spec: PipelineSpec) -> dict[str, Any]:
    """A stream and those below it, as they were when a batch was written; empty if no record has the stream."""
    for configuration in _configurations(ledger, batch):
        content = content_of(configuration, spec, ledger.root)
        if name in (content.get("streams") or {}):
            then = from_resolved(content)
            return {each: then.resolved()["streams"][each] for each in (name, *streams_below(then.streams, name))}
    return {}


def _configurations(ledger: Ledger, batch: int) -> Iterator[str]:
    """Configurations recorded for a batch: in this version, then in those that it was built from, since a backfill
    records its own for the batches that it makes anew."""
    number = ledger.version
    while True:
        for record in (ledger if number == ledger.version else Ledger(ledger.root, number)).batches(batch, batch):
            yield record.configuration
        version = versions.found(ledger.root, number)
        if version is None or version.made is None:
            return
        number = version.made.base
