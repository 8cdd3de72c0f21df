"""Finds silent partitions, files that landed late, and rows in a partition that is not theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import duckdb

from tidemark.core.policy import Reason
from tidemark.core.times import HOUR, MINUTE
from tidemark.core.watermarks import UNKNOWN
from tidemark.report.causes.cells import CountedSource

_FEWEST_MISSING = 20
"""Fewest rows to expect in a time without rows that make it abnormal: on a quiet day half of them come."""
_FEWEST = 10
"""Fewest rows of a late file, of a partition that has rows of another one, or of stray rows."""
_FEWEST_DAYS = 3


@dataclass(frozen=True)
class Silence:
    """A time without rows of a partition, microseconds UTC. `longest` before; `missing`: rows to expect in it;
    `still`: it lasts at the end of the scope; `instead`: the partition that had about as many rows more."""

    partition: str
    first: int
    last: int
    longest: int
    missing: int
    still: bool
    instead: str | None = None
    more: int = 0


@dataclass(frozen=True)
class Landed:
    """A file that landed long after its last row had arrived; `ordinary`: 95 % quantile for earlier files."""

    file: str
    rows: int
    first: int
    last: int
    lag: int
    ordinary: int


@dataclass(frozen=True)
class Strayed:
    """Rows of a substream in a partition that never had it before; `home`: the partition that always had it."""

    partition: str
    home: str
    rows: int
    first: int
    last: int
    files: tuple[tuple[str, int], ...]


def silences(look: CountedSource) -> list[Silence]:
    """Times of the scope in which a partition brought no row for longer than ever before."""
    as_of = look.asked.as_of
    end = 0 if as_of is None else as_of - look.source.rules.landing_delay
    found = look.connection.execute(_SILENCES, {"end": end, "hour": HOUR}).fetchall()
    return [_with_other(look.connection, Silence(*each)) for each in found]


def _with_other(connection: duckdb.DuckDBPyConnection, silence: Silence) -> Silence:
    """Return the silence with the partition that had about as many additional rows meanwhile, if exactly one had.

    Days differ. So the ordinary number of rows is scaled by the level of the other partitions in these hours (their
    lower median), or, if there is only one other, by the level of the hours around.
    """
    hours = {"first": silence.first // HOUR + 1, "last": silence.last // HOUR - 1}
    counts = connection.execute(_MORE, hours).fetchall()
    missing = max((usual for p, inside, _, usual in counts if inside and p == silence.partition), default=0.0)
    others = [(p, n, max(1.0, usual)) for p, inside, n, usual in counts if inside and p != silence.partition]
    levels = sorted(n / usual for _, n, usual in others)
    around = [(n, usual) for _, inside, n, usual in counts if not inside]
    level = (
        levels[(len(levels) - 1) // 2]
        if len(levels) > 1
        else sum(n for n, _ in around) / max(1.0, sum(usual for _, usual in around))
    )
    more = {p: n - level * usual for p, n, usual in others if n - level * usual > 3 * (level * usual) ** 0.5}
    taken = [(p, each) for p, each in more.items() if each > max(_FEWEST, 0.6 * level * missing)]
    if len(taken) != 1 or taken[0][1] > 1.6 * level * missing:
        return silence
    return replace(silence, instead=taken[0][0], more=round(taken[0][1]))


def late_files(look: CountedSource) -> list[Landed]:
    """Files of the scope that landed longer after their last row than `landing_delay` and than is ordinary, the
    latest first.

    The last row counts by its arrival. If all rows of a partition in the file have one arrival (the landing, or an
    arrival raised by a file that landed before), it counts by its event time.
    """
    values = {"delay": look.source.rules.landing_delay, "floor": 10 * MINUTE}
    return [Landed(*each) for each in look.connection.execute(_LATE_FILES, values).fetchall()]


def strayed(look: CountedSource) -> list[Strayed]:
    """Rows of the scope whose substream was always in exactly one other partition before, by partition."""
    if not look.source.rules.substreams:
        return []
    look.read_all(["_partition", "_substream", "_arrival_time", "_batch_id", "_file"])
    at = "epoch_us(_arrival_time)"
    found = look.connection.execute(f"""
        WITH lives AS (
            SELECT _partition p, _substream s, {look.asked.inside(at, "_batch_id")} AS scope, _file f, count(*) n,
                min({at}) AS first, max({at}) AS last FROM read
            WHERE _substream IS NOT NULL AND _partition <> '{UNKNOWN}' GROUP BY ALL),
        homes AS (SELECT s, min(p) home, count(DISTINCT p) homes FROM lives WHERE NOT scope GROUP BY s),
        files AS (
            SELECT p, home, f, sum(n) n, min(first) AS first, max(last) AS last FROM lives JOIN homes USING (s)
            WHERE scope AND homes = 1 AND p <> home GROUP BY ALL)
        SELECT p, home, sum(n), min(first), max(last), list((f, n) ORDER BY n DESC, f) FROM files
        WHERE (SELECT avg((homes > 1)::INT) FROM homes) < 0.05
        GROUP BY ALL HAVING sum(n) >= {_FEWEST} ORDER BY 3 DESC""").fetchall()  # noqa: S608
    return [
        Strayed(p, home, int(rows), first, last, tuple((f, int(n)) for f, n in files))
        for p, home, rows, first, last, files in found
    ]


_ORDINARY = """
    days AS (SELECT count(DISTINCT h // 24) AS days FROM cells WHERE NOT scope),
    counts AS (SELECT p, h, scope, sum(n) n, min(first) AS first, max(last) AS last FROM cells GROUP BY ALL),
    usual AS (
        SELECT p, h % 24 c, coalesce(list_reverse_sort(list(n))[1 + any_value(days) // 2], 0) half,
            coalesce(list_reverse_sort(list(n))[1 + any_value(days) * 3 // 4], 0) least
        FROM counts, days WHERE NOT scope GROUP BY ALL)"""
_SILENCES = f"""
    WITH {_ORDINARY},
    until AS (SELECT greatest(max(last), $end) AS until FROM cells),
    gaps AS (
        SELECT p, scope, first, last, lag(last) OVER each AS before, lead(first) OVER each IS NULL AS final
        FROM counts WHERE p <> '{UNKNOWN}' WINDOW each AS (PARTITION BY p ORDER BY h, scope)),
    longest AS (SELECT p, max(first - before) longest FROM gaps WHERE NOT scope GROUP BY p),
    silent AS (
        SELECT p, before a, first z, false still FROM gaps WHERE scope
        UNION ALL SELECT p, last, until, true FROM gaps, until WHERE final),
    judged AS (
        SELECT silent.p, a, z, coalesce(longest, 0) longest, still, (
            SELECT sum(usual.least) FROM generate_series(a // $hour + 1, z // $hour - 1) g(h)
            JOIN usual ON usual.p = silent.p AND usual.c = g.h % 24) missing
        FROM silent LEFT JOIN longest USING (p), days
        WHERE days >= {_FEWEST_DAYS} AND z - a > $hour + 1.5 * coalesce(longest, 0))
    SELECT p, a, z, longest, CAST(missing AS BIGINT), still FROM judged
    WHERE missing >= {_FEWEST_MISSING} ORDER BY missing DESC"""  # noqa: S608
_MORE = f"""
    WITH {_ORDINARY},
    grid AS (
        SELECT each.p, g.h, g.h BETWEEN $first AND $last inside
        FROM (SELECT DISTINCT p FROM cells) each CROSS JOIN generate_series($first - 12, $last + 12) g(h)),
    numbers AS (SELECT p, h, sum(n) n FROM counts GROUP BY ALL)
    SELECT grid.p, inside, CAST(sum(coalesce(numbers.n, 0)) AS DOUBLE), CAST(sum(coalesce(half, 0)) AS DOUBLE)
    FROM grid LEFT JOIN numbers ON numbers.p = grid.p AND numbers.h = grid.h
    LEFT JOIN usual ON usual.p = grid.p AND usual.c = grid.h % 24
    WHERE inside OR numbers.n IS NOT NULL GROUP BY ALL"""  # noqa: S608
_LATE_FILES = f"""
    WITH parts AS (
        SELECT f, p, bool_or(scope) AS scope, sum(n) n, min(first) AS first, max(last) AS last,
            max(event) FILTER (reason <> '{Reason.EARLY}') AS event
        FROM cells WHERE p <> '{UNKNOWN}' GROUP BY f, p),
    files AS (
        SELECT f, bool_or(scope) AS scope, sum(n) n, min(first) AS first, max(last) AS last,
            any_value(landed) - max(CASE WHEN n > 1 AND last = first THEN least(event, last) ELSE last END) lag
        FROM parts JOIN (SELECT f, max(landed) landed FROM landed GROUP BY f) USING (f) GROUP BY f),
    before AS (SELECT count(*) files, coalesce(quantile_disc(lag, 0.95), 0) most FROM files WHERE NOT scope),
    bound AS (
        SELECT most,
            CASE WHEN files >= 5 THEN greatest($delay, 2 * most + $floor) WHEN $delay > 0 THEN $delay END bound
        FROM before)
    SELECT f, n, first, last, lag, most FROM files, bound WHERE scope AND lag > bound AND n >= {_FEWEST}
    ORDER BY lag DESC, f"""  # noqa: S608
