"""Counts how far rows of a punctuated source are behind its generated punctuations, for all delays at once.

The delay does not decide which rows issue a punctuation. So one number describes a row: how far its time is behind
the time of the latest issuing row before it. With any smaller delay, the row is behind the punctuation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from tidemark.config import SourceSpec
from tidemark.core.advice.delays import RowsBehind
from tidemark.core.punctuation import Every, Mark, Punctuation
from tidemark.core.times import MAX_TIME
from tidemark.spark.admission import admitted
from tidemark.spark.columns import END, EVENT, MARK, OFFSET, PARTITION
from tidemark.spark.judge.engine import Engine
from tidemark.spark.maxima import range_of
from tidemark.spark.punctuation.state import marked_events, punctuation_columns

_BEHIND, _ALWAYS, _SOUND = "__tidemark_behind", "__tidemark_always", "__tidemark_sound"


def rows_behind(engine: Engine, source: SourceSpec, through: int, rungs: Sequence[int]) -> dict[str, RowsBehind]:
    """Rows of batches up to `through`, by partition and by how many delays of `rungs` leave them behind."""
    events = engine.spark.read.format("delta").load(engine.location(f"events/{source.name}"))
    rows = _compared(events.where(F.col("_batch_id") <= through), source)
    beyond = F.when(F.col(_SOUND), range_of(F.col(_BEHIND), [rung + 1 for rung in rungs]))
    always = F.coalesce(F.col(_SOUND) & F.col(_ALWAYS), F.lit(False))
    counted = rows.groupBy(PARTITION, beyond.alias(_BEHIND), always.alias(_ALWAYS)).count()
    every: Counter[str] = Counter()
    behind: Counter[str] = Counter()
    steps: dict[str, Counter[int]] = {}
    for name, many, is_always, count in counted.collect():
        every[name] += count
        if is_always:
            behind[name] += count
        elif many:
            steps.setdefault(name, Counter())[many] += count
    return {name: RowsBehind(number, steps.get(name, {}), behind[name]) for name, number in every.items()}


def _compared(events: DataFrame, source: SourceSpec) -> DataFrame:
    """Event rows with `_BEHIND`, microseconds that a row is behind the latest issuing row before it; `_ALWAYS`, true
    if it is behind a punctuation row; and `_SOUND`, false for rows that are not judged."""
    punctuation = source.punctuation.core() if source.punctuation else None
    if punctuation is None or punctuation.every is None:
        raise ValueError(f"{source.name} generates no punctuations")
    rows = _issuing(marked_events(events, punctuation, source.lifetimes), punctuation, punctuation.every)
    before = _upto(-1)
    time = F.when(F.col(MARK) == Mark.END.value, F.col(END)).otherwise(F.col(EVENT))
    behind = F.when(time < MAX_TIME, F.max("issuing").over(before) - time)
    return rows.select(
        PARTITION,
        _judged().alias(_SOUND),
        behind.alias(_BEHIND),
        (time < F.max("sets").over(before)).alias(_ALWAYS),
    )


def _issuing(rows: DataFrame, punctuation: Punctuation, every: Every) -> DataFrame:
    """Rows with their event time in `issuing` if they issue a punctuation, in `sets` if they are one; else null."""
    columns = punctuation_columns(punctuation, admitted(), F.col(EVENT))
    rows = rows.withColumns({"counts": columns.counts, "period": columns.period, "sets": columns.sets})
    if every.count is not None:
        issues = F.count_if("counts").over(_upto(Window.currentRow)) % every.count == 0
    else:
        entered = F.max(F.when(F.col("counts"), F.col("period"))).over(_upto(-1))
        issues = entered.isNull() | (F.col("period") > entered)
    return rows.withColumn("issuing", F.when(F.col("counts") & issues, F.col(EVENT)))


def _upto(last: int) -> WindowSpec:
    """Window of a partition's rows up to the row `last` places after the current row (-1: the row before it)."""
    return Window.partitionBy(PARTITION).orderBy(OFFSET).rowsBetween(Window.unboundedPreceding, last)


def _judged() -> Column:
    return admitted() & (F.col(MARK) != Mark.PUNCTUATION.value)
