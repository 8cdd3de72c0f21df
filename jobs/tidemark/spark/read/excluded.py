"""Quarantines the rows of excluded objects, whose text is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject, stored_uri
from tidemark.core.policy import Fate, Reason
from tidemark.spark.columns import BAD, OBJECT, RAW
from tidemark.spark.read.format import row_text
from tidemark.spark.tables.delta import quoted


def without_objects(
    rows: DataFrame, source: SourceSpec, objects: Sequence[LandedObject], uris: Collection[str]
) -> DataFrame:
    """Rows of `objects` as they are read; rows of excluded objects (stored URIs) are quarantined."""
    out = [rank for rank, item in enumerate(objects) if stored_uri(item.uri) in uris]
    if not out:
        return rows
    hit, text = F.col(OBJECT).isin(out), F.coalesce(RAW, _text(source))
    reason = F.lit(Reason.EXCLUDED.value)
    return rows.withColumns(
        {BAD: F.when(hit, reason).otherwise(F.col(BAD)), RAW: F.when(hit, text).otherwise(F.col(RAW))}
    )


def without_events(rows: DataFrame, source: SourceSpec, uris: Collection[str]) -> DataFrame:
    """Event rows; rows of excluded objects (stored URIs) are quarantined."""
    hit = F.col("_file").isin(*uris)
    marked = {
        "_disposition": F.lit(Fate.QUARANTINED.value),
        "_reasons": F.array(F.lit(Reason.EXCLUDED.value)),
        "_raw": F.coalesce("_raw", _text(source)),
    }
    return rows.withColumns({name: F.when(hit, new).otherwise(F.col(name)) for name, new in marked.items()})


def _text(source: SourceSpec) -> Column:
    return row_text([quoted(column.name) for column in source.columns])
