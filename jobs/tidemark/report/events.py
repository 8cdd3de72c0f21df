"""Rows of `events/<source>`, read without a JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.config.types import EVENT_COLUMNS
from tidemark.records.rows import EventRecord, RowReference
from tidemark.report.values import micros_of, plain
from tidemark.report.words import iso, signed

TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class EventRow:
    """One row of an events table; times in microseconds UTC, `payload` as JSON values, `times` the payload's
    top-level timestamps in microseconds."""

    source: str
    partition: str
    offset: int
    disposition: str
    reasons: tuple[str, ...]
    event_time: int | None
    arrival_time: int | None
    system_timestamp: int | None
    watermark: int | None
    substream: str | None
    batch_id: int
    file: str | None
    raw: str | None
    payload: Mapping[str, Any]
    times: Mapping[str, int | None]
    end_time: int | None = None

    @property
    def moved(self) -> int | None:
        """Microseconds from the event time to the system timestamp; None if the row lacks either."""
        if self.event_time is None or self.system_timestamp is None:
            return None
        return self.system_timestamp - self.event_time

    def reference(self) -> RowReference:
        """Return where the row is, as commands print it."""
        return {"offset": self.offset, "batch_id": self.batch_id, "file": self.file}

    def record(self) -> EventRecord:
        """Return the row as commands print it: times ISO 8601 with Z."""
        moved = self.moved
        return {
            "source": self.source,
            "partition": self.partition,
            "offset": self.offset,
            "disposition": self.disposition,
            "reasons": list(self.reasons),
            "event_time": iso(self.event_time),
            "arrival_time": iso(self.arrival_time),
            "system_timestamp": iso(self.system_timestamp),
            "end_time": iso(self.end_time),
            "watermark": iso(self.watermark),
            "substream": self.substream,
            "moved_by": None if moved is None else signed(moved),
            "moved_micros": moved,
            "batch_id": self.batch_id,
            "file": self.file,
            "raw": self.raw,
            "payload": dict(self.payload),
        }


def payload_columns(schema: pa.Schema) -> list[str]:
    """Names of the user's columns, in their order."""
    return [name for name in schema.names if name not in EVENT_COLUMNS]


def event_rows(source: str, table: pa.Table) -> Iterator[EventRow]:
    """Yield the rows of an Arrow table with all columns of an events table."""
    payload = payload_columns(table.schema)
    timed = [name for name in payload if pa.types.is_timestamp(table.schema.field(name).type)]
    for index in range(table.num_rows):
        cells = {name: table.column(name)[index] for name in table.schema.names}
        yield EventRow(
            source=source,
            partition=cells["_partition"].as_py(),
            offset=cells["_offset"].as_py(),
            disposition=cells["_disposition"].as_py(),
            reasons=tuple(cells["_reasons"].as_py() or ()),
            event_time=micros_of(cells["_event_time"]),
            arrival_time=micros_of(cells["_arrival_time"]),
            system_timestamp=micros_of(cells["_system_timestamp"]),
            watermark=micros_of(cells["_watermark"]),
            substream=cells["_substream"].as_py(),
            batch_id=cells["_batch_id"].as_py(),
            file=cells["_file"].as_py(),
            raw=cells["_raw"].as_py(),
            payload={name: plain(cells[name]) for name in payload},
            times={name: micros_of(cells[name]) for name in timed},
            end_time=micros_of(cells["_end_time"]),
        )


def instant(micros: int) -> pa.Scalar[Any]:
    """Return microseconds UTC as an Arrow scalar to compare a time column with."""
    return pa.scalar(micros, TIME)


def read_row(source: str, events: Dataset, partition: str, offset: int) -> EventRow | None:
    """Return the row at an offset of a partition, or None. Files whose range of offsets
    excludes it are not opened."""
    here = (pc.field("_partition") == partition) & (pc.field("_offset") == offset)
    return next(event_rows(source, events.to_table(filter=here)), None)
