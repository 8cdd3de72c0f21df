"""Reads the rows of tables that Spark writes, and their digests by batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemark_verify.delta import Table
from tidemark_verify.hashes import Array, Kind, row_hashes

KINDS = ("events", "streams", "dead_letters", "before_start", "lifetimes")
_AT_ONCE = 1 << 15
Columns = dict[str, tuple[Array, Kind]]
Sums = tuple[int, int, int]
"""Rows, and the sums of the high and the low halves of their hashes."""
NONE: Sums = (0, 0, 0)


def _plus(one: Sums, other: Sums) -> Sums:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def text(sums: Sums) -> str:
    """The digest of rows."""
    return f"2:{sums[1] % 2**64:016x}{sums[2] % 2**64:016x}"


def pieces(table: Table) -> Iterator[Columns]:
    """The rows of a table in pieces: columns with their types, as far as a file has them."""
    for path, add in table.added.items():
        values = add.get("partitionValues") or {}
        file = pq.ParquetFile(table.path(path), coerce_int96_timestamp_unit="us")
        for batch in file.iter_batches(_AT_ONCE):
            there = {name: batch.column(name) for name in batch.schema.names}
            for name in values.keys() - there.keys():
                day = None if values[name] is None else np.datetime64(values[name]).astype(object)
                there[name] = pa.array([day] * len(batch), pa.date32())
            kinds = {each["name"]: each["type"] for each in table.columns}
            yield {name: (there[name], kind) for name, kind in kinds.items() if name in there}


def sums_of(columns: Columns) -> dict[int, Sums]:
    """Sums of rows by their batch."""
    numbers = np.asarray(columns["_batch_id"][0].fill_null(0))
    high, low = row_hashes(columns, len(numbers))
    return {
        number: (int(mine.sum()), int(high[mine].sum()), int(low[mine].sum()))
        for number in np.unique(numbers).tolist()
        for mine in [numbers == number]
    }


def sums_by_batch(table: Table, see: Callable[[Columns], None]) -> dict[int, Sums]:
    """Sums of all rows of a table by their batch; `see` is called with each piece."""
    found: dict[int, Sums] = defaultdict(lambda: NONE)
    for columns in pieces(table):
        see(columns)
        for number, sums in sums_of(columns).items():
            found[number] = _plus(found[number], sums)
    return found


def digests_before(table: Table, batch: int) -> Iterator[str]:
    """Digests of a batch's rows without last columns of which they have no value: later ones are added at the end."""
    parts: list[Columns] = []
    for columns in pieces(table):
        mine = pc.equal(columns["_batch_id"][0], pa.scalar(batch))
        parts.append({name: (array.filter(mine), kind) for name, (array, kind) in columns.items()})
    for name in reversed([each["name"] for each in table.columns]):
        gone = [part.pop(name)[0] for part in parts if name in part]
        if name.startswith("_") or any(array.null_count < len(array) for array in gone):
            return
        yield text(reduce(_plus, (sums_of(part).get(batch, NONE) for part in parts), NONE))
