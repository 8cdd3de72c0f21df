"""Reads the rows of one incident: their distance from the tolerance, their files, and tolerances that keep them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import duckdb
import pyarrow.compute as pc

from tidemark.core.advance import SourceRules
from tidemark.core.policy import Action, Fate, Policy, Reason, Tolerance
from tidemark.core.times import DAY, HOUR, MINUTE, SECOND
from tidemark.core.watermarks import UNKNOWN
from tidemark.report.causes.cells import CountedSource, of_hours
from tidemark.report.causes.ordinary import Incident
from tidemark.report.scan import between

ROUND = (
    *(number * SECOND for number in (1, 2, 5, 10, 15, 20, 30, 45)),
    *(number * MINUTE for number in (1, 2, 3, 5, 10, 15, 20, 30, 45)),
    *(number * HOUR for number in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18)),
    *(number * DAY for number in range(1, 21)),
)
"""Tolerances that people would write, microseconds, up to the largest round one that `late_arrival` takes."""
SETTINGS = {Reason.LATE: "late_arrival", Reason.EARLY: "early_arrival", Reason.OUT_OF_ORDER: "out_of_order"}
_COLUMNS = [
    "_partition",
    "_file",
    "_disposition",
    "_reasons",
    "_arrival_time",
    "_event_time",
    "_end_time",
    "_watermark",
    "_batch_id",
]


@dataclass(frozen=True)
class Beyond:
    """Distance of rows from their arrival or from the watermark, microseconds: quantiles. `slope`: growth of the
    distance in each microsecond of arrival. `fit`: share of the variance that `slope` explains (R²)."""

    low: int
    median: int
    high: int
    slope: float
    fit: float

    def grows(self, lasting: int) -> bool:
        """True if the distance grows steadily over `lasting`, the duration of an incident in microseconds."""
        return self.fit >= 0.7 and abs(self.slope) * lasting >= self.high // 2


@dataclass(frozen=True)
class Details:
    """Rows of an incident: first and last arrival (microseconds UTC); partitions and files by number of rows, the
    largest first. `beyond` is None for rows that were not judged. `tolerances`: round settings that would have kept
    `kept` of the dropped rows. `substream`: the substream with nine of ten rows, if there is one."""

    rows: int
    first: int
    last: int
    partitions: tuple[tuple[str, int], ...]
    files: tuple[tuple[str, int], ...]
    beyond: Beyond | None = None
    tolerances: tuple[tuple[str, int], ...] = ()
    kept: int = 0
    substream: str | None = None

    def most(self, of: int) -> tuple[str, ...]:
        """The fewest partitions that have nine of ten rows; empty if these are several and more than half of `of`."""
        names: list[str] = []
        left = self.rows
        for name, number in self.partitions:
            if 10 * left <= self.rows:
                break
            names.append(name)
            left -= number
        return tuple(names) if 2 * len(names) <= max(of, 2) else ()


@dataclass(frozen=True)
class Repeats:
    """Rows of `file` that repeat rows of the file `origin`, where they came first; arrivals in microseconds UTC."""

    file: str | None
    origin: str | None
    rows: int
    first: int
    last: int


def details(look: CountedSource, partitions: tuple[str, ...], span: Incident) -> Details | None:
    """Read the rows of an incident, of its fate and first reason, into the table `found`; None if it has none."""
    fate, _, reason = span.kind.partition(" ")
    substreams = look.source.rules.substreams
    look.read(
        [*_COLUMNS, *["_substream"] * substreams],
        of_hours(partitions, span.first, span.last),
        pc.field("_disposition") == fate,
    )
    own = "epoch_us(_arrival_time)"
    at = f"CASE WHEN {own} IS NULL OR _partition = '{UNKNOWN}' THEN coalesce(landed, {own}) ELSE {own} END"
    look.connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE found AS SELECT * FROM (
            SELECT _partition p, _file f, {at} a, epoch_us(_event_time) e, epoch_us(_watermark) w, _batch_id b,
                epoch_us(_end_time) z, {"_substream" if substreams else "NULL::VARCHAR"} s
            FROM read LEFT JOIN landed ON landed.f = _file AND landed.b = _batch_id
            WHERE coalesce(_reasons[1], '') = '{reason}')
        WHERE a // {HOUR} BETWEEN {span.first} AND {span.last} AND {look.asked.inside("a", "b")}""")  # noqa: S608
    rows, first, last = look.connection.execute("SELECT count(*), min(a), max(a) FROM found").fetchall()[0]
    if not rows:
        return None
    (substream, number), *_ = _largest(look, "s")
    most = substream if substream and 10 * number >= 9 * rows else None
    found = Details(rows, first, last, _largest(look, "p"), _largest(look, "f"), substream=most)
    if reason not in SETTINGS:
        return found
    rules = look.source.rules
    tolerances, kept = _tolerances(look.connection, rules, Reason(reason)) if fate == Fate.DROPPED else ((), 0)
    beyond = _beyond(look.connection, rules.policy, Reason(reason))
    return replace(found, beyond=beyond, tolerances=tolerances, kept=kept)


def _largest(look: CountedSource, column: str) -> tuple[tuple[str, int], ...]:
    """The values of a column of `found` with their numbers of rows, the largest first."""
    query = f"SELECT coalesce({column}, ''), count(*) FROM found GROUP BY ALL ORDER BY 2 DESC, 1"  # noqa: S608
    return tuple((str(name), int(number)) for name, number in look.connection.execute(query).fetchall())


def _distance(policy: Policy, reason: Reason, time: str = "e") -> str:
    """SQL of the smallest tolerance under which a step leaves the start at or before `time` (early: does not act)."""
    if reason is Reason.LATE:
        return f"a - {time}"
    return "e - a" if reason is Reason.EARLY else f"w + {policy.disorder} - {time}"


