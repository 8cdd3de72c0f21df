"""Who may see what: every route asks who it is, then whether they may; what a browser may do with the answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dashboard_warehouse import Doorman, application, client_of, write_tables
from fastapi.routing import APIRoute
from page_warehouse import write_file

GIVEN = {"name": "toll", "dag": "tidemark_toll", "run_id": "r1", "batch_id": "1", "asset": "style.css"}
OPEN_TO_ALL_WHO_LOG_IN = {"/assets/{asset}"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dashboard")
    write_file(folder, "toll")
    write_file(folder, "other")
    (folder / "bad.yml").write_text("pipeline: Not a name\n")
    write_tables(folder)
    return folder


@pytest.fixture(scope="module")
def host() -> Doorman:
    return Doorman({"reader": ["tidemark_toll"], "stranger": ["tidemark_other"]}, errors=["operator"])


@pytest.fixture(scope="module")
def app(folder, host):
    return application(folder, host)


def routes_of(app) -> list[str]:
    """The paths of all routes there are, so that no new one is left out; each may only be read."""
    found = [route for route in app.routes if not isinstance(route, APIRoute) or route.methods != {"GET"}]
    assert found == []
    return [route.path for route in app.routes]


def address(path: str) -> str:
    return re.sub(r"\{(\w+)(?::path)?\}", lambda named: GIVEN[named[1]], path)


def test_there_are_routes_and_nothing_but_pages(app):
    paths = routes_of(app)
    assert len(paths) == 15
    assert not [path for path in paths if "docs" in path or "openapi" in path]


def test_every_route_answers_401_to_nobody(app):
    for path in routes_of(app):
        answer = client_of(app, None).get(address(path))
        assert answer.status_code == 401, path
        assert "You are not logged in" in answer.text
        assert "toll" not in re.sub('href="[^"]*"', "", answer.text)


def test_every_route_answers_403_to_one_without_the_right(app):
    for path in set(routes_of(app)) - OPEN_TO_ALL_WHO_LOG_IN:
        answer = client_of(app, "guest").get(address(path))
        assert answer.status_code == 403, path
        assert "You may not see this" in answer.text


def test_the_right_for_another_pipeline_is_none_for_this_one(app):
    for path in routes_of(app):
        if path.startswith(("/pipelines/{name}", "/dags/")):
            assert client_of(app, "stranger").get(address(path)).status_code == 403, path


def test_every_route_answers_one_who_may_read_the_dag(app):
    for path in routes_of(app):
        assert client_of(app).get(address(path)).status_code in {200, 303}, path


def test_the_query_grants_nothing(app):
    for asked in ("?dag_id=tidemark_other", "?dag_id=~", "?name=other", "?user=reader"):
        assert client_of(app, "stranger").get("/pipelines/toll" + asked).status_code == 403


def test_nobody_learns_of_a_pipeline_that_they_may_not_read(app):
    unknown, known = (client_of(app, "guest").get(f"/pipelines/{name}") for name in ("nowhere", "toll"))
    assert (unknown.status_code, known.status_code) == (403, 403)
    assert unknown.text.replace("nowhere", "toll") == known.text


def test_the_list_has_what_its_reader_may_read_and_no_more(app):
    shown = client_of(app).get("/").text
    assert "toll" in shown
    assert "other" not in shown
    assert "bad.yml" not in shown


def test_files_that_do_not_hold_are_shown_to_those_who_may_see_import_errors(app):
    shown = client_of(app, "operator").get("/")
    assert shown.status_code == 200
    assert "bad.yml" in shown.text
    assert "Not a name" in shown.text
    assert "tidemark_toll" not in shown.text


@pytest.mark.parametrize("path", ["/", "/pipelines/toll", "/assets/style.css", "/nowhere", "/pipelines/toll?page=0"])
@pytest.mark.parametrize("user", [None, "reader"])
def test_every_answer_says_what_a_browser_may_do_with_it(app, path, user):
    headers = client_of(app, user).get(path).headers
    policy = dict(each.split(" ", 1) for each in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == policy["script-src"] == policy["style-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] in {"no-store", "private, no-cache"}


def test_pages_are_not_kept_and_assets_are_asked_for_again(app):
    client = client_of(app)
    assert client.get("/").headers["cache-control"] == "no-store"
    asset = client.get("/assets/style.css")
    again = client.get("/assets/style.css", headers={"if-none-match": asset.headers["etag"]})
    assert (again.status_code, again.text) == (304, "")


def test_a_page_needs_nothing_from_elsewhere_and_no_style_of_its_own(app):
    for path in routes_of(app):
        text = client_of(app).get(address(path)).text
        assert not re.search(r'(?:src|href|action)="(?:https?:)?//', text), path
        assert not re.search(r"<style|\sstyle=|\son\w+=", text), path


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nothing_can_be_changed(app, method):
    assert getattr(client_of(app), method)("/pipelines/toll").status_code == 405


def test_a_failure_tells_nothing_of_the_machine(folder, host, monkeypatch):
    app = application(folder, host)
    monkeypatch.setattr("tidemark.commands.dashboard.pages.Pages.status", lambda _: 1 / 0)
    answer = client_of(app).get("/pipelines/toll")
    assert answer.status_code == 500
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "ZeroDivision" not in answer.text
    assert str(folder) not in answer.text
