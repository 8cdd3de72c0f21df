"""Streams, joins and windows over punctuated sources are the oracle's, run by run, however logs are cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import test_windows_of_rows
from samples import drawn, feed
from test_punctuation import hold_replay, one_closing, product_of

import oracle_lives as lives
from oracle import SECOND, Obj, Run
from oracle_lives import Life, Quiet, Stream, Written
from oracle_measured import Measured
from oracle_punctuation import COMPLETE, Log, Outcome, Row, Source, judge
from oracle_streams import Window, held
from product import Product, micros
from strategies import BASE, recuts
from strategies_punctuation import logs

Outputs = list[Written] | list[list[Life]]
GAP, LONGEST = 2 * SECOND, 9 * SECOND
HOP = {"size": "4s", "hop": "2s"}
VISITS = {"gap": "2s", "max_duration": "9s"}
STARTS = {"starts": "collect_list(_system_timestamp)", "ks": "collect_list(k)"}
TOLD = STARTS | {"ends": "collect_list(coalesce(_end_time, _window_end))"}
OF_E, OF_P = {"k": "e.k"}, {"k": "p.k"}
WINDOW = Window(4 * SECOND, 2 * SECOND)
SESSION = Measured(session=(GAP, LONGEST))
BY_PARTITION = {"partition_by": "partition", "select": TOLD}

UNTIL = "CASE k WHEN 'c' THEN NULL WHEN 'd' THEN _system_timestamp ELSE _system_timestamp + INTERVAL 3 SECONDS END"

CONFIGURED: dict[str, dict[str, Any]] = {
    "moved": {"from": "e", "where": "k IS NULL OR k <> 'a'", "shift": "-3s"},
    "gone": {"from": "moved", "publish": True},
    "longer": {"from": "e", "lifetime": "4s", "publish": True},
    "both": {"union": ["i", "moved", "p", "e"], "publish": True},
    "pairs": {"join": ["e", "i"], "on": ["k"], "select": OF_E},
    "meets": {"join": ["p", "moved"], "on": ["k"], "select": OF_P},
    "long_pairs": {"from": "pairs", "lifetime": "3s", "publish": True},
    "sized": {"from": "both", "hopping": HOP, "select": TOLD},
    "visits": {"from": "both", "session": VISITS, "group_by": ["k"], "select": TOLD},
    "alive": {"from": "both", "snapshot": {}, "select": TOLD},
    "alive_edges": {"from": "e", "snapshot": {}, "select": TOLD},
    "parts": {"from": "moved", "hopping": HOP, **BY_PARTITION},
    "visits_parts": {"from": "moved", "session": VISITS, **BY_PARTITION},
    "alive_parts": {"from": "i", "snapshot": {}, **BY_PARTITION},
    "sized_pairs": {"from": "long_pairs", "hopping": HOP, "select": TOLD},
    "visits_pairs": {"from": "pairs", "session": VISITS, "group_by": ["k"], "select": TOLD},
    "moving_pairs": {"from": "meets", "sliding": "4s", "select": STARTS},
    "alive_pairs": {"from": "pairs", "snapshot": {}, "group_by": ["k"], "select": TOLD},
    "stays": {"from": "i", "lifetime": {"until": UNTIL}, "publish": True},
    "sized_stays": {"from": "stays", "hopping": HOP, "select": TOLD},
    "alive_stays": {"from": "stays", "snapshot": {}, "select": TOLD},
    "with_stays": {"join": ["e", "stays"], "on": ["k"], "select": OF_E},
    "rates": {"from": "i", "lifetime": {"until": "next", "by": ["k"]}, "publish": True},
    "sized_rates": {"from": "rates", "hopping": HOP, "select": TOLD},
    "alive_rates": {"from": "rates", "snapshot": {}, "select": TOLD},
    "visits_rates": {"from": "rates", "session": VISITS, "group_by": ["k"], "select": TOLD},
    "with_rates": {"join": ["e", "rates"], "on": ["k"], "select": OF_E},
    "later_rates": {"from": "rates", "where": "k IS NOT NULL", "shift": "2s"},
    "next_rates": {"from": "later_rates", "lifetime": {"until": "next", "at_most": "6s"}, "publish": True},
    "idle_rates": {"from": "rates", "hopping": HOP, "select": TOLD, "idle_timeout": "4s"},
    "idle": {"from": "e", "hopping": HOP, "select": TOLD, "idle_timeout": "4s"},
    "idle_visits": {"from": "i", "session": VISITS, "group_by": ["k"], "select": TOLD, "idle_timeout": "4s"},
    "idle_moving": {"from": "i", "sliding": "4s", "select": STARTS, "idle_timeout": "4s"},
}
AT_ONCE = ("sized_stays", "alive_stays", "alive_parts", "idle_visits", "sized_pairs")
"""Windows over rows whose ends are known when they come: they see also those beyond their own."""
JOINS = ("pairs", "meets", "long_pairs", "sized_pairs", "visits_pairs", "moving_pairs", "alive_pairs")
ROWS = ("moved", "gone", "longer", "both", "sized", "visits", "alive", "parts", "visits_parts", "alive_parts")
IDLE = ("idle", "idle_visits", "idle_moving")
NEXT = ("rates", "sized_rates", "alive_rates", "visits_rates", "with_rates", "next_rates", "idle_rates")

POINTS = Source(count=3, delay=2 * SECOND, rows=True, partitions=("0", "1"), clock_skew=SECOND)
INTERVALS = Source("adjust", "interval", period=4 * SECOND, delay=SECOND, rows=True, partitions=("0", "1"))
EDGES = Source("adjust", "edge", rows=True, count=4, delay=2 * SECOND, partitions=("0", "1"))
IMPORTING = replace(EDGES, import_from="i", count=None, final=True)
ALL = {"p": POINTS, "i": INTERVALS, "e": EDGES}
UNDECLARED = ("0", "0", "0", "1", "1", "1", "2")
"""Partitions that rows are of: the last is not declared."""


def kept(life: Life) -> bool:
    return life.key != "a"


def until(life: Life) -> int | None:
    return None if life.key == "c" else life.start + (0 if life.key == "d" else 3 * SECOND)


def outputs(given: Mapping[str, Log], start: int | None) -> dict[str, Callable[[], Outputs]]:
    """What each stream of `CONFIGURED` writes."""
    judged = judge(given)
    p, i, e = (source(name, given, judged) for name in ("p", "i", "e"))
    quiet = {name: Quiet(4 * SECOND, quiet_of(judged[name])) for name in ("i", "e") if name in judged}
    moved = lives.shifted(lives.where(e, kept), -3 * SECOND)
    both, pairs, meets = lives.union(i, moved, p, e), lives.joined(e, i), lives.joined(p, moved)
    long_pairs, longer = lives.lasting(pairs, 3 * SECOND), lives.lasting(e, 4 * SECOND)
    keyed, sliding = replace(SESSION, group_by=("k",)), Measured(size=4 * SECOND)
    stays, rates = lives.until(i, until), lives.until_next(i, lambda life: life.key)
    later_rates = lives.shifted(lives.where(rates, lambda life: life.key is not None), 2 * SECOND)
    rows = {
        "stays": stays,
        "with_stays": lives.joined(e, stays),
        "rates": rates,
        "with_rates": lives.joined(e, rates),
        "next_rates": lives.until_next(later_rates, lambda _: 0, 6 * SECOND),
        "gone": moved,
        "longer": longer,
        "both": both,
        "pairs": pairs,
        "meets": meets,
        "long_pairs": long_pairs,
    }
    by = {"partition_by": "partition"}
    made: dict[str, Callable[[], Outputs]] = {
        "sized": lambda: lives.windows(both, WINDOW, start),
        "visits": lambda: lives.made(both, keyed, start),
        "alive": lambda: lives.made(both, Measured(), start),
        "sized_stays": lambda: lives.windows(stays, WINDOW, start),
        "alive_stays": lambda: lives.made(stays, Measured(), start),
        "sized_rates": lambda: lives.windows(rates, WINDOW, start),
        "alive_rates": lambda: lives.made(rates, Measured(), start),
        "visits_rates": lambda: lives.made(rates, keyed, start),
        "idle_rates": lambda: lives.windows(rates, WINDOW, start, quiet["i"]),
        "alive_edges": lambda: lives.made(e, Measured(), start),
        "parts": lambda: lives.windows(moved, replace(WINDOW, **by), start),
        "visits_parts": lambda: lives.made(moved, replace(SESSION, **by), start),
        "alive_parts": lambda: lives.made(i, Measured(**by), start),
        "sized_pairs": lambda: lives.windows(long_pairs, WINDOW, start),
        "visits_pairs": lambda: lives.made(pairs, keyed, start),
        "moving_pairs": lambda: lives.made(meets, sliding, start),
        "alive_pairs": lambda: lives.made(pairs, Measured(group_by=("k",)), start),
        "idle": lambda: lives.windows(e, WINDOW, start, quiet["e"]),
        "idle_visits": lambda: lives.made(i, keyed, start, quiet["i"]),
        "idle_moving": lambda: lives.made(i, sliding, start, quiet["i"]),
    }
    return made | {name: lambda stream=stream: lives.published(stream, start) for name, stream in rows.items()}


def source(name: str, given: Mapping[str, Log], judged: Mapping[str, Any]) -> Stream:
    if name in given:
        return lives.source(name, given[name], judged[name])
    runs = range(len(next(iter(judged.values())).ends))
    return Stream(lambda _: [], [None for _ in runs], [None for _ in runs], [{} for _ in runs])


def quiet_of(outcome: Outcome) -> list[tuple[int, int | None]]:
    """By run, as_of and that of the last run that brought a row."""
    brought = {verdict.run for verdict in outcome.verdicts}
    ends = list(enumerate(outcome.ends))
    return [(end.as_of, max((e.as_of for n, e in ends if n <= r and n in brought), default=None)) for r, end in ends]


def plain(value: Any) -> Any:
    return micros(value) if isinstance(value, datetime) else value


def time(end: float) -> int | None:
    return None if end == COMPLETE else held(int(end))


def wanted(run: Written | list[Life], name: str) -> Counter[Any]:
    if isinstance(run, list):
        return Counter((held(row.start), time(row.end), row.partition, row.offset, row.key) for row in run)
    told = CONFIGURED[name]["select"]
    return Counter(
        (
            (part, *map(time, span), group, tuple(row.start for row in rows), tuple(r.key for r in rows if r.key)),
            () if told is STARTS else tuple(seen(row.end, span[1], name) for row in rows),
        )
        for (part, span, group), rows in run.closed.items()
    )


def seen(end: float, bound: float, name: str) -> int | None:
    """An end as windows with this bound see it, or the bound if they see none."""
    return time(end if name in AT_ONCE and end != COMPLETE else min(end, bound))


def written(product: Product, name: str, batch: int) -> Counter[Any]:
    rows = [row for row in product.table(f"streams/{name}") if row["_batch_id"] == batch]
    if "starts" not in CONFIGURED[name].get("select", {}):
        names = ("_system_timestamp", "_end_time", "_partition", "_offset", "k")
        return Counter(tuple(plain(row[key]) for key in names) for row in rows)
    return Counter(
        (
            (*[plain(row.get(key)) for key in KEYS], tuple(map(micros, row["starts"])), tuple(row["ks"])),
            tuple(map(micros, row.get("ends", ()))),
        )
        for row in rows
    )


KEYS = ("_partition", "_window_start", "_window_end", "k")


def letters(product: Product, name: str, batch: int) -> Counter[Any]:
    rows = [row for row in product.table(f"dead_letters/{name}") if row["_batch_id"] == batch]
    names = ("_source", "_partition", "_offset", "_window_start", "_window_end")
    return Counter(tuple(plain(row[key]) for key in names) for row in rows)


def hold_equal(product: Product, given: Mapping[str, Log], said: Sequence[dict[str, Any]]) -> Counter[str]:
    """Every stream of every run is the oracle's; returns how many rows and dead letters each wrote."""
    found: Counter[str] = Counter()
    start = next(iter(given.values()))[0].start
    for name, output in outputs(given, start).items():
        if name not in product.settings["streams"]:
            continue
        for number, run in enumerate(output()):
            batch, where = said[number]["batches"][-1]["batch_id"], f"{name}, run {number + 1}"
            assert written(product, name, batch) == wanted(run, name), where
            found[name] += wanted(run, name).total()
            if isinstance(run, Written):
                late = Counter(
                    (each.life.source, each.life.partition, each.life.offset, *map(time, each.window))
                    for each in run.late
                )
                assert letters(product, name, batch) == late, where
                found[f"late {name}"] += late.total()
                hold_watermark(said[number]["streams"][name], run, where)
    return found


