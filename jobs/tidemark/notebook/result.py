"""Records that pipelines return to Python code: dicts that also have a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from tidemark.records.rows import PathRecord

T = TypeVar("T")
TIMES = {"event_time", "arrival_time", "system_timestamp", "end_time", "watermark", "window_start", "window_end"}
TIMES |= {"high", "last_arrival", "last_seen", "estimated_arrival", "floor", "as_of", "created", "promoted"}
"""Members that are times: ISO 8601 text in the record, timestamps in its table."""
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
"""Texts in records for doubles that JSON lacks."""


class Result(dict[str, Any], Generic[T]):
    """A record, as a dict; `record` is the same dict under its own type. The list under the key `rows_key` is its
    table, with at least these `columns`."""

    def __init__(self, record: T, rows_key: str, title: str, columns: Iterable[str] = ()) -> None:
        super().__init__(cast(Mapping[str, Any], record))
        self.rows_key, self.title, self.columns = rows_key, title, tuple(columns)

    @property
    def record(self) -> T:
        """The record under its own type, for checkers of types."""
        return cast(T, self)

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table. Times are timestamps in UTC (null if they are outside the calendar), and
        members of `payload` are columns."""
        import pyarrow as pa

        rows = [_flat(row) for row in self[self.rows_key]]
        own = {*self.columns, *(name for row in self[self.rows_key] for name in row)}
        names = dict.fromkeys([*self.columns, *(name for row in rows for name in row)])
        columns = {name: [row.get(name) for row in rows] for name in names}
        return pa.table({name: _column(values, name in own & TIMES) for name, values in columns.items()})

    def df(self) -> pd.DataFrame:
        """The rows as a pandas frame, as `arrow` has them."""
        return self.arrow().to_pandas()

    def _repr_html_(self) -> str:
        from tidemark.notebook.html import table_of

        return table_of(self)


class WrittenPage(dict[str, Any]):
    """The record of a page that was written: its `path`."""

    def __init__(self, record: PathRecord) -> None:
        super().__init__(record)
        self.record = record

    def _repr_html_(self) -> str:
        from tidemark.notebook.html import page_html

        return page_html(self["path"])


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the members of its payload beside its own; a member whose name is in use is `payload.name`."""
    flat = {name: value for name, value in row.items() if name != "payload"}
    for name, value in (row.get("payload") or {}).items():
        flat[f"payload.{name}" if name in row else name] = value
    return flat


def _column(values: list[Any], of_times: bool) -> pa.Array[Any]:
    import pyarrow as pa

    if of_times:
        return pa.array([_time(value) for value in values], pa.timestamp("us", tz="UTC"))
    if any(isinstance(value, float) for value in values):
        values = [float(value) if value in _NO_NUMBERS else value for value in values]
    try:
        found: pa.Array[Any] = pa.array(values)
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        OverflowError,
    ):  # values of several types, such as those of two sources
        found = pa.array([None if value is None else str(value) for value in values], pa.string())
    return found


def _time(value: str | None) -> datetime | None:
    try:
        return None if value is None else datetime.fromisoformat(value)
    except ValueError:
        return None
