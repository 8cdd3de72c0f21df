"""Order-independent digests over the content of rows.

A row's digest is a 64-bit hash over all its columns and over which of them are null; a table's is the sum
of the two halves, so that neither the order of rows nor how they are spread over files matters.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from tidemark.core.account import TableDigest

ROWS, LOW, HIGH = "digest_rows", "digest_low", "digest_high"
_HALF = 0xFFFFFFFF
_NULL_BITS = 62


def row_hash(frame: DataFrame) -> Column:
    """The hash of one row of `frame`: of all columns, in the order of their names, wherever they stand."""
    fields = sorted(frame.schema, key=lambda field: field.name)
    columns = [_hashable(field.name, field.dataType) for field in fields]
    nulls = []
    for start in range(0, len(columns), _NULL_BITS):
        flags = [
            F.when(c.isNull(), F.lit(1 << i)).otherwise(0) for i, c in enumerate(columns[start : start + _NULL_BITS])
        ]
        mask = flags[0]
        for flag in flags[1:]:
            mask = mask + flag
        nulls.append(mask)
    return F.xxhash64(*columns, *nulls)


def digest_columns(hashed: Column) -> list[Column]:
    """The three sums that make a digest: they add up over any split of the rows."""
    return [
        F.count("*").alias(ROWS),
        F.coalesce(F.sum(hashed.bitwiseAND(_HALF)), F.lit(0)).alias(LOW),
        F.coalesce(F.sum(F.shiftrightunsigned(hashed, 32)), F.lit(0)).alias(HIGH),
    ]


def table_digest(table: str, rows: int, low: int, high: int) -> TableDigest:
    """The digest of `rows` rows as 32 hexadecimal digits."""
    mask = (1 << 64) - 1
    return TableDigest(table, rows, f"{high & mask:016x}{low & mask:016x}")


def measured(table: str, rows: DataFrame) -> TableDigest:
    """The digest of rows that are not written now."""
    found = rows.agg(*digest_columns(row_hash(rows))).collect()[0]
    return table_digest(table, found[ROWS], found[LOW], found[HIGH])


def _hashable(name: str, kind: DataType) -> Column:
    column = F.col(f"`{name.replace('`', '``')}`")
    return F.to_json(F.struct(column)) if _unhashable(kind) else column


def _unhashable(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _unhashable(kind.elementType)
    if isinstance(kind, StructType):
        return any(_unhashable(field.dataType) for field in kind)
    return isinstance(kind, MapType | VariantType)
