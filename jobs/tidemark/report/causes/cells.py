"""Counts the rows of a scope and of its history by hour: two narrow scans, whose results stay in DuckDB.

Table `cells` has columns p(artition), f(ile), fate, reason (the first one), h(our of arrival since the epoch), scope
(true: in the scope), n (rows), first and last arrival, event (the latest event time). Table `repeats` counts, by p, h
and scope, rows that repeat partition, substream and event time of another row. Times are microseconds UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.core.advance import SourceRules
from tidemark.core.times import DAY, HOUR
from tidemark.core.watermarks import UNKNOWN
from tidemark.report.events import instant
from tidemark.report.scan import Condition, both, files_here, single, stream

HISTORY = 14 * DAY
"""Length of the history before a scope with which the scope is compared."""
_SAMPLED = 1 << 20
"""Number of rows above which repeats are counted in a sample of event times."""
_COLUMNS = ["_partition", "_file", "_disposition", "_reasons", "_arrival_time", "_event_time", "_batch_id"]


@dataclass(frozen=True)
class RowScope:
    """The rows to explain: rows of batches `first` to `last`; without `first`, rows of batches up to `last` that
    arrive in [since, until). `history`: the first arrival of the earlier rows to compare with. `as_of`: time up to
    which runs took objects, if known."""

    first: int | None = None
    last: int | None = None
    since: int | None = None
    until: int | None = None
    history: int | None = None
    as_of: int | None = None

    def read(self) -> Condition:
        """The condition on rows to read: those of the scope and of its history."""
        arrival, batch = pc.field("_arrival_time"), pc.field("_batch_id")
        mine = pc.scalar(False) if self.first is None else batch >= self.first
        return both(
            None if self.history is None else arrival.is_null() | (arrival >= instant(self.history)) | mine,
            None if self.until is None else arrival.is_null() | (arrival < instant(self.until)),
            None if self.last is None else batch <= self.last,
        )

    def where(self) -> str:
        """The condition of `read` in SQL."""
        at, mine = "_arrival_time", "false" if self.first is None else f"_batch_id >= {self.first}"
        return " AND ".join([
            "true",
            *[f"({at} IS NULL OR {at} >= make_timestamptz({self.history}) OR {mine})"] * (self.history is not None),
            *[f"({at} IS NULL OR {at} < make_timestamptz({self.until}))"] * (self.until is not None),
            *[f"_batch_id <= {self.last}"] * (self.last is not None),
        ])  # fmt: skip

    def inside(self, at: str, batch: str) -> str:
        """SQL that is true for a row of the scope."""
        if self.first is not None:
            return f"({batch} BETWEEN {self.first} AND {self.last})"
        bounds = [*([f"{at} >= {self.since}"] * (self.since is not None))]
        bounds += [f"{at} < {self.until}"] * (self.until is not None)
        return f"({' AND '.join(bounds) or 'true'})"


@dataclass(frozen=True)
class JudgedSource:
    """A source to examine: its rules, its events, and when its files `landed` (by file `f` and batch `b`)."""

    rules: SourceRules
    events: Dataset
    landed: pa.Table


@dataclass(frozen=True)
class CountedSource:
    """A source to examine, the connection that holds its counts, and the rows to explain."""

    connection: duckdb.DuckDBPyConnection
    source: JudgedSource
    asked: RowScope

    @property
    def name(self) -> str:
        """The source's name."""
        return self.source.rules.name

    def read(self, columns: Sequence[str], *conditions: Condition) -> None:
        """Register these columns of the events of scope and history that fulfil `conditions`, as `read`; once."""
        condition = both(self.asked.read(), *conditions)
        self.connection.register("read", stream(self.source.events, columns, condition))

    def read_all(self, columns: Sequence[str]) -> None:
        """Register these columns of all events of scope and history as `read`, once; faster from a folder."""
        files = files_here(self.source.events, self.asked.read())
        rows = self.connection.read_parquet(files, union_by_name=True) if files else None
        if rows is None or not set(columns) <= set(rows.columns):
            self.read(columns)
        else:
            self.connection.unregister("read")  # else it stays before the view
            rows.filter(self.asked.where()).create_view("read")


