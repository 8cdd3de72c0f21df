"""Pages as JSON under the same rights, rows of large batches, and what HEAD, slashes and versions show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from dashboard_warehouse import Doorman, application, client_of, write_tables
from fastapi import FastAPI
from page_warehouse import FILE, T0, Page, write_file
from ruamel.yaml import YAML

from oracle import Obj, Row, Run
from tidemark.commands.dashboard import batch_rows
from tidemark.commands.dashboard.batch_rows import batch_rows as rows_of
from tidemark.core.policy import Fate
from tidemark.core.times import DAY, HOUR, MINUTE
from tidemark.dashboard.wire import Mounted
from tidemark.ledger import versions
from tidemark.ledger.versions import Made
from tidemark.pipeline import Pipeline
from tidemark.report.page.measures import bounded, failed, measured

DAYS = 30
READER = Doorman({"reader": ["tidemark_toll", "tidemark_backfill"]}, started={"by hand": "ada"})


def spread() -> Iterator[Row]:
    """Rows of three partitions over many days; some are late, early, out of order, or broken, and many arrive at one
    time."""
    for day in range(DAYS):
        for number in range(12):
            arrival = T0 + day * DAY + number // 4 * MINUTE
            away = {3: -30 * MINUTE, 5: 9 * MINUTE, 7: -4 * MINUTE}.get(number, 0)
            yield Row(str(number % 3), None if (day + number) % 37 == 0 else arrival + away, arrival)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_file(folder, "toll")
    runs = [Run(T0 + DAYS * DAY, (Obj("a.json", T0 + DAYS * DAY, tuple(spread())),)), Run(T0 + 31 * DAY, ())]
    write_tables(folder, runs=runs, letters=3, checks=20)
    return folder


@pytest.fixture(scope="module")
def client(folder):
    return client_of(application(folder, READER))


@pytest.fixture(scope="module")
def pipeline(folder):
    return Pipeline.load(folder / "toll.yml")


@pytest.mark.parametrize("fate", Fate)
def test_the_pages_of_a_batch_have_the_rows_that_the_command_finds_in_its_order(client, pipeline, fate):
    told = pipeline.rows(batch=1, fate=fate.value, limit=1_000)
    assert told["total"] > 0
    pages = -(-told["total"] // 50)
    found: list[dict[str, Any]] = []
    for number in range(1, pages + 1):
        answer = client.get(f"/pipelines/toll/batches/1?fate={fate.value}&page={number}&format=json").json()
        assert (answer["pages"], answer["total"]) == (pages, told["total"])
        found += answer["found"]
    for row in found:
        lag = row.pop("lag_micros")
        assert (lag is None) == (row["event_time"] is None or row["arrival_time"] is None)
    assert found == [{key: row[key] for key in found[0]} for row in told["rows"]]
    assert client.get(f"/pipelines/toll/batches/1?fate={fate.value}&page={pages + 1}").status_code == 404


def test_the_newest_rows_are_read_from_the_files_that_may_have_them(pipeline, monkeypatch):
    place = {"readings": pipeline.ledger.folder / "events" / "readings"}
    opened = []
    real = pq.ParquetFile
    monkeypatch.setattr(batch_rows.pq, "ParquetFile", lambda path: opened.append(path) or real(path))
    found = rows_of(place, 1, Fate.ON_TIME, 0, 10)
    assert len(found.rows) == 10
    assert not found.whole
    assert len(opened) <= 2 * batch_rows._FIRST_CHUNK
    assert rows_of(place, 2, Fate.ON_TIME, 0, 10).rows == []


def test_every_page_is_json_too_for_those_who_may_see_it_and_for_no_others(folder):
    app = application(folder, READER)
    for path in ("", "/history", "/runs", "/runs/r1", "/batches/1", "/quality", "/letters", "/versions", "/row"):
        address = f"/pipelines/toll{path}?format=json"
        answer = client_of(app).get(address)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json"), path
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.json()["title"].startswith("toll")
        assert 'href="?format=json"' in client_of(app).get(f"/pipelines/toll{path}").text
        assert client_of(app, "guest").get(address).json()["status"] == 403
        assert client_of(app, None).get(address).json()["status"] == 401
    assert [each["pipeline"] for each in client_of(app).get("/?format=json").json()["pipelines"]] == ["toll"]


def test_json_has_the_numbers_of_the_page_and_of_the_commands(client, pipeline):
    status = pipeline.status()
    assert client.get("/pipelines/toll?format=json").json().items() >= {
        key: status[key] for key in ("as_of", "partitions", "sources", "runs", "standing")
    }.items()  # fmt: skip
    (_, first) = client.get("/pipelines/toll/runs?format=json").json()["batches"]
    (line,) = (
        each for each in Page.of(client.get("/pipelines/toll/runs").text).lines("batches") if each["batch"] == "1"
    )
    assert (first["rows"], first["dropped"]) == (int(line["rows"]), int(line["dropped"]))
    asked = {"source": "readings", "partition": "0", "offset": 1}
    assert (
        client.get("/pipelines/toll/row", params={**asked, "format": "json"}).json()["row"]
        == (pipeline.explain("readings", "0", 1)["row"])
    )


def test_a_refusal_is_json_where_json_is_asked_for(client):
    answer = client.get("/pipelines/toll/runs?page=9&format=json")
    assert (answer.status_code, answer.json()["sentences"][-1]) == (404, "The list has 1 pages.")
    assert client.get("/pipelines/toll?format=yaml").status_code == 422


@pytest.mark.parametrize("path", ["?page=2", "/quality?page=2", "/letters?page=2", "/runs?page=2", "/runs/r1?page=2"])
def test_a_page_beyond_the_last_is_not_found(client, path):
    assert client.get(f"/pipelines/toll{path}").status_code == 404


@pytest.mark.parametrize(
    "path", ["/", "/pipelines/toll", "/pipelines/toll/runs", "/pipelines/toll/batches/9", "/nowhere"]
)
def test_head_is_answered_as_get_without_a_body(client, path):
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers["content-length"] == whole.headers["content-length"]


def test_a_slash_more_or_less_leads_to_the_page(client):
    assert client.get("/pipelines/toll/").text == client.get("/pipelines/toll").text
    answer = client.get("/pipelines/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_the_dashboard_is_there_without_the_slash_at_its_end_and_nothing_else_is_taken(folder):
    around = FastAPI()
    around.mount("/tidemark", application(folder, READER))
    around.add_api_route("/{rest:path}", lambda rest: rest)
    around.add_middleware(Mounted)
    client = client_of(around)
    assert client.get("/tidemark").text == client.get("/tidemark/").text
    assert client.get("/tidemarks").json() == "tidemarks"


def test_dead_letters_open_on_a_stream_that_has_some(tmp_path):
    letters = {"from": "readings", "tumbling": "1h", "select": {"n": "count(*)"}}
    with (tmp_path / "toll.yml").open("w") as file:
        YAML().dump({"pipeline": "toll", **FILE, "streams": {"calm": letters, "rolling": letters}}, file)
    write_tables(tmp_path, letters=3)
    answer = client_of(application(tmp_path, READER)).get("/pipelines/toll/letters?format=json").json()
    assert (answer["streams"], answer["stream"], answer["total"]) == ({"calm": 0, "rolling": 3}, "rolling", 3)


def test_versions_show_range_settings_difference_and_who_started_them(tmp_path):
    write_file(tmp_path, "toll")
    write_tables(tmp_path)
    root = tmp_path / "warehouse" / "toll"
    changed = (
        '{"rows": {"readings": {"changed": 4, "crossing": 1, "fates": {"late -> on_time": 4}}}, "label": "by hand"'
    )
    made = Made(
        T0,
        T0 + DAY,
        "f",
        '{"late": {"tolerance": "45m"}}',
        1,
        2,
        1,
        40,
        changed + ', "streams": {}, "dead_letters": {}}',
    )
    versions.promote(root, versions.add(root, T0 + DAY, made), T0 + 2 * DAY)
    versions.add(root, T0 + 3 * DAY, replace(made, base=2, configuration='{"late": {"tolerance": "1h"}}'))
    page = Page.of(client_of(application(tmp_path, READER)).get("/pipelines/toll/versions").text)
    newest, live, first = page.lines("versions")
    assert (first["outputs from"], first["to"], first["by"]) == ("the first run", "the last run", "-")
    assert (live["state"], live["outputs from"], live["to"]) == ("live", "2026-01-01 12:00:00", "2026-01-02 12:00:00")
    assert (live["made live"], live["by"], newest["by"]) == ("2026-01-03 12:00:00", "ada", "ada")
    settings = [list(line.values()) for line in page.lines("settings-table")]
    assert ["3", "late.tolerance", "45m", "1h"] in settings
    assert any("4 rows otherwise (late -> on_time 4); 1 cross an end of the range" in each for each in page.sentences)


def test_nobody_learns_who_started_a_backfill_without_the_right_to_read_its_dag(tmp_path):
    write_file(tmp_path, "toll")
    write_tables(tmp_path)
    root = tmp_path / "warehouse" / "toll"
    none = '{"rows": {}, "streams": {}, "dead_letters": {}, "label": "by hand"}'
    versions.add(root, T0, Made(T0, None, "f", "{}", 1, 2, None, 0, none))
    limited = Doorman({"reader": ["tidemark_toll"]}, started={"by hand": "ada"})
    assert "ada" not in client_of(application(tmp_path, limited)).get("/pipelines/toll/versions").text


def test_one_run_has_no_picture_over_time(tmp_path):
    write_file(tmp_path, "toll")
    write_tables(tmp_path, runs=[Run(T0 + HOUR, (Obj("a", T0 + HOUR, (Row("0", T0, T0),)),))])
    page = Page.of(client_of(application(tmp_path, READER)).get("/pipelines/toll/history").text)
    assert page.captions == {}
    assert [line["rows"] for line in page.lines("fates-by-source")] == ["1"]


@pytest.mark.parametrize(
    ("expectation", "observed", "limit", "shown"),
    [
        ("dropped_share", 0.0625, 0.02, ("6.25 %", "at most 2 %")),
        ("dropped_share", 0.004166666, None, ("0.417 %", None)),
        ("adjusted_jump", 3.5, 2.0, ("3.5 times", "at most 2 times")),
        ("output_delay", 7560.0, 3600.0, ("2h 6m", "at most 1h")),
        ("watermarks_never_go_back", 86367.0, 0.0, ("23h 59m", "at least 0s")),
        ("rows_in_equal_fates_out", 1440.0, 1440.0, ("1,440", "exactly 1,440")),
        ("offsets_without_gaps_or_doubles", 0.0, 0.0, ("0", "0")),
        ("own", 12345.678, 0.25, ("12,346", "0.25")),
        ("own", "NaN", None, ("NaN", None)),
    ],
)
def test_values_of_checks_are_written_as_people_write_them(expectation, observed, limit, shown):
    assert (measured(expectation, observed), bounded(expectation, limit)) == shown


def test_a_failed_check_names_its_value_and_its_limit():
    check = {"table": "events/readings", "expectation": "dropped_share", "observed": 0.0625, "limit": 0.02}
    assert failed(check) == "dropped share of readings is 6.25 %, at most 2 % is allowed"
    assert failed({**check, "expectation": "own", "limit": 1.0}) == "own of readings is 0.0625, limit 1"
    assert failed({**check, "observed": None}) == "dropped share of readings failed"
