"""A page by when runs ran: a run that caught up is in the page of the day when it ran, and in that of its as_of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from deltalake import CommitProperties, Transaction, write_deltalake
from page_warehouse import Page
from report_warehouse import event, table_of
from test_report_command import CONFIG

from tidemark.core.times import parse_time
from tidemark.ledger import versions
from tidemark.ledger.tables.clone import clone
from tidemark.ledger.tables.rows import batch_row
from tidemark.ledger.versions import Made
from tidemark.pipeline import Pipeline
from tidemark.report.page.charts.vega import Picture
from tidemark.storage import delta_table

AS_OF = ("2026-01-01T05:00:00Z", "2026-01-02T05:00:00Z", "2026-01-03T05:00:00Z", "2026-01-04T05:00:00Z")
RAN = {1: "2026-01-01T05:00:09.9Z", 2: "2026-01-04T04:00:00Z", 3: "2026-01-04T04:01:30Z", 4: "2026-01-04T05:00:02Z"}
"""The second and the third run were made up for on the fourth day."""
DAYS = {day: (f"2026-01-{day:02}T00:00:00Z", f"2026-01-{day + 1:02}T00:00:00Z") for day in range(1, 8)}


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Picture, "svg", lambda *_: "")


def set_times(table: Path, times: Mapping[int, str], writer: str = "commit") -> None:
    """Have a table's log say that batches were committed at these times; of other commits nothing changes."""
    for path in (table / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        numbers = [each["txn"]["version"] for each in actions if each.get("txn", {}).get("appId") == writer]
        for each in actions:
            if "commitInfo" in each and numbers and numbers[0] in times:
                each["commitInfo"]["timestamp"] = parse_time(times[numbers[0]]) // 1000
        path.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in actions))


def forget_log(table: Path) -> None:
    """Remove the commits before that of a checkpoint, as Delta does once they are old."""
    delta_table(table).create_checkpoint()
    for path in sorted((table / "_delta_log").glob("*.json"))[:-1]:
        path.unlink()


@dataclass(frozen=True)
class Shown:
    """What a page says of its runs: the sentence that it begins with, and the list."""

    covers: str
    as_of: list[str]
    ran: list[str]


def shown(pipeline: Pipeline, *days: str) -> Shown:
    page = Page.of(Path(pipeline.report(Path("day.html"), *days)["path"]).read_text(encoding="utf-8"))
    lines = page.lines("runs-table")
    covers = next((each for each in page.sentences if "This page covers" in each), page.sentences[0])
    return Shown(covers, [line["as of"] for line in lines][::-1], [line["ran"] for line in lines][::-1])


