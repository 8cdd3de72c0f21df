"""Rows of generated sources: columns of every type, the same in each format, and the files that land with them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyarrow import orc, parquet

import oracle
import product
from strategies import BASE

HOUR = 3_600_000_000
TYPES = {
    "k": "STRING",
    "n": "INT",
    "m": "BIGINT",
    "x": "DOUBLE",
    "d": "DECIMAL(20, 2)",
    "b": "BOOLEAN",
    "y": "DATE",
    "l": "ARRAY<STRING>",
    "s": "STRUCT<u: INT, w: STRING>",
}
"""The payload's columns and their types in Spark."""
NESTED = ("l", "s")
FORMATS = ("json", "csv", "parquet", "orc")
_ARROW: dict[str, pa.DataType] = {
    "p": pa.string(),
    "e": pa.timestamp("us", tz="UTC"),
    "a": pa.timestamp("us", tz="UTC"),
    "v": pa.timestamp("us", tz="UTC"),
    "k": pa.string(),
    "n": pa.int32(),
    "m": pa.int64(),
    "x": pa.float64(),
    "d": pa.decimal128(20, 2),
    "b": pa.bool_(),
    "y": pa.date32(),
    "l": pa.list_(pa.string()),
    "s": pa.struct([("u", pa.int32()), ("w", pa.string())]),
}
_DOUBLES = (1e16, 1.0, -1e16, 0.1, 3.0, -7e15, 0.5, None)


def columns_of(kind: str) -> dict[str, str]:
    """The payload's columns that a format can hold."""
    return {name: type_ for name, type_ in TYPES.items() if kind != "csv" or name not in NESTED}


def schema_of(kind: str, *, punctuated: bool, lasting: bool) -> str:
    """The schema of a source as DDL. `lasting`: rows are intervals under tolerances."""
    times = {"p": "STRING", "e": "TIMESTAMP", "a": "TIMESTAMP", **columns_of(kind)}
    more = {"t": "STRING", "v": "TIMESTAMP"} if punctuated else {"v": "TIMESTAMP"} if lasting else {}
    return ", ".join(f"{name} {type_}" for name, type_ in (times | more).items())


def payload(kind: str, row: oracle.Row, uri: str, position: int) -> dict[str, Any]:
    """The payload of one row: its own substream as `k`, and values that follow from its place."""
    dice = Random(f"{uri}:{position}")  # noqa: S311 - the same values each time
    values: dict[str, Any] = {
        "k": row.substream,
        "n": dice.choice((None, *range(-2, 8))),
        "m": dice.choice((None, 1 << 62, -5, 7, 7, 12)),
        "x": dice.choice(_DOUBLES),
        "d": dice.choice(
            (None, Decimal("0.05"), Decimal("-12.50"), Decimal("99999999999999999.99"), Decimal("3.00"))
        ),
        "b": dice.choice((None, True, False)),
        "y": dice.choice((None, date(1969, 12, 31), date(2026, 1, 1), date(2400, 2, 29))),
        "l": dice.choice((None, [], ["a"], ["a", None], [None, "a"], ["a", "b"], ["ab"])),
        "s": dice.choice((None, {"u": 1, "w": "a"}, {"u": None, "w": "a"}, {"u": 2, "w": None})),
    }
    return {name: values[name] for name in columns_of(kind)}


def fitting(kind: str, item: oracle.Obj) -> oracle.Obj:
    """An object with rows that a format can hold: only JSON has rows that cannot be parsed, and ORC's times end with
    nanoseconds of 64 bits."""
    if kind == "json":
        return item
    return replace(item, rows=tuple(_fitting(row) for row in item.rows))


def _fitting(row: oracle.Row) -> oracle.Row:
    def near(time: int | None) -> int | None:
        return time if time is None or abs(time - BASE) < 24 * HOUR else BASE + (HOUR if time > BASE else -HOUR)

    return replace(row, broken=False, event=near(row.event), arrival=near(row.arrival), end=near(row.end))


def land(path: Path, kind: str, item: oracle.Obj, lasting: bool) -> None:
    """Write an object as a file of its format. `lasting`: rows are intervals, which end at `v`."""
    rows = [
        _values(kind, row, item.uri, position) | ({"v": row.end} if lasting else {})
        for position, row in enumerate(item.rows)
    ]
    if kind == "json":
        path.write_text("".join(_line(row, of) for row, of in zip(rows, item.rows, strict=True)))
    elif kind == "csv":
        path.write_text(_csv(rows))
    else:
        names = ("p", "e", "a", *columns_of(kind), *(("v",) if lasting else ()))
        schema = pa.schema([(name, _ARROW[name]) for name in names])
        table = pa.Table.from_pylist(rows, schema)
        (orc if kind == "orc" else parquet).write_table(table, path)


def _values(kind: str, row: oracle.Row, uri: str, position: int) -> dict[str, Any]:
    return {
        "p": row.partition,
        "e": row.event,
        "a": row.arrival,
        **payload(kind, row, uri, position),
    }


def _line(values: Mapping[str, Any], row: oracle.Row) -> str:
    own = json.loads(product.line(row))
    found = values | {name: None for name in ("e", "a", "v") if name in values} | own
    if row.broken:
        found["n"] = own["n"]
    text = json.dumps({name: value for name, value in found.items() if name != "d"}, default=date.isoformat)
    return text[:-1] + f', "d": {"null" if values["d"] is None else values["d"]}}}\n'


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        given = {name: row[name] for name in ("e", "a", "v") if name in row}
        times = {name: None if time is None else product.iso(time) for name, time in given.items()}
        writer.writerow(["" if value is None else _cell(value) for value in (row | times).values()])
    return out.getvalue()


def _cell(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)
