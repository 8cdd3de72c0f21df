"""What is abnormal and why: a week in which one sender was late on one morning, planted incidents, quiet weeks."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from deltalake import write_deltalake
from incidents import KINDS, TIME, chosen, found, named, runs_of
from incidents import judged as judged_world
from rich.console import Console
from toll_week import T0, TOLL, judged, readings

import oracle
from oracle import Row
from product import Product
from tidemark.cli import invoke
from tidemark.cli.text.runs import run_text
from tidemark.cli.text.why import run_cause
from tidemark.core.times import DAY, HOUR, MINUTE, SECOND, parse_duration, parse_time
from tidemark.errors import UsageError
from tidemark.pipeline import Pipeline
from tidemark.report.causes.causes import Kind, clocks_change
from tidemark.report.causes.cells import CountedSource, JudgedSource, RowScope, count
from tidemark.report.causes.find import causes_of
from tidemark.report.causes.ordinary import Hour, densest
from tidemark.report.causes.sentences import listed, of_total, span_of, when
from tidemark.report.scan import files_here, sql
from tidemark.storage import dataset_of


@pytest.fixture(scope="module")
def toll(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of a pipeline that has judged these days."""
    return judged(tmp_path_factory.mktemp("toll"))


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert invoke(words) == 0
    return capsys.readouterr().out


