"""Examples of what a backfill changed: rows with both fates, windows with both values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.records.versions import ChangedRow, ChangedWindow, FateSide
from tidemark.report.scan import sql, stream
from tidemark.report.values import plain
from tidemark.report.words import moment_of

Row = dict[str, Any]
SHOWN = 20
_HIDDEN = ("_batch_id", "_difference", "_offset", "_window_start", "_window_end")
_SIDES = ("before", "after")


def changed_rows(rows: Dataset, source: str) -> list[ChangedRow]:
    """Return the first changed rows of a source, by event time: positions and both fates
    (None: the row is absent)."""
    names = rows.schema.names
    about = [name for name in ("_partition", "_offset", "_file", "_event_time") if name in names]
    fates = [f"{name}_{side}" for side in _SIDES for name in ("_disposition", "_system_timestamp", "_reasons")]
    answer = _asked(
        rows,
        [*about, *fates, "_crosses"],
        f"SELECT * FROM t ORDER BY _event_time NULLS LAST, _partition, _offset LIMIT {SHOWN}",  # noqa: S608
        pc.field("_source") == source,
    )
    return [_changed(row) for row in answer]


def _changed(row: Row) -> ChangedRow:
    found: ChangedRow = {
        "partition": row["_partition"],
        "offset": row["_offset"],
        "event_time": row["_event_time"],
        "crosses": row["_crosses"],
        "before": _fate(row, "before"),
        "after": _fate(row, "after"),
    }
    if "_file" in row:
        found["file"] = row["_file"]
    return found


def changed_windows(rows: Dataset, values: Collection[str]) -> list[ChangedWindow]:
    """Return the newest changed windows: their ends, their other key columns (`about`), and their `values` before and
    after (None: no such window on that side)."""
    names = [name for name in rows.schema.names if name not in _HIDDEN]
    keys, shown = [name for name in names if name not in values], [name for name in names if name in values]
    sides = [
        f"first({_quoted(name)}) FILTER (WHERE _difference = '{side}') AS {_quoted(f'{side}_{index}')}"
        for side in _SIDES
        for index, name in enumerate(shown)
    ]
    there = [f"count(*) FILTER (WHERE _difference = '{side}') > 0 AS there_{side}" for side in _SIDES]
    columns = ", ".join(["_window_start", "_window_end", *map(_quoted, keys)])
    answer = _asked(
        rows,
        [*names, "_window_start", "_window_end", "_difference"],
        f"SELECT {', '.join([columns, *sides, *there])} FROM t GROUP BY {columns} "  # noqa: S608
        f"ORDER BY _window_start DESC, {columns} LIMIT {SHOWN}",
        None,
    )
    return [
        {
            "start": row["_window_start"],
            "end": row["_window_end"],
            "about": {name.removeprefix("_"): row[name] for name in keys},
            "before": _values(row, shown, "before"),
            "after": _values(row, shown, "after"),
        }
        for row in answer
    ]


def _values(row: Row, shown: Sequence[str], side: str) -> Row | None:
    """Values of a window on one side, by name; None if the window is not there."""
    if not row[f"there_{side}"]:
        return None
    return {name: row[f"{side}_{index}"] for index, name in enumerate(shown)}


def _fate(row: Row, side: str) -> FateSide | None:
    if row[f"_disposition_{side}"] is None:
        return None
    return {
        "disposition": row[f"_disposition_{side}"],
        "time": row[f"_system_timestamp_{side}"],
        "reasons": row[f"_reasons_{side}"],
    }


def _asked(dataset: Dataset, columns: Sequence[str], text: str, where: pc.Expression | None) -> list[Row]:
    with sql() as connection:
        connection.register("t", stream(dataset, columns, where))
        answer: Any = connection.sql(text).to_arrow_table()
    names = answer.schema.names
    return [
        {name: plain(answer.column(index)[number]) for index, name in enumerate(names)}
        for number in range(answer.num_rows)
    ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def window_text(window: ChangedWindow) -> str:
    """Return one changed window in words: its ends, and the values that changed."""
    about = "".join(f", {name} {value}" for name, value in window["about"].items())
    where = f"{moment_of(window['start'])} to {moment_of(window['end'])}{about}"
    before, after = window["before"], window["after"]
    if before is None or after is None:
        values = ", ".join(f"{name} {value}" for name, value in (before or after or {}).items())
        return f"{where}: {'no more' if after is None else 'new'} ({values})"
    changed = [f"{name} {before[name]} -> {after[name]}" for name in after if before[name] != after[name]]
    return f"{where}: {', '.join(changed)}"