def hold_watermark(told: Mapping[str, Any], run: Written, where: str) -> None:
    if run.watermark is not None and run.watermark != COMPLETE:
        assert micros(datetime.fromisoformat(told["watermark"])) == run.watermark, where


def hold(folder: Path, given: dict[str, Log], names: Sequence[str], **options: Any) -> tuple[Product, Counter[str]]:
    """Streams of a log are the oracle's, and every batch comes out again."""
    product = product_of(folder, one_closing(given), {"streams": {name: CONFIGURED[name] for name in names}})
    found = hold_equal(product, given, feed(product, given, **options))
    hold_replay(product)
    return product, found


def points(
    *seconds: float, partition: str = "0", kind: str | None = None, end: float = 0, key: str = "b"
) -> list[Row]:
    """Rows at these times after BASE, and of the same end."""
    times = [BASE + round(second * SECOND) for second in seconds]
    return [Row(partition, at, at, key, kind=kind, end=BASE + round(end * SECOND)) for at in times]


def run(seconds: int, *rows: list[Row]) -> Run:
    as_of = BASE + seconds * SECOND
    flat = tuple(replace(row, arrival=as_of) for part in rows for row in part)
    return Run(as_of, (Obj(f"{seconds:03}", as_of, flat),) if flat else ())


def crafted() -> dict[str, Log]:
    """Rows at the very punctuation, ends at it, and rows of an undeclared partition far behind it."""
    ctis = Source(rows=True, partitions=("0",))
    e, i = replace(ctis, shape="edge"), replace(ctis, shape="interval")
    edges = (
        run(20, points(5, kind="start"), points(6, kind="start", key="c"), points(20, kind="cti")),
        run(25, points(4, 7, partition="q", kind="start"), points(5, kind="end", end=20)),
        run(
            40,
            points(4, partition="q", kind="end", end=11),
            points(35, kind="cti"),
            points(9, partition="q", kind="cti"),
            points(30, kind="start"),
        ),
        run(60, points(50, kind="cti"), points(50, kind="cti", partition="q")),
    )
    intervals = (
        run(20, points(7, end=30), points(8, end=9), points(10, end=40, key="c"), points(20, kind="cti")),
        run(25, points(20, end=22), points(5, end=8, partition="q")),
        run(40, points(35, kind="cti"), points(9, end=12, partition="q"), points(34, kind="cti", partition="q")),
        run(60, points(50, kind="cti"), points(50, kind="cti", partition="q")),
    )
    return {"e": (e, edges), "i": (i, intervals)}


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_pairs_and_windows_of_rows_behind_the_stream_and_at_its_very_watermark_equal_the_oracle(tmp_path):
    _, found = hold(tmp_path, crafted(), ("pairs", "alive_pairs", "alive_parts"))
    assert found["pairs"] >= 6, found


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_rows_whose_expression_gives_no_end_are_open_in_windows_and_pairs(tmp_path):
    _, found = hold(tmp_path, crafted(), ("stays", "sized_stays", "alive_stays", "with_stays"))
    assert all(found[name] >= 1 for name in ("stays", "sized_stays", "alive_stays")), found


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_rows_behind_the_stream_and_at_its_very_watermark_end_others_as_in_the_oracle(tmp_path):
    _, found = hold(tmp_path, crafted(), ("later_rates", *NEXT[:-1]))
    assert all(found[name] >= 1 for name in NEXT[:-1]), found


