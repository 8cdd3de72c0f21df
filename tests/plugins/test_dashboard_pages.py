"""What pages show is what tables hold, as text and nothing else; lists are cut and filtered by the server."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from dashboard_warehouse import Doorman, application, client_of, write_tables
from page_warehouse import HOSTILE, T0, Page, two_runs, write_file

from oracle import Obj, Row, Run
from tidemark.core.times import HOUR, MINUTE
from tidemark.dashboard.asked import OneRow
from tidemark.dashboard.host import Verified
from tidemark.dashboard.links import Links
from tidemark.dashboard.views.row import row as row_page
from tidemark.pipeline import Pipeline
from tidemark.report.text import safe

RUN_ID = "scheduled__2026-01-01T13:00:00+00:00/{}"
"""Every character that run ids of Airflow may have, and a slash."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dashboard")
    write_file(folder, "toll")
    write_tables(folder, runs=two_runs("0", "1", HOSTILE), run_id=RUN_ID, letters=120, checks=130)
    return folder


@pytest.fixture(scope="module")
def host() -> Doorman:
    first, second = RUN_ID.format(1), RUN_ID.format(2)
    verified = {first: Verified(second, "success", datetime(2026, 1, 3, 4, 5, tzinfo=UTC))}
    return Doorman({"reader": ["tidemark_toll", "tidemark_maintenance"]}, ["reader"], {first: "success"}, verified)


@pytest.fixture(scope="module")
def client(folder, host):
    return client_of(application(folder, host))


def page_of(client, path: str, status: int = 200) -> Page:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    return Page.of(answer.text)


def links_of(page: Page) -> list[str]:
    return [value or "" for tag, name, value in page.attributes if (tag, name) == ("a", "href")]


def test_the_list_says_how_far_each_pipeline_is(client):
    (line,) = page_of(client, "/").lines("pipelines")
    assert (line["pipeline"], line["rows"], line["state"]) == ("toll", "40", "ready")
    assert line["newest run as of"] == "2026-01-01 14:00:00"


def test_a_long_list_is_searched_by_a_text_in_names(tmp_path):
    names = [f"toll_{number}" for number in range(12)]
    for name in names:
        write_file(tmp_path, name)
    client = client_of(application(tmp_path, Doorman({"reader": [f"tidemark_{name}" for name in names]})))
    assert len(page_of(client, "/").lines("pipelines")) == 10
    assert [line["pipeline"] for line in page_of(client, "/?name=TOLL_1").lines("pipelines")] == [
        "toll_1",
        "toll_10",
        "toll_11",
    ]
    assert "/?name=toll&page=2" in links_of(page_of(client, "/?name=toll"))
    nothing = client.get("/", params={"name": "<b>"}).text
    assert "There is no pipeline with &#x27;&lt;b&gt;&#x27; in its name here" in nothing
    assert 'value="&lt;b&gt;"' in nothing


