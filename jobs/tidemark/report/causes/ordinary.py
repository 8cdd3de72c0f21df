"""Finds abnormal hours, by bounds that earlier incidents do not move.

Law: the rows of an hour are abnormal beyond `slack`, the most that is ordinary in that hour. `slack` comes from the
history of the partition (or source): the upper quartile of the shares of days, the upper quartile of equal hours of
the day, and the 95 % quantile of all hours. Days and hours without such rows count as zero. Without history the scope
is compared with itself; if it is shorter than three days, no quarantined rows are ordinary.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import duckdb

from tidemark.core.policy import Fate, Reason

LEAST = 8.0
"""Fewest rows beyond the ordinary that make an incident."""
LEAST_SHARE = 0.02
"""Smallest share of all rows in its hours that makes an incident."""
_QUIET = 0.5
"""Rows an hour that are ordinary even if there were none before."""
_FEWEST_DAYS = 3
"""Fewest days of history for a comparison with the same hour on other days."""
_FEW = 0.15
"""Hours at the ends of an incident are cut off below this share of the mean of its hours."""
_MOST = 4
"""Most incidents of one kind in one partition."""
VOLUME, REPEATED = "volume", "repeated"


@dataclass(frozen=True)
class Hour:
    """One hour (since the epoch): `n` rows of a kind, the most of them that is ordinary, and all rows."""

    h: int
    n: float
    slack: float
    rows: float


@dataclass(frozen=True)
class Incident:
    """Successive hours of a partition (None: of the whole source) with abnormally many rows of a kind. The kind is a
    fate and a reason, `volume` or `repeated`. `excess`: rows beyond the ordinary."""

    partition: str | None
    kind: str
    first: int
    last: int
    excess: float


def densest(hours: Sequence[Hour]) -> Iterator[Incident]:
    """Yield incidents in `hours` (in order, of one partition and kind): the largest, then those before and after it.

    An incident is the run of hours with the largest sum of n - slack; an hour without rows of the kind counts as
    minus half a row. Its partition and kind are empty.
    """
    best, found = 0.0, None
    score, begin, before = 0.0, 0, None
    for index, hour in enumerate(hours):
        score -= 0.0 if before is None else _QUIET * (hour.h - before - 1)
        before = hour.h
        if score <= 0:
            score, begin = 0.0, index
        score += hour.n - hour.slack
        if score > best:
            best, found = score, (begin, index)
    if found is None:
        return
    low, high = _trimmed(hours, *found)
    inside = hours[low : high + 1]
    if best < max(LEAST, LEAST_SHARE * sum(each.rows for each in inside)):
        return
    yield Incident(None, "", inside[0].h, inside[-1].h, best)
    yield from densest(hours[:low])
    yield from densest(hours[high + 1 :])


def _trimmed(hours: Sequence[Hour], low: int, high: int) -> tuple[int, int]:
    """Return the first and last index without hours at both ends that have few rows compared with the others."""
    few = _FEW * sum(hours[each].n for each in range(low, high + 1)) / (high + 1 - low)
    while low < high and hours[low].n < few:
        low += 1
    while low < high and hours[high].n < few:
        high -= 1
    return low, high


def abnormal(
    connection: duckdb.DuckDBPyConnection, *, whole: bool, without: Collection[tuple[str, int]] = ()
) -> list[Incident]:
    """Return the incidents of each partition and kind, from `cells` and `repeats`; with `whole`, of the source as a
    whole. Incidents that contain a (kind, hour) of `without` are left out."""
    p = "''" if whole else "p"
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE hours AS SELECT {p} p, h, scope, sum(n) n FROM cells GROUP BY ALL""")  # noqa: S608
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE marked AS SELECT {p} p, kind, h, scope, sum(n) n FROM (
            SELECT p, fate || ' ' || reason kind, h, scope, n FROM cells
                WHERE fate <> 'on_time' AND reason <> '{Reason.EXCLUDED}'
            UNION ALL SELECT p, '{REPEATED}', h, scope, n FROM repeats
            UNION ALL SELECT p, '{VOLUME}', h, scope, n FROM cells) GROUP BY ALL""")  # noqa: S608
    found: dict[tuple[str, str], list[Hour]] = defaultdict(list)
    for p, kind, *numbers in connection.execute(_SLACK).fetchall():
        found[p, kind].append(Hour(*numbers))
    spans = [
        replace(span, partition=None if whole else p, kind=kind)
        for (p, kind), hours in found.items()
        for span in sorted(densest(hours), key=lambda each: -each.excess)[:_MOST]
    ]
    return [each for each in spans if not any((each.kind, h) in without for h in range(each.first, each.last + 1))]


def overlap(first: Incident, second: Incident) -> bool:
    """True if at least half of the shorter incident lies in the other one."""
    common = min(first.last, second.last) - max(first.first, second.first) + 1
    return 2 * common >= min(first.last - first.first, second.last - second.first) + 1


def together(spans: Iterable[Incident]) -> list[list[Incident]]:
    """Group incidents of one kind that overlap, the largest first: a group is one incident of several partitions."""
    groups: list[list[Incident]] = []
    for span in sorted(spans, key=lambda each: -each.excess):
        mine = next((g for g in groups if g[0].kind == span.kind and overlap(g[0], span)), None)
        if mine is None:
            groups.append([span])
        else:
            mine.append(span)
    return groups


_SLACK = f"""
    WITH past AS (SELECT NOT coalesce(bool_or(NOT scope), false) own FROM hours),
    seen AS (SELECT hours.* FROM hours, past WHERE scope = own),
    known AS (SELECT marked.* FROM marked, past WHERE scope = own),
    size AS (SELECT p, count(DISTINCT h // 24) AS days, count(*) AS hours FROM seen GROUP BY p),
    clock AS (SELECT p, h % 24 c, count(*) AS days FROM seen GROUP BY ALL),
    daily AS (SELECT p, h // 24 d, sum(n) n FROM seen GROUP BY ALL),
    shares AS (
        SELECT k.p, kind, list_reverse_sort(list(k.n / daily.n)) s
        FROM (SELECT p, kind, h // 24 d, sum(n) n FROM known GROUP BY ALL) k JOIN daily USING (p, d) GROUP BY ALL),
    hourly AS (SELECT p, kind, list_reverse_sort(list(n)) s FROM known GROUP BY ALL),
    alike AS (SELECT p, kind, h % 24 c, list_reverse_sort(list(n)) s FROM known GROUP BY ALL),
    bounds AS (
        SELECT m.p, m.kind, m.h, m.n, hours.n AS "rows", coalesce(size.days, 0) AS days,
            coalesce(shares.s[1 + size.days // 4], 0) * hours.n o,
            coalesce(hourly.s[1 + size.hours // 20], 0) AS "top",
            coalesce(alike.s[1 + clock.days // 4], 0) AS "equal"
        FROM marked m JOIN hours USING (p, h, scope)
        LEFT JOIN size ON size.p = m.p
        LEFT JOIN clock ON clock.p = m.p AND clock.c = m.h % 24
        LEFT JOIN shares ON shares.p = m.p AND shares.kind = m.kind
        LEFT JOIN hourly ON hourly.p = m.p AND hourly.kind = m.kind
        LEFT JOIN alike ON alike.p = m.p AND alike.kind = m.kind AND alike.c = m.h % 24
        WHERE m.scope),
    slacks AS (
        SELECT p, kind, h, n, "rows", CASE
            WHEN kind = '{VOLUME}' THEN if(days < {_FEWEST_DAYS}, n, greatest(5, 2.2 * "equal", 1.5 * "top"))
            WHEN days < {_FEWEST_DAYS} AND own AND kind LIKE '{Fate.QUARANTINED} %' THEN {_QUIET}
            WHEN days < {_FEWEST_DAYS} THEN greatest({_QUIET}, o + 3 * sqrt(o))
            ELSE greatest({_QUIET}, o + 3 * sqrt(o), 1.5 * "top", 1.5 * "equal") END slack FROM bounds, past),
    worth AS (SELECT p, kind FROM slacks GROUP BY ALL HAVING sum(greatest(n - slack, 0)) >= {LEAST})
    SELECT p, kind, h, n, slack, "rows" FROM slacks JOIN worth USING (p, kind) ORDER BY p, kind, h"""  # noqa: S608
