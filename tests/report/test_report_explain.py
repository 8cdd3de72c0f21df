"""One row's story is the true one: what set its watermark, and what would have kept it on time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_warehouse import FakeLedger, Recorded, event, facts_of, record, table_of, write

from oracle import SECOND, Obj, Row, Run, Source, Verdict, judge
from published import EXAMPLES
from strategies import BASE, Log, logs, sources
from tidemark.config import secrets
from tidemark.core.times import DAY, MINUTE, parse_time
from tidemark.errors import UsageError
from tidemark.report.explain.explain import explain
from tidemark.report.explain.tolerances import LeastSetting
from tidemark.report.words import iso

AS_OF = parse_time("2026-01-01T12:30:00Z")
DROP = Source(early=(5 * MINUTE, "drop"), late=(5 * MINUTE, "drop"), out_of_order=(MINUTE, "drop"), single=True)


def at(clock: str) -> int:
    return parse_time(f"2026-01-01T{clock}Z")


def published(place: Path, name: str) -> Recorded:
    example = EXAMPLES[name]
    over = example["policy"].get("over")
    rows = tuple(
        Row(event=parse_time(row["event_time"]), arrival=parse_time(row["arrival_time"]), substream=row.get(over))
        for row in example["rows"]
    )
    source = Source(
        early=(5 * MINUTE, "drop"), late=(5 * MINUTE, "adjust"), out_of_order=(2 * MINUTE, "adjust"), single=True
    )
    return record(place, replace(source, over=over is not None), [Run(AS_OF, (Obj("toll/a.json", AS_OF, rows),))])


def explained(recorded: Recorded, offset: int, partition: str = "0") -> dict[str, Any]:
    found = explain(recorded.events, recorded.facts, recorded.ledger, partition, offset).record()
    json.dumps(found, allow_nan=False)
    return found


def log_of(*rows: tuple[str, str], **values: Any) -> Run:
    """A run of one object with (event time, arrival) rows, landed and judged at 12:30 unless said otherwise."""
    as_of = values.get("as_of", AS_OF)
    made = tuple(
        Row(event=at(e), arrival=at(a), partition=values.get("partition"), substream=values.get("substream"))
        for e, a in rows
    )
    return Run(as_of, (Obj(f"at-{as_of}.json", as_of, made),) if made else ())


# -- the published example


@pytest.mark.parametrize(
    ("offset", "row"),
    [(1, 0), (3, 1), (4, 1), (5, 4), (7, 4), (8, 7), (9, 7), (10, 9), (11, 9)],
)
def test_the_watermark_of_a_row_is_set_by_the_row_that_first_reached_it(
    tmp_path: Path, offset: int, row: int
) -> None:
    set_by = explained(published(tmp_path / "t", "asa-12-events"), offset)["set_by"]
    assert (set_by["kind"], set_by["offset"], set_by["file"]) == ("row", row, "toll/a.json")


@pytest.mark.parametrize(("offset", "row"), [(2, 0), (4, 0), (5, 3), (6, 1), (8, 5), (9, 7), (11, 8)])
def test_with_substreams_only_rows_of_the_same_one_set_its_watermark(tmp_path: Path, offset: int, row: int) -> None:
    found = explained(published(tmp_path / "t", "asa-12-events-substreams"), offset)
    assert found["set_by"]["offset"] == row
    assert found["set_by"]["substream"] == found["row"]["substream"]


def test_a_row_that_no_watermark_was_in_force_for_is_told_so(tmp_path: Path) -> None:
    found = explained(published(tmp_path / "t", "asa-12-events"), 0)
    assert found["set_by"] is None
    assert "No watermark was in force before it" in " ".join(found["sentences"])
    assert found["on_time_with"] == []


def test_an_early_row_is_compared_with_its_arrival_and_what_would_have_kept_it_is_named(tmp_path: Path) -> None:
    found = explained(published(tmp_path / "t", "asa-12-events"), 2)
    assert (
        "Early: event time 12:17:00 is 6m after its arrival 12:11:00; early_arrival allows 5m after it: dropped."
        in found["sentences"]
    )
    assert [step["outcome"] for step in found["steps"]] == ["dropped", "not_reached", "not_reached"]
    assert found["on_time_with"] == [
        {"setting": "early_arrival", "at_least": "6m", "micros": 6 * MINUTE, "value": "6m", "possible": True}
    ]


def test_a_late_row_is_told_how_late_and_where_it_went(tmp_path: Path) -> None:
    found = explained(published(tmp_path / "t", "asa-12-events"), 11)
    assert (
        "Late: event time 12:21:00 is 6m before its arrival 12:27:00; late_arrival allows 5m before it: "
        "adjusted to 12:22:00." in found["sentences"]
    )
    assert found["steps"][2]["difference"] == "+1m"
    assert found["row"]["moved_by"] == "+1m"


def test_an_out_of_order_row_is_told_the_watermark_its_row_and_what_would_have_kept_it(tmp_path: Path) -> None:
    sentences = explained(published(tmp_path / "t", "asa-12-events"), 8)["sentences"]
    assert sentences[-4:] == [
        "The watermark in force before it was 12:18:00, set by row 7 (event time 12:20:00, arrival 12:19:00, "
        "toll/a.json, batch 1): its time 12:20:00 less out_of_order 2m.",
        "Out of order: its time 12:16:00 is 2m behind the watermark 12:18:00: adjusted to 12:18:00.",
        "Result: adjusted (out_of_order), moved by +2m to 12:18:00. Its event time and payload are unchanged.",
        "It would have been on time with out_of_order at least 4m (240000000 us), all else being the same.",
    ]


def test_out_of_order_beyond_late_needs_both_to_be_larger(tmp_path: Path) -> None:
    found = explained(published(tmp_path / "t", "asa-12-events"), 5)
    assert [(need["setting"], need["at_least"]) for need in found["on_time_with"]] == [
        ("late_arrival", "7m"),
        ("out_of_order", "7m"),
    ]
    assert "smaller of out_of_order and late_arrival" in found["sentences"][-1]


def test_the_first_sentence_says_where_the_row_came_from(tmp_path: Path) -> None:
    found = explained(published(tmp_path / "t", "asa-12-events-substreams"), 3)
    assert found["sentences"][0] == (
        "Row 3 of partition 0 of source readings, substream 'device3' came from toll/a.json in batch 1 of run r1, "
        "as_of 12:30:00. Times are UTC, of 2026-01-01 where no date is given."
    )


# -- arrival


def test_an_arrival_that_went_back_names_the_row_whose_arrival_is_in_force(tmp_path: Path) -> None:
    run = log_of(("12:00:00", "12:07:00"), ("12:07:00", "12:07:00"), ("12:05:00", "12:05:00"))
    found = explained(record(tmp_path / "t", replace(DROP, late=(DAY, "drop")), [run]), 2)
    assert found["arrival"]["own"] == "2026-01-01T12:05:00Z"
    assert found["arrival"]["raised_by"]["offset"] == 0
    assert "so 12:07:00 is in force, that of row 0" in found["sentences"][2]


def test_an_arrival_column_after_the_landing_time_is_said_not_to_count(tmp_path: Path) -> None:
    run = Run(AS_OF, (Obj("a.json", AS_OF, (Row(event=AS_OF, arrival=AS_OF + SECOND),)),))
    found = explained(record(tmp_path / "t", replace(DROP, clock_skew=MINUTE), [run]), 0)
    assert found["arrival"]["column"] == "2026-01-01T12:30:01Z"
    assert "the earlier of the two counts" in found["sentences"][2]


def test_without_an_arrival_column_the_landing_time_is_its_own_arrival(tmp_path: Path) -> None:
    run = Run(AS_OF, (Obj("a.json", AS_OF, (Row(event=AS_OF),)),))
    found = explained(record(tmp_path / "t", replace(DROP, arrival_column=False), [run]), 0)
    assert found["arrival"]["own"] == found["arrival"]["in_force"] == "2026-01-01T12:30:00Z"


def test_without_timestamp_by_an_arrival_may_be_raised_by_the_estimate_of_an_idle_run(tmp_path: Path) -> None:
    source = replace(DROP, timestamp_by=False, landing_delay=MINUTE)
    late = Run(AS_OF + 30 * MINUTE, (Obj("b.json", AS_OF + MINUTE, (Row(arrival=at("12:10:00")),)),))
    runs = [log_of(("12:00:00", "12:00:00")), log_of(as_of=AS_OF + 20 * MINUTE), late]
    found = explained(record(tmp_path / "t", source, runs), 1)
    assert found["arrival"]["estimated_in"] == 2
    assert "no tolerance can act" in found["sentences"][3]


# -- watermarks that no row set


def test_a_floor_from_the_last_arrival_names_the_run_that_ended(tmp_path: Path) -> None:
    source = replace(DROP, late=(4 * MINUTE, "adjust"))
    runs = [log_of(("12:16:00", "12:20:00")), log_of(("12:14:00", "12:19:00"), as_of=AS_OF + 1)]
    found = explained(record(tmp_path / "t", source, runs), 1)
    assert (found["set_by"]["kind"], found["set_by"]["batch_id"]) == ("floor", 1)
    assert (
        "The watermark in force before it was 12:16:00. No row set it, the end of a run did: when batch 1 (as_of "
        "12:30:00) ended its run, partition 0 had its last arrival at 12:20:00, less late_arrival 4m."
    ) in found["sentences"]


def test_a_floor_from_an_idle_run_names_the_estimated_arrival(tmp_path: Path) -> None:
    source = replace(DROP, landing_delay=MINUTE)
    runs = [
        log_of(("12:00:00", "12:00:00")),
        log_of(as_of=AS_OF + 20 * MINUTE),
        Run(
            AS_OF + 30 * MINUTE,
            (Obj("b.json", AS_OF + MINUTE, (Row(event=at("12:10:00"), arrival=at("12:12:00")),)),),
        ),
    ]
    found = explained(record(tmp_path / "t", source, runs), 1)
    assert found["row"]["disposition"] == "dropped"
    assert found["set_by"]["estimated_arrival"] == "2026-01-01T12:19:00Z"
    assert any("was idle, with estimated arrival 12:19:00" in sentence for sentence in found["sentences"])
    assert found["on_time_with"] == [LeastSetting("late_arrival", 9 * MINUTE).record()]


def test_a_partition_that_started_late_is_told_the_combined_watermark(tmp_path: Path) -> None:
    source = replace(DROP, single=False, partitions=("a",))
    runs = [
        log_of(("12:20:00", "12:20:00"), partition="a"),
        log_of(("12:10:00", "12:21:00"), ("12:17:00", "12:21:00"), partition="b", as_of=AS_OF + 1),
    ]
    found = explained(record(tmp_path / "t", source, runs), 1, "b")
    assert found["set_by"] == {
        "kind": "late_start",
        "watermark": "2026-01-01T12:19:00Z",
        "batch_id": 1,
        "as_of": "2026-01-01T12:30:00Z",
    }
    assert found["on_time_with"] is None
    assert "No tolerance alone would have kept it" in found["sentences"][-1]


# -- other fates


def test_a_quarantined_row_is_told_why_with_its_raw_text(tmp_path: Path) -> None:
    run = Run(AS_OF, (Obj("a.json", AS_OF, (Row(arrival=AS_OF), Row(event=AS_OF), Row(broken=True))),))
    recorded = record(tmp_path / "t", DROP, [run])
    texts = [" ".join(explained(recorded, offset)["sentences"]) for offset in range(3)]
    assert "its event time (EventTime) is missing" in texts[0]
    assert "its arrival (EnqueuedAt) is missing" in texts[1]
    assert "does not parse" in texts[2]
    assert all('{"broken' in text for text in texts)
    assert explained(recorded, 0)["steps"] == []


def test_no_setting_of_a_source_is_told_with_its_value_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "_hidden", {"planted-7f3a": "SALT"})
    run = Run(AS_OF, (Obj("a.json", AS_OF, (Row(arrival=AS_OF), Row(event=AS_OF))),))
    recorded = record(tmp_path / "t", DROP, [run])
    salted = {name: f"{name}('planted-7f3a')" for name in ("timestamp_by", "arrival_time")}
    facts = replace(recorded.facts, **salted)
    texts = [str(explain(recorded.events, facts, recorded.ledger, "0", offset).record()) for offset in range(2)]
    assert "its event time (timestamp_by('${SALT}')) is missing" in texts[0]
    assert "its arrival (arrival_time('${SALT}')) is missing" in texts[1]
    unmet = [event(0, AS_OF, _disposition="quarantined", _reasons=["require.sane"], _file="a.json")]
    facts = replace(recorded.facts, require={"sane": "k <> 'planted-7f3a'"})
    found = explain(write(tmp_path / "unmet", table_of(unmet)), facts, FakeLedger(), "0", 0)
    assert "it does not meet a requirement: sane (k <> '${SALT}')." in " ".join(found.sentences)


def test_keep_leaves_a_row_behind_the_watermark_on_time(tmp_path: Path) -> None:
    run = log_of(("12:10:00", "12:10:00"), ("12:06:00", "12:10:00"))
    found = explained(record(tmp_path / "t", replace(DROP, out_of_order=(0, "keep")), [run]), 1)
    assert found["steps"][2]["outcome"] == "kept"
    assert "Result: on time, at 12:06:00." in found["sentences"]


def test_more_than_late_arrival_may_be_is_said_to_be_impossible(tmp_path: Path) -> None:
    run = Run(AS_OF, (Obj("a.json", AS_OF, (Row(event=AS_OF - 30 * DAY, arrival=AS_OF),)),))
    found = explained(record(tmp_path / "t", DROP, [run]), 0)
    assert found["on_time_with"][0]["possible"] is False
    assert "at most 20d 23h 59m 59s" in found["sentences"][-1]


def test_policies_that_are_off_are_told_so(tmp_path: Path) -> None:
    run = log_of(("12:20:00", "12:10:00"))
    found = explained(record(tmp_path / "t", replace(DROP, early=None, late=None), [run]), 0)
    assert [step["outcome"] for step in found["steps"]] == ["off", "off", "passed"]


# -- rows that are not there


@pytest.mark.parametrize(
    ("partition", "offset", "message", "hint"),
    [
        ("0", 12, "has no row 12", "its largest offset is 11"),
        ("0", -1, "has no row -1", "offsets count from 0"),
        ("7", 0, "no rows of a partition '7'", "its partitions are: 0"),
    ],
    ids=["beyond the last", "negative", "unknown partition"],
)
def test_a_row_that_is_not_there_is_refused_with_what_there_is(
    tmp_path: Path, partition: str, offset: int, message: str, hint: str
) -> None:
    recorded = published(tmp_path / "t", "asa-12-events")
    with pytest.raises(UsageError, match=message) as refused:
        explain(recorded.events, recorded.facts, recorded.ledger, partition, offset)
    assert hint in refused.value.hint


def test_a_row_skipped_before_start_is_told_apart_from_one_that_never_was(tmp_path: Path) -> None:
    events = write(tmp_path / "t", table_of([event(3, AS_OF)]))
    with pytest.raises(UsageError, match="is not in the table"):
        explain(events, facts_of(DROP), FakeLedger(), "0", 1)


LASTING = replace(DROP, late=(5 * MINUTE, "adjust"), out_of_order=(MINUTE, "adjust"), interval=True)


def lasted(place: Path, *spans: tuple[int, int]) -> Recorded:
    """Rows that arrive at BASE, each from a second to another after it."""
    rows = tuple(Row("0", BASE + n * SECOND, BASE, end=BASE + m * SECOND) for n, m in spans)
    return record(place, LASTING, [Run(BASE, (Obj("a", BASE, rows),))])


def test_an_interval_that_is_moved_to_its_end_is_told_the_step_that_moved_it_there(tmp_path: Path) -> None:
    recorded = lasted(tmp_path / "t", (0, 60), (-400, -300), (-200, -60), (-200, -59))
    late, behind, kept = (explained(recorded, offset) for offset in (1, 2, 3))
    assert [step["outcome"] for step in late["steps"]] == ["passed", "adjusted", "not_reached", "dropped"]
    assert late["steps"][3] | {"sentence": ""} == {
        "step": "empty", "outcome": "dropped", "tolerance": None, "tolerance_micros": None, "action": None,
        "time": iso(BASE - 300 * SECOND), "reference": iso(BASE - 300 * SECOND), "difference": "0s",
        "difference_micros": 0, "after": None, "sentence": "",
    }  # fmt: skip
    assert late["sentences"][-3].startswith("Empty: its start ")
    assert late["sentences"][-3].endswith(": dropped.")
    assert late["sentences"][-2] == "Result: dropped (late, empty). It moved no watermark."
    assert not any(sentence.startswith("Out of order:") for sentence in late["sentences"])
    assert [need["setting"] for need in late["on_time_with"]] == ["late_arrival", "out_of_order"]
    assert [step["outcome"] for step in behind["steps"]] == ["passed", "passed", "adjusted", "dropped"]
    assert behind["sentences"][-2] == "Result: dropped (out_of_order, empty). It moved no watermark."
    assert [step["outcome"] for step in kept["steps"]] == ["passed", "passed", "adjusted", "passed"]
    assert kept["row"]["end_time"] == iso(BASE - 59 * SECOND)


# -- any log


def first_to_reach(verdict: Verdict, before: list[Verdict]) -> int | None:
    """The offset of the row that raised its key's watermark to the one before `verdict`."""
    raised = [v for v in before if v.watermark_after == verdict.watermark != v.watermark]
    return raised[0].offset if raised else None


