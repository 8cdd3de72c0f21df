"""Each kind of stream, over rows that were judged before, is that of the oracle, run by run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import judged_runs
import pytest
import test_streams
import test_windows_of_rows
from samples import drawn
from test_streams import KEYED, Logs, cases, columns_of, letters, payload, rows_with, wanted, wanted_letters, written

from interpreted import INTERPRETED, settings
from oracle import SECOND, Run
from oracle_streams import COMPLETE, Step, flow
from product import Product

_ONE_STAGE = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "2"}
SIZED, SIZED_STEPS = test_streams.pipeline(keyed=True)
OF_ROWS, OF_ROWS_STEPS = test_windows_of_rows.CONFIGURED, test_windows_of_rows.STEPS
_QUICK = ("longer", "overlapping", "gaps", "lateness", "by_substream", "idle_parts")
_QUICK_OF_ROWS = ("visits", "moving", "alive", "parts", "keyed", "idle", "of_parts", "of_keyed")
"""One stream of each kind."""


def four_runs() -> Logs:
    """Rows, nothing for nine seconds while windows are open, rows, and the end of `a`."""
    logs = drawn(cases(KEYED).filter(lambda found: len(found["a"][1]) > 2), 2)[1]
    return {name: (source, tuple(_regrouped(runs, name == "a"))) for name, (source, runs) in logs.items()}


def _regrouped(runs: Sequence[Run], close: bool) -> Iterator[Run]:
    half, last = len(runs) // 2, max(run.as_of for run in runs)
    first = max(run.as_of for run in runs[:half])
    yield Run(first, tuple(obj for run in runs[:half] for obj in run.objects))
    yield Run(first + 9 * SECOND)
    yield Run(last, tuple(obj for run in runs[half:] for obj in run.objects))
    yield Run(last, close=close)


@pytest.fixture(scope="session")
def taken(spark, tmp_path_factory):
    """A pipeline without streams that has taken all runs, and its logs."""
    logs = four_runs()
    with settings(spark, INTERPRETED):
        return judged_runs.judged(tmp_path_factory.mktemp("judged") / "keyed", logs), logs


def hold(
    folder: Path, taken: tuple[Product, Logs], configured: dict[str, Any], steps: Mapping[str, Step], name: str
) -> None:
    """A stream, and those that it is made from, are the oracle's in every run."""
    product, logs = taken
    streams = judged_runs.below(configured, name)
    made, published = judged_runs.with_streams(product, folder, streams)
    for number, run in enumerate(flow(logs, {each: steps[each] for each in streams}, payload)):
        batch, told = published[number]
        for each in streams:
            where, step, end = f"{each}, run {number + 1}", steps[each], told.ends[each]
            if step.windowed or step.publish:
                shown = columns_of(each, configured)
                found = written(made, step, each).get(batch, Counter())
                assert rows_with(shown, found) == wanted(step, run[each], shown), where
                assert letters(made, each, batch) == wanted_letters(run[each]), where
            counts = len(run[each].written), run[each].outside, len(run[each].dead_letters)
            assert (end.rows, end.outside, end.dead_letters) == counts, where
            assert end.state.complete == (run[each].watermark == COMPLETE), where
            assert end.state.complete or end.state.watermark == run[each].watermark, where


def some_long(names: Sequence[str], quick: Sequence[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.long] * (name not in quick)) for name in names]


@pytest.mark.parametrize("name", some_long([name for name in SIZED if name != "shifted"], _QUICK))
def test_windows_of_a_size_and_published_rows_are_those_of_the_oracle(quick, tmp_path, taken, name):
    with settings(quick, _ONE_STAGE):
        hold(tmp_path / "p", taken, SIZED, SIZED_STEPS, name)


_WINDOWED = [name for name in OF_ROWS if OF_ROWS_STEPS[name].windowed]


@pytest.mark.parametrize("name", some_long(_WINDOWED, _QUICK_OF_ROWS))
def test_windows_of_rows_are_those_of_the_oracle(quick, tmp_path, taken, name):
    with settings(quick, _ONE_STAGE):
        hold(tmp_path / "p", taken, OF_ROWS, OF_ROWS_STEPS, name)