def emptied(*ends: int) -> dict[str, Log]:
    """A lifetime (of "d") that was moved to the punctuation and ends there, cut into runs at these rows."""
    rows = [points(5, kind="start"), points(20, kind="cti"), points(15, kind="start", key="d")]
    rows += [points(15, kind="end", end=20, key="d"), points(30, kind="start"), points(35, kind="cti")]
    runs = tuple(run(10 * end, *rows[begin:end]) for begin, end in pairwise((0, *ends)))
    return {"e": (Source("adjust", "edge", rows=True, partitions=("0",)), runs)}


def test_law_1_a_lifetime_that_turns_out_to_be_empty_bounds_no_snapshot_in_any_cut():
    told = []
    for ends in (range(1, 7), (3, 6), (4, 6), (6,)):
        given = emptied(*ends)
        made = lives.made(lives.source("e", given["e"], judge(given)["e"]), Measured())
        told.append({key: len(found) for each in made for key, found in each.closed.items()})
    assert told == [{(None, (BASE + 5 * SECOND, BASE + 30 * SECOND), None): 1}] * 4


@pytest.mark.usefixtures("quick")
def test_a_snapshot_is_not_closed_at_a_lifetime_that_may_turn_out_to_be_empty(tmp_path):
    _, found = hold(tmp_path, emptied(3, 6), ("alive_edges",))
    assert found["alive_edges"] == 1, found