def fits(source: Source, needs: tuple[LeastSetting, ...], log: Log, verdict: Verdict) -> bool:
    """Whether a row is on time under the given tolerances, judged again from the first row."""
    wanted = {need.setting: need.micros for need in needs}
    early, late, order = source.early, source.late, source.out_of_order
    changed = replace(
        source,
        early=early and (wanted.get("early_arrival", early[0]), early[1]),
        late=late and (wanted.get("late_arrival", late[0]), late[1]),
        out_of_order=(wanted.get("out_of_order", order[0]), order[1]),
    )
    again = judge(changed, log.runs).verdicts
    return any(
        (v.partition, v.offset, v.disposition) == (verdict.partition, verdict.offset, "on_time") for v in again
    )


def check_stories(log: Log, most: int) -> None:
    with TemporaryDirectory() as place:
        recorded = record(Path(place) / "t", log.source, log.runs)
        verdicts = recorded.outcome.verdicts
        ranked = sorted(verdicts, key=lambda v: (not v.reasons, v.disposition == "quarantined", -v.offset))
        for verdict in ranked[:most]:
            found = explain(recorded.events, recorded.facts, recorded.ledger, verdict.partition, verdict.offset)
            json.dumps(found.record(), allow_nan=False)
            if verdict.disposition == "quarantined" or verdict.reasons == ("duplicate",):
                continue
            check_origin(verdict, verdicts, found.origin and (found.origin.kind, found.origin.row))
            declared = log.source.single or verdict.partition in log.source.partitions
            if found.needs and declared and log.source.timestamp_by:
                check_needs(log, verdict, found.needs)