def test_a_pipeline_whose_tables_are_damaged_hides_no_other(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    write_file(tmp_path / "copy", "broken")
    write_tables(tmp_path / "copy", "broken")
    for file in (tmp_path / "copy" / "warehouse" / "broken" / "v1" / "batches").glob("*.parquet"):
        file.write_bytes(b"damaged")
    told = Doorman({"reader": ["tidemark_toll", "tidemark_broken"]})
    lines = page_of(client_of(application(tmp_path / "copy", told)), "/").lines("pipelines")
    broken, sound = (line["state"] for line in lines)
    assert broken.startswith("a file of the table batches is missing or damaged: part-")
    assert sound == "ready"


def test_before_the_first_run_every_page_says_so(tmp_path, host):
    write_file(tmp_path, "toll")
    client = client_of(application(tmp_path, host))
    assert page_of(client, "/").lines("pipelines")[0]["state"] == "no run yet"
    for tab, told in {
        "": "No run has committed anything yet.",
        "/history": "No run has committed anything yet.",
        "/quality": "No checks have run yet.",
        "/versions": "No version is recorded yet: the first run makes one.",
        "/letters": "No row was late for a window of this stream.",
    }.items():
        assert told in page_of(client, f"/pipelines/toll{tab}").sentences
    assert page_of(client, "/pipelines/toll/runs").lines("batches") == []


def test_a_pipeline_shows_what_status_tells(client, folder):
    told = Pipeline.load(folder / "toll.yml").status()
    page = page_of(client, "/pipelines/toll")
    assert [line["partition"] for line in page.lines("partitions")] == [
        safe(entry["partition"]) for entry in told["partitions"]
    ]
    assert [line["watermark delay"] for line in page.lines("partitions")] == [
        entry["watermark_delay"] or "-" for entry in told["partitions"]
    ]
    assert [line["stream"] for line in page.lines("streams-table")] == ["rolling"]


def test_only_what_is_abnormal_is_to_be_looked_at(tmp_path, host):
    write_file(tmp_path, "toll")
    both = Run(T0 + HOUR, tuple(Obj(f"{n}", T0 + HOUR, (Row(f"{n}", T0, T0 + n * MINUTE),)) for n in range(2)))
    shorter = Run(T0 + 61 * MINUTE, (Obj("later", T0 + HOUR, (Row("0", T0 + HOUR, T0 + HOUR),)),))
    write_tables(tmp_path, runs=[both, shorter])
    healthy = client_of(application(tmp_path, host))
    assert Pipeline.load(tmp_path / "toll.yml").status()["sources"][0]["held_back_by"] == ["1"]
    assert "Look at this" not in healthy.get("/pipelines/toll").text
    with (tmp_path / "toll.yml").open("a") as file:
        file.write("quality: {max_output_delay: 5m}\n")
    slow = page_of(client_of(application(tmp_path, host)), "/pipelines/toll").sentences
    assert any("exceeds max_output_delay 5m" in each for each in slow)
    assert any(each.startswith("readings: partition 1 is lowest") for each in slow)


def test_partitions_are_filtered_by_the_server(client):
    held = page_of(client, "/pipelines/toll?held=true&source=readings").lines("partitions")
    assert 0 < len(held) < 3


def test_everything_shown_is_text(client):
    for path in ("", "/runs", "/quality", "/letters", "/history", "/batches/1?fate=dropped", "/batches/2"):
        answer = client.get(f"/pipelines/toll{path}").text
        page = Page.of(answer)
        assert page.tags["script"] == 1
        assert "<script>alert" not in answer
        assert "\x1b" not in answer
        assert "\u202e" not in answer
    assert (
        HOSTILE.split("'", maxsplit=1)[0].replace("<", "&lt;").replace(">", "&gt;")
        in client.get("/pipelines/toll").text
    )


def test_what_is_asked_is_text_too(client):
    asked = {"source": "readings", "partition": HOSTILE, "offset": 10**6}
    answer = client.get("/pipelines/toll/row", params=asked)
    assert answer.status_code == 404
    assert "<script>alert" not in answer.text
    assert client.get("/pipelines/toll", params={HOSTILE: "1"}).status_code == 422
    assert "<script>alert" not in client.get("/pipelines/toll", params={HOSTILE: "1"}).text
    assert "<script>alert" not in client.get(f"/pipelines/toll/runs/{quote(HOSTILE)}").text


def test_runs_say_which_dag_run_they_are_and_what_has_verified_them(client):
    page = page_of(client, "/pipelines/toll/runs")
    newest, oldest = page.lines("batches")
    assert (newest["batch"], oldest["batch"]) == ("2", "1")
    assert oldest["verified"] == "no difference, 2026-01-03 04:05"
    assert newest["verified"] == newest["DAG run"] == "-"
    assert oldest["DAG run"] == "success"
    outward = [link for link in links_of(page) if link.startswith("/dags/")]
    first, second = (f"/dags/tidemark_toll/runs/scheduled__2026-01-01T13%3A00%3A00%2B00%3A00%2F{n}" for n in (1, 2))
    assert outward == [second, first]


def test_each_run_and_batch_that_is_listed_has_a_page(client):
    for link in links_of(page_of(client, "/pipelines/toll/runs")):
        if link.startswith("/pipelines/toll/"):
            assert client.get(link).status_code == 200, link


def test_a_dag_run_leads_to_the_batches_of_its_run(client):
    encoded = "scheduled__2026-01-01T13%3A00%3A00%2B00%3A00%2F1"
    answer = client.get(f"/dags/tidemark_toll/runs/{encoded}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/pipelines/toll/runs/{encoded}")
    assert [line["batch"] for line in page_of(client, answer.headers["location"]).lines("batches")] == ["1"]


def test_a_dag_run_that_took_nothing_says_so_and_so_does_a_dag_of_no_pipeline(client):
    assert "The ledger has no batch" in page_of(client, "/dags/tidemark_toll/runs/manual__1").sentences[-1]
    for path in ("/dags/tidemark_maintenance", "/dags/tidemark_maintenance/runs/manual__1"):
        assert page_of(client, path).sentences[-1] == "This DAG is of no pipeline."


def test_checks_come_newest_first_page_by_page(client):
    seen = []
    for number in (1, 2, 3):
        lines = page_of(client, f"/pipelines/toll/quality?page={number}").lines("checks")
        seen += [(line["run"], line["expectation"]) for line in lines]
    assert len(seen) == len(set(seen)) == 130
    assert [run for run, _ in seen] == ["r2"] * 65 + ["r1"] * 65
    failed = page_of(client, "/pipelines/toll/quality?failed=true").lines("checks")
    assert [line["result"] for line in failed] == ["failed"] * 13


def test_dead_letters_come_newest_first_page_by_page_and_lead_to_their_rows(client):
    seen = []
    for number in (1, 2, 3):
        page = page_of(client, f"/pipelines/toll/letters?stream=rolling&page={number}")
        seen += [line["row"] for line in page.lines("letters")]
        assert {line["late by"] for line in page.lines("letters")} == {"1h"}
    assert len(seen) == len(set(seen)) == 120
    link = next(link for link in links_of(page_of(client, "/pipelines/toll/letters?page=3")) if "/row?" in link)
    assert client.get(link).status_code == 200


def test_a_row_tells_what_explain_tells(client, folder):
    (line, *_) = page_of(client, "/pipelines/toll/batches/1?fate=adjusted").lines("rows")
    source, partition, offset = line["row"].split(", ")
    told = Pipeline.load(folder / "toll.yml").explain(source, partition, int(offset))
    page = page_of(client, f"/pipelines/toll/row?source={source}&partition={partition}&offset={offset}")
    for sentence in told["sentences"]:
        assert safe(sentence) in page.sentences


def test_a_duplicate_links_to_the_row_that_it_repeats(folder):
    told = Pipeline.load(folder / "toll.yml").explain("readings", "0", 1)
    told["repeats"] = {"offset": 1234, "batch_id": 1, "file": "a.json"}
    asked = OneRow(source="readings", partition="0", offset=1)
    shown = "".join(str(each) for each in row_page("toll", asked, ["readings"], told, Links("", "")).inner)
    address = "/pipelines/toll/row?source=readings&amp;partition=0&amp;offset=1234"
    assert f'It repeats <a href="{address}">row 1,234</a>.' in shown


def test_a_row_that_is_not_there_says_what_there_is(client):
    page = page_of(client, "/pipelines/toll/row?source=readings&partition=0&offset=4711", 404)
    assert "partition 0 of source readings has no row 4711. offsets count from 0; its largest offset is 79" in (
        " ".join(page.sentences)
    )


def test_a_picture_stands_beside_the_table_that_has_its_numbers(client):
    page = page_of(client, "/pipelines/toll/history")
    assert {"fates-readings", "delay"} <= page.captions.keys()
    (line,) = page.lines("fates-by-source")
    assert line["rows"] == "160"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("?page=0", 422),
        ("?page=x", 422),
        ("?page=2", 404),
        ("?source=../../etc", 422),
        ("?unknown=1", 422),
        ("/runs?page=2", 404),
        ("/runs?page=99999999999", 422),
        ("/letters?stream=..%2F..%2Fversions", 422),
        ("/letters?page=4", 404),
        ("/quality?failed=perhaps", 422),
        ("/batches/0", 422),
        ("/batches/3", 404),
        ("/batches/1?fate=lost", 422),
        ("/batches/x", 422),
        ("/runs/unknown", 404),
        ("/row?source=%2Fetc%2Fpasswd&partition=0&offset=0", 404),
        ("/row?source=readings&partition=0&offset=-1", 422),
        ("/row?source=readings&partition=' OR 1=1&offset=1", 404),
        ("/row?source=readings&partition=0&offset=1e400", 422),
        ("/..%2F..%2Fother", 404),
        ("/history?since=now()", 422),
    ],
)
def test_what_can_not_be_asked_is_a_page_that_says_so(client, path, status):
    answer = client.get(f"/pipelines/toll{path}")
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert Page.of(answer.text).tags["h1"] == 1


