"""Judges the objects that are in landing now, for a version that is built from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advance import Opening
from tidemark.core.batch import LandedObject, stored_uri
from tidemark.core.policy import Reason
from tidemark.spark.columns import BAD, OBJECT, RAW
from tidemark.spark.judge.engine import Engine
from tidemark.spark.judge.plan_cache import BatchPlanKey
from tidemark.spark.read.formats import row_text
from tidemark.spark.read.object_columns import Objects
from tidemark.spark.read.peek import Sight
from tidemark.spark.tables.delta import quoted


@dataclass(frozen=True)
class LandingEngine(Engine):
    """Judges objects of landing. Rows of `excluded` objects (stored URIs, by source) are quarantined."""

    excluded: Mapping[str, Collection[str]] = field(kw_only=True)

    def _shape(
        self,
        source: SourceSpec,
        objects: Sequence[LandedObject],
        opening: Opening,
        damaged: Mapping[str, str],
        sights: Mapping[str, Sight],
    ) -> BatchPlanKey | None:
        return None if self.excluded.get(source.name) else super()._shape(source, objects, opening, damaged, sights)

    def _read(
        self,
        source: SourceSpec,
        objects: Sequence[LandedObject],
        damaged: Mapping[str, str],
        share: float,
        sights: Mapping[str, Sight],
        told: Objects | None = None,
    ) -> DataFrame:
        rows = super()._read(source, objects, damaged, share, sights, told)
        wrong = self.excluded.get(source.name, ())
        out = [rank for rank, item in enumerate(objects) if stored_uri(item.uri) in wrong]
        if not out:
            return rows
        hit = F.col(OBJECT).isin(out)
        text = F.coalesce(RAW, row_text([quoted(column.name) for column in source.columns]))
        reason = F.lit(Reason.EXCLUDED.value)
        return rows.withColumns(
            {BAD: F.when(hit, reason).otherwise(F.col(BAD)), RAW: F.when(hit, text).otherwise(F.col(RAW))}
        )
