"""Random punctuated sources and their logs, made so that rows often meet punctuations, periods and open edges.

Times are whole seconds near BASE, a tick off now and then. Rows are drawn from one number per log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from hypothesis import strategies as st

import oracle
from oracle import MAX_TIME, MIN_TIME, SECOND, Obj, Run
from oracle_punctuation import Log, Row, Source
from strategies import BASE, TICK, admitting

NAMES = ("0", "1", "2")
KEYS = ("a", "b", None, "null")
SHAPES = ("point", "interval", "edge")


@st.composite
def sources(
    draw: st.DrawFn,
    shape: str | None = None,
    import_from: str | tuple[str, ...] | None = None,
    **settings: Any,
) -> Source:
    """Any legal punctuated source of a shape."""
    generated = draw(st.sampled_from(("count", "period", None)))
    rows = draw(st.booleans()) or (generated is None and import_from is None)
    source = Source(
        violations=draw(st.sampled_from(("drop", "adjust"))),
        shape=draw(st.sampled_from(SHAPES)) if shape is None else shape,
        count=draw(st.sampled_from((1, 2, 3, 7))) if generated == "count" else None,
        period=draw(st.sampled_from((SECOND, 5 * SECOND, 7 * SECOND))) if generated == "period" else None,
        delay=draw(st.sampled_from((0, 2 * SECOND, 6 * SECOND, -TICK, -SECOND))),
        import_from=import_from,
        rows=rows,
        final=draw(st.booleans()),
        arrival_column=draw(st.sampled_from((True, True, False))),
        clock_skew=SECOND,
        **settings,
    )
    return admitting(source)


@dataclass
class _Writer:
    """Makes rows; `started` are the start edges of each partition so far."""

    source: Source
    dice: Random
    names: Sequence[str]
    started: dict[str | None, list[Row]] = field(default_factory=dict)

    def rows(self, count: int, modified: int) -> tuple[Row, ...]:
        return tuple(self._row(modified) for _ in range(count))

    def _row(self, modified: int) -> Row:
        dice = self.dice
        partition = None if self.source.single else dice.choice(self.names)
        if dice.random() < 0.04 and not self.source.single:
            partition = None
        arrival = modified - dice.randint(0, 5) * SECOND if self.source.arrival_column else None
        now = modified if arrival is None else arrival
        event = now + dice.randint(-7, 4) * SECOND + dice.choice((0, 0, TICK, -TICK))
        if dice.random() < 0.02 and self.source.shape != "edge":
            event = dice.choice((MIN_TIME, MAX_TIME, MIN_TIME + SECOND))
        end = min(event + dice.choice((1, 2, 4, 8, 15, 0, -1)) * SECOND, MAX_TIME)
        row = Row(partition, event, arrival, dice.choice(KEYS), kind=None, end=end)
        if self.source.rows and dice.random() < 0.15:
            row = replace(row, kind="cti")
        elif self.source.shape == "edge":
            row = self._edge(row, now)
        return self._spoil(row)

    def _edge(self, row: Row, now: int) -> Row:
        dice = self.dice
        started = self.started.setdefault(row.partition, [])
        if started and dice.random() < 0.5:
            known = dice.choice(started[-6:])
            assert known.event is not None
            end = dice.choice((now, known.event + dice.randint(-1, 9) * SECOND, now + 3 * SECOND))
            key = known.substream if dice.random() < 0.9 else row.substream
            return replace(row, event=known.event, substream=key, kind="end", end=end)
        if started and dice.random() < 0.2:
            row = replace(row, event=started[-1].event, substream=started[-1].substream)
        row = replace(row, kind=dice.choice(("start",) * 12 + ("neither", None)), end=None)
        if row.kind == "start":
            started.append(row)
        return row

    def _spoil(self, row: Row) -> Row:
        if self.dice.random() > 0.06:
            return row
        broken = Row(row.partition, None, row.arrival, broken=True)
        flaws = (replace(row, event=None), replace(row, end=None), broken)
        return self.dice.choice((*flaws, replace(row, arrival=None)))


def log_of(given: Source | oracle.Source, seed: int, runs: Sequence[Run], names: Sequence[str], rows: int) -> Log:
    """A log with objects in the same places as in `runs`, and about so many rows an object."""
    source = given if isinstance(given, Source) else _stand_in(given)
    writer = _Writer(source, Random(seed), names)  # noqa: S311 - the same rows each time
    made = []
    for run in runs:
        objects = sorted(run.objects, key=lambda obj: (obj.modified, obj.uri.encode()))
        full = [replace(obj, rows=writer.rows(writer.dice.randint(0, 2 * rows), obj.modified)) for obj in objects]
        if not isinstance(given, Source):
            full = [replace(obj, rows=tuple(_plain(given, row) for row in obj.rows)) for obj in full]
        made.append(replace(run, objects=tuple(full)))
    return given, tuple(made)


def _stand_in(source: oracle.Source) -> Source:
    """A source whose rows are drawn for those of a tolerance source."""
    return Source(arrival_column=source.arrival_column, single=source.single, clock_skew=source.clock_skew)


def _plain(given: oracle.Source, row: Row) -> oracle.Row:
    end = row.end if given.interval else None
    return oracle.Row(row.partition, row.event, row.arrival, row.substream, row.broken, end)


@st.composite
def schedules(draw: st.DrawFn, least: int = 3) -> tuple[Run, ...]:
    """Runs with empty objects."""
    as_of, made, number = BASE + 10 * SECOND, [], 0
    for _ in range(draw(st.integers(least, least + 2))):
        as_of += draw(st.sampled_from((4, 9, 1, 0, 20))) * SECOND
        ages = draw(st.lists(st.sampled_from((0, 1, 3, 6)), max_size=2))
        objects = [Obj(f"{number + place:03d}", as_of - age * SECOND) for place, age in enumerate(ages)]
        number += len(objects)
        made.append(Run(as_of, tuple(objects)))
    if not any(run.objects for run in made):
        made[0] = replace(made[0], objects=(Obj("only", made[0].as_of),))
    return tuple(made)


@st.composite
def logs(
    draw: st.DrawFn,
    declared: Mapping[str, Source | oracle.Source],
    names: Sequence[str] = NAMES,
    rows: int = 8,
    least: int = 3,
) -> dict[str, Log]:
    """One log of each source, with runs at the same times."""
    times = [run.as_of for run in draw(schedules(least))]
    found = {}
    for name, source in declared.items():
        runs = draw(schedules(len(times)))[: len(times)]
        moved = []
        for run, as_of in zip(runs, times, strict=True):
            objects = tuple(replace(obj, modified=obj.modified - run.as_of + as_of) for obj in run.objects)
            moved.append(Run(as_of, objects))
        if getattr(source, "final", True) and draw(st.booleans()):
            moved[-1] = replace(moved[-1], close=True)
        found[name] = log_of(source, draw(st.integers(0, 2**32)), moved, names, rows)
    return found