def count(look: CountedSource) -> int:
    """Make the tables `cells`, `repeats` and `landed`; return the number of rows in the scope."""
    connection, asked, at = look.connection, look.asked, "epoch_us(_arrival_time)"
    connection.register("landed_rows", look.source.landed)
    connection.execute("CREATE TEMP TABLE landed AS SELECT f, b, max(landed) landed FROM landed_rows GROUP BY f, b")
    look.read_all(_COLUMNS)
    connection.execute(f"""
        CREATE TEMP TABLE counted AS
        SELECT _partition p, _file f, _disposition fate, _reasons[1] reason, _batch_id b,
            {at} // {HOUR} h, {asked.inside(at, "_batch_id")} AS scope, count(*) n,
            min({at}) AS first, max({at}) AS last, max(epoch_us(_event_time)) AS event
        FROM read GROUP BY ALL""")  # noqa: S608
    # rows whose arrival is not readable count by the landing time of their file
    connection.execute(f"""
        CREATE TEMP TABLE cells AS
        SELECT p, f, fate, coalesce(reason, '') reason, arrived // {HOUR} h,
            coalesce(CASE WHEN odd THEN {asked.inside("arrived", "b")} ELSE scope END, false) AS scope, n,
            CASE WHEN odd THEN arrived ELSE first END AS first,
            CASE WHEN odd THEN arrived ELSE last END AS last, event
        FROM (SELECT *, CASE WHEN odd THEN coalesce(landed, first) ELSE first END arrived
            FROM (SELECT *, h IS NULL OR p = '{UNKNOWN}' odd FROM counted LEFT JOIN landed USING (f, b)))
        WHERE arrived IS NOT NULL""")  # noqa: S608
    total, mine = connection.execute("SELECT sum(n), sum(n) FILTER (scope) FROM cells").fetchall()[0]
    _count_repeats(look, max(1, int(total or 0) // _SAMPLED))
    return int(mine or 0)


def _count_repeats(look: CountedSource, sampled: int) -> None:
    substreams = look.source.rules.substreams
    look.read_all(["_partition", "_event_time", "_arrival_time", "_batch_id", *["_substream"] * substreams])
    key = "_partition p, _substream s" if substreams else "_partition p"
    at, event = "epoch_us(_arrival_time)", "epoch_us(_event_time)"
    look.connection.execute(f"""
        CREATE TEMP TABLE repeats AS
        SELECT p, h, scope, sum(more) * {sampled} n FROM (
            SELECT {key}, {event} e, count(*) - 1 more, max({at}) // {HOUR} h,
                bool_or({look.asked.inside(at, "_batch_id")}) AS scope
            FROM read WHERE {event} IS NOT NULL AND hash({event}) % {sampled} = 0 GROUP BY ALL HAVING count(*) > 1)
        WHERE h IS NOT NULL GROUP BY ALL""")  # noqa: S608


def of_hours(partitions: Sequence[str], first: int, last: int) -> Condition:
    """The condition on rows of these partitions (none given: all) that arrive in the hours first..last, or whose
    arrival cannot be read."""
    arrival = pc.field("_arrival_time")
    within = (arrival >= instant(first * HOUR)) & (arrival < instant((last + 1) * HOUR))
    named = None if not partitions else pc.field("_partition").isin(list(partitions))
    unknown = pc.field("_partition") == UNKNOWN
    return both(within | arrival.is_null() | unknown, named)


def partitions_of(look: CountedSource) -> int:
    """The number of partitions with rows in the scope."""
    query = "SELECT count(DISTINCT p) FROM cells WHERE scope AND p <> ?"
    return single(look.connection, query, [UNKNOWN]) or 0
