"""Ten questions of an engineer on call, answered by the first screen of the page; what a reader's screen, phone and
printer make of it. Nothing is drawn but what a browser draws."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from toll_week import judged

from browser import browsing, chromium, serious
from tidemark.pipeline import Pipeline

pytestmark = pytest.mark.browser

SHOTS = os.environ.get("TIDEMARK_SHOTS")
"""A folder for pictures of the pages."""
QUESTIONS = {
    "what is wrong, and how much of it": r"79 of 114 dropped rows",
    "whose rows": r"are G2's",
    "since when, until when": r"06:00-10:00 of 2026-03-05",
    "by how much": r"40m to 45m late \(tolerance 1m\)",
    "which files": r"2026-03-05/06\.json and 2026-03-05/08\.json",
    "what would have prevented it": r"late_arrival 45m would have kept 79",
    "is it over": r"Is it over\? Yes: 2 of \d+ rows of G2 that arrived since 2026-03-05 10:00:00",
    "which limit is broken, by how much": r"dropped share of readings is 5\.9 %, at most 2 % is allowed",
    "which rows, exactly": r"tidemark rows \S+ --source readings --partition G2 --fate dropped --reason late --since "
    r"2026-03-05T06:00:00Z --until 2026-03-05T10:00:00Z",
    "how old is what I see, of which runs": r"5 runs .*to 2026-03-06 02:00:00 \(UTC\), took 60 objects",
}
SIZES: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1280, "height": 900}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 844}},
}
_SEEN = """[...document.querySelectorAll('h1, h2, h3, p, li, dt, dd')].filter(each => {
    const box = each.getBoundingClientRect(); return box.height && box.bottom <= innerHeight
}).map(each => each.textContent).join('\\n')"""


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page of five days, on the last of which one of three gates was late."""
    folder = tmp_path_factory.mktemp("week")
    config = judged(folder, quality={"max_dropped": "2%"})
    return Path(Pipeline.load(config).report(folder / "week.html")["path"]).as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing(chromium()) as found:
        yield found


def test_ten_questions_are_answered_on_the_first_screen(week: str, browser: Browser) -> None:
    page = browser.new_page(**SIZES["wide"])
    page.goto(week)
    seen = page.evaluate(_SEEN)
    unanswered = [question for question, answer in QUESTIONS.items() if not re.search(answer, seen)]
    assert unanswered == [], seen
    drawing = page.locator("#watermark-readings .only-wide svg").bounding_box()
    assert drawing is not None
    assert drawing["y"] + drawing["height"] / 2 < 900, "half of the picture is on the first screen"
    page.close()


@pytest.mark.parametrize("size", SIZES)
def test_the_page_is_open_to_all_and_its_pictures_are_as_wide_as_it_is(
    week: str, browser: Browser, size: str
) -> None:
    page = browser.new_page(**SIZES[size])
    page.goto(week)
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"report-{size}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert serious(page) == []
    shown = page.evaluate("""[...document.querySelectorAll('svg.drawing')].map(each => each.getBoundingClientRect())
        .filter(box => box.width).map(box => box.width)""")
    whole = page.evaluate("document.querySelector('section').getBoundingClientRect().width")
    assert shown
    assert all(width == pytest.approx(whole, abs=2) for width in shown)
    page.close()


def test_a_printed_page_has_the_wide_pictures_and_tables_that_fit(week: str, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 718, "height": 1000})  # A4 without its margins
    page.goto(week)
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator("#over-time-readings .only-wide").is_visible()
    assert page.locator("#over-time-readings .only-narrow").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_a_mark_shows_its_values_without_a_script(week: str, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, **SIZES["wide"])
    page = context.new_page()
    page.goto(week)
    titles = page.locator("#shares-readings .only-wide title").all_text_contents()
    assert any(re.fullmatch(r"G2, 2026-03-05 .*: \d+ of \d+ \([\d.]+ %\)", each) for each in titles)
    context.close()
