"""Both oracles of streams, run by run and all anew, agree where both can say; Law 1 holds of edges."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import oracle_lives as lives
from oracle import SECOND, Obj, Run
from oracle_joins import Join
from oracle_measured import Measured
from oracle_punctuation import Source, judge
from oracle_streams import Step, Window, flow, held
from strategies import TICK, recuts
from strategies_punctuation import logs

POINTS = Source(count=3, delay=2 * SECOND, rows=True, partitions=("0",), clock_skew=SECOND)
INTERVALS = Source("adjust", "interval", period=4 * SECOND, delay=SECOND, rows=True, partitions=("0", "1", "2"))
EDGES = Source("adjust", "edge", rows=True, count=4, delay=4 * SECOND, partitions=("0", "1", "2"))
LATE = Window(4 * SECOND, 2 * SECOND)
VISITS = Measured(session=(2 * SECOND, 9 * SECOND), group_by=("k",))
ALIVE = Measured(partition_by="partition")
SLOW = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))


def steps() -> dict[str, Step]:
    return {
        "moved": Step(("b",), shift=-3 * SECOND),
        "longer": Step(("a",), lifetime=4 * SECOND, publish=True),
        "both": Step(("b", "longer", "moved"), publish=True),
        "pairs": Step(("longer", "moved"), join=Join(("k",), lambda left, _: {"k": left.payload["k"]})),
        "sized": Step(("both",), window=LATE),
        "parts": Step(("b",), window=replace(LATE, partition_by="partition")),
        "visits": Step(("both",), measured=VISITS),
        "alive": Step(("moved",), measured=ALIVE),
        "alive_pairs": Step(("pairs",), measured=Measured()),
    }


def of_flow(run: Any, name: str) -> Counter[Any]:
    return Counter((i.partition if name in ("parts", "alive") else None, i.start, i.end) for i in run[name].written)


def of_lives(written: list[lives.Written]) -> list[Counter[Any]]:
    return [Counter((part, *map(held, map(int, span))) for part, span, _ in run.closed) for run in written]


@SLOW
@given(logs({"a": POINTS, "b": INTERVALS}, rows=10))
def test_both_oracles_say_the_same_of_points_and_intervals(found):
    runs = flow(found, steps(), lambda _, row: {"k": row.substream})
    outcomes = judge(found)
    a, b = (lives.source(name, found[name], outcomes[name]) for name in ("a", "b"))
    moved, longer = lives.shifted(b, -3 * SECOND), lives.lasting(a, 4 * SECOND)
    both, pairs = lives.union(b, longer, moved), lives.joined(longer, moved)
    for name, stream in (("longer", longer), ("both", both), ("pairs", pairs)):
        rows = [Counter((life.start, life.end) for life in run) for run in lives.published(stream)]
        assert rows == [Counter((item.start, item.end) for item in run[name].written) for run in runs], name
        assert list(stream.marks) == [run[name].watermark for run in runs], name
    made = {
        "sized": lives.windows(both, LATE),
        "parts": lives.windows(b, replace(LATE, partition_by="partition")),
        "visits": lives.made(both, VISITS),
        "alive": lives.made(moved, ALIVE),
        "alive_pairs": lives.made(pairs, Measured()),
    }
    for name, written in made.items():
        assert of_lives(written) == [of_flow(run, name) for run in runs], name
        late = [Counter((each.life.offset, each.window) for each in run.late) for run in written]
        assert late == [Counter((dead.item.offset, dead.window) for dead in run[name].dead_letters) for run in runs]
        if name in ("sized", "visits", "alive_pairs"):
            assert [run.watermark for run in written] == [run[name].watermark for run in runs], name


@SLOW
@given(st.data())
def test_law_1_streams_over_edges_are_the_same_however_the_log_is_cut_into_runs(data):
    ((_, runs),) = data.draw(logs({"c": EDGES}, rows=12, least=4)).values()
    objects = tuple(obj for run in runs for obj in run.objects)
    assume(objects)
    last = max(run.as_of for run in runs) + 100 * SECOND
    ending = Run(last, (Obj("zz", last, ()),))
    told = []
    for cut in (runs_of(objects, last), *[data.draw(recuts(objects)) for _ in range(2)]):
        log = EDGES, (*cut, ending)
        c = lives.source("c", log, judge({"c": log})["c"])
        told.append(outputs(c))
    assert told[0] == told[1] == told[2]


def runs_of(objects: tuple[Obj, ...], last: int) -> tuple[Run, ...]:
    return (Run(last - TICK, objects),)


def outputs(c: lives.Stream) -> list[Counter[Any]]:
    """All that is ever written of a few streams."""
    moved = lives.shifted(c, SECOND)
    pairs = lives.joined(c, moved)
    rows = [
        Counter((life.order, life.end) for run in lives.published(each) for life in run) for each in (moved, pairs)
    ]
    many = [lives.windows(lives.union(c, moved), LATE), lives.made(c, Measured()), lives.made(pairs, VISITS)]
    made = [
        Counter((*key, *[life.order for life in rows_]) for run in each for key, rows_ in run.closed.items())
        for each in many
    ]
    return rows + made
