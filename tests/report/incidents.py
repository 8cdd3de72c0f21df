"""Weeks of rows with a planted incident, or none: judged by the oracle, as the tables that `why` reads.

Every week has ordinary noise: days and weekdays of their own volume, small lateness, single rows that are late, early
or broken. `PYTHONPATH=tests python tests/report/incidents.py 200 SEED` scores the finder on 200 incidents and 200
quiet weeks.
"""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.dataset as ds

from oracle import Obj, Row, Run, Source, judge
from tidemark.core.advance import SourceRules
from tidemark.core.policy import Action, Policy, Tolerance
from tidemark.core.punctuation import POINT, Shape
from tidemark.core.times import DAY, HOUR, MINUTE, SECOND, parse_time
from tidemark.report.causes.causes import Cause
from tidemark.report.causes.cells import HISTORY, JudgedSource, RowScope
from tidemark.report.causes.find import causes_of

TIME = pa.timestamp("us", tz="UTC")
CLOCKS = ("2026-03-29", "2026-10-25", "2026-11-01", "2027-03-14")
FEWEST = 12
"""Fewest rows of an incident."""
KINDS = (
    "late_sender", "clock_ahead", "growing_skew", "replayed_file", "bad_file", "schema_change",
    "idle_partition", "burst", "wrong_partition", "duplicates", "clock_change", "slow_landing",
)  # fmt: skip


@dataclass
class World:
    """A source, its rows by time of arrival, and what is planted: its kind, and the partition or the file (or one of
    the files `also`)."""

    rng: random.Random
    source: Source
    partitions: list[str]
    start: int
    days: int
    scoped: int
    period: int
    apart: bool
    rows: list[Row] = field(default_factory=list)
    files: list[Obj] = field(default_factory=list)
    kind: str | None = None
    where: str | None = None
    also: set[str] = field(default_factory=set)

    @property
    def begins(self) -> int:
        """When the scope begins."""
        return self.start + (self.days - self.scoped) * DAY

    @property
    def ends(self) -> int:
        return self.start + self.days * DAY


def world(rng: random.Random, kind: str | None, partitions: int | None = None) -> World:
    """A source with ordinary weeks, in which an incident of a kind is planted."""
    names = [f"G{n}" for n in range(partitions or rng.randint(2, 5))]
    over = rng.random() < 0.5 and kind in (None, "wrong_partition")
    late = (rng.choice((30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE)), rng.choice(("drop", "adjust")))
    order = (rng.choice((10 * SECOND, 30 * SECOND)), rng.choice(("adjust", "adjust", "drop")))
    period = rng.choice((1, 2, 3)) * HOUR
    own = not (kind == "slow_landing" and rng.random() < 0.4)
    if not own:
        late, period, order = (period + HOUR, "drop"), HOUR, (period + HOUR, "adjust")
    source = Source(
        late=late, out_of_order=order, over=over, arrival_column=own, partitions=tuple(names),
        landing_delay=period + 15 * MINUTE if own else 0,
    )  # fmt: skip
    scoped = rng.choice((1, 2, 7))
    days = scoped + rng.randint(7, 10)
    start = parse_time("2026-05-04T00:00:00Z") + rng.randrange(28) * DAY
    if kind == "clock_change":
        start = parse_time(f"{rng.choice(CLOCKS)}T00:00:00Z") - (days - scoped) * DAY
    made = World(rng, source, names, start, days, scoped, period, rng.random() < 0.3 and own)
    _fill(made)
    if kind is not None:
        made.kind = kind
        ROWS.get(kind, lambda _: None)(made)
    _pack(made)
    if kind in FILES:
        FILES[kind](made)
    return made