def test_the_sender_the_hours_the_files_and_the_tolerance_are_in_the_first_sentence(toll):
    (cause,) = Pipeline.load(toll).why()["causes"]
    rows = [row for run in readings()[4:] for file in run.objects for row in file.rows]
    late = [row for row in rows if row.arrival - row.event > MINUTE]
    morning = [row for row in late if row.partition == "G2" and 6 * HOUR <= row.arrival % DAY < 10 * HOUR]
    assert cause["sentence"] == (
        f"{len(morning)} of {len(late)} dropped rows are G2's, arrived 06:00-10:00 of 2026-03-05, 40m to 45m late "
        "(tolerance 1m), from 2026-03-05/06.json and 2026-03-05/08.json; late_arrival 45m would have kept "
        f"{len(morning)}."
    )
    assert (cause["source"], cause["partition"], cause["kind"]) == ("readings", "G2", "late_sender")
    assert (cause["fate"], cause["reason"]) == ("dropped", "late")
    assert (cause["from"], cause["to"]) == ("2026-03-05T06:00:00Z", "2026-03-05T10:00:00Z")
    assert cause["files"] == ["2026-03-05/06.json", "2026-03-05/08.json"]
    assert (cause["rows"], cause["kept"]) == (len(morning), len(morning))
    away = sorted(row.arrival - row.event for row in morning)
    assert cause["median_micros"] in away[len(away) // 2 - 1 : len(away) // 2 + 1]
    assert cause["remedy"] == f"late_arrival 45m would have kept {len(morning)}"


def test_a_range_finds_it_and_earlier_runs_are_quiet(toll):
    pipeline = Pipeline.load(toll)
    found = pipeline.why(since="2026-03-04", until="2026-03-06")
    assert [(each["partition"], each["from"]) for each in found["causes"]] == [("G2", "2026-03-05T06:00:00Z")]
    assert (found["rows"], found["history"]) == (2 * 12 * 120, 3)
    assert pipeline.why()["causes"] == pipeline.why(run="night-5")["causes"] != []
    assert [pipeline.why(run=f"night-{number}")["causes"] for number in range(1, 5)] == [[], [], [], []]
    assert pipeline.why(until="2026-03-05")["causes"] == []


def test_the_command_prints_the_sentence_and_what_it_looked_at(toll, capsys):
    sentence = json.loads(printed(capsys, "why", str(toll), "--json"))["causes"][0]["sentence"]
    first, second = printed(capsys, "why", str(toll)).splitlines()
    assert first == sentence
    assert second == "Looked at 1,440 rows of run night-5 as of 2026-03-06 02:00:00, compared with 4 days before."
    quiet = printed(capsys, "why", str(toll), "--run", "night-4").splitlines()
    assert quiet[0] == "Nothing is out of the ordinary."
    assert sentence in printed(capsys, "status", str(toll)).splitlines()


def test_the_summary_of_a_run_says_it_before_any_table(toll):
    """`run` prints this text of its record: here that of the recorded run."""
    pipeline = Pipeline.load(toll)
    texts = {}
    for run in ("night-4", "night-5"):
        console = Console(width=300, file=io.StringIO())
        console.print(run_text(toll, pipeline)({**pipeline.summary(run), "repaired": []}))
        texts[run] = console.file.getvalue()
    sentence = pipeline.why()["causes"][0]["sentence"]
    assert texts["night-5"].index(sentence) < texts["night-5"].index("on time")
    assert "would have kept" not in texts["night-4"]
    assert pipeline.summary("night-4")["batches"][0]["dropped"] > 0
    verified = {**pipeline.summary("night-5"), "repaired": [], "verified": {}}
    assert run_cause(pipeline, verified) is None


def test_what_cannot_be_asked_is_an_error_and_before_the_first_run_nothing_is_found(toll, tmp_path):
    pipeline = Pipeline.load(toll)
    with pytest.raises(UsageError, match="no run 'other' has judged rows"):
        pipeline.why(run="other")
    with pytest.raises(UsageError, match="exclude one another"):
        pipeline.why(since="2026-03-01", run="night-1")
    with pytest.raises(UsageError, match="not after"):
        pipeline.why(since="2026-03-02", until="2026-03-01")
    new = Product(tmp_path / "new", {"readings": TOLL}).pipeline()
    assert new.why() == {"scope": "no run is committed yet", "rows": 0, "history": 0, "causes": []}


def test_of_several_sources_each_sentence_begins_with_its_own():
    source, asked = judged_world(chosen("fast", "bad_file"))
    other = replace(source, rules=replace(source.rules, name="t"))
    (alone, *_), both = causes_of([source], asked).causes, causes_of([source, other], asked).causes
    assert {each.sentence for each in both} >= {f"s: {alone.sentence}", f"t: {alone.sentence}"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_sentence_names_a_planted_cause(kind):
    planted = chosen("fast", kind)
    causes = found(planted)
    assert named(planted, causes), [each.sentence for each in causes]


@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_causes_in_a_folder_are_those_that_arrow_reads(kind, over, tmp_path):
    planted = chosen("fast", kind)
    source, asked = judged_world(replace(planted, source=replace(planted.source, over=over)))
    write_deltalake(tmp_path, source.events.to_table())
    there = replace(source, events=dataset_of(tmp_path))
    assert files_here(there.events, asked.read())
    assert causes_of([there], asked) == causes_of([source], asked)


@pytest.mark.parametrize("seed", range(6))
def test_an_ordinary_week_is_quiet(seed):
    assert found(chosen(f"fast-{seed}", None)) == []


def counted(source: JudgedSource, asked: RowScope) -> list[object]:
    with sql() as connection:
        rows = count(CountedSource(connection, source, asked))
        return [rows, *(sorted(connection.table(name).fetchall(), key=repr) for name in ("cells", "repeats"))]


def test_events_in_a_folder_are_counted_as_those_that_arrow_reads(tmp_path):
    planted = chosen("fast", Kind.BAD_FILE)
    source, asked = judged_world(planted)
    rows = source.events.to_table()
    arrivals = [None if number % 50 == 0 else each for number, each in enumerate(rows["_arrival_time"].to_pylist())]
    rows = rows.set_column(rows.schema.get_field_index("_arrival_time"), "_arrival_time", pa.array(arrivals, TIME))
    source = replace(source, events=ds.dataset(rows))
    last = max(rows["_batch_id"].to_pylist())
    for batch in range(1, last + 1):  # a file for each run
        write_deltalake(tmp_path, rows.filter(pc.field("_batch_id") == batch), mode="append")
    there = replace(source, events=dataset_of(tmp_path))
    begins = planted.begins
    for each in (
        asked,
        RowScope(3, 5, history=begins - 5 * DAY, as_of=asked.as_of),
        RowScope(last=last - 1, since=begins - DAY, until=begins, history=begins - 3 * DAY),
        RowScope(last=2),
    ):
        assert counted(there, each) == counted(source, each)
        assert files_here(there.events, each.read())
    assert len(files_here(there.events, RowScope(last=2).read())) == 2 < last, "others are not opened"
    odd = tmp_path / "a*b"  # a name that DuckDB would take for a pattern
    write_deltalake(odd, rows)
    assert files_here(dataset_of(odd), None) == []
    assert counted(replace(source, events=dataset_of(odd)), asked) == counted(source, asked)


def test_the_densest_hours_are_found_and_single_rows_beside_them_are_not():
    hours = [Hour(5, 1, 0.5, 20), *(Hour(h, 20, 0.5, 20) for h in (6, 7, 9)), Hour(30, 1, 0.5, 20)]
    assert [(each.first, each.last) for each in densest(hours)] == [(6, 9)]
    assert [*densest([Hour(h, 1, 0.5, 20) for h in range(0, 100, 9)])] == []
    assert [*densest([Hour(h, 30, 40, 40) for h in range(9)])] == []
    assert [*densest([Hour(1, 9, 0.5, 100_000)])] == []


@pytest.mark.parametrize(
    ("day", "changes"),
    [
        ("2026-03-29T01:00", True),
        ("2026-03-08T07:00", True),
        ("2026-10-25T01:00", True),
        ("2026-11-01T06:00", True),
        ("2026-04-04T16:00", True),
        ("2026-03-22T01:00", False),
        ("2026-05-31T01:00", False),
        ("2026-03-31T01:00", False),
    ],
)
def test_days_on_which_clocks_change(day, changes):
    assert clocks_change(parse_time(f"{day}:00Z")) is changes


def test_words_of_hours_distances_and_names():
    assert when(T0 + 22 * HOUR, T0 + 24 * HOUR - 1) == "22:00-24:00 of 2026-03-01"
    assert when(T0 + 22 * HOUR, T0 + 24 * HOUR) == "22:00 of 2026-03-01 to 01:00 of 2026-03-02"
    assert span_of(40 * MINUTE + SECOND, 44 * MINUTE + 59 * SECOND) == "40m to 45m"
    assert span_of(3 * SECOND, 3 * SECOND) == "3s"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert of_total(90, 90, "dropped") == "all 90 dropped rows"


@pytest.mark.parametrize("order", ["adjust", "drop"])
def test_of_intervals_that_were_moved_to_their_end_those_that_a_tolerance_keeps_are_counted(order):
    w = chosen("intervals", "late_sender")
    w.source = replace(w.source, late=(MINUTE, "adjust"), out_of_order=(10 * SECOND, order), interval=True)
    w.files = [replace(file, rows=tuple(map(lasting, file.rows))) for file in w.files]
    cause = found(w)[0]
    assert (cause.kind, cause.fate, cause.reason) == ("late_sender", "dropped", "late")
    wanted = dict(re.findall(r"(\w+) (\d+[smh])\b", cause.remedy.split(" would have kept ")[0]))
    least = {key: parse_duration(text) for key, text in wanted.items()}
    wider = replace(
        w.source,
        late=(least["late_arrival"], "adjust"),
        out_of_order=(least.get("out_of_order", 10 * SECOND), order),
    )
    before, after = (oracle.judge(each, runs_of(w)).verdicts for each in (w.source, wider))
    kept = sum(
        was.reasons[:1] == ("late",)
        and was.disposition == "dropped"
        and now.disposition != "dropped"
        and cause.first <= (was.arrival or 0) <= cause.last
        and was.partition in cause.partitions
        for was, now in zip(before, after, strict=True)
    )
    assert 0 < (cause.kept or 0) <= kept <= cause.rows
    assert order == "drop" or cause.kept == kept


def lasting(row: Row) -> Row:
    """The row with an end a minute after its start."""
    return replace(row, end=None if row.event is None else row.event + MINUTE)