def near(log: Log) -> Log:
    """A log without rows at the bounds of time, which open lifetimes would be in windows up to."""

    def cut(obj: Obj) -> Obj:
        return replace(obj, rows=tuple(row for row in obj.rows if abs((row.event or BASE) - BASE) < 99 * SECOND))

    return log[0], tuple(replace(run, objects=tuple(map(cut, run.objects))) for run in log[1])


def with_undeclared(names: Sequence[str], **sources: Source) -> dict[str, Log]:
    """Random logs, of a few those in which these streams write most."""
    found = drawn(logs({**ALL, **sources}, UNDECLARED, rows=14), 6)
    cases = [one_closing({name: near(log) for name, log in given.items()}) for given in found]
    return max(
        cases, key=lambda given: sorted(written_by(given, name) for name in names if name in outputs(given, None))
    )


def written_by(given: Mapping[str, Log], name: str) -> int:
    return min(9, sum(wanted(run, name).total() for run in outputs(given, None)[name]()))


@pytest.mark.long
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("names", "edges"),
    [
        pytest.param(ROWS, EDGES, id="rows"),
        pytest.param(JOINS, EDGES, id="joins"),
        pytest.param(IDLE, replace(IMPORTING, partitions=()), id="idle"),
        pytest.param(NEXT, EDGES, id="next"),
    ],
)
def test_streams_over_any_punctuated_sources_equal_the_oracle_and_replay(tmp_path, names, edges):
    given = with_undeclared(names, e=edges)
    needed = (*names, *{JOINS: ["moved"], NEXT: ["later_rates"]}.get(names, []))
    _, found = hold(tmp_path, given, needed, max_files=5)
    assert sum(found[name] > 0 for name in names) > len(names) // 2, found


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_streams_over_punctuated_sources_from_a_start_on_equal_the_oracle(tmp_path):
    given = with_undeclared(("gone", "pairs"), e=IMPORTING)
    started = {name: (replace(each, start=BASE + 9 * SECOND), runs) for name, (each, runs) in given.items()}
    _, found = hold(tmp_path, started, ("moved", "gone", "visits_parts", "pairs", "alive_pairs"))
    assert found["gone"], found
    assert found["pairs"], found


