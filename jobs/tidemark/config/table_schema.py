"""Arrow schemas of tables of rows, for tables that are not written yet."""

from __future__ import annotations

import re

import pyarrow as pa

from tidemark.config.models.pipeline import PipelineSpec
from tidemark.config.models.sources import SourceSpec
from tidemark.config.models.stream_graph import columns_of
from tidemark.config.types import Type, parse_type

TIME = pa.timestamp("us", tz="UTC")
Types = dict[str, pa.DataType]
_PLAIN: Types = {
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIMESTAMP": TIME,
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "BINARY": pa.binary(),
}
_ROW: Types = {"_partition": pa.string(), "_offset": pa.int64()}
_WINDOW: Types = {"_window_start": TIME, "_window_end": TIME}
_BATCH: Types = {"_batch_id": pa.int64()}
_COUNT = re.compile(r"\s*count\s*\([^()]*\)\s*", re.IGNORECASE)


def schema_of(spec: PipelineSpec, table: str) -> pa.Schema | None:
    """The schema of `events/...`, `streams/...`, `dead_letters/...`, `seen/...` or `substreams`; None for other
    tables. A column whose type only Spark knows is of type null."""
    kind, _, name = table.partition("/")
    if kind == "events" and name in spec.sources:
        return pa.schema([*_events(spec.sources[name]).items()])
    if kind == "streams" and name in spec.streams:
        return pa.schema([*_stream(spec, name).items()])
    if kind == "dead_letters" and name in spec.streams:
        return pa.schema([*_letters().items()])
    if kind == "seen" and name in spec.sources:
        return pa.schema([*_seen().items()])
    if table == "substreams":
        return pa.schema([*_substreams().items()])
    return None


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of a column's type."""
    if kind.fields:
        return pa.struct([(each.name, arrow_type(parse_type(each.type))) for each in kind.fields])
    if kind.key is not None and kind.element is not None:
        return pa.map_(arrow_type(kind.key), arrow_type(kind.element))
    if kind.element is not None:
        return pa.list_(arrow_type(kind.element))
    if kind.text.startswith("DECIMAL"):
        digits = [int(each) for each in re.findall(r"\d+", kind.text)]
        return pa.decimal128(*(digits or (10, 0)))
    return _PLAIN.get(kind.text, pa.string())  # CHAR(n) and VARCHAR(n)


def _events(source: SourceSpec) -> Types:
    judged: Types = {
        "_arrival_time": TIME,
        "_arrival_date": pa.date32(),
        "_event_time": TIME,
        "_end_time": TIME,
        "_system_timestamp": TIME,
        "_disposition": pa.string(),
        "_reasons": pa.list_(pa.string()),
        "_watermark": TIME,
        "_substream": pa.string(),
    }
    origin: Types = {"_file": pa.string(), "_raw": pa.string()}
    payload = {column.name: arrow_type(parse_type(column.type)) for column in source.columns}
    return _ROW | judged | _BATCH | origin | payload


def _letters() -> Types:
    source: Types = {"_source": pa.string()}
    times: Types = dict.fromkeys(("_event_time", "_system_timestamp", "_watermark"), TIME)
    return source | _ROW | times | _WINDOW | _BATCH


def _seen() -> Types:
    names: Types = dict.fromkeys(("source", "partition"), pa.string())
    return names | {"key": pa.binary(), "last_arrival": TIME, "batch_id": pa.int64()}


def _substreams() -> Types:
    names: Types = dict.fromkeys(("source", "partition", "substream"), pa.string())
    times: Types = dict.fromkeys(("watermark", "high"), TIME)
    number: Types = {"batch_id": pa.int64()}
    return names | times | number


def _stream(spec: PipelineSpec, name: str) -> Types:
    step = spec.streams[name]
    times: Types = {"_system_timestamp": TIME, "_end_time": TIME}
    own = times | _ROW
    if step.windowed:
        own = _WINDOW | dict.fromkeys(step.parts, _PLAIN["STRING"])
    texts = ({} if step.preceding is None else step.preceding.select) | step.select
    payload = {
        column.name: _selected(column.type, texts.get(column.name, "")) for column in columns_of(spec, name) or ()
    }
    return own | _BATCH | payload


def _selected(kind: str | None, text: str) -> pa.DataType:
    if kind is not None:
        return arrow_type(parse_type(kind))
    return pa.int64() if _COUNT.fullmatch(text) else pa.null()
