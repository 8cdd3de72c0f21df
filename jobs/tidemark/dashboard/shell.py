"""The frame of every page: head, navigation, and the headers that restrict the browser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi.responses import HTMLResponse, JSONResponse, Response

from tidemark.commands.dashboard.paged import ListPage
from tidemark.dashboard.links import Links, link
from tidemark.report.page.markup import Html, element, paragraph, text
from tidemark.report.words import counted

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""Headers of every page. Airflow shows pages in a frame, so pages of this origin may frame them and no others."""

TABS = {
    "": "Overview",
    "history": "Over time",
    "runs": "Runs",
    "quality": "Quality",
    "letters": "Dead letters",
    "versions": "Versions",
    "definition": "Definition",
    "row": "One row",
}


@dataclass(frozen=True)
class Page:
    """A page before it is written: its title and content; `pipeline` and `tab` are its position in the navigation;
    `data` are its numbers as JSON."""

    title: str
    inner: tuple[Html, ...]
    pipeline: str | None = None
    tab: str | None = None
    status: int = 200
    data: Mapping[str, Any] = field(default_factory=dict)


def at(page: Page, pipeline: str, tab: str | None) -> Page:
    """Return the page as one of a pipeline's pages."""
    return replace(page, pipeline=pipeline, tab=tab)


def answer(page: Page, links: Links) -> Response:
    """Return the page as a response with its headers, as JSON if that was asked for."""
    if links.json:
        return JSONResponse({"title": page.title, **page.data}, page.status, HEADERS)
    return HTMLResponse(_document(page, links), page.status, HEADERS)


def void(tag: str, **attributes: object) -> Html:
    """Return an element without content and end tag."""
    return Html(element(tag, **attributes).removesuffix(f"</{tag}>"))


def _document(page: Page, links: Links) -> str:
    asset = {name: links.to("assets", name) for name in ("style.css", "frame.js", "icon.svg")}
    head = (
        void("meta", charset="utf-8"),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{page.title} - tidemark"),
        void("link", rel="icon", href=asset["icon.svg"], type="image/svg+xml"),
        void("link", rel="stylesheet", href=asset["style.css"]),
        element("script", src=asset["frame.js"]),
    )
    skip = element("a", "Skip to the content", href="#content", class_="skip")
    main = element("main", element("h1", page.title), *page.inner, id="content", tabindex="-1")
    body = f"{skip}{_header(page, links)}{main}{_footer(page, links)}"
    return f'<!doctype html>\n<html lang="en"><head>{"".join(head)}</head><body>{body}</body></html>\n'


def _header(page: Page, links: Links) -> Html:
    here = page.pipeline is None
    entries = [_entry("Pipelines", links.to(""), current=here and page.status == 200)]
    if page.pipeline is not None:
        entries.append(_entry(page.pipeline, links.pipeline(page.pipeline), current=False))
    trail = element("nav", element("ol", *entries), aria_label="where you are", class_="trail")
    if page.pipeline is None:
        return element("header", trail)
    tabs = [
        _entry(label, links.pipeline(page.pipeline, *[tab] * (tab != "")), current=tab == page.tab)
        for tab, label in TABS.items()
    ]
    return element("header", trail, element("nav", element("ul", *tabs), aria_label="pages", class_="tabs"))


def _footer(page: Page, links: Links) -> str:
    if page.status != 200:
        return ""
    same = element("a", "This page as JSON", href=links.as_json, rel="alternate", type="application/json")
    return element("footer", "Times are UTC. ", same)


def _entry(label: str, address: str, *, current: bool) -> Html:
    return element("li", element("a", label, href=address, aria_current="page" if current else None))


def pager(part: ListPage[object], address: str, noun: str, more: str = "s") -> Html:
    """Return links to the neighbouring pages of a list; `address` is the list's address, with filters but without a
    page. A list of one page has no links."""
    if part.pages == 1:
        return paragraph(f"{counted(part.total, noun, more)} in all.", class_="quiet")
    text = f"Page {part.page:,} of {part.pages:,}; {counted(part.total, noun, more)} in all."
    joined = "&" if "?" in address else "?"
    ways = [
        element("a", name, href=f"{address}{joined}page={number}", rel=rel)
        for name, rel, number in (("Newer", "prev", part.page - 1), ("Older", "next", part.page + 1))
        if 1 <= number <= part.pages
    ]
    return element("nav", element("span", text), *ways, aria_label="pages of the list", class_="pager")


def select(name: str, label: str, options: Mapping[str, str], chosen: str | None, every: str | None) -> Html:
    """Return a choice of a form, labels by value; `every`: the label for no choice, None if a choice is required."""
    listed = [] if every is None else [element("option", every, value="")]
    listed += [
        element("option", shown, value=each, selected="selected" if each == chosen else None)
        for each, shown in options.items()
    ]
    return element("label", element("span", label), element("select", *listed, name=name))


def form(address: str, *inner: Html, button: str) -> Html:
    """Return a form that requests a page with other filters."""
    return element("form", *inner, element("button", button, type="submit"), method="get", action=address)


def paged(part: ListPage[object]) -> dict[str, int]:
    """Return page, pages and total of a list as JSON."""
    return {"page": part.page, "pages": part.pages, "total": part.total}


def message(title: str, sentence: str, status: int) -> Page:
    """Return a page that consists of one sentence."""
    return Page(title, (paragraph(text(sentence)),), status=status, data={"sentences": [sentence]})


def quiet(sentence: str) -> Html:
    """Return an explanatory sentence."""
    return paragraph(sentence, class_="quiet")


__all__ = ["HEADERS", "Page", "answer", "at", "form", "link", "message", "paged", "pager", "quiet", "select", "void"]
