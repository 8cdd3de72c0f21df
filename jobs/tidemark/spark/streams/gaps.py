"""Computes joins with gaps: the times of a left row in which none of its pairs is alive (time rules: joins).

Each left row is joined with its matching right rows, and the lives of its pairs are put in order. Gaps are before the
first pair, between pairs, and after the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from tidemark.config.models.streams import StreamSpec
from tidemark.core.times import MAX_TIME
from tidemark.spark.columns import CELL, EARLIER, LIFE, WAS
from tidemark.spark.streams.joins import END, START, Side, combined, condition, paired, selected, tentative
from tidemark.spark.streams.lives.next_rows import NOW, Known
from tidemark.spark.tables.time_range import Span
from tidemark.spark.times import timestamp_of

_NEVER = (1 << 63) - 1
"""The end of an open lifetime, microseconds."""
_FROM, _TO, _BEFORE, _NUMBER, _REACHED, _NEXT, _KNOWN, _FIRST_KNOWN = (
    f"{LIFE}_{name}" for name in ("from", "to", "before", "number", "reached", "next", "known", "first_known")
)


def joined(step: StreamSpec, left: Side, right: Side, rank: int, span: Span, known: Known = NOW) -> DataFrame:
    """Rows of a join that are alive in a span: pairs as from `paired`, and gaps.

    A gap has the left row's columns, and null in the right row's. With `span.since`, `WAS` is the end that a row had
    from earlier batches, if that differs, and rows outside the span are kept. `right` must have all rows alive since
    the start of a left row in the span, and rows that begin when the span ends. `known` says which right rows end
    gaps. A gap is `TENTATIVE` at its start: a pair may still start there.
    """
    if not step.gapped:
        return paired(step, left, right, rank)
    right = replace(right, rows=right.rows.where(known.now(right.rows.columns)))
    if span.since is not None:
        right = replace(right, rows=right.rows.withColumn(EARLIER, known.before(right.rows.columns, span.since)))
    both = combined(step, left, right, "left")
    lives = _lives(step, _in_order(step, both, left, right), left, right, span)
    rows = lives.select(*_sides(left, right), LIFE)
    start, end, was = (F.timestamp_micros(F.col(f"{LIFE}.{name}")) for name in ("start", "end", "was"))
    never = F.col(f"{LIFE}.was") == _NEVER
    before = [] if span.since is None else [F.when(never, timestamp_of(MAX_TIME)).otherwise(was).alias(WAS)]
    ending = F.when(F.col(f"{LIFE}.end") < _NEVER, end)
    unsure = tentative((left, right), F.when(F.col(f"{LIFE}.gap"), start))
    return selected(rows, step, (left, right), rank, (start.alias(START), ending.alias(END), *before, *unsure))


def _in_order(step: StreamSpec, both: DataFrame, left: Side, right: Side) -> DataFrame:
    """Left rows with each of their pairs, or with none. `_FROM`, `_TO`: life of the pair; `_REACHED`: latest end so
    far; `_NEXT`: next start; `_KNOWN`, `_FIRST_KNOWN`: next and first start in earlier batches. Microseconds."""
    matches = right.column(START).isNotNull()
    if step.where is not None:
        matches = matches & F.coalesce(condition(both, step), F.lit(False))
    start = F.unix_micros(F.greatest(left.column(START), right.column(START)))
    end = F.least(_end_of(left), _end_of(right))
    rows = both.withColumns({_FROM: F.when(matches, start), _TO: F.when(matches, end)})
    own = Window.partitionBy(*[left.column(name) for name in left.order])
    ordered = own.orderBy(F.col(_FROM).asc_nulls_last())
    passed = ordered.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    earlier = right.column(EARLIER) if EARLIER in right.rows.columns else F.lit(False)
    rows = rows.withColumn(_BEFORE, F.when(earlier, F.col(_FROM)))
    return rows.withColumns(
        {
            _NUMBER: F.row_number().over(ordered),
            _REACHED: F.max(_TO).over(passed),
            _NEXT: F.lead(_FROM).over(ordered),
            _KNOWN: F.expr(f"lead({_BEFORE}) IGNORE NULLS").over(ordered),
            _FIRST_KNOWN: F.min(_BEFORE).over(own),
        }
    )


def _lives(step: StreamSpec, rows: DataFrame, left: Side, right: Side, span: Span) -> DataFrame:
    """The pairs and gaps of left rows, or only their gaps, each with its `LIFE`."""
    end, known, is_pair = _end_of(left), _known_end_of(left), F.col(_FROM).isNotNull()
    born, first, later = F.unix_micros(left.column(START)), F.coalesce(_FROM, end), F.coalesce(_NEXT, end)
    found = [
        _life(True, F.col(_NUMBER) == 1, born, first, F.coalesce(_FIRST_KNOWN, known), span),
        _life(True, is_pair, F.col(_REACHED), later, F.coalesce(_KNOWN, known), span),
    ]
    if step.how == "left":
        before = F.least(known, _known_end_of(right))
        found.append(_life(False, is_pair, F.col(_FROM), F.col(_TO), before, span))
    return rows.withColumn(LIFE, F.explode(F.array_compact(F.array(*found))))


def _life(is_gap: bool, there: Column, start: Column, end: Column, before: Column, span: Span) -> Column:
    """A `LIFE`; null if not `there`, empty or not in the span. `before` is its end from earlier batches."""
    holds = there & (start < end)
    if span.since is None:
        holds = holds if span.after is None else holds & (end > span.after)
        holds = holds if span.before is None else holds & (start < span.before)
    was = F.when(before != end, before)
    return F.when(
        holds, F.struct(start.alias("start"), end.alias("end"), was.alias("was"), F.lit(is_gap).alias("gap"))
    )


def _sides(left: Side, right: Side) -> Iterator[Column]:
    """Both rows, by the names of their sides; the columns of the right one are null in a gap."""
    gap = F.col(f"{LIFE}.gap")
    names = [[name for name in side.rows.columns if name != CELL] for side in (left, right)]
    yield F.struct(*[left.column(name).alias(name) for name in names[0]]).alias(left.name)
    yield F.struct(*[F.when(~gap, right.column(name)).alias(name) for name in names[1]]).alias(right.name)


def _end_of(side: Side) -> Column:
    return F.coalesce(F.unix_micros(side.column(END)), F.lit(_NEVER))


def _known_end_of(side: Side) -> Column:
    """The end of a row by the batches before `Span.since`."""
    if WAS not in side.rows.columns:
        return _end_of(side)
    return F.coalesce(F.unix_micros(side.column(WAS)), _end_of(side))
