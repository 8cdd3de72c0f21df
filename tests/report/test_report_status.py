"""Status says how far everything is, what holds a source back, and how to see what was dropped."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from report_warehouse import batch_of

from tidemark.core.advance import SourceRules
from tidemark.core.batch_result import Account, BatchRecord
from tidemark.core.policy import Action, Fate, Policy, Reason, Tolerance
from tidemark.core.times import HOUR, MINUTE, SECOND, parse_time
from tidemark.core.watermarks import Combined, PartitionState
from tidemark.report.attention import MOST_NAMED, Limits
from tidemark.report.status import LONGEST, status

T0 = parse_time("2026-01-01T12:00:00Z")
POLICY = Policy(None, Tolerance(MINUTE, Action.ADJUST), Tolerance(0, Action.ADJUST))
OFF = Policy(None, None, Tolerance(0, Action.ADJUST))
MOVING = PartitionState(
    watermark=T0, high=T0, last_arrival=T0 + MINUTE, last_seen=T0 + HOUR, estimated_arrival=T0 + MINUTE, next_offset=7
)


def answer(states: dict[tuple[str, str], PartitionState], **values: Any) -> dict[str, Any]:
    combined = values.pop("combined", {"a": Combined(T0)})
    found = status(states, combined, values.pop("as_of", T0 + HOUR), values.pop("batches", ()), **values)
    json.dumps(found, allow_nan=False)
    return found


def rules(*partitions: str, policy: Policy = POLICY, landing_delay: int = 0) -> dict[str, SourceRules]:
    return {"a": SourceRules("a", policy, partitions, landing_delay, substreams=False)}


def holding(found: dict[str, Any]) -> dict[str, str]:
    return {entry["partition"]: entry["why"] for entry in found["partitions"] if entry["holds_back"]}


def dropping(batch_id: int, as_of: int, dropped: int = 1, **values: Any) -> BatchRecord:
    fates = {**dict.fromkeys(Fate, 0), Fate.ON_TIME: 5, Fate.DROPPED: dropped}
    account = Account("a", "0", fates, {Reason.LATE: dropped} if dropped else {})
    return batch_of(batch_id, as_of, accounts=(account,), objects=2, bytes=10, **values)


def test_delay_and_idle_time_are_measured_from_the_recorded_as_of() -> None:
    idle = replace(MOVING, last_seen=T0 + 20 * MINUTE, idle=True, estimated_arrival=T0 + 41 * MINUTE)
    entry = answer({("a", "0"): idle})["partitions"][0]
    assert entry == {
        "source": "a",
        "partition": "0",
        "watermark": "2026-01-01T12:00:00Z",
        "watermark_delay": "1h",
        "watermark_delay_micros": HOUR,
        "high": "2026-01-01T12:00:00Z",
        "last_arrival": "2026-01-01T12:01:00Z",
        "last_seen": "2026-01-01T12:20:00Z",
        "idle_for": "40m",
        "idle_for_micros": 40 * MINUTE,
        "estimated_arrival": "2026-01-01T12:41:00Z",
        "floor": None,
        "complete": False,
        "rows": 7,
        "open_lifetimes": 0,
        "holds_back": False,
        "why": None,
    }


def test_the_partition_with_the_lowest_watermark_holds_its_source_back() -> None:
    behind = replace(MOVING, watermark=T0 - SECOND, idle=True, last_seen=T0)
    found = answer({("a", "0"): MOVING, ("a", "1"): behind})
    assert holding(found) == {
        "1": "partition 1 is lowest, at 2026-01-01 11:59:59: it has brought no row since the run of "
        "2026-01-01 12:00:00, its last row arrived at 2026-01-01 12:01:00"
    }
    assert found["sources"][0]["held_back_by"] == ["1"]


def test_a_partition_without_a_watermark_holds_its_source_back_before_the_lowest() -> None:
    found = answer({("a", "0"): MOVING, ("a", "1"): PartitionState()}, combined={"a": Combined(None)})
    assert holding(found) == {"1": "partition 1 has no watermark: it has brought no row in any committed run"}


def test_a_declared_partition_without_any_state_is_listed_and_holds_back() -> None:
    off = replace(POLICY, late=None)
    found = answer({("a", "0"): MOVING}, sources=rules("0", "1", policy=off))
    assert [entry["partition"] for entry in found["partitions"]] == ["0", "1"]
    assert "late_arrival is off, so that nothing but a row of its own can give it one" in holding(found)["1"]


@pytest.mark.parametrize(
    ("states", "complete"),
    [
        ({("a", "0"): MOVING}, False),
        ({("a", "0"): MOVING, ("a", "1"): MOVING}, False),
        ({("a", "0"): MOVING, ("a", "_unknown"): PartitionState(next_offset=3)}, False),
        ({("a", "0"): MOVING, ("a", "1"): PartitionState()}, True),
    ],
    ids=["alone", "all alike", "_unknown is in no combined watermark", "complete"],
)
def test_nothing_holds_back(states: dict[tuple[str, str], PartitionState], complete: bool) -> None:
    assert holding(answer(states, combined={"a": Combined(T0, complete)})) == {}


def test_numbered_partitions_come_in_the_order_of_numbers() -> None:
    found = answer({("a", name): MOVING for name in ("10", "x", "9", "0")})
    assert [entry["partition"] for entry in found["partitions"]] == ["0", "9", "10", "x"]


def test_a_long_list_is_cut_and_keeps_what_holds_back() -> None:
    states = {("a", str(n)): MOVING for n in range(LONGEST + 5)}
    states["a", "1003"] = replace(MOVING, watermark=T0 - 1)
    found = answer(states)
    assert (len(found["partitions"]), found["truncated"]) == (LONGEST, True)
    assert found["partitions"][-1]["partition"] == "1003"


def test_nothing_run_yet_is_answered() -> None:
    assert answer({}, combined={}, as_of=None) == {
        "as_of": None,
        "partitions": [],
        "sources": [],
        "runs": [],
        "truncated": False,
    }


# -- runs


def test_the_batches_of_a_run_are_added_up_newest_run_first() -> None:
    two = {"run_id": "x", "run_first": 2, "run_last": 3}
    found = answer({}, batches=[dropping(1, T0), dropping(2, T0 + 1, **two), dropping(3, T0 + 1, **two)])
    assert [run["run_id"] for run in found["runs"]] == ["x", "r1"]
    assert {name: found["runs"][0][name] for name in ("rows", "dropped", "objects", "first_batch", "last_batch")} == {
        "rows": 12,
        "dropped": 2,
        "objects": 4,
        "first_batch": 2,
        "last_batch": 3,
    }
    assert found["runs"][0]["by_reason"] == {"late": 2}


def test_a_run_that_dropped_names_the_command_that_shows_which() -> None:
    two = {"run_id": "x", "run_first": 2, "run_last": 3}
    found = answer(
        {},
        batches=[
            dropping(1, T0),
            dropping(2, T0 + HOUR, dropped=3, **two),
            dropping(3, T0 + HOUR, **two),
            dropping(4, T0 + 2 * HOUR, dropped=0),
        ],
        config="my toll.yml",
    )
    assert [run["command"] for run in found["runs"]] == [
        None,
        "tidemark rows 'my toll.yml' --fate dropped --batch 2",
        "tidemark rows 'my toll.yml' --fate dropped --batch 1",
    ]


def test_a_run_of_which_only_the_last_batches_are_given_is_not_counted() -> None:
    cut = dropping(5, T0, run_first=4, run_last=5, run_id="cut")
    found = answer({}, batches=[cut, dropping(6, T0 + HOUR)])
    assert [run["run_id"] for run in found["runs"]] == ["r6"]


def test_a_run_that_is_not_wholly_committed_is_planned() -> None:
    both = {"run_id": "x", "run_first": 1, "run_last": 2}
    found = answer({}, batches=[dropping(1, T0, **both), dropping(2, T0, status="planned", **both)])
    assert found["runs"][0]["status"] == "planned"


def attention(states: dict[tuple[str, str], PartitionState], **values: Any) -> list[str]:
    given = {"sources": rules(), "as_of": T0 + HOUR} | values
    return answer(states, **given)["sources"][0]["attention"]


LOWEST = replace(MOVING, watermark=T0 - SECOND)
TWO = {("a", "0"): MOVING, ("a", "1"): LOWEST}
COMBINED = {"combined": {"a": Combined(T0 - SECOND)}}


def test_a_partition_that_is_merely_the_lowest_is_nothing_to_look_at() -> None:
    found = answer(TWO, sources=rules())
    assert found["sources"][0]["held_back_by"] == ["1"]
    assert found["sources"][0]["attention"] == []


@pytest.mark.parametrize(
    ("limits", "beyond"),
    [
        pytest.param(Limits(HOUR, HOUR + SECOND), [], id="both at their limits"),
        pytest.param(
            Limits(HOUR - 1, None), ["its watermark delay of 1h exceeds max_watermark_delay 59m 59s"], id="watermark"
        ),
        pytest.param(
            Limits(None, HOUR),
            [
                "its output delay of 1h 1s exceeds max_output_delay 1h",
                "partition 1 is lowest, at 2026-01-01 11:59:59: its last row arrived at 2026-01-01 12:01:00",
            ],
            id="output, with what holds it back",
        ),
    ],
)
def test_a_delay_beyond_its_limit_is_to_be_looked_at(limits: Limits, beyond: list[str]) -> None:
    sentences = attention(TWO, limits={"a": limits}, **COMBINED)
    assert [re.sub(r"59m 59.*s$", "59m 59s", each) for each in sentences] == beyond
    assert attention(TWO, limits={"a": limits}, combined={"a": Combined(T0, complete=True)}) == []


def test_an_idle_partition_that_holds_back_is_to_be_looked_at_after_its_late_tolerance() -> None:
    idle = replace(LOWEST, idle=True, last_seen=T0 + HOUR - MINUTE)
    assert attention({**TWO, ("a", "1"): idle}) == []
    (sentence,) = attention({**TWO, ("a", "1"): replace(idle, last_seen=idle.last_seen - 1)})
    assert sentence.startswith("partition 1 is lowest, at 2026-01-01 11:59:59: it has brought no row since")


@pytest.mark.parametrize(("before", "found"), [(T0 + 10 * MINUTE, 0), (T0 + 11 * MINUTE, 1)])
def test_without_a_late_tolerance_it_is_after_two_runs_without_rows(before: int, found: int) -> None:
    idle = replace(LOWEST, idle=True, last_seen=T0 + 10 * MINUTE)
    runs = [dropping(1, before), dropping(2, T0 + HOUR)]
    sentences = attention({**TWO, ("a", "1"): idle}, sources=rules(policy=OFF), batches=runs)
    assert len(sentences) == found


def test_of_many_partitions_without_a_watermark_a_few_are_named() -> None:
    sentences = attention({("a", f"p{n}"): PartitionState(last_seen=T0) for n in range(20)})
    assert len(sentences) == MOST_NAMED + 1
    assert sentences[0] == "partition p0 has no watermark: it has no judged row yet"
    assert sentences[-1] == "15 more partitions hold it back"
