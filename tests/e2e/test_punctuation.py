"""Punctuated sources of the product are those of the oracle: rows, states, counts, findings, replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from samples import CrashAt, drawn, feed, hold_conservation

import oracle
import oracle_lives
from oracle import MAX_TIME, SECOND
from oracle_measured import Measured
from oracle_punctuation import COMPLETE, Item, Log, Outcome, Source, judge, published, windows
from oracle_streams import held
from product import Product, micros, verdicts
from strategies import TICK, wide_names
from strategies_punctuation import logs, sources

WIDE = wide_names(12)
FIELDS = ("partition", "offset", "arrival", "event", "system_timestamp", "disposition", "reasons", "watermark", "end")
STATES = ("watermark", "complete", "high", "last_arrival", "last_seen", "idle", "next_offset")
COUNTS = ("counted", "period", "open_lifetimes")
_examples = iter(range(1_000_000))

FOLLOWED = oracle.Source(late=(3 * SECOND, "adjust"), out_of_order=(SECOND, "drop"), partitions=WIDE[:2])
POINTS = Source(count=3, delay=2 * SECOND, rows=True, partitions=WIDE[:3], clock_skew=SECOND)
COMMITTED = Source(period=5 * SECOND, delay=-TICK, partitions=WIDE, final=True, arrival_column=False)
INTERVALS = Source("adjust", "interval", period=4 * SECOND, delay=3 * SECOND, rows=True, partitions=WIDE)
EDGES = Source("adjust", "edge", count=5, delay=4 * SECOND, rows=True, partitions=WIDE)
DROPPED = replace(EDGES, violations="drop", single=True, partitions=(), count=None, period=6 * SECOND)


def product_of(folder: Path, given: Mapping[str, Log], settings: dict[str, Any] | None = None) -> Product:
    declared: dict[str, Any] = {name: source for name, (source, _) in given.items()}
    return Product(folder / f"case-{next(_examples)}", declared, settings or {})


def one_closing(given: dict[str, Log]) -> dict[str, Log]:
    """The logs with at most one source that is closed, since one command closes one."""
    closing = [name for name, (_, runs) in given.items() if runs[-1].close]
    if closing[1:]:
        for name in closing[1:]:
            source, runs = given[name]
            given[name] = source, (*runs[:-1], replace(runs[-1], close=False))
    return given


def expected(outcome: Any) -> list[tuple[Any, ...]]:
    rows = sorted(outcome.verdicts, key=lambda verdict: (verdict.partition, verdict.offset))
    return [tuple(getattr(row, name, None) for name in FIELDS) for row in rows]


def hold_equal(product: Product, given: Mapping[str, Log]) -> dict[str, Any]:
    outcomes = judge(given)
    for name, outcome in outcomes.items():
        assert verdicts(product.events(name), "_watermark", "_end_time") == expected(outcome), name
        hold_states(product, name, outcome)
        if isinstance(outcome, Outcome):
            hold_reported(product, name, outcome)
    hold_conservation(product)
    return outcomes


def hold_states(product: Product, name: str, outcome: Any) -> None:
    rows = [row for row in product.table("watermarks") if row["source"] == name]
    states = {row["partition"]: row for row in sorted(rows, key=lambda row: row["batch_id"])}
    names = (*STATES, *COUNTS) if isinstance(outcome, Outcome) else STATES
    for partition, state in outcome.ends[-1].states.items():
        found = {key: states[partition][key] for key in names}
        times = {key: micros(value) if isinstance(value, datetime) else value for key, value in found.items()}
        assert times == {key: getattr(state, key) for key in names}, (name, partition)


def hold_reported(product: Product, name: str, outcome: Outcome) -> None:
    """Findings of the diagnostics table, and counts by reason."""
    wanted: Counter[tuple[str, str]] = Counter()
    for end in outcome.ends:
        wanted.update(end.diagnostics)
    found: Counter[tuple[str, str]] = Counter()
    for row in product.table("diagnostics"):
        if row["source"] == name and row["partition"] is not None:
            found[row["partition"], row["type"]] += row["count"]
    for batch in product.table("batches"):
        for count in batch["counts"]:
            if count["source"] == name:
                for reason in ("violation", "unmatched"):
                    found[count["partition"], reason] += count["by_reason"][reason]
    assert +found == +wanted, name


def hold_replay(product: Product, **options: Any) -> None:
    batches = product.pipeline().replay(all_batches=True, **options)["batches"]
    assert [difference for batch in batches for difference in batch["differences"]] == []


SIZE, HOP, OFFSET = 6 * SECOND, 4 * SECOND, SECOND


def streams_over(names: Sequence[str]) -> dict[str, Any]:
    """Of each source its rows as they are, and windows over them."""
    shape = {"size": f"{SIZE}us", "hop": f"{HOP}us", "offset": f"{OFFSET}us"}
    select = {"n": "count(*)", "starts": "collect_list(_system_timestamp)", "of": "collect_list(_partition)"}
    rows = {f"{name}_rows": {"from": name, "publish": True} for name in names}
    return rows | {f"{name}_windows": {"from": name, "hopping": shape, "select": select} for name in names}


def by_window(rows: Sequence[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[int, str]]]:
    """Of written windows, the starts and partitions of the rows in each."""
    return {
        (micros(row["_window_start"]), micros(row["_window_end"])): list(
            zip(map(micros, row["starts"]), row["of"], strict=True)
        )
        for row in rows
    }


def hold_streams(product: Product, name: str, outcome: Outcome, said: Sequence[dict[str, Any]]) -> None:
    """What each run has written to the streams over a source."""
    wanted_rows, wanted_windows = published(outcome), windows(outcome, SIZE, HOP, OFFSET)
    for number, run in enumerate(said):
        batch = run["batches"][-1]["batch_id"]
        where = f"{name}, run {number + 1}"
        rows = [row for row in product.table(f"streams/{name}_rows") if row["_batch_id"] == batch]
        columns = ("_system_timestamp", "_end_time", "_partition", "_offset")
        found = Counter(tuple(plain(row[column]) for column in columns) for row in rows)
        assert found == Counter(map(own, wanted_rows[number])), where
        closed = [row for row in product.table(f"streams/{name}_windows") if row["_batch_id"] == batch]
        assert by_window(closed) == {
            key: [(item.start, item.partition) for item in items]
            for key, items in wanted_windows[number].closed.items()
        }, where
        assert [row["n"] for row in closed] == [len(row["starts"]) for row in closed]
        letters = [row for row in product.table(f"dead_letters/{name}_windows") if row["_batch_id"] == batch]
        late = Counter((row["_partition"], row["_offset"], micros(row["_window_start"])) for row in letters)
        assert late == Counter((i.partition, i.offset, w[0]) for i, w in wanted_windows[number].late), where
        assert run["streams"][f"{name}_windows"]["complete"] == outcome.ends[number].complete, where


GAP, LONGEST = 2 * SECOND, 9 * SECOND
SESSION = {"gap": f"{GAP}us", "max_duration": f"{LONGEST}us"}
MADE = {
    "alive": ({"snapshot": {}}, Measured()),
    "visits": ({"session": SESSION}, Measured(session=(GAP, LONGEST))),
    "long": ({"session": {"gap": f"{GAP}us"}}, Measured(session=(GAP, None))),
}


def made_of(names: Sequence[str]) -> dict[str, Any]:
    """Of each source the windows that its rows make."""
    select = {"starts": "collect_list(_system_timestamp)", "of": "collect_list(_partition)"}
    return {
        f"{name}_{kind}": {"from": name, "select": select, **keys}
        for name in names
        for kind, (keys, _) in MADE.items()
    }


def hold_made(product: Product, name: str, log: Log, outcome: Outcome, said: Sequence[dict[str, Any]]) -> None:
    """What each run has written of the windows that rows make."""
    stream = oracle_lives.source(name, log, outcome)
    for kind, (_, measured) in MADE.items():
        for number, wanted in enumerate(oracle_lives.made(stream, measured)):
            batch, where = said[number]["batches"][-1]["batch_id"], f"{name}_{kind}, run {number + 1}"
            rows = [row for row in product.table(f"streams/{name}_{kind}") if row["_batch_id"] == batch]
            assert by_window(rows) == {
                (start, held(int(min(end, MAX_TIME)))): [(life.start, life.partition) for life in alive]
                for (_, (start, end), _), alive in wanted.closed.items()
            }, where
            letters = [row for row in product.table(f"dead_letters/{name}_{kind}") if row["_batch_id"] == batch]
            names = ("_window_start", "_window_end")
            late = Counter(
                (row["_partition"], row["_offset"], *[micros(row[key]) for key in names]) for row in letters
            )
            assert late == Counter(
                (each.life.partition, each.life.offset, each.window[0], held(int(min(each.window[1], MAX_TIME))))
                for each in wanted.late
            ), where


def own(item: Item) -> tuple[Any, ...]:
    return item.start, None if item.end == COMPLETE else held(int(item.end)), item.partition, item.offset


def plain(value: Any) -> Any:
    return micros(value) if isinstance(value, datetime) else value


def hold_all(folder: Path, given: dict[str, Log], **options: Any) -> Product:
    """Rows, states, streams, windows and replays are the oracle's."""
    streams = {"streams": streams_over([name for name, (source, _) in given.items() if isinstance(source, Source)])}
    product = product_of(folder, one_closing(given), streams)
    said = feed(product, given, **options)
    for name, outcome in hold_equal(product, given).items():
        if isinstance(outcome, Outcome):
            hold_streams(product, name, outcome, said)
    hold_replay(product)
    return product


