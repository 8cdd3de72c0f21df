"""Finds files with a negative null count in page headers: Spark's library wrote it for columns without statistics.

Spark, DuckDB and Polars ignore it; delta-rs's own queries, DataFusion and Daft fail on it.
"""

from __future__ import annotations

from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from tidemark.storage import Location, delta_table, open_file

_WRITER = "parquet-mr"
_ENOUGH = 64
"""Bytes at the start of a page's header that hold the number of nulls."""
_STRUCT, _SECOND_PAGE = 12, 8
"""In Thrift's compact protocol: the type of a structure, and the field that describes a page of the second
version."""


def miscounted(location: Location) -> dict[str, str | None]:
    """The live files of a table that have such pages, as its log names them, each with its day (None: the table is
    not partitioned by day). Only footers and the first page of columns without statistics are read."""
    actions = pa.table(delta_table(location).get_add_actions(flatten=True)).to_pylist()
    found = {}
    for action in actions:
        with open_file(str(location / action["path"])) as file:
            if _is_miscounted(file):
                days = [value for name, value in action.items() if name.startswith("partition.")]
                found[action["path"]] = str(days[0]) if days else None
    return found


def nulls_of(header: bytes) -> int | None:
    """Number of nulls that a page states; None for pages of the first version, whose headers lack it."""
    at = field = 0
    while True:
        field, kind, at = field + (header[at] >> 4), header[at] & 15, at + 1
        if kind == _STRUCT:
            break
        _, at = _number(header, at)
    if field != _SECOND_PAGE:
        return None
    _, at = _number(header, at + 1)  # skips the number of values and its field header
    return _number(header, at + 1)[0]


def _is_miscounted(file: IO[bytes]) -> bool:
    footer = pq.read_metadata(file)
    if _WRITER not in (footer.created_by or ""):
        return False
    for group in range(footer.num_row_groups):
        columns = footer.row_group(group)
        for index in range(columns.num_columns):
            column = columns.column(index)
            if column.statistics is None or column.statistics.null_count is None:
                file.seek(column.data_page_offset)
                if (nulls_of(file.read(_ENOUGH)) or 0) < 0:
                    return True
    return False


def _number(header: bytes, begin: int) -> tuple[int, int]:
    """A number of variable length whose lowest bit is its sign, and the position after it."""
    at, shift, found = begin, 0, 0
    while True:
        found |= (header[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if header[at - 1] < 128:  # the last byte
            return (found >> 1) ^ -(found & 1), at
