"""Makes a row of each element of an array (time rules: streams and windows)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from tidemark.config.models.stream_graph import INDEX
from tidemark.errors import ConfigError, Problem
from tidemark.spark.columns import ordinal
from tidemark.spark.tables.delta import quoted

_POSITION = f"{ordinal()}index_"
"""Prefix of columns that order the elements of a row, after all other columns of its order; the outermost first."""


def unnested(rows: DataFrame, name: str, payload: Sequence[str], key: str) -> tuple[DataFrame, list[str]]:
    """One row for each element of the array column `name`, which then holds the element, and the payload's columns.

    `INDEX` is the element's number, from 0. A null or empty array gives no row. Raises ConfigError for the step `key`
    if the column is no array.
    """
    array = next(each for each in payload if each.lower() == name.lower())
    kind = rows.schema[array].dataType
    if not isinstance(kind, ArrayType):
        message = f"{name!r} is {kind.simpleString()}, which has no elements: name a column that is an array"
        raise ConfigError([Problem("", f"{key}.unnest", message)])
    position = f"{_POSITION}{sum(each.startswith(_POSITION) for each in rows.columns)}"
    kept = [quoted(each) for each in rows.columns if each != array]
    found = rows.select(*kept, F.posexplode(quoted(array)).alias(position, array))
    return found.withColumn(INDEX, F.col(position).cast("bigint")), [*payload, INDEX]