INTERVALS_OF_EDGES = replace(INTERVALS, import_from="importer", period=None, rows=False, partitions=WIDE[:3])
IMPORTER = replace(EDGES, import_from="followed", count=4, partitions=WIDE[:4])
IMPORTS = {"chained": INTERVALS_OF_EDGES, "importer": IMPORTER, "followed": replace(FOLLOWED, clock_skew=SECOND)}


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_imports_by_way_of_another_source_equal_the_oracle_however_runs_are_cut(tmp_path):
    (given,) = drawn(logs(IMPORTS, WIDE[:4], rows=12), 1)
    hold_all(tmp_path, given, max_files=2)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_a_crash_while_edges_are_paired_is_repaired(tmp_path):
    (given,) = drawn(logs({"edges": EDGES}, WIDE[:3], rows=14), 1)
    crashes = [CrashAt(3), CrashAt(2)]
    product = hold_all(tmp_path, given, crashes=crashes)
    steps = [step for crash in crashes for step in crash.steps]
    assert steps[2:] == ["lifetimes", "lifetimes", "open_lifetimes"], steps
    hold_replay(product, input="events")


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_points_and_intervals_with_their_streams_equal_the_oracle_and_replay(tmp_path):
    for given in drawn(logs({"points": POINTS, "committed": COMMITTED, "intervals": INTERVALS}, WIDE, rows=40), 1):
        hold_all(tmp_path, given)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_edges_with_their_streams_equal_the_oracle_and_replay(tmp_path):
    for given in drawn(logs({"edges": EDGES, "dropped": DROPPED}, WIDE, rows=40), 1):
        hold_all(tmp_path, given, max_files=1)


