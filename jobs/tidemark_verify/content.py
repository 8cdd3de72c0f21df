"""Reads the rows of tables that Spark writes, and their digests by batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemark_verify.delta import Table
from tidemark_verify.encode import Array, Kind
from tidemark_verify.xxh64 import row_hashes

KINDS = ("events", "streams", "dead_letters", "before_start", "lifetimes")
"""Kinds of the tables whose rows stay as they were written."""
_AT_ONCE = 1 << 15
Columns = list[tuple[str, Array, Kind]]


class Sums(NamedTuple):
    """Rows, and the sums of the halves of their hashes."""

    rows: int = 0
    high: int = 0
    low: int = 0

    def plus(self, other: Sums) -> Sums:
        """The sums with those of more rows."""
        return Sums(self.rows + other.rows, self.high + other.high, self.low + other.low)

    def __str__(self) -> str:
        return f"2:{self.high % 2**64:016x}{self.low % 2**64:016x}"


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
            yield [
                (each["name"], there[each["name"]], each["type"]) for each in table.columns if each["name"] in there
            ]


def column(columns: Columns, name: str) -> Array:
    """A column by its name."""
    return next(array for each, array, _ in columns if each == name)


def sums_of(columns: Columns) -> dict[int, Sums]:
    """Sums of rows by their batch."""
    numbers = np.asarray(column(columns, "_batch_id").fill_null(0))
    high, low = row_hashes(columns, len(numbers))
    return {
        number: Sums(int(mine.sum()), int(high[mine].sum()), int(low[mine].sum()))
        for number in np.unique(numbers).tolist()
        for mine in [numbers == number]
    }


def sums_by_batch(table: Table, see: Callable[[Columns], None]) -> dict[int, Sums]:
    """Sums of all rows of a table by their batch; `see` is called with each piece."""
    found: dict[int, Sums] = defaultdict(Sums)
    for columns in pieces(table):
        see(columns)
        for number, sums in sums_of(columns).items():
            found[number] = found[number].plus(sums)
    return found


def digests_before(table: Table, batch: int) -> Iterator[str]:
    """Digests of a batch's rows without last columns of the table of which they have no value: a column that was
    added later stands behind the others."""
    parts: list[Columns] = []
    for columns in pieces(table):
        mine = pc.equal(column(columns, "_batch_id"), pa.scalar(batch))
        parts.append([(name, array.filter(mine), kind) for name, array, kind in columns])
    names = [each["name"] for each in table.columns]
    arrays = [each for part in parts for each in part]
    while names[-1][0] != "_" and all(
        array.null_count == len(array) for name, array, _ in arrays if name == names[-1]
    ):
        names.pop()
        found = Sums()
        for part in parts:
            found = found.plus(sums_of([each for each in part if each[0] in names]).get(batch, Sums()))
        yield str(found)
