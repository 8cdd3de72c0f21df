"""Rows that are late for windows: they are listed with their payload, told of by `explain`, and counted."""

from __future__ import annotations

import csv
import re
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from page_warehouse import LETTERS, T0, delta
from report_warehouse import FakeLedger, batch_of, event, facts_of, table_of, write

from oracle import Source
from stored import DATA
from tidemark.core.streams import StreamEnd, StreamState
from tidemark.core.times import MINUTE, SECOND, format_time, parse_duration
from tidemark.core.windows import Passed
from tidemark.errors import UsageError
from tidemark.pipeline import Pipeline
from tidemark.report.events import read_row
from tidemark.report.explain.explain import explain
from tidemark.report.explain.late import WindowStep, late_for
from tidemark.report.rows import Filter, find_rows

KEPT = Source(early=None, late=None, out_of_order=(0, "keep"), single=True)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """A real pipeline with dead letters of a stream of 5 s windows, allowed_lateness 1 s."""
    place = tmp_path_factory.mktemp("past")
    with tarfile.open(DATA / "2026-11.tar.gz") as archive:
        archive.extractall(place, filter="data")
    return Pipeline.load(place / "pipeline.yml")


def letters_of(pipeline: Pipeline) -> list[dict[str, Any]]:
    """The dead letters as delta-rs reads them, times in microseconds."""
    table = DeltaTable(pipeline.path("dead_letters/per_5s")["path"]).to_pyarrow_table()
    times = [name for name in table.schema.names if pa.types.is_timestamp(table.schema.field(name).type)]
    for name in times:
        table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(pa.int64()))
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_each_dead_letter_is_listed_with_its_payload_and_its_window(past: Pipeline) -> None:
    expected = {(letter["_source"], letter["_partition"], letter["_offset"]): letter for letter in letters_of(past)}
    found = past.rows(dead_letters="per_5s")
    assert (found["total"], found["gone"], len(found["rows"])) == (len(expected), 0, len(expected))
    for row in found["rows"]:
        letter = expected.pop((row["source"], row["partition"], row["offset"]))
        assert row["window_start"] == format_time(letter["_window_start"])
        assert row["window_end"] == format_time(letter["_window_end"])
        assert row["payload"]["at"] == format_time(letter["_event_time"])
    assert not expected


def test_filters_hold_for_dead_letters_too(past: Pipeline) -> None:
    whole = past.rows(dead_letters="per_5s")["rows"]
    second = past.rows(dead_letters="per_5s", batch=2, limit=3)
    assert second["rows"] == [row for row in whole if row["batch_id"] == 2][:3]
    assert second["truncated"]
    assert past.rows(dead_letters="per_5s", fate="dropped")["total"] == 0
    assert past.rows(dead_letters="per_5s", source="readings")["total"] == 0


