"""The command `report`: a page of the tables of a pipeline, written without a JVM."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from page_warehouse import QUALITY, Page

from tidemark import cli
from tidemark.core.quality import Check, Severity
from tidemark.core.times import parse_time
from tidemark.errors import UsageError
from tidemark.ledger.tables.rows import batch_row
from tidemark.pipeline import Pipeline
from tidemark.report.page import build

CONFIG = """
pipeline: toll
warehouse: ./warehouse
sources:
  readings:
    landing: ./landing
    format: json
    schema: "car STRING, passed TIMESTAMP, received TIMESTAMP"
    timestamp_by: passed
    arrival_time: received
    landing_delay: 0s
streams:
  per_minute: {from: readings, tumbling: 1m, select: {cars: count(*)}}
"""
DAYS = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z")


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "landing").mkdir()
    (tmp_path / "toll.yml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "toll.yml"


@pytest.fixture
def ran(config: Path) -> Pipeline:
    """Three runs that found nothing, and so started no JVM."""
    pipeline = Pipeline.load(config)
    for as_of in DAYS[:3]:
        pipeline.run(as_of)
    return pipeline


def page_of(path: str) -> Page:
    return Page.of(Path(path).read_text(encoding="utf-8"))


def test_before_the_first_run_the_page_says_so(config: Path) -> None:
    answer = Pipeline.load(config).report()
    assert answer == {"path": "toll-report.html"}
    assert page_of(answer["path"]).sentences[0] == "No run has committed anything yet."


def test_the_command_prints_the_path_of_the_page(ran: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["report", str(ran.spec.path), "--out", "of toll.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema_version": 1, "path": "of toll.html"}
    (covered,) = (each for each in page_of("of toll.html").sentences if "This page covers" in each)
    assert covered.startswith(
        "3 runs in 3 micro-batches, as of times from 2026-01-01 00:00:00 to 2026-01-03 00:00:00 (UTC), "
        "took 0 objects with no row. They ran "
    )
    assert covered.endswith(". This page covers everything that is recorded; all times are UTC.")


def test_a_page_of_a_day_tells_of_the_runs_of_that_day(ran: Pipeline) -> None:
    page = page_of(ran.report(Path("day.html"), DAYS[1], DAYS[2])["path"])
    assert [line["as of"] for line in page.lines("runs-table")] == ["2026-01-02 00:00:00"]
    (covered,) = (each for each in page.sentences if "This page covers" in each)
    assert covered.startswith("1 run in 1 micro-batch, as of 2026-01-02 00:00:00 (UTC), took 0 objects with no row.")
    assert covered.endswith(
        "This page covers runs that ran, or have an as_of, from 2026-01-02T00:00:00Z and before "
        "2026-01-03T00:00:00Z; all times are UTC."
    )
    later = page_of(ran.report(Path("later.html"), "2100-02-01T00:00:00Z")["path"])
    assert later.sentences[0] == "No run: there are no runs that ran, or have an as_of, from 2100-02-01T00:00:00Z."


def test_checks_are_shown_that_were_recorded_in_the_table_quality(ran: Pipeline) -> None:
    check = {"batch_id": 3, "run_id": "r", "table": "events/readings", "expectation": "max_dropped", "success": True}
    check |= {"severity": "warn", "examples": []}
    write_deltalake(str(ran.ledger.folder / "quality"), pa.Table.from_pylist([check], schema=QUALITY))
    (line,) = page_of(ran.report()["path"]).lines("quality-table")
    assert [line[name] for name in ("run", "expectation", "observed", "result")] == ["r", "max_dropped", "-", "held"]


def test_a_page_of_a_day_names_failed_checks_of_its_runs_and_of_no_others(ran: Pipeline) -> None:
    checks = [
        {"batch_id": n, "run_id": f"r{n}", "table": "events/readings", "expectation": "dropped_share"}
        | {"observed": 0.04, "limit": 0.01, "success": n == 2, "severity": "warn", "examples": []}
        for n in (1, 2, 3)
    ]
    write_deltalake(str(ran.ledger.folder / "quality"), pa.Table.from_pylist(checks, schema=QUALITY))
    told = "dropped share of readings is 4 %, at most 1 % is allowed, in run r"
    for day, (since, until) in enumerate(pairwise(DAYS), start=1):
        page = page_of(ran.report(Path("day.html"), since, until)["path"])
        assert {line["run"] for line in page.lines("quality-table")} == {f"r{day}"}
        named = [each for each in page.sentences if each.startswith(told)]
        assert named == ([] if day == 2 else [f"{told}{day}."])


def test_a_page_of_a_day_says_nothing_of_a_later_run_that_quality_blocks(ran: Pipeline) -> None:
    (done,) = ran.ledger.batches(3, 3)
    blocked = replace(done, batch_id=4, run_id="r4", run_first=4, run_last=4, status="blocked", digests=())
    ran.ledger.stores["batches"].append([batch_row(replace(blocked, as_of=parse_time(DAYS[3])))])
    ran.ledger.record_checks(blocked, [Check("batches", "dropped_share", 0.04, 0.01, False, Severity.BLOCK)])
    day = page_of(ran.report(Path("day.html"), DAYS[2], DAYS[3])["path"]).sentences
    assert not [each for each in day if "Batch 4" in each or "dropped share" in each]
    for until in (None, "2026-01-05T00:00:00Z"):
        page = page_of(ran.report(Path("day.html"), DAYS[2], until)["path"]).sentences
        assert "Batch 4 of a run that is not committed: in no count of this page." in page
        assert "dropped share of all rows is 4 %, at most 1 % is allowed, in run r4." in page


def test_a_folder_that_is_not_there_is_a_usage_error(ran: Pipeline) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        ran.report(Path("nowhere/page.html"))


def test_a_page_that_could_not_be_made_leaves_the_one_before(ran: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("page.html").write_text("the one before")
    monkeypatch.setattr(build, "page", lambda _: "\ud800")
    with pytest.raises(UnicodeEncodeError):
        ran.report(Path("page.html"))
    assert Path("page.html").read_text() == "the one before"
    assert not list(Path().glob(".page*"))


def test_tables_and_page_are_for_those_whom_the_umask_leaves(config: Path) -> None:
    before = os.umask(0o077)
    try:
        pipeline = Pipeline.load(config)
        pipeline.run(DAYS[0])
        page = Path(pipeline.report()["path"])
    finally:
        os.umask(before)
    written = [page, *(config.parent / "warehouse").rglob("*")]
    assert len(written) > 5
    assert not [path for path in written if path.stat().st_mode & 0o077]
