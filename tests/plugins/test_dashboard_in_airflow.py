"""The dashboard as people meet it: a real Airflow, logged in to with a real Chromium."""

from __future__ import annotations

import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from airflow_home import AirflowHome, running
from dashboard_warehouse import write_tables
from page_warehouse import two_runs, write_file
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, expect
from postgres import address, postgres

from browser import REQUIRED, browsing, chromium, serious

pytestmark = pytest.mark.browser
RUN = "manual__2026-01-01T13:00:00+00:00_{}"
ENCODED = "manual__2026-01-01T13%3A00%3A00%2B00%3A00_{}"
BASE = "/tidemark/pipelines/toll"
PAGES = {
    "list": "/tidemark/",
    "overview": BASE,
    "history": f"{BASE}/history",
    "runs": f"{BASE}/runs",
    "run": f"{BASE}/runs/{ENCODED.format(1)}",
    "batch": f"{BASE}/batches/1?fate=dropped",
    "quality": f"{BASE}/quality",
    "letters": f"{BASE}/letters",
    "definition": f"{BASE}/definition",
    "versions": f"{BASE}/versions",
    "row": f"{BASE}/row?source=readings&partition=0&offset=5",
}
SIZES = {
    "wide": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "narrow": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
}
SHOTS = os.environ.get("TIDEMARK_SHOTS")
"""A folder for pictures of all pages, for whoever wants to look at them."""
_DAG = "/tidemark/dags/tidemark_toll"
_ROUTES = (*PAGES.values(), "/tidemark", f"{BASE}?format=json", _DAG, f"{_DAG}/runs/{ENCODED.format(1)}")


@pytest.fixture(scope="module")
def executable() -> str:
    return chromium()


@pytest.fixture(scope="module")
def home(executable, tmp_path_factory) -> Iterator[AirflowHome]:  # noqa: ARG001 - no Airflow without a browser
    folder = tmp_path_factory.mktemp("airflow")
    write_file(folder / "pipelines", "toll")
    write_tables(folder / "pipelines", runs=two_runs("0", "1"), run_id=RUN, letters=120, checks=60)
    services, users = ("api-server", "dag-processor"), {"admin": "admin", "guest": ""}
    with postgres() as server, running(folder, address(server, "airflow"), services=services, users=users) as home:
        known = {"tidemark_toll", "tidemark_maintenance"}
        home.until(lambda: known <= home.dags().keys())
        home.post("/api/v2/dags/tidemark_toll/dagRuns", {"logical_date": None, "dag_run_id": RUN.format(1)})
        yield home


@pytest.fixture(scope="module")
def browser(executable) -> Iterator[Browser]:
    with browsing(executable) as browser:
        yield browser


@pytest.fixture(scope="module")
def session(home, browser, tmp_path_factory) -> Path:
    """The cookies of someone who has logged in on Airflow's own page."""
    path = tmp_path_factory.mktemp("session") / "state.json"
    context = browser.new_context(**SIZES["wide"])
    page = context.new_page()
    page.goto(home.url)
    page.locator("input[name=username]").fill("admin")
    page.locator("input[name=password]").fill(home.password)
    page.keyboard.press("Enter")
    expect(page.get_by_text("Pipelines", exact=True)).to_be_visible(timeout=60_000)
    context.storage_state(path=path)
    context.close()
    return path


@dataclass
class Watched:
    """A page, and everything that went wrong on it: errors on its console, answers that are none, other hosts."""

    page: Page
    origin: str
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("response", self._answered)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.wrong.append(message.text)

    def _answered(self, response: Response) -> None:
        if response.status >= 400 or not response.url.startswith((self.origin, "data:", "blob:")):
            self.wrong.append(f"{response.status} {response.url}")


def context_of(browser: Browser, session: Path, size: str = "wide") -> BrowserContext:
    return browser.new_context(storage_state=session, **SIZES[size])


