"""Arguments of the Python verbs: a wrong one is named, and what a person passes is taken."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from itertools import count

import pytest

from tidemark import Pipeline
from tidemark.arguments import reason_for
from tidemark.commands.schedule import answer
from tidemark.core.times import DAY, HOUR, format_time, parse_time
from tidemark.errors import TidemarkError, UsageError

CONFIG = """
pipeline: asked
warehouse: ./warehouse
sources:
  readings: {landing: ./landing, format: json, schema: "v STRING"}
"""


@pytest.fixture
def pipeline(tmp_path, monkeypatch):
    (tmp_path / "landing").mkdir()
    (tmp_path / "p.yml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    found = Pipeline.load("p.yml")
    found.run()
    return found


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (lambda p: p.rows(fates="dropped"), "rows has no argument 'fates'", "did you mean 'fate'"),
        (lambda p: p.rows(Source="readings"), "rows has no argument 'Source'", "did you mean 'source'"),
        (lambda p: p.rows(limit="many"), "limit is 'many'", "whole number of 0 or more"),
        (lambda p: p.rows(limit=True), "limit is True", "whole number"),
        (lambda p: p.rows(partition=1.5), "1.5 is not a partition", "its name"),
        (lambda p: p.rows(batch=0), "batch is 0", "whole number of 1 or more"),
        (lambda p: p.rows(since=1.5), "1.5 is not a time", "ISO 8601"),
        (lambda p: p.run(as_of=datetime(2026, 1, 1)), "has no zone", "tzinfo=datetime.UTC"),  # noqa: DTZ001
        (lambda p: p.export_rows(3, "csv"), "target is 3", "path"),
        (lambda p: p.explain("readings", "0", "first"), "offset is 'first'", "whole number"),
        (lambda p: p.explain("readings"), "partition and offset are missing", "SOURCE PARTITION OFFSET"),
        (lambda p: p.explain({"source": "readings"}), "the row has no partition", "rows CONFIG --json"),
        (lambda p: p.explain({}, "0", 1), "a row has its partition and offset itself", "leave out"),
        (lambda p: p.explain(7), "7 is not a source", "rows CONFIG --json"),
        (lambda p: p.report(out=3), "out is 3", "path"),
        (lambda p: p.advise(target_droped="1%"), "advise has no argument 'target_droped'", "'target_dropped'"),
        (lambda p: p.replay(every=True), "replay has no argument 'every'", "all"),
        (lambda p: p.backfill("2026-01-01T00:00:00Z", sets=["a=b"]), "backfill has no argument 'sets'", "'set'"),
        (lambda p: p.backfill("2026-01-01T00:00:00Z", set=[3]), "set has 3 in it", "text"),
        (lambda p: p.promote("two"), "version is 'two'", "whole number"),
        (lambda _: Pipeline("p.yml"), "a pipeline is not made from 'p.yml'", "Pipeline.load"),
        (lambda _: Pipeline.load(3), "path is 3", "path"),
    ],
)
def test_an_argument_that_cannot_be_is_named_with_what_to_give(pipeline, call, message, hint):
    with pytest.raises(UsageError) as caught:
        call(pipeline)
    assert message in caught.value.message
    assert hint in caught.value.hint


NOW = parse_time("2100-03-01T12:30:00Z")
AGES = {
    "2100-02-27": "2100-02-27T00:00:00Z",
    "2d": "2100-02-27T12:30:00Z",
    "36h": "2100-02-28T00:30:00Z",
    "1h30m": "2100-03-01T11:00:00Z",
    datetime(2100, 3, 1, 6, tzinfo=timezone(timedelta(hours=-5))): "2100-03-01T11:00:00Z",
}


@pytest.mark.parametrize(("given", "time"), AGES.items())
def test_a_time_may_be_a_date_or_an_age_back_from_the_clock_at_the_call(pipeline, monkeypatch, given, time):
    pipeline.context.clock = lambda: NOW
    asked, none = [], {"rows": [], "total": 0, "truncated": False}
    monkeypatch.setattr("tidemark.report.rows.find_rows", lambda _, where, *__: asked.append(where) or none)
    pipeline.rows(since=given, until="0s")
    assert [format_time(asked[0].since), asked[0].until] == [time, NOW]
    assert pipeline.run(as_of=given, dry_run=True)["as_of"] == time


class Asked(Exception):
    """Raised in the place of the work of a command, with what it was asked for."""


WORK = {
    "tidemark.commands.backfill.build.build": (
        lambda p, given: p.backfill(given, given),
        lambda _, request, __: [request.begin, request.end],
    ),
    "tidemark.commands.run.run": (
        lambda p, given: answer(p.context, given, "scheduled"),
        lambda _, request, **__: [request.as_of],
    ),
    "tidemark.commands.report.write_report": (
        lambda p, given: p.report(since=given, until=given),
        lambda _, __, ___, since, until: [since, until],
    ),
}


@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize(("given", "time"), AGES.items())
def test_work_that_is_recorded_is_asked_for_by_instants(pipeline, monkeypatch, work, given, time):
    def stand_in(*what, **options):
        raise Asked(instants(*what, **options))

    call, instants = WORK[work]
    pipeline.context.clock = lambda: NOW
    monkeypatch.setattr(work, stand_in)
    with pytest.raises(Asked) as asked:
        call(pipeline, given)
    assert {format_time(each) for each in asked.value.args[0]} == {time}


def test_an_age_counts_from_the_call_however_long_the_run_waits_for_another(pipeline, monkeypatch):
    pipeline.context.clock = lambda: NOW

    @contextmanager
    def held(*_):
        pipeline.context.clock = lambda: NOW + DAY
        yield

    monkeypatch.setattr("tidemark.context.hold", held)
    assert pipeline.close(as_of="2h", wait=True)["as_of"] == format_time(NOW - 2 * HOUR)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.run(as_of="9999-12-31"), "as_of 9999-12-31T00:00:00Z is later than the clock"),
        (lambda p: p.run(as_of="2026-01-01T00:00:00"), "has no offset: end it with Z"),
        (lambda p: p.rows(since="2026-01-01T00:00"), "has no offset: end it with Z"),
        (lambda p: p.rows(since="soon"), "an age like 2d"),
        (lambda p: p.backfill("2026-01-01T00:00:00"), "has no offset: end it with Z"),
    ],
)
def test_a_time_that_lies_ahead_or_names_no_instant_is_refused(pipeline, call, message):
    with pytest.raises(UsageError, match=message):
        call(pipeline)


def test_what_a_person_passes_is_taken(pipeline, tmp_path):
    assert pipeline.rows(limit=None, partition=0)["total"] == 0
    assert pipeline.report(out="page.html")["path"] == "page.html"
    assert (tmp_path / "page.html").is_file()
    assert pipeline.replay(all=True)["identical"]
    for partition in (0, "0"):
        with pytest.raises(TidemarkError, match="no rows of a partition '0'"):
            pipeline.explain("readings", partition, 2)


@pytest.mark.usefixtures("pipeline")
def test_ages_of_one_call_count_back_from_one_time(monkeypatch):
    def refuse(begin, end):
        raise UsageError(f"{end - begin} apart")

    clock = count(parse_time("2026-01-01T00:00:00Z"), HOUR)
    late = Pipeline.load("p.yml", clock=lambda: next(clock))
    monkeypatch.setattr("tidemark.commands.report.write_report", lambda *given: refuse(*given[3:]))
    monkeypatch.setattr("tidemark.commands.backfill.build.build", lambda _, call, __: refuse(call.begin, call.end))
    for call in (lambda: late.report(since="2d", until="1d"), lambda: late.backfill("2d", "1d")):
        with pytest.raises(UsageError, match=f"^{DAY} apart"):
            call()


@pytest.mark.parametrize("text", ["", " ", "...", " … "])
def test_a_reason_that_only_stands_for_one_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="a release needs a reason"):
        reason_for("a release", text, "say why")
    assert reason_for("a release", " it is right... ", "say why") == "it is right..."
