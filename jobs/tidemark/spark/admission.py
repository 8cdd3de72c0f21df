"""Columns for `require` and `deduplicate`, which act on rows before they are judged."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.policy import REQUIREMENT, Fate, Reason
from tidemark.spark.columns import IDENTITY
from tidemark.spark.digests import key_hash
from tidemark.spark.expressions import value_of
from tidemark.spark.streams.equal_values import alike
from tidemark.spark.validity import fit


def unmet(rows: DataFrame, source: SourceSpec) -> Column:
    """Comma-separated reasons of the requirements that a row does not meet; null if it meets all."""
    found = [
        F.when(~F.coalesce(value_of(rows, text, f"require.{name}")[0].cast("boolean"), F.lit(False)), reason)
        for name, text in source.require.items()
        for reason in (f"{REQUIREMENT}{name}",)
    ]
    return F.nullif(F.concat_ws(",", *found), F.lit("")) if found else F.lit(None).cast("string")


def quarantined_before() -> Column:
    """Reasons, other than requirements, why an event row is quarantined; null if there are none."""
    first = F.element_at("_reasons", 1)
    stays = (F.col("_disposition") == Fate.QUARANTINED.value) & ~first.startswith(REQUIREMENT)
    return F.when(stays, F.concat_ws(",", "_reasons"))


def admitted() -> Column:
    """True for event rows that were judged: rows that are neither quarantined nor duplicates."""
    repeated = F.array_contains("_reasons", Reason.DUPLICATE.value)
    return (F.col("_disposition") != Fate.QUARANTINED.value) & ~repeated


def identity(rows: DataFrame, source: SourceSpec) -> dict[str, Column]:
    """`IDENTITY` by its name; empty if the source does not look for duplicates."""
    return {} if source.deduplicate is None else {IDENTITY: key_of(rows, source.deduplicate.by)}


def key_of(rows: DataFrame, by: tuple[str, ...]) -> Column:
    """The 16 bytes of a row's key; null if a value of the key is null, or cannot be computed."""
    found = [value_of(rows, text, "deduplicate.by") for text in by]
    values = [alike(kind, fit(kind, value)) for value, kind in found]
    whole = F.lit(True)
    for value in values:
        whole = whole & value.isNotNull()
    return F.when(whole, key_hash(values, [kind for _, kind in found]))
