"""Applies one step of a stream to rows, and defines their sort key."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemark.config.models.streams import StreamSpec
from tidemark.spark.columns import RANK, TENTATIVE, WAS, ordinal
from tidemark.spark.expressions import value_of
from tidemark.spark.streams.lives.next_rows import NOW, Known, ending_next
from tidemark.spark.streams.lives.until import ENDS, living, outlived
from tidemark.spark.streams.operators.rows_before import with_preceding
from tidemark.spark.streams.operators.unnest import unnested
from tidemark.spark.tables.delta import quoted
from tidemark.spark.validity import fit


def names_of_order(rows: DataFrame) -> list[str]:
    """Columns of the sort key, total within a stream: start, path, then columns that differ among rows of one origin.

    These are offsets if all rows come from sources.
    """
    own = sorted(name for name in rows.columns if name.startswith(ordinal()))
    ends = [name for name in own if name.endswith("_end")]
    values = [name for name in own if not name.endswith("_end")]
    return ["_system_timestamp", RANK, *ends, "_partition", "_offset", *(["_substream"] if own else ()), *values]


def order_of(rows: DataFrame) -> list[Column]:
    """The sort key."""
    return [F.col(name) for name in names_of_order(rows)]


def stepped(
    rows: DataFrame,
    step: StreamSpec,
    payload: Sequence[str],
    *,
    last: bool,
    emptied: bool = False,
    known: Known = NOW,
) -> tuple[DataFrame, list[str]]:
    """Rows after one step, and the names of their payload columns; with `emptied`, only rows that get no lifetime.

    `rows` must have all that `preceding` or `until: next` look at. A last step with windows does not apply `select`.
    """
    key = f"streams.{step.name}"
    if step.unnest is not None:
        rows, payload = unnested(rows, step.unnest, payload, key)
    rows, payload = with_preceding(rows, step, payload, order_of(rows))
    if step.where is not None:
        rows = rows.where(value_of(rows, step.where, f"{key}.where")[0].cast("boolean"))
    rows = _ended(rows, step, known, emptied=emptied)
    left_out = {name.lower() for name in step.except_}
    names = [name for name in payload if name.lower() not in left_out]
    rows = rows.drop(*step.except_)
    groups = {name: _selected(rows, text, f"{key}.group_by.{name}") for name, text in step.computed_groups.items()}
    rows = rows.withColumns(groups) if groups else rows
    if step.select and not (last and step.windowed):
        kept = [name for name in rows.columns if name not in payload]
        selected = [_selected(rows, text, f"{key}.select.{name}").alias(name) for name, text in step.select.items()]
        rows, names = rows.select(*map(quoted, kept), *selected), list(step.select)
    return _moved(rows, step), names


def _ended(rows: DataFrame, step: StreamSpec, known: Known, *, emptied: bool) -> DataFrame:
    """Rows with the end that the step's `until` gives; with `emptied`, only rows to which it leaves no lifetime."""
    key = f"streams.{step.name}.lifetime"
    if step.until is not None:
        return (outlived if emptied else living)(rows, step.until, f"{key}.until")
    if step.until_next is not None:
        return ending_next(rows, step.until_next, order_of(rows), key, known, emptied=emptied)
    return rows


def _selected(rows: DataFrame, text: str, key: str) -> Column:
    value, kind = value_of(rows, text, key)
    return fit(kind, value)


def _moved(rows: DataFrame, step: StreamSpec) -> DataFrame:
    if step.lasts is not None:
        rows = rows.withColumn("_end_time", _plus("_system_timestamp", step.lasts)).drop(WAS)
    if ENDS in rows.columns:
        rows = rows.withColumn("_end_time", F.timestamp_micros(ENDS)).drop(ENDS, WAS)
    if step.shift:
        moved = ("_system_timestamp", "_end_time", "_watermark", WAS, TENTATIVE)
        rows = rows.withColumns({name: _plus(name, step.shift) for name in moved if name in rows.columns})
    return rows


def _plus(name: str, micros: int) -> Column:
    return F.timestamp_micros(F.unix_micros(name) + micros)