def _fill(w: World) -> None:
    rates = {name: w.rng.uniform(6, 30) for name in w.partitions}
    odd = w.rng.uniform(0.001, 0.006)
    for day in range(w.days):
        weekday = (w.start // DAY + day + 4) % 7
        level = (0.5 if weekday in (0, 6) else 1.0) * w.rng.uniform(0.9, 1.1)
        for hour in range(24):
            shape = 0.6 + 0.5 * math.sin((hour - 6) / 24 * 2 * math.pi)
            for name, rate in rates.items():
                for _ in range(_poisson(w.rng, rate * level * max(shape, 0.15))):
                    at = w.start + day * DAY + hour * HOUR + w.rng.randrange(3600) * SECOND
                    w.rows.append(_ordinary(w.rng, name, at, odd))
    w.rows.sort(key=_arrival)


def _ordinary(rng: random.Random, name: str, at: int, odd: float) -> Row:
    late = min(int(rng.expovariate(1 / 3)), 20) * SECOND
    broken = False
    if rng.random() < odd:
        late = rng.choice((rng.randrange(400, 3000), rng.randrange(400, 3000), -rng.randrange(400, 900))) * SECOND
        broken = rng.random() < 0.1
    return Row(name, at - late, at, f"{name}-{rng.randrange(6)}", broken)


def _poisson(rng: random.Random, mean: float) -> int:
    limit, number, product = math.exp(-mean), 0, rng.random()
    while product > limit:
        number, product = number + 1, product * rng.random()
    return number


def _pack(w: World) -> None:
    """Put rows into files: by period of arrival, or also by partition."""
    found: dict[tuple[int, str], list[Row]] = {}
    for row in sorted(w.rows, key=_arrival):
        found.setdefault((_arrival(row) // w.period, row.partition or "" if w.apart else ""), []).append(row)
    for (number, name), rows in sorted(found.items()):
        landed = (number + 1) * w.period + w.rng.randrange(60, 300) * SECOND
        w.files.append(Obj(f"{number * w.period // HOUR % 24:02d}-{number}{name}.json", landed, tuple(rows)))


def _arrival(row: Row) -> int:
    assert row.arrival is not None
    return row.arrival


def _shift(w: World, change: Callable[[Row, float], Row], hours: tuple[int, int]) -> None:
    """Change the rows of one partition in hours of the scope; `change` gets the part of them that has passed."""
    w.where, number = w.rng.choice(w.partitions), 0
    while number < FEWEST:
        begin, lasting = _hours(w, *hours)
        number = sum(row.partition == w.where and begin <= _arrival(row) < begin + lasting for row in w.rows)
    w.rows = [
        change(row, (_arrival(row) - begin) / lasting)
        if row.partition == w.where and begin <= _arrival(row) < begin + lasting
        else row
        for row in w.rows
    ]


def _hours(w: World, least: int, most: int) -> tuple[int, int]:
    lasting = w.rng.randint(least, most)
    day = w.begins + w.rng.randrange(w.scoped) * DAY
    return day + w.rng.randrange(4, max(5, 22 - lasting)) * HOUR, lasting * HOUR


def _late_sender(w: World) -> None:
    late = w.rng.randrange(8, 55) * MINUTE
    _shift(w, lambda row, _: replace(row, event=_arrival(row) - late - w.rng.randrange(200) * SECOND), (2, 8))


def _clock_ahead(w: World) -> None:
    ahead = w.rng.randrange(8, 50) * MINUTE
    _shift(w, lambda row, _: replace(row, event=_arrival(row) + ahead - w.rng.randrange(20) * SECOND), (2, 8))


def _growing(w: World) -> None:
    most = w.rng.randrange(40, 120) * MINUTE
    _shift(
        w,
        lambda row, part: replace(row, event=_arrival(row) - int(most * part) - w.rng.randrange(20) * SECOND),
        (6, 12),
    )


def _schema(w: World) -> None:
    begin = _hours(w, 6, 7)[0]
    everyone = w.rng.random() < 0.5
    name = None if everyone else w.rng.choice(w.partitions)
    w.where = name
    w.rows = [
        replace(row, event=None)
        if _arrival(row) >= begin and row.partition in (name, *w.partitions * everyone)
        else row
        for row in w.rows
    ]


def _idle(w: World) -> None:
    w.where = w.rng.choice(w.partitions)
    begin, lasting = _hours(w, 9, 14)
    w.rows = [row for row in w.rows if row.partition != w.where or not begin <= _arrival(row) < begin + lasting]


def _burst(w: World) -> None:
    w.where = w.rng.choice(w.partitions)
    begin, lasting = _hours(w, 1, 3)
    hourly = sum(row.partition == w.where for row in w.rows) / w.days / 24
    for _ in range(int(max(hourly, 8) * w.rng.uniform(6, 20) * lasting / HOUR)):
        w.rows.append(_ordinary(w.rng, w.where, begin + w.rng.randrange(lasting // SECOND) * SECOND, 0.0))
    w.rows.sort(key=_arrival)


def _wrong(w: World) -> None:
    w.where, other = w.rng.sample(w.partitions, 2)
    begin, lasting = _hours(w, 9, 14)
    w.rows = [
        replace(row, partition=other)
        if row.partition == w.where and begin <= _arrival(row) < begin + lasting
        else row
        for row in w.rows
    ]


def _duplicates(w: World) -> None:
    w.where = w.rng.choice(w.partitions)
    begin, lasting = _hours(w, 4, 10)
    again = w.rng.choice((0.5, 1.0))
    more = [
        replace(row, arrival=_arrival(row) + w.rng.randrange(3) * SECOND)
        for row in w.rows
        if row.partition == w.where and begin <= _arrival(row) < begin + lasting and w.rng.random() < again
    ]
    w.rows = sorted(w.rows + more, key=_arrival)


def _clock_change(w: World) -> None:
    w.where = w.rng.choice(w.partitions)
    way = w.rng.choice((-1, 1))
    begin = w.begins + w.rng.choice((1, 2)) * HOUR
    w.rows = [
        replace(row, event=None if row.event is None else row.event + way * HOUR)
        if row.partition == w.where and _arrival(row) >= begin
        else row
        for row in w.rows
    ]


def _file(w: World) -> int:
    """A file of the scope that has more rows than half of them, and enough."""
    sizes = [(len(f.rows), n) for n, f in enumerate(w.files) if w.begins + 2 * HOUR < f.modified < w.ends - 6 * HOUR]
    large = sorted(sizes)[len(sizes) // 2 :]
    return w.rng.choice([each for each in large if each[0] >= 2 * FEWEST] or large[-1:])[1]


def _replayed(w: World) -> None:
    number = _file(w)
    old = w.files[max(0, number - w.rng.randrange(3, 30))]
    while len(old.rows) < 12:
        old = w.rng.choice(w.files[:number])
    w.where = f"again-{old.uri}"
    w.files.append(Obj(w.where, w.files[number].modified + 7 * SECOND, old.rows))


def _bad_file(w: World) -> None:
    number = _file(w)
    bad = w.files[number]
    w.where = bad.uri
    part = w.rng.choice((0.6, 1.0))
    rows = tuple(replace(row, broken=True) if w.rng.random() < part else row for row in bad.rows)
    w.files[number] = replace(bad, rows=rows)


def _slow(w: World) -> None:
    number = _file(w)
    when = w.files[number].modified
    w.where = w.files[number].uri
    delay = w.rng.randrange(3 * 60, 9 * 60) * MINUTE
    w.also = {f.uri for f in w.files if when <= f.modified < when + 2 * w.period}
    w.files = [replace(f, modified=max(f.modified, when + delay)) if f.uri in w.also else f for f in w.files]


ROWS = {
    "late_sender": _late_sender, "clock_ahead": _clock_ahead, "growing_skew": _growing, "schema_change": _schema,
    "idle_partition": _idle, "burst": _burst, "wrong_partition": _wrong, "duplicates": _duplicates,
    "clock_change": _clock_change,
}  # fmt: skip
FILES = {"replayed_file": _replayed, "bad_file": _bad_file, "slow_landing": _slow}


def runs_of(w: World) -> list[Run]:
    """The world's files in daily runs."""
    ends = [w.start + (day + 1) * DAY + 2 * HOUR for day in range(w.days)]
    late = max((f.modified for f in w.files), default=0)
    ends += [late] * (late > ends[-1])
    runs, before = [], 0
    for end in ends:
        runs.append(Run(end, tuple(f for f in w.files if before < f.modified <= end)))
        before = end
    return runs


def judged(w: World) -> tuple[JudgedSource, RowScope]:
    """The world's rows as the oracle judges them in daily runs, and its scope."""
    runs = runs_of(w)
    ends, outcome = [run.as_of for run in runs], judge(w.source, runs)
    columns = {
        "_partition": pa.array([v.partition for v in outcome.verdicts]),
        "_file": pa.array([v.uri for v in outcome.verdicts]),
        "_disposition": pa.array([v.disposition for v in outcome.verdicts]),
        "_reasons": pa.array([list(v.reasons) for v in outcome.verdicts], pa.list_(pa.string())),
        "_arrival_time": _times([v.arrival for v in outcome.verdicts]),
        "_event_time": _times([v.event for v in outcome.verdicts]),
        "_watermark": _times([v.watermark for v in outcome.verdicts]),
        "_end_time": _times([v.end_time for v in outcome.verdicts]),
        "_substream": pa.array([v.substream for v in outcome.verdicts], pa.string()),
        "_batch_id": pa.array([v.run + 1 for v in outcome.verdicts], pa.int64()),
    }
    taken = {(v.uri, v.run + 1) for v in outcome.verdicts}
    times = {f.uri: f.modified for f in w.files}
    landed = pa.Table.from_pylist([{"f": uri, "b": batch, "landed": times[uri]} for uri, batch in sorted(taken)])
    early, tardy, order = (
        Tolerance(t[0], Action(t[1])) for t in (w.source.early, w.source.late, w.source.out_of_order)
    )
    policy, shape = Policy(early, tardy, order), Shape("v") if w.source.interval else POINT
    rules = SourceRules("s", policy, w.source.partitions, w.source.landing_delay, w.source.over, shape=shape)
    source = JudgedSource(rules, ds.dataset(pa.table(columns)), landed)
    if w.scoped == 1:
        return source, RowScope(w.days, len(runs), history=ends[w.days - 2] - HISTORY, as_of=ends[-1])
    return source, RowScope(since=w.begins, history=w.begins - HISTORY, as_of=ends[-1])


def _times(values: Sequence[int | None]) -> pa.Array:
    return pa.array(values, pa.int64()).cast(TIME)


def found(w: World) -> list[Cause]:
    source, asked = judged(w)
    return [*causes_of([source], asked).causes]


def named(w: World, causes: Sequence[Cause]) -> bool:
    """Whether the first cause is the planted one: its kind, and its partition or file."""
    if not causes or causes[0].kind != w.kind:
        return False
    if w.where is None:
        return causes[0].partitions == ()
    there = [*causes[0].partitions, *causes[0].files]
    return any(each in there and each in causes[0].sentence for each in {w.where, *w.also})


def chosen(seed: str, kind: str | None) -> World:
    """The world of a seed, always the same."""
    return world(random.Random(f"{seed}-{kind}"), kind)  # noqa: S311 - the same weeks each time


def score(count: int, seed: str) -> None:
    """Print how many of `count` incidents are named, by kind, how many of `count` quiet weeks stay quiet, and the
    sentences about the others."""
    right: Counter[str] = Counter()
    for number in range(count):
        w = chosen(f"{seed}-{number}", KINDS[number % len(KINDS)])
        causes = found(w)
        right[str(w.kind)] += named(w, causes)
        if not named(w, causes):
            sys.stdout.write(f"{number} {w.kind} {w.where}: {[each.sentence for each in causes[:3]]}\n")
    quiet = 0
    for number in range(count):
        causes = found(chosen(f"{seed}-{number}", None))
        quiet += not causes
        if causes:
            sys.stdout.write(f"{number} quiet: {[each.sentence for each in causes[:3]]}\n")
    sys.stdout.write("".join(f"{kind}: {right[kind]}\n" for kind in KINDS))
    sys.stdout.write(f"named: {right.total()} of {count}; quiet: {quiet} of {count}\n")


if __name__ == "__main__":
    score(int(sys.argv[1]), sys.argv[2])