def check_origin(verdict: Verdict, verdicts: tuple[Verdict, ...], origin: Any) -> None:
    if verdict.watermark is None:
        assert origin is None
        return
    key = (verdict.partition, verdict.substream)
    judged = [v for v in verdicts if (v.partition, v.substream) == key and v.disposition != "quarantined"]
    row = first_to_reach(verdict, [v for v in judged if v.offset < verdict.offset])
    kind, setter = origin
    assert (setter and setter.offset) == row
    assert kind == "row" if row is not None else kind in {"floor", "late_start"}


def check_needs(log: Log, verdict: Verdict, needs: tuple[LeastSetting, ...]) -> None:
    assert fits(log.source, needs, log, verdict)
    for index, need in enumerate(needs):
        less = (*needs[:index], replace(need, micros=need.micros - 1), *needs[index + 1 :])
        assert not fits(log.source, less, log, verdict)


QUICK = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@QUICK
@given(log=sources(intervals=True).flatmap(logs))
def test_every_story_names_the_true_setter_and_the_least_tolerances(log: Log) -> None:
    check_stories(log, most=6)


@pytest.mark.long
@settings(QUICK, max_examples=60)
@given(log=sources(intervals=True).flatmap(logs), most=st.just(40))
def test_every_story_of_long_random_logs_is_true(log: Log, most: int) -> None:
    check_stories(log, most)


def test_late_start_is_the_setter_also_when_a_later_row_reaches_the_same_watermark(tmp_path: Path) -> None:
    source = replace(DROP, single=False, partitions=("a",))
    runs = [
        Run(BASE, (Obj("a", BASE, (Row("a", BASE - SECOND, BASE - SECOND),)),)),
        Run(BASE + 1, (Obj("b", BASE + 1, tuple(Row("b", BASE - SECOND, BASE - SECOND) for _ in range(3))),)),
    ]
    assert explained(record(tmp_path / "t", source, runs), 2, "b")["set_by"]["kind"] == "late_start"
