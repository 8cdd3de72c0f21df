"""The first sentence of a page says what is abnormal and why, or the state with its reason and the next step: the
dashboard and the report of a week in which one sender was late on one morning."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from dashboard_warehouse import Doorman, application, client_of, write_tables
from page_warehouse import Page, write_file
from toll_week import judged

from tidemark.commands.dashboard import causes
from tidemark.core.quality import Check, Severity
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lock import hold
from tidemark.ledger.tables.rows import batch_row
from tidemark.pipeline import Pipeline

TOLL = "/pipelines/tested"


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged(tmp_path_factory.mktemp("week"))


def first_of(text: str) -> str:
    """The first sentence below the navigation."""
    sentences = Page.of(text).sentences
    return sentences[sentences.index("One row") + 1]


@pytest.fixture(scope="module")
def client(week):
    return client_of(application(week.parent, Doorman({"reader": ["tidemark_tested"]})))


def test_a_pipeline_and_its_last_run_begin_with_the_cause_that_why_names(client, week):
    (cause,) = Pipeline.load(week).why()["causes"]
    assert "G2's, arrived 06:00-10:00 of 2026-03-05" in cause["sentence"]
    for path in (TOLL, f"{TOLL}/runs/night-5"):
        assert first_of(client.get(path).text) == cause["sentence"]
        assert client.get(f"{path}?format=json").json()["causes"] == [cause]


def test_an_ordinary_run_begins_with_a_calm_sentence(client):
    answer = client.get(f"{TOLL}/runs/night-3").text
    assert first_of(answer) == "Nothing is out of the ordinary in this run."
    assert "Look at this" not in answer


def test_a_judged_run_is_looked_at_once(week, monkeypatch):
    monkeypatch.setattr(causes, "_FOUND", causes.Cache(4))
    looked = []
    monkeypatch.setattr(causes, "_look", lambda _, record: looked.append(record.run_id) or causes.Causes())
    client = client_of(application(week.parent, Doorman({"reader": ["tidemark_tested"]})))
    for path in (TOLL, f"{TOLL}/runs/night-5", f"{TOLL}/runs/night-4", f"{TOLL}/runs/night-4"):
        assert client.get(path).status_code == 200
    assert looked == ["night-5", "night-4"]


def test_more_rows_than_a_page_may_read_are_left_to_the_command(week, monkeypatch):
    monkeypatch.setattr(causes, "_FOUND", causes.Cache(4))
    monkeypatch.setattr(causes, "MOST_ROWS", 7_000)
    said = first_of(client_of(application(week.parent, Doorman({"reader": ["tidemark_tested"]}))).get(TOLL).text)
    assert "7,200 rows" in said
    assert said.endswith(f"tidemark why {week} --run night-5 looks at them.")


@pytest.fixture(scope="module")
def report(week, tmp_path_factory) -> str:
    page = tmp_path_factory.mktemp("report") / "page.html"
    return Path(Pipeline.load(week).report(page)["path"]).read_text()


def test_the_report_begins_with_the_cause_and_says_it_once(week, report):
    page = Page.of(report)
    (cause,) = Pipeline.load(week).why(since="2026-02-01")["causes"]
    assert page.sentences[0] == cause["sentence"]
    of_a_picture = "By how much dropped rows missed the limit that dropped them:"
    assert [each for each in page.sentences if "dropped rows" in each] == [cause["sentence"], of_a_picture]
    assert not [each for each in page.sentences if "in no stream" in each]


def test_the_close_look_of_the_report_is_at_the_cause_and_not_at_the_newest_row(report):
    close = report.index('id="watermark-readings"')
    assert close < report.index('id="totals"')
    assert report.count('id="watermark-readings"') == 1
    drawn = report[close : report.index("</figure>", close)]
    assert "The watermark: readings, partition G2" in drawn
    assert "The watermark of partition G2 goes from 2026-03-05 0" in drawn


FAILED = Check("batches", "dropped_share", 0.0625, 0.02, False, Severity.BLOCK, (), "look")


@pytest.fixture
def stopped(tmp_path):
    """A pipeline whose third run is planned and not done."""
    write_file(tmp_path, "toll")
    write_tables(tmp_path)
    ledger = Ledger(tmp_path / "warehouse" / "toll")
    (done,) = ledger.batches(2, 2)
    planned = replace(
        done, batch_id=3, run_id="r3", run_first=3, run_last=3, status="planned", accounts=(), streams={}, digests=()
    )
    ledger.stores["batches"].append([batch_row(planned)])
    return tmp_path, planned


def pages_of(folder: Path, host: Doorman | None = None) -> tuple[str, dict[str, object]]:
    """The first page of the pipeline, and its JSON, whose state is that of the list."""
    client = client_of(application(folder, host or Doorman({"reader": ["tidemark_toll"]})))
    (line,), data = client.get("/?format=json").json()["pipelines"], client.get("/pipelines/toll?format=json").json()
    assert line["state"] == data["state"]
    return client.get("/pipelines/toll").text, data


def test_a_crash_is_not_taken_for_what_was_abnormal_in_the_run_before(week, tmp_path):
    shutil.copytree(week.parent, tmp_path / "copy")
    ledger = Ledger(tmp_path / "copy" / "warehouse" / "tested")
    (done,) = ledger.batches(5, 5)
    again = replace(done, batch_id=6, run_id="night-6", run_first=6, run_last=6, status="planned", digests=())
    ledger.stores["batches"].append([batch_row(again)])
    text = client_of(application(tmp_path / "copy", Doorman({"reader": ["tidemark_tested"]}))).get(TOLL).text
    crashed, abnormal = text.index("was interrupted"), text.index("dropped rows are G2")
    assert crashed < text.index("Next step:") < text.index("Look at this") < abnormal


def test_a_run_that_died_is_crashed_with_the_command_that_finishes_it(stopped):
    folder, _ = stopped
    text, data = pages_of(folder)
    assert data["state"] == "crashed"
    assert first_of(text).startswith("Run r3, as of 2026-01-01T14:00:00Z, was interrupted: batch 3 not committed.")
    assert f"tidemark run {folder / 'toll.yml'}" in Page.of(text).sentences
    client = client_of(application(folder, Doorman({"reader": ["tidemark_toll"]})))
    states = [line["state"] for line in Page.of(client.get("/pipelines/toll/runs").text).lines("batches")]
    assert states == ["crashed", "committed", "committed"]


def test_a_run_under_way_is_running(stopped):
    folder, _ = stopped
    with hold(folder / "warehouse" / "toll"):
        text, data = pages_of(folder)
    assert data["state"] == "running"
    assert "is under way" in first_of(text)


def test_a_blocked_run_says_which_check_failed_in_per_cent_and_what_releases_it(stopped):
    folder, planned = stopped
    ledger = Ledger(folder / "warehouse" / "toll")
    ledger.record_checks(planned, [FAILED, replace(FAILED, table="events/readings")])
    ledger.block(planned)
    text, data = pages_of(folder)
    assert data["state"] == "blocked"
    assert "dropped share of readings is 6.25 %, at most 2 % is allowed." in first_of(text)
    assert any(each.startswith(f"tidemark release {folder / 'toll.yml'} r3") for each in Page.of(text).sentences)


def test_a_failed_check_that_blocks_nothing_is_told_by_the_pipeline_its_run_and_status(tmp_path):
    config = write_file(tmp_path, "toll")
    write_tables(tmp_path)
    ledger = Ledger(tmp_path / "warehouse" / "toll")
    first, second = ledger.batches(1, 2)
    for record, share in ((first, 0.5), (second, 0.0625)):
        warned = replace(FAILED, observed=share, severity=Severity.WARN)
        ledger.record_checks(record, [warned, replace(warned, table="events/readings", limit=0.6, success=True)])
    client = client_of(application(tmp_path, Doorman({"reader": ["tidemark_toll"]})))
    told = "dropped share of all rows is {} %, at most 2 % is allowed, in run {}."
    for path, share, run in (("", "6.25", "r2"), ("/runs/r2", "6.25", "r2"), ("/runs/r1", "50", "r1")):
        assert told.format(share, run) in Page.of(client.get(f"/pipelines/toll{path}").text).sentences
    assert Pipeline.load(config).status()["failed"] == [told.format("6.25", "r2")]


def test_checks_of_a_blocked_run_are_told_once_those_that_block_with_its_state(stopped):
    folder, planned = stopped
    ledger = Ledger(folder / "warehouse" / "toll")
    ledger.record_checks(planned, [FAILED, replace(FAILED, expectation="adjusted_share", severity=Severity.WARN)])
    ledger.block(planned)
    client = client_of(application(folder, Doorman({"reader": ["tidemark_toll"]})))
    text = client.get("/pipelines/toll/runs/r3").text
    assert text.count("dropped share of all rows") == text.count("adjusted share of all rows") == 1


def test_a_blocked_run_whose_task_asks_a_person_waits_for_approval(stopped):
    folder, planned = stopped
    ledger = Ledger(folder / "warehouse" / "toll")
    ledger.record_checks(planned, [FAILED])
    ledger.block(planned)
    text, data = pages_of(folder, Doorman({"reader": ["tidemark_toll"]}, waits={"r3": "approve"}))
    assert (data["state"], data["waiting"]) == ("waiting for approval", {"r3": "approve"})
    page = Page.of(text)
    assert "Next step: answer approve of DAG run r3." in page.sentences
    assert ("a", "href", "/dags/tidemark_toll/runs/r3/tasks/approve") in page.attributes