def _least(policy: Policy, reason: Reason) -> str:
    """SQL of the smallest tolerance that keeps a dropped row. If the step adjusts, the row is an interval that the
    step moved to its end."""
    found = _setting(policy, reason)
    adjusted = found is not None and found.action is Action.ADJUST
    return _distance(policy, reason, "(z - 1)" if adjusted and reason is not Reason.EARLY else "e")


def _setting(policy: Policy, reason: str) -> Tolerance | None:
    found: dict[str, Tolerance | None] = {Reason.LATE: policy.late, Reason.EARLY: policy.early}
    return policy.out_of_order if reason == Reason.OUT_OF_ORDER else found.get(reason)


def _beyond(connection: duckdb.DuckDBPyConnection, policy: Policy, reason: Reason) -> Beyond:
    away = _distance(policy, reason)
    low, median, high, slope, fit = connection.execute(f"""
        SELECT quantile_disc({away}, 0.05), quantile_disc({away}, 0.5), quantile_disc({away}, 0.95),
            coalesce(regr_slope({away}, a), 0), coalesce(regr_r2({away}, a), 0) FROM found""").fetchall()[0]  # noqa: S608
    return Beyond(low, median, high, slope, fit)


def _tolerances(
    connection: duckdb.DuckDBPyConnection, rules: SourceRules, reason: Reason
) -> tuple[tuple[tuple[str, int], ...], int]:
    """Return the smallest round tolerances that keep at least 95 % of the dropped rows, and how many they keep.

    Late rows may also be too far behind the watermark. If the out-of-order step drops them, or moves intervals to
    their end, its tolerance is raised, too.
    """
    chosen: list[tuple[str, int]] = []
    where = "true"
    policy, order = rules.policy, rules.policy.out_of_order.action
    dropping = order is Action.DROP or (order is Action.ADJUST and rules.shape.end_time is not None)
    steps = [reason, *[Reason.OUT_OF_ORDER] * (reason is Reason.LATE and dropping)]
    for step in steps:
        away = _least(policy, step)
        need = connection.execute(f"SELECT quantile_disc({away}, 0.95) FROM found WHERE {where}").fetchall()[0][0]  # noqa: S608
        wanted = None if need is None else next((each for each in ROUND if each >= need), None)
        if wanted is None:
            return (), 0
        present = _setting(policy, step)
        if step is not reason and present is not None and wanted <= present.micros:
            wanted = present.micros
        else:
            chosen.append((SETTINGS[step], wanted))
        where += f" AND coalesce({away} <= {wanted}, true)"
    kept = connection.execute(f"SELECT count(*) FROM found WHERE {where}").fetchall()[0][0]  # noqa: S608
    return tuple(chosen), int(kept)


def repeats(look: CountedSource, partitions: tuple[str, ...], span: Incident) -> list[Repeats]:
    """Rows of an incident that repeat an earlier row (partition, substream, event time), by file, most rows first."""
    look.read(["_event_time"], of_hours(partitions, span.first, span.last))
    query = "SELECT min(epoch_us(_event_time)), max(epoch_us(_event_time)) FROM read"
    low, high = look.connection.execute(query).fetchall()[0]
    if low is None:
        return []
    named = None if not partitions else pc.field("_partition").isin(list(partitions))
    substreams = look.source.rules.substreams
    columns = [name for name in _COLUMNS if name != "_watermark"] + ["_substream"] * substreams
    look.read(columns, between("_event_time", low, high), named)
    same = f"_partition, _event_time{', _substream' * substreams}"
    fate, _, reason = span.kind.partition(" ")
    mine = "true" if not reason else f"fate = '{fate}' AND reason = '{reason}'"
    found = look.connection.execute(f"""
        SELECT f, origin, count(*), min(a), max(a) FROM (
            SELECT _file f, _disposition fate, coalesce(_reasons[1], '') reason, epoch_us(_arrival_time) a,
                _batch_id b,
                row_number() OVER same number, first_value(_file) OVER same origin
            FROM read WHERE _event_time IS NOT NULL
            WINDOW same AS (PARTITION BY {same} ORDER BY _arrival_time, _batch_id, _file))
        WHERE number > 1 AND {mine} AND a // {HOUR} BETWEEN {span.first} AND {span.last}
            AND {look.asked.inside("a", "b")}
        GROUP BY ALL ORDER BY 3 DESC, 1, 2""").fetchall()  # noqa: S608
    return [Repeats(*each) for each in found]


def rows_of_files(look: CountedSource, files: tuple[str, ...], partitions: tuple[str, ...]) -> int:
    """The number of rows of the scope in these files and in these partitions (none given: in all)."""
    where = "scope AND list_contains($1, f) AND (len($2) = 0 OR list_contains($2, p))"
    query = f"SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM cells WHERE {where}"  # noqa: S608
    found = look.connection.execute(query, {"1": list(files), "2": list(partitions)}).fetchall()
    return int(found[0][0])


def ordinarily_repeated(look: CountedSource, partitions: tuple[str, ...]) -> float:
    """The share of repeated rows among the rows before the scope, in these partitions (none given: in all)."""
    where = "NOT scope AND (len($1) = 0 OR list_contains($1, p))"
    query = " / ".join(f"(SELECT coalesce(sum(n), 0) FROM {name} WHERE {where})" for name in ("repeats", "cells"))  # noqa: S608
    found = look.connection.execute(f"SELECT coalesce({query}, 0)", {"1": list(partitions)}).fetchall()
    return float(found[0][0])


def tolerance_of(rules: SourceRules, reason: str) -> int | None:
    """The tolerance in force for a reason, microseconds; None if it has none."""
    tolerance = _setting(rules.policy, reason)
    return None if tolerance is None else tolerance.micros
