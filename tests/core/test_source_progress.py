"""The states and findings that runs leave equal the oracle's, for sources with tolerances and for punctuated ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runs_judged import NOWHERE, cuts, judged, rules_of, run_of

import oracle
import oracle_punctuation
import strategies_punctuation
from oracle import SECOND
from strategies import Log, logs, sources
from tidemark.core.punctuation import Marks
from tidemark.core.watermarks import Combined

LAW = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
ALONE = ("watermark", "complete", "high", "last_arrival", "last_seen", "estimated_arrival", "floor", "idle")
PUNCTUATED = (
    "watermark",
    "complete",
    "high",
    "last_arrival",
    "last_seen",
    "idle",
    "counted",
    "period",
    "open_lifetimes",
)


@LAW
@given(st.data())
def test_tolerance_sources_progress_as_the_oracles_do_however_runs_are_cut(data: st.DataObject) -> None:
    log: Log = data.draw(logs(data.draw(sources(intervals=True))))
    rules = {"s": rules_of("s", log.source)}
    found, wanted, closed = NOWHERE, oracle.judge(log.source, log.runs), False
    for number, (run, end) in enumerate(zip(log.runs, wanted.ends, strict=True)):
        rows = [verdict for verdict in wanted.verdicts if verdict.run == number]
        batches = [{"s": judged(part)} for part in cuts(data.draw, rows)]
        closing = frozenset({"s"} if run.close and not closed else ())
        done = run_of(rules, found, batches, end, closing=closing)
        found = done[-1]
        closed = closed or run.close
        assert {name for _, name in found.states} == set(end.states)
        for name, state in end.states.items():
            mine = found.states["s", name]
            assert (mine.next_offset, [getattr(mine, each) for each in ALONE]) == (
                state.next_offset,
                [getattr(state, each) for each in ALONE],
            )
        assert found.combined["s"] == Combined(end.combined, end.complete, closed)
        counts: Counter[Any] = Counter()
        for finding in (finding for each in done for finding in each.findings):
            counts[finding.partition, finding.type] += finding.count
        assert counts == {key: count for key, count in end.diagnostics.items() if key[1] != "LandedTooLate"}


SOURCES = {
    "s": oracle_punctuation.Source(count=3, delay=SECOND, partitions=("0", "1", "2")),
    "periods": oracle_punctuation.Source(shape="edge", period=4 * SECOND, final=True, rows=True),
    "importer": oracle_punctuation.Source(import_from="s", violations="adjust", shape="interval"),
    "second": oracle_punctuation.Source(import_from="importer", rows=True, single=True),
    "late": oracle.Source(single=True, late=(SECOND, "drop")),
    "of_both": oracle_punctuation.Source(import_from=("late", "periods"), final=True, rows=True),
    "of_late": oracle_punctuation.Source(import_from="late", final=True, single=True),
}


def marks_of(rows: Sequence[Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Marks]:
    """What rows did to punctuations: all counts go with the last of them."""
    found = {}
    for name in {row.partition for row in rows}:
        known = [row.after for row in rows if row.partition == name and row.after not in (None, math.inf)]
        was, now = before.get(name, oracle_punctuation._Partition()), after[name]
        opened = now.open_lifetimes - (was.open_lifetimes if name in before else 0)
        found[name] = Marks(max(known, default=None), now.counted - was.counted, now.period, opened)
    return found


def closed_at(runs: Sequence[oracle.Run], at: int) -> tuple[oracle.Run, ...]:
    """The runs, of which the one at this place closes the source; beyond the last: none does."""
    return tuple(replace(run, close=number == at) for number, run in enumerate(runs))


@settings(LAW, max_examples=40)
@given(st.data())
def test_punctuated_sources_progress_as_the_oracles_do_with_what_they_import(data: st.DataObject) -> None:
    given_ = {
        name: (source, closed_at(runs, data.draw(st.integers(0, len(runs)))))
        for name, (source, runs) in data.draw(strategies_punctuation.logs(SOURCES)).items()
    }
    wanted = oracle_punctuation.judge(given_)
    rules = {name: rules_of(name, source) for name, (source, _) in reversed(given_.items())}
    found, closed = NOWHERE, frozenset[str]()
    for number, end in enumerate(wanted["s"].ends):
        outcomes = {}
        for name, outcome in wanted.items():
            rows = [verdict for verdict in outcome.verdicts if verdict.run == number]
            before = outcome.ends[number - 1].states if number else {}
            plain = isinstance(given_[name][0], oracle.Source)
            marks = None if plain else marks_of(rows, before, outcome.ends[number].states)
            outcomes[name] = judged(rows, marks)
        closing = frozenset(name for name, (_, runs) in given_.items() if runs[number].close)
        (found,) = run_of(rules, found, [outcomes], end, closing=closing - closed)
        closed |= closing
        for name, outcome in wanted.items():
            left = outcome.ends[number]
            names = ALONE if isinstance(given_[name][0], oracle.Source) else PUNCTUATED
            names = [each for each in names if each != "idle" or name not in closed]  # no rule for a closed source
            for partition, state in left.states.items():
                mine = found.states[name, partition]
                assert {each: getattr(mine, each) for each in names} == {
                    each: getattr(state, each) for each in names
                }, (name, partition)
            assert found.combined[name] == Combined(left.combined, left.complete, name in closed), name
