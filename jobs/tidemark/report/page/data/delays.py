"""Delays of sources behind `as_of` at the ends of runs, and partitions without rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidemark.report.page.data.tables import Row, Scope, Tables, ask, in_scope

MOST_RUNS = 120
"""Number of newest runs in charts."""


@dataclass(frozen=True)
class Delay:
    """The delays of one source at the end of a run, microseconds: `largest` is `as_of` less the largest watermark of
    its partitions, `combined` is `as_of` less the combined watermark. None: no watermark yet."""

    source: str
    as_of: int
    largest: int | None
    combined: int | None


@dataclass(frozen=True)
class Idle:
    """A partition to which a run brought no row."""

    source: str
    partition: str
    as_of: int


def ends_of(tables: Tables) -> list[Row]:
    """Return the newest runs of the scope, oldest first: `batch_id` of their last batch, `as_of` in microseconds."""
    found = ask(
        tables.batches,
        ["batch_id", "run_last", "as_of", "combined"],
        "SELECT batch_id, epoch_us(as_of) AS as_of, list_transform(coalesce(combined, []), lambda c: "  # noqa: S608
        "{source: c.source, watermark: epoch_us(c.watermark), complete: c.complete}) AS combined "
        f"FROM t WHERE batch_id = run_last ORDER BY batch_id DESC LIMIT {MOST_RUNS}",
        where=in_scope(tables.scope, column="batch_id"),
    )
    return found[::-1]


def delays_of(tables: Tables, ends: Sequence[Row]) -> list[Delay]:
    """Return one delay for each run and incomplete source. Watermarks never go back: the largest one so far holds."""
    if not ends:
        return []
    marks = ask(
        tables.watermarks,
        ["batch_id", "source", "watermark"],
        "SELECT source, batch_id, epoch_us(max(watermark)) AS high FROM t WHERE watermark IS NOT NULL "
        "GROUP BY 1, 2 ORDER BY 2",
        where=Scope(0, tables.scope.last).of("batch_id"),
    )
    found, high, at = [], dict[str, int](), 0
    for end in ends:
        while at < len(marks) and marks[at]["batch_id"] <= end["batch_id"]:
            high[marks[at]["source"]] = max(marks[at]["high"], high.get(marks[at]["source"], marks[at]["high"]))
            at += 1
        for each in end["combined"]:
            if not each["complete"]:
                behind = [
                    None if mark is None else end["as_of"] - mark
                    for mark in (high.get(each["source"]), each["watermark"])
                ]
                found.append(Delay(each["source"], end["as_of"], *behind))
    return found


def idle_of(tables: Tables, ends: Sequence[Row]) -> list[Idle]:
    """Return each pair of a partition and a run of the scope that brought it no row. Unchanged states are not
    recorded again: the newest state at or before the end of the run holds."""
    if not ends:
        return []
    listed = ", ".join(f"({end['batch_id']}, {end['as_of']})" for end in ends)
    found = ask(
        tables.watermarks,
        ["batch_id", "source", "partition", "idle"],
        f"""WITH states AS MATERIALIZED (SELECT * FROM t), ends(batch_id, as_of) AS (VALUES {listed}),
        asked AS (SELECT source, partition, ends.* FROM (SELECT DISTINCT source, partition FROM states), ends)
        SELECT asked.source, asked.partition, asked.as_of FROM asked ASOF JOIN states
        ON asked.source = states.source AND asked.partition = states.partition AND asked.batch_id >= states.batch_id
        WHERE states.idle ORDER BY ALL""",  # noqa: S608 - of numbers
        where=Scope(0, tables.scope.last).of("batch_id"),
    )
    return [Idle(row["source"], row["partition"], row["as_of"]) for row in found]