def status_of(home: AirflowHome, path: str, token: str | None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(home.url + path, headers=headers)  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_airflow_decides_who_may_see_each_page(home):
    guest = home.post("/auth/token", {"username": "guest", "password": home.password})["access_token"]
    assert {path: status_of(home, path, None) for path in _ROUTES} == dict.fromkeys(_ROUTES, 401)
    assert {path: status_of(home, path, "not a token") for path in _ROUTES} == dict.fromkeys(_ROUTES, 403)
    assert {path: status_of(home, path, guest) for path in _ROUTES} == dict.fromkeys(_ROUTES, 403)
    assert {path: status_of(home, path, home.token) for path in _ROUTES} == dict.fromkeys(_ROUTES, 200)


@pytest.mark.parametrize("size", SIZES)
def test_each_page_is_sound_and_open_to_all(home, browser, session, size):
    """No error on the console, nothing from elsewhere, no sideways scrolling, nothing serious that axe finds."""
    context = context_of(browser, session, size)
    watched = Watched(context.new_page(), home.url)
    for name, path in PAGES.items():
        watched.page.goto(home.url + path)
        if SHOTS:
            watched.page.screenshot(path=Path(SHOTS) / f"{name}-{size}.png", full_page=True)
        assert watched.wrong == [], name
        assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        assert serious(watched.page) == [], name
    context.close()


def test_a_table_that_is_cut_says_so_and_results_of_checks_are_on_the_screen(home, browser, session):
    """The hint is there at 390 px alone; at 1,280 px the result of each check is seen without scrolling."""
    seen = {}
    for size in ("wide", "narrow"):
        context = context_of(browser, session, size)
        page = context.new_page()
        page.goto(f"{home.url}{BASE}")
        seen[size] = [page.locator("#newest-runs").locator("..").locator(".more").is_visible()]
        page.goto(f"{home.url}{BASE}/runs")
        seen[size].append(page.locator("#batches").locator("..").locator(".more").is_visible())
        page.goto(f"{home.url}{BASE}/quality")
        box = page.locator("#checks .badge").last.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= SIZES[size]["viewport"]["width"]
        context.close()
    assert seen == {"wide": [False, False], "narrow": [True, True]}


def test_the_navigation_of_airflow_leads_to_pipelines_and_back(home, browser, session):
    context = context_of(browser, session)
    watched = Watched(context.new_page(), home.url)
    page = watched.page
    page.goto(home.url, wait_until="networkidle")
    page.get_by_text("Pipelines", exact=True).click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name="toll", exact=True).click()
    frame.get_by_role("link", name="Runs").click()
    expect(frame.get_by_role("heading", name="toll: runs")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/plugin/tidemark/tidemark/pipelines/toll/runs$"))
    frame.get_by_role("link", name="queued").click()
    expect(page).to_have_url(re.compile("/dags/tidemark_toll/runs/"))
    assert watched.wrong == []
    context.close()


def test_a_dag_and_a_dag_run_show_their_pipeline(home, browser, session):
    context = context_of(browser, session)
    page = context.new_page()
    page.goto(f"{home.url}/dags/tidemark_toll/plugin/tidemark-dag")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Watermarks")).to_be_visible(timeout=20_000)
    page.goto(f"{home.url}/dags/tidemark_toll/runs/{ENCODED.format(1)}/plugin/tidemark-run")
    expect(frame.get_by_role("heading", name=f"toll: run {RUN.format(1)}")).to_be_visible(timeout=20_000)
    page.goto(f"{home.url}/dags/tidemark_maintenance/plugin/tidemark-dag")
    expect(frame.get_by_text("This DAG is of no pipeline.")).to_be_visible(timeout=20_000)
    context.close()


def test_colours_follow_those_of_the_page_around(home, browser, session):
    context = context_of(browser, session)
    page = context.new_page()
    page.goto(f"{home.url}/plugin/tidemark")
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Pipelines")).to_be_visible(timeout=20_000)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = frame.locator("body").evaluate(f"() => {paper}")
    page.evaluate("document.documentElement.classList.replace('light', 'dark')")
    expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
    assert frame.locator("body").evaluate(f"() => {paper}") != light
    context.close()


def test_everything_can_be_done_with_the_keyboard_alone(home, browser, session):
    context = context_of(browser, session)
    page = context.new_page()
    page.goto(home.url + BASE)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.goto(home.url + BASE)
    tab_to(page, "One row")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="toll: one row")).to_be_visible()
    tab_to(page, "Source")
    page.keyboard.press("Tab")
    page.keyboard.type("0")
    page.keyboard.press("Tab")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="toll: row 5")).to_be_visible()
    expect(page.get_by_text("adjusted (out of order), moved by +4m")).to_be_visible()
    context.close()


FOCUSED = """() => {
  const at = document.activeElement;
  const style = getComputedStyle(at);
  const label = at.labels && at.labels.length ? at.labels[0].innerText : at.innerText;
  return {name: (label || '').trim().split('\\n')[0], seen: style.outlineStyle !== 'none'};
}"""


def tab_to(page: Page, name: str, most: int = 40) -> None:
    """Press Tab until something of this name has the focus, which is seen wherever it is."""
    for _ in range(most):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        assert focused["seen"], focused
        if focused["name"] == name:
            return
    raise AssertionError(f"{name} is not reached")


def test_a_list_is_filtered_and_leafed_through(home, browser, session):
    context = context_of(browser, session)
    page = context.new_page()
    page.goto(f"{home.url}{BASE}/quality")
    page.get_by_role("link", name="Older").click()
    expect(page.get_by_text("Page 2 of 2; 60 checks in all.")).to_be_visible()
    page.get_by_label("Only what failed").check()
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("6 checks in all.")).to_be_visible()
    context.close()


def test_without_a_browser_such_tests_are_skipped_and_fail_where_one_is_required(monkeypatch):
    monkeypatch.setattr("debian.shutil.which", lambda _: None)
    monkeypatch.delenv(REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        chromium()
    monkeypatch.setenv(REQUIRED, "required")
    with pytest.raises(pytest.fail.Exception, match="apt-get install chromium"):
        chromium()