@pytest.fixture
def caught_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Four runs that found nothing, each of one day; two of them ran days after their as_of."""
    (tmp_path / "landing").mkdir()
    (tmp_path / "toll.yml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    pipeline = Pipeline.load(tmp_path / "toll.yml")
    for as_of in AS_OF:
        pipeline.run(as_of)
    set_times(batches_of(pipeline), RAN)
    return pipeline


def batches_of(pipeline: Pipeline) -> Path:
    folder = pipeline.ledger.folder / "batches"
    assert isinstance(folder, Path)
    return folder


def test_a_run_of_an_earlier_day_is_in_the_page_of_the_day_when_it_ran(caught_up: Pipeline) -> None:
    found = shown(caught_up, *DAYS[4])
    assert found.as_of == ["2026-01-02 05:00:00", "2026-01-03 05:00:00", "2026-01-04 05:00:00"]
    assert found.ran == ["2026-01-04 04:00:00", "2026-01-04 04:01:30", "05:00:02"]
    assert found.covers == (
        "3 runs in 3 micro-batches, as of times from 2026-01-02 05:00:00 to 2026-01-04 05:00:00 (UTC), took 0 "
        "objects with no row. They ran from 2026-01-04 04:00:00 to 05:00:02. This page covers runs that "
        "ran, or have an as_of, from 2026-01-04T00:00:00Z and before 2026-01-05T00:00:00Z; all times are UTC."
    )


def test_it_is_in_the_page_of_its_as_of_too(caught_up: Pipeline) -> None:
    found = shown(caught_up, *DAYS[2])
    assert (found.as_of, found.ran) == (["2026-01-02 05:00:00"], ["2026-01-04 04:00:00"])
    assert "took 0 objects with no row. It ran at 2026-01-04 04:00:00. This page covers" in found.covers


def test_a_day_on_which_only_earlier_days_ran_has_a_page(caught_up: Pipeline) -> None:
    set_times(batches_of(caught_up), RAN | {4: "2026-01-06T23:59:59.999Z"})
    assert shown(caught_up, *DAYS[6]).as_of == ["2026-01-04 05:00:00"]
    assert shown(caught_up, *DAYS[5]).covers.startswith("No run: there are no runs that ran, or have an as_of, from")
    assert shown(caught_up, DAYS[7][0]).covers.startswith("No run")


def test_all_that_is_recorded_says_when_it_ran(caught_up: Pipeline) -> None:
    found = shown(caught_up)
    assert found.ran == ["05:00:09", *("2026-01-04 04:00:00", "2026-01-04 04:01:30"), "05:00:02"]
    assert "They ran from 2026-01-01 05:00:09 to 2026-01-04 05:00:02. This page covers everything" in found.covers


def test_runs_between_are_on_the_page_and_counted(caught_up: Pipeline) -> None:
    late = {2: "2026-01-03T23:00:00Z", 3: "2026-01-05T01:00:00Z", 4: "2026-01-05T02:00:00Z"}
    set_times(batches_of(caught_up), RAN | {1: "2026-01-04T00:00:00Z"} | late | {2: "2026-01-04T23:00:00Z"})
    found = shown(caught_up, *DAYS[4])
    assert len(found.as_of) == 4
    assert "before 2026-01-05T00:00:00Z, and 1 run between them; all times" in found.covers


def test_without_the_log_a_page_has_the_runs_by_their_as_of(caught_up: Pipeline) -> None:
    forget_log(batches_of(caught_up))
    assert shown(caught_up, *DAYS[4]).as_of == ["2026-01-04 05:00:00"]
    found = shown(caught_up, *DAYS[2])
    assert (found.as_of, found.ran) == (["2026-01-02 05:00:00"], ["-"])
    assert "with no row. When it ran is no longer known. This page covers" in found.covers
    found = shown(caught_up)
    assert found.ran == ["-", "-", "-", "05:00:02"]
    assert ". 1 of them ran at 2026-01-04 05:00:02; when the others ran is no longer known. This" in found.covers


def test_the_logs_of_events_say_it_where_that_of_batches_has_forgotten(caught_up: Pipeline) -> None:
    forget_log(batches_of(caught_up))
    events = caught_up.ledger.folder / "events" / "readings"
    for number in (2, 3):
        rows = table_of([event(number, parse_time(AS_OF[number - 1]), _batch_id=number)])
        written = CommitProperties(app_transactions=[Transaction("tidemark", number)])
        write_deltalake(str(events), rows, mode="append", commit_properties=written)
    set_times(events, RAN, "tidemark")
    found = shown(caught_up, *DAYS[4])
    assert found.ran == ["2026-01-04 04:00:00", "2026-01-04 04:01:30", "05:00:02"]


def second_version(pipeline: Pipeline, through: int) -> Pipeline:
    """Version 2, live, whose `batches` has those up to `through` of version 1."""
    root, (last,) = pipeline.ledger.root, pipeline.ledger.batches(4, 4)
    made = Made(0, None, last.fingerprint, last.configuration, 1, through, None, 0, "{}")
    clone(pipeline.ledger.folder / "batches", root / "v2" / "batches", through)
    versions.promote(root, versions.add(root, parse_time("2026-01-06T00:00:00Z"), made), 0)
    return Pipeline.load("toll.yml")


def test_runs_of_the_version_before_ran_when_they_ran_there(caught_up: Pipeline) -> None:
    again = second_version(caught_up, 4)
    assert again.ledger.version == 2
    assert shown(again, *DAYS[4]).ran == ["2026-01-04 04:00:00", "2026-01-04 04:01:30", "05:00:02"]


def test_a_run_that_is_made_again_in_another_version_ran_when_it_first_did(caught_up: Pipeline) -> None:
    again = second_version(caught_up, 3)
    row = batch_row(again.ledger.batches(4, 4)[0])
    again.ledger.stores["batches"].replace("batch_id = 4", [row], "commit", 4)
    assert shown(again, DAYS[5][0]).covers.startswith("No run")
    assert shown(again).ran == ["05:00:09", "2026-01-04 04:00:00", "2026-01-04 04:01:30", "05:00:02"]