PARTS = ("longer", "parts", "of_parts", "alive_parts", "tumbled_parts", "of_tumbled_parts")


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_windows_over_windows_of_partitions_that_begin_behind_the_stream_equal_the_oracle(tmp_path):
    followed = replace(INTERVALS, import_from="b")
    (given,) = drawn(logs({"a": followed, "b": replace(POINTS, partitions=("0",))}, UNDECLARED, rows=14), 1)
    product = test_windows_of_rows.hold_equal(tmp_path, one_closing(given), PARTS)
    assert all(product.table(f"streams/{name}") for name in PARTS if name != "longer")
    hold_replay(product)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_law_1_pairs_and_snapshots_of_edges_are_the_same_however_the_log_is_cut_into_runs(tmp_path):
    source_ = replace(EDGES, partitions=("0", "1", "2"))
    ((_, runs),) = drawn(logs({"e": source_}, ("0", "1", "2"), rows=14), 1)[0].values()
    objects = tuple(obj for each in runs for obj in each.objects)
    last = max(each.as_of for each in runs) + 60 * SECOND
    streams = {"moved": CONFIGURED["moved"], "pairs": {"join": ["e", "moved"], "on": ["k"], "select": OF_E}}
    streams["alive_pairs"] = CONFIGURED["alive_pairs"]
    told = []
    for cut in drawn(recuts(objects), 2):
        product = product_of(tmp_path, {"e": (source_, cut)}, {"streams": streams})
        feed(product, {"e": (source_, (*cut, Run(last)))})
        tables = {name: product.table(f"streams/{name}") for name in ("pairs", "alive_pairs")}
        told.append({name: Counter(map(unbatched, rows)) for name, rows in tables.items()})
    assert told[0] == told[1]
    assert all(told[0].values())


def unbatched(row: dict[str, Any]) -> str:
    return repr(sorted((key, value) for key, value in row.items() if key != "_batch_id"))