@pytest.mark.parametrize("name", ["..", "%2e%2e", "toll%00", "TOLL", "toll.yml", "a" * 300, "..%2Ftoll", "warehouse"])
def test_a_name_that_is_no_pipeline_reaches_no_file(client, name, monkeypatch):
    monkeypatch.setattr("tidemark.commands.dashboard.pages.Pages.open", lambda _: pytest.fail("tables were opened"))
    assert client.get(f"/pipelines/{name}/versions").status_code in {403, 404, 422}


def test_a_file_that_changes_is_read_again(tmp_path, host):
    path = write_file(tmp_path, "toll")
    client = client_of(application(tmp_path, host))
    assert client.get("/pipelines/toll").status_code == 200
    path.write_text("pipeline: [")
    answer = client.get("/")
    assert "toll.yml" in answer.text
    assert client.get("/pipelines/toll").status_code == 404
    write_file(tmp_path, "toll")
    assert client.get("/pipelines/toll").status_code == 200


def test_addresses_follow_where_airflow_is_served(folder, host):
    from fastapi import FastAPI

    around = FastAPI(root_path="/airflow")
    around.mount("/tidemark", application(folder, host))
    page = page_of(client_of(around), "/airflow/tidemark/pipelines/toll/runs")
    inner = [link for link in links_of(page) if "pipelines" in link]
    assert inner
    assert all(link.startswith("/airflow/tidemark/") for link in inner)
    assert any(link.startswith("/airflow/dags/tidemark_toll/runs/") for link in links_of(page))


def test_every_heading_of_a_table_has_a_cell_in_each_line(client):
    for tab in ("", "/runs", "/quality", "/letters", "/versions", "/batches/1?fate=dropped"):
        page = page_of(client, f"/pipelines/toll{tab}")
        for name in page.tables:
            page.lines(name)
        identities = [value for _, name, value in page.attributes if name == "id"]
        assert len(identities) == len(set(identities)), tab
