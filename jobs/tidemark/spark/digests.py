"""Order-independent digests over the content of rows (docs/digest.md is their specification).

A row has a hash of 128 bits. A table's digest has the sum of each half of the hashes, so that neither the order of
rows nor their files matter. Digests of batches that recorded the first version are computed in that version.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType, VariantType

from tidemark.core.batch_result import NEWEST, TableDigest
from tidemark.spark.jvm_functions import invoked

ROWS, LOW, HIGH = "digest_rows", "digest_low", "digest_high"
_HALF = 0xFFFFFFFF
_NULL_BITS = 62


def row_hash(frame: DataFrame, version: int = NEWEST) -> Column:
    """Hash of one row of `frame`, a struct of two numbers. It is taken over all columns, sorted by name. Raises
    ValueError for an unknown version."""
    fields = sorted(frame.schema, key=lambda field: field.name)
    if version == 1:
        hashed = _first_hash(fields)
        low, high = hashed.bitwiseAND(_HALF), F.shiftrightunsigned(hashed, 32)
        return F.struct(high.alias("high"), low.alias("low"))
    if version != NEWEST:
        raise ValueError(f"there is no version {version} of digests")
    row = F.struct(*[_quoted(field.name) for field in fields])
    return invoked("digest.RowHash", row, settings=(StructType(fields).json(),))


def key_hash(values: Sequence[Column], kinds: Sequence[DataType]) -> Column:
    """16-byte hash of a key's values of these types. Bits count: pass values through `alike` first."""
    fields = [StructField(f"{index:04}", kind) for index, kind in enumerate(kinds)]
    row = F.struct(*[value.alias(field.name) for value, field in zip(values, fields, strict=True)])
    return invoked("digest.KeyHash", row, settings=(StructType(fields).json(),))


def digest_columns(hashed: Column) -> list[Column]:
    """The three sums that make a digest. They add up over any split of the rows, modulo 2^64 (with ANSI off)."""
    sums = [F.coalesce(F.sum(hashed[half]), F.lit(0)) for half in ("low", "high")]
    return [F.count("*").alias(ROWS), sums[0].alias(LOW), sums[1].alias(HIGH)]


def table_digest(table: str, rows: int, low: int, high: int, version: int = NEWEST) -> TableDigest:
    """The digest of `rows` rows: 32 hexadecimal digits, after the version unless that is the first."""
    mask = (1 << 64) - 1
    begin = "" if version == 1 else f"{version}:"
    return TableDigest(table, rows, f"{begin}{high & mask:016x}{low & mask:016x}")


def measured(table: str, rows: DataFrame, version: int = NEWEST) -> TableDigest:
    """Compute the digest of rows, in a job of its own."""
    found = rows.agg(*digest_columns(row_hash(rows, version))).collect()[0]
    return table_digest(table, found[ROWS], found[LOW], found[HIGH], version)


def _first_hash(fields: Sequence[StructField]) -> Column:
    """The 64 bits of a row's hash in the first version, which ignores nulls and lengths inside of values."""
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


def _hashable(name: str, kind: DataType) -> Column:
    column = _quoted(name)
    return F.to_json(F.struct(column)) if _unhashable(kind) else column


def _unhashable(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _unhashable(kind.elementType)
    if isinstance(kind, StructType):
        return any(_unhashable(field.dataType) for field in kind)
    return isinstance(kind, MapType | VariantType)


def _quoted(name: str) -> Column:
    return F.col(f"`{name.replace('`', '``')}`")
