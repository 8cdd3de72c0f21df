"""Which rows a command speaks of, and in what order they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.core.policy import Fate, Reason
from tidemark.errors import UsageError
from tidemark.report.events import instant
from tidemark.report.scan import Condition, both, stream

NEWEST_FIRST = "_arrival_time DESC NULLS LAST, _batch_id DESC, source, _partition, _offset DESC"


@dataclass(frozen=True)
class Filter:
    """Which rows: every condition given must hold. `since` <= `_arrival_time` < `until`, microseconds UTC."""

    source: str | None = None
    fate: str | None = None
    reason: str | None = None
    partition: str | None = None
    since: int | None = None
    until: int | None = None
    batch: int | None = None

    def condition(self) -> Condition:
        """All but the reason, in the form by which files are skipped."""
        arrival = pc.field("_arrival_time")
        return both(
            None if self.fate is None else pc.field("_disposition") == self.fate,
            None if self.partition is None else pc.field("_partition") == self.partition,
            None if self.since is None else arrival >= instant(self.since),
            None if self.until is None else arrival < instant(self.until),
            None if self.batch is None else pc.field("_batch_id") == self.batch,
        )


def choose(datasets: Mapping[str, Dataset], where: Filter) -> dict[str, Dataset]:
    """The datasets a filter speaks of. UsageError: a filter that can match nothing in any table."""
    _known("source", where.source, list(datasets))
    _known("fate", where.fate, [fate.value for fate in Fate])
    _known("reason", where.reason, [reason.value for reason in Reason])
    if where.since is not None and where.until is not None and where.since >= where.until:
        raise UsageError("--until is not after --since", hint="rows from --since up to before --until are shown")
    return {name: data for name, data in datasets.items() if where.source in (None, name)}


def matching(
    connection: duckdb.DuckDBPyConnection, name: str, dataset: Dataset, where: Filter, columns: list[str] | None
) -> str:
    """SQL of a relation of the matching rows, registered under `name`; it can be read once."""
    if columns is not None and where.reason is not None:
        columns = [*columns, "_reasons"]
    connection.register(name, stream(dataset, columns, where.condition()))
    if where.reason is None:
        return name
    return f"(SELECT * FROM {name} WHERE list_contains(_reasons, '{Reason(where.reason).value}'))"  # noqa: S608


def _known(option: str, value: str | None, allowed: list[str]) -> None:
    if value is not None and value not in allowed:
        raise UsageError(f"there is no {option} {value!r}", hint=f"one of: {', '.join(allowed) or 'none yet'}")
