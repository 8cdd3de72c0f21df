"""Backfills of random logs, policies and ranges, held against the oracle of two whole runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from samples import at, drawn
from test_backfill import events, hold_ledger
from test_backfill import windows as written
from test_punctuation import EDGES, INTERVALS, WIDE, feed, one_closing, product_of, streams_over
from test_punctuation import logs as punctuated_logs
from test_streams import declared, payload, told

import oracle_versions
from oracle import SECOND, Policy, Source, judge
from oracle_streams import Step, StepRun, Window, flow
from product import Product, expected
from strategies import LATE_ACTIONS, ORDER_ACTIONS, TOLERANCES, Log, sources, wide_logs, wide_names
from tidemark.errors import UsageError

WINDOW = Window(4 * SECOND, 2 * SECOND, aggregate=told)
SELECT = {"n": "count(*)", "keys": "collect_list(k)", "least": "min(k)", "first": "first(k)"}
STREAMS: dict[str, Any] = {
    "good": {"from": "a", "publish": True},
    "per_4s": declared(WINDOW, "a", SELECT),
}
STEPS = {"good": Step(("a",), publish=True), "per_4s": Step(("a",), window=WINDOW)}
pytestmark = pytest.mark.usefixtures("quick")


@dataclass(frozen=True)
class Case:
    """A log, the policies that a backfill changes it to, and the range (no end: to the last run)."""

    log: Log
    changed: Source
    begin: int
    end: int | None


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = wide_names(12)
    source = replace(draw(sources(names, law4=True)), partitions=draw(st.sampled_from((names, names[:4]))))
    log = draw(wide_logs(source, partitions=12, runs=(3, 4), impossible=False))

    def policy(actions: tuple[str, ...]) -> Policy:
        return draw(st.tuples(st.sampled_from(TOLERANCES), st.sampled_from(actions)))

    changed = replace(
        source, early=policy(LATE_ACTIONS), late=policy(LATE_ACTIONS), out_of_order=policy(ORDER_ACTIONS)
    )
    begin = at(draw(st.integers(0, 30)))
    end = draw(st.none() | st.integers(1, 12).map(lambda n: begin + n * SECOND))
    return Case(log, changed, begin, end)


def settings_of(source: Source) -> list[str]:
    """The policies as settings of a backfill."""
    found = []
    for key in ("early", "late", "out_of_order"):
        tolerance, action = getattr(source, key)
        name = f"sources.a.{key if key == 'out_of_order' else f'{key}_arrival'}"
        found += [f"{name}={{tolerance: {tolerance}us, action: {action}}}"]
    return found


def hold_case(folder: Path, case: Case) -> None:
    product = Product(folder, {"a": case.log.source}, {"streams": STREAMS})
    product.feed("a", case.log.runs)
    end = case.end
    try:
        same = product.pipeline().backfill(case.begin, end)
    except UsageError as refused:
        assert "later than the live version has come" in refused.message  # noqa: PT017
        end = None
        same = product.pipeline().backfill(case.begin)
    assert same["identical"], (case, same["difference"])
    found = product.pipeline().backfill(case.begin, end, settings_of(case.changed))
    old, new = (judge(each, case.log.runs) for each in (case.log.source, case.changed))
    flowed, flowing = (flow({"a": (each, case.log.runs)}, STEPS, payload) for each in (case.log.source, case.changed))
    merged = oracle_versions.rows(old, new, case.begin, end)
    assert events(product, found["version"]) == expected(merged), case
    assert outputs(product, found["version"]) == of_windows(flowed, flowing, case.begin, end), case
    hold_ledger(product, found["version"])


def outputs(product: Product, version: int) -> Counter[Any]:
    place = product.folder / "warehouse" / "tested" / f"v{version}" / "streams" / "per_4s"
    return written(product, version) if place.exists() else Counter()


def of_windows(
    flowed: list[dict[str, StepRun]], flowing: list[dict[str, StepRun]], begin: int, end: int | None
) -> Any:
    both = [[item for run in each for item in run["per_4s"].written] for each in (flowed, flowing)]
    wanted = oracle_versions.outputs(*both, begin, end)
    told_ = [(item.payload["n"], tuple(item.payload["keys"]), item.payload["first"]) for item in wanted]
    return Counter((item.start, item.end, *rest) for item, rest in zip(wanted, told_, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("number", range(4))
def test_backfills_of_any_log_to_any_policies_equal_the_oracle(tmp_path, number):
    hold_case(tmp_path, drawn(cases(), 4)[number])


@pytest.mark.long
def test_punctuated_sources_are_judged_again_from_the_first_run_and_differ_in_nothing(tmp_path):
    (given,) = drawn(punctuated_logs({"edges": EDGES, "intervals": INTERVALS}, WIDE[:3], rows=14), 1)
    product = product_of(tmp_path, one_closing(given), {"streams": streams_over(list(given))})
    feed(product, given)
    found = product.pipeline().backfill(at(10))
    assert found["identical"], found["difference"]
    assert found["input_rows"] == sum(len(product.table(f"events/{name}")) for name in given)
