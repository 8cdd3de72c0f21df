"""Advice on tolerances: every cell of its grid is what the oracle makes of the same runs with the cell's policy."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from recorded import recorded
from samples import drawn

import oracle
from oracle import SECOND, Run, Source
from product import Product
from strategies import NAMES, Log, logs, sources, started, wide_names
from tidemark.core.times import parse_duration
from tidemark.spark.engine import Engine

pytestmark = pytest.mark.usefixtures("quick")
LATES, DISORDERS = "0s,2s,5s,1m", "0s,1s,4s,30s"
ACTIONS = ("adjust", "drop")
_numbers = itertools.count()

Fates = dict[str, Counter[str]]


def micros(text: str) -> int | None:
    return None if text == "off" else parse_duration(text)


def fed(folder: Path, source: Source, runs: Sequence[Run], **settings: Any) -> Product:
    product = Product(folder / f"case-{next(_numbers)}", {"s": source}, settings)
    product.feed("s", runs)
    return product


def advised(product: Product, spark: Any, tasks: int | None = None, **options: Any) -> dict[str, Any]:
    """The record of `advise`, of rows spread over so many tasks in chunks as small as there can be."""
    pipeline = product.pipeline()
    if tasks is not None:
        pipeline.__dict__["engine"] = Engine(spark, pipeline.ledger.folder, tasks=tasks, cell_bits=1)
    return pipeline.advise(**options)


def judged(source: Source, runs: Sequence[Run], cell: dict[str, Any], late: str, order: str) -> oracle.Outcome:
    """The runs under a cell's tolerances, with these actions."""
    tolerance = micros(cell["late"])
    policy = None if tolerance is None else (tolerance, late)
    tried = replace(source, late=policy, out_of_order=(micros(cell["out_of_order"]), order))
    return oracle.judge(tried, runs)


def counted(outcome: oracle.Outcome) -> Fates:
    """Fates by partition; all of them under ''."""
    found: Fates = {"": Counter()}
    for verdict in outcome.verdicts:
        for name in ("", verdict.partition):
            found.setdefault(name, Counter())[verdict.disposition] += 1
    return found


def delays(outcome: oracle.Outcome) -> list[int]:
    """How far the combined watermark was behind the latest arrival when runs that brought rows ended."""
    found, before = [], {}
    for end in outcome.ends:
        offsets = {name: state.next_offset for name, state in end.states.items() if name != oracle.UNKNOWN}
        known = {name: state for name, state in end.states.items() if name != oracle.UNKNOWN}
        arrival = oracle.latest(*[state.last_arrival for state in known.values()])
        brought = any(count != before.get(name, 0) for name, count in offsets.items())
        if brought and end.combined is not None and arrival is not None:
            found.append(max(0, arrival - end.combined))
        before = offsets
    return sorted(found)


def hold_cell(source: Source, runs: Sequence[Run], cell: dict[str, Any]) -> None:
    """One cell's counts, in all and by partition, under each action and the source's own, and its delay."""
    own = (source.late[1] if source.late else "adjust", source.out_of_order[1])
    outcomes = {
        actions: judged(source, runs, cell, *actions) for actions in {*zip(ACTIONS, ACTIONS, strict=True), own}
    }
    fates = {actions: counted(outcome) for actions, outcome in outcomes.items()}
    shown = {"": cell} | cell["partitions"]
    for name in fates[own]:
        told = (shown[name]["rows"], shown[name]["adjusted"], shown[name]["dropped"], shown[name]["own"])
        assert told == (
            fates[own][name].total(),
            fates["adjust", "adjust"][name]["adjusted"],
            fates["drop", "drop"][name]["dropped"],
            {fate: fates[own][name][fate] for fate in ("adjusted", "dropped")},
        ), (cell["late"], cell["out_of_order"], name)
    assert shown.keys() == fates[own].keys()
    found = delays(outcomes[own])
    assert cell["delay_micros"] == (found[(len(found) - 1) // 2] if found else None)
    assert cell["longest_delay_micros"] == (found[-1] if found else None)


def hold_grid(product: Product, runs: Sequence[Run], record: dict[str, Any]) -> None:
    """Every cell, and that the present one is what was recorded."""
    source = product.sources["s"]
    for cell in record["grid"]:
        hold_cell(source, runs, cell)
    (present,) = [cell for cell in record["grid"] if cell["present"]]
    batches = product.table("batches")
    assert (present["own"]["adjusted"], present["own"]["dropped"]) == tuple(
        sum(batch[fate] for batch in batches) for fate in ("adjusted", "dropped")
    )


# every cell, of sources whose runs the oracle judged


@st.composite
def mixed_logs(draw: st.DrawFn) -> Log:
    """A random log of a source with tolerances: many partitions with few rows each, or few with many; now and then
    with a start."""
    names = draw(st.sampled_from((wide_names(12), NAMES)))
    source = draw(sources(names).filter(lambda each: each.timestamp_by))
    log = draw(logs(source, names, rows=(100, 140), runs=(3, 5)))
    if draw(st.sampled_from((False, False, True))):
        objects = [each for run in log.runs for each in run.objects]
        return replace(log, source=draw(started(log.source, objects)))
    return log


def hold_random_sources(folder: Path, spark: Any, count: int) -> None:
    listed = {f"s{number}": log for number, log in enumerate(drawn(mixed_logs(), count))}
    product = recorded(folder, listed)
    for tasks, lates in ((3, f"{LATES},off"), (1, LATES)):
        plain = [name for name, log in listed.items() if not log.source.over]
        names = plain if "off" in lates else [name for name in listed if name not in plain]
        for name in names:
            record = advised(product, spark, tasks, source=name, late=lates, out_of_order=DISORDERS)
            judged_ = [v for v in oracle.judge(listed[name].source, listed[name].runs).verdicts]
            assert bool(judged_) == bool(record["grid"])
            for cell in record["grid"]:
                hold_cell(listed[name].source, listed[name].runs, cell)


def test_each_cell_is_what_the_runs_come_to_under_its_tolerances(tmp_path, spark):
    hold_random_sources(tmp_path, spark, 6)