@pytest.mark.parametrize("name", ["good", "none", "passing"])
def test_a_stream_without_windows_has_no_dead_letters_and_those_that_may_are_named(past: Pipeline, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        past.rows(dead_letters=name)
    assert repr(name) in caught.value.message
    assert "per_5s" in caught.value.hint


def test_dead_letters_are_written_as_csv_and_parquet(past: Pipeline, tmp_path: Path) -> None:
    rows = past.rows(dead_letters="per_5s")["rows"]
    past.export_rows(tmp_path / "l.csv", "csv", dead_letters="per_5s")
    past.export_rows(tmp_path / "l.parquet", "parquet", dead_letters="per_5s")
    with (tmp_path / "l.csv").open(newline="") as lines:
        written = list(csv.DictReader(lines))
    places = [(row["partition"], row["offset"], row["window_start"][:19]) for row in rows]
    assert [(each["_partition"], int(each["_offset"]), each["_window_start"][:19]) for each in written] == places
    assert [float(each["speed"]) for each in written] == [row["payload"]["speed"] for row in rows]
    assert pq.read_table(tmp_path / "l.parquet")["_offset"].to_pylist() == [row["offset"] for row in rows]


def test_a_dead_letter_whose_row_is_gone_is_counted(tmp_path: Path) -> None:
    events = write(tmp_path / "e", table_of([event(0, T0)]))
    letters = delta(tmp_path / "l", [letter(offset) for offset in (0, 1)], LETTERS)
    found = find_rows({"readings": events}, Filter(), letters=letters)
    assert (found["total"], found["gone"]) == (1, 1)


# -- explain


def test_the_story_of_each_dead_letter_names_its_window_and_does_not_end_on_time(past: Pipeline) -> None:
    for each in letters_of(past):
        found = past.explain(each["_source"], each["_partition"], each["_offset"])
        (late,) = found["late_for"]
        assert (late["stream"], late["window_start"]) == ("per_5s", format_time(each["_window_start"]))
        told = next(sentence for sentence in found["sentences"] if sentence.startswith("It is late for"))
        assert "of stream per_5s" in told
        exact = re.search(r"\(exactly (\w+)\)", told)
        assert exact is not None
        assert parse_duration(exact[1]) == late["allowed_lateness_micros"]
        result = next(sentence for sentence in found["sentences"] if sentence.startswith("Result:"))
        assert result.endswith("But it is late for 1 window of per_5s, and is in the dead letters.")


def test_no_row_that_counts_is_told_to_be_late(past: Pipeline) -> None:
    late = {each["_offset"] for each in letters_of(past)}
    on_time = next(offset for offset in range(40) if offset not in late)
    found = past.explain("kept", "0", on_time)
    assert found["late_for"] == []
    assert not any("late for" in sentence for sentence in found["sentences"])


def letter(offset: int, **values: Any) -> dict[str, Any]:
    times = {"_event_time": T0, "_system_timestamp": T0, "_window_start": T0 - MINUTE, "_window_end": T0 + MINUTE}
    return {"_source": "readings", "_partition": "0", "_offset": offset, **times, "_batch_id": 2} | values


def lateness(
    place: Path, own: int | None, step: dict[str, Any], before: StreamState, after: StreamState | None = None
) -> dict[str, Any]:
    """What the story says of a row of batch 2 that is late for a window of `s` with an end at T0 + 1 min."""
    events = write(place / "e", table_of([event(0, T0, _batch_id=2, _watermark=own)]))
    letters = delta(place / "l", [letter(0, _watermark=own)], LETTERS)
    batches = {
        1: batch_of(1, T0, streams={"s": StreamEnd(before)}),
        2: batch_of(2, T0 + MINUTE, streams={"s": StreamEnd(after or before)}),
    }
    windows = [WindowStep("s", letters, **step)]
    row, ledger = read_row("readings", events, "0", 0), FakeLedger(batches=batches)
    assert row is not None
    found = explain(events, facts_of(KEPT), ledger, "0", 0, late_for(row, windows, ledger)).record()
    (late,) = found["late_for"]
    assert isinstance(late, dict)
    return late


@pytest.mark.parametrize("own", [T0 + MINUTE + 5 * SECOND, T0 + 3 * MINUTE])
def test_the_smallest_tolerance_is_one_with_which_the_furthest_watermark_is_not_past_the_window(
    tmp_path: Path, own: int
) -> None:
    reached = T0 + 2 * MINUTE
    late = lateness(tmp_path, own, {"lateness": SECOND}, StreamState(watermark=T0, reached=reached))
    needed = late["allowed_lateness_micros"]

    def counts(allowed: int) -> bool:
        return max(own, reached) < T0 + MINUTE + allowed  # the law: late at a watermark of end + allowed_lateness

    assert counts(needed)
    assert not counts(needed - 1)
    readable = parse_duration(late["allowed_lateness"])
    assert needed <= readable < needed + SECOND
    assert late["passed_by"] == ("row" if own > reached else "step")


def test_what_a_part_of_a_step_had_passed_is_said_not_to_be_recorded(tmp_path: Path) -> None:
    late = lateness(tmp_path, T0, {"partition_by": "substream"}, StreamState(reached=T0 + 9 * MINUTE))
    assert late["allowed_lateness_micros"] is None
    assert "what its substream had passed when the run began" in late["sentence"]


def test_of_a_window_that_rows_make_the_late_part_needs_what_passed_its_start(tmp_path: Path) -> None:
    bounds = (Passed(1, T0 + 4 * MINUTE), Passed(3, T0 + 9 * MINUTE))
    after = StreamState(bounds=bounds)
    late = lateness(tmp_path, T0, {"data_driven": True, "lateness": MINUTE}, StreamState(), after)
    assert late["allowed_lateness_micros"] == 5 * MINUTE, "the part from T0 - 1 min, passed at T0 + 4 min"


# -- counts


def test_rows_are_counted_by_each_dimension(past: Pipeline) -> None:
    rows = past.rows(limit=None)["rows"]
    values = {
        "source": lambda row: [row["source"]],
        "partition": lambda row: [row["partition"]],
        "reason": lambda row: row["reasons"] or [None],
        "fate": lambda row: [row["disposition"]],
        "hour": lambda row: [row["arrival_time"][:13] + ":00:00Z"],
        "day": lambda row: [row["arrival_time"][:10]],
        "file": lambda row: [row["file"]],
        "run": lambda row: [f"run-{row['batch_id']}"],
    }
    for name, of in values.items():
        expected = Counter(value for row in rows for value in of(row))
        found = past.rows(by=name)
        assert {group[name]: group["rows"] for group in found["groups"]} == expected, name
        assert found["total"] == len(rows), name


def test_groups_of_several_dimensions_come_largest_first_and_hold_filters(past: Pipeline) -> None:
    found = past.rows(by=["fate", "partition"], source="readings", limit=2)
    rows = past.rows(limit=None, source="readings")["rows"]
    expected = Counter((row["disposition"], row["partition"]) for row in rows)
    groups = [((group["fate"], group["partition"]), group["rows"]) for group in found["groups"]]
    assert len(groups) == 2
    assert [count for _, count in groups] == sorted(expected.values(), reverse=True)[:2]
    assert all(expected[names] == count for names, count in groups)
    assert (found["truncated"], found["total"]) == (True, len(rows))


def test_dead_letters_are_counted_by_dimensions(past: Pipeline) -> None:
    expected = Counter(each["_batch_id"] for each in letters_of(past))
    found = past.rows(by="run", dead_letters="per_5s")
    assert {group["run"]: group["rows"] for group in found["groups"]} == {f"run-{n}": k for n, k in expected.items()}


@pytest.mark.parametrize("by", ["colour", "", []])
def test_rows_are_counted_by_known_dimensions_alone(past: Pipeline, by: str | list[str]) -> None:
    with pytest.raises(UsageError, match="count") as caught:
        past.rows(by=by)
    assert "partition, reason, fate, hour, day, file, run" in caught.value.hint