@st.composite
def any_sources(draw: st.DrawFn) -> dict[str, Log]:
    """Sources of each shape with all that may be combined, one of them after another."""
    points = draw(sources("point", single=True))
    edges = draw(sources("edge", "intervals", partitions=WIDE[:2]))
    intervals = draw(sources("interval", draw(st.sampled_from((None, "points"))), partitions=WIDE[:3]))
    return draw(logs({"points": points, "edges": edges, "intervals": intervals}, WIDE[:3], rows=15))


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_any_punctuated_sources_equal_the_oracle(tmp_path):
    for given in drawn(any_sources(), 1):
        hold_all(tmp_path, given)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_windows_that_rows_of_any_punctuated_sources_make_equal_the_oracle(tmp_path):
    undeclared = replace(EDGES, partitions=WIDE[:1], rows=False, count=3)
    cases = [
        *drawn(logs({"edges": undeclared, "intervals": INTERVALS}, WIDE[:4], rows=25), 1),
        *drawn(any_sources(), 1),
    ]
    for given in cases:
        names = list(given)
        product = product_of(tmp_path, one_closing(given), {"streams": made_of(names)})
        said = feed(product, given)
        for name, outcome in judge(given).items():
            hold_made(product, name, given[name], outcome, said)
        hold_replay(product)


def content(product: Product, table: str) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in product.table(table))
