"""What stands around every page: head, navigation, and the headers that say what a browser may do with it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fastapi.responses import HTMLResponse

from tidemark.commands.dashboard import ListPage
from tidemark.report.page.markup import Html, element, paragraph, text
from tidemark.report.words import counted
from tidemark_dashboard.links import Links, link

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
"""Airflow shows pages in a frame of its own origin, so that one may frame them and no other."""

TABS = {
    "": "Overview",
    "history": "Over time",
    "runs": "Runs",
    "quality": "Quality",
    "letters": "Dead letters",
    "versions": "Versions",
    "row": "One row",
}


@dataclass(frozen=True)
class Page:
    """A page before it is written: its title and content; `pipeline` and `tab` say where it stands."""

    title: str
    inner: tuple[Html, ...]
    pipeline: str | None = None
    tab: str | None = None
    status: int = 200


def at(page: Page, pipeline: str, tab: str | None) -> Page:
    """The page as one of a pipeline's."""
    return replace(page, pipeline=pipeline, tab=tab)


def answer(page: Page, links: Links) -> HTMLResponse:
    """The page with its headers."""
    return HTMLResponse(_document(page, links), page.status, HEADERS)


def void(tag: str, **attributes: object) -> Html:
    """An element that has no content and no end."""
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
    body = f"{skip}{_header(page, links)}{main}"
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
        _entry(told, links.pipeline(page.pipeline, *[tab] * (tab != "")), current=tab == page.tab)
        for tab, told in TABS.items()
    ]
    return element("header", trail, element("nav", element("ul", *tabs), aria_label="pages", class_="tabs"))


def _entry(told: str, address: str, *, current: bool) -> Html:
    return element("li", element("a", told, href=address, aria_current="page" if current else None))


def pager(part: ListPage[object], address: str, noun: str, more: str = "s") -> Html:
    """Where a list goes on; `address` is that of the list, with its filters and without a page."""
    told = f"Page {part.page:,} of {part.pages:,}; {counted(part.total, noun, more)} in all."
    joined = "&" if "?" in address else "?"
    ways = [
        element("a", name, href=f"{address}{joined}page={number}", rel=rel)
        for name, rel, number in (("Newer", "prev", part.page - 1), ("Older", "next", part.page + 1))
        if 1 <= number <= part.pages
    ]
    return element("nav", element("span", told), *ways, aria_label="pages of the list", class_="pager")


def select(name: str, label: str, options: list[str], chosen: str | None, every: str | None) -> Html:
    """A choice of a form; `every` is what no choice is called, None where one must be made."""
    listed = [] if every is None else [element("option", every, value="")]
    listed += [
        element("option", each, value=each, selected="selected" if each == chosen else None) for each in options
    ]
    return element("label", element("span", label), element("select", *listed, name=name))


def form(address: str, *inner: Html, button: str) -> Html:
    """A form that asks for a page with other filters."""
    return element("form", *inner, element("button", button, type="submit"), method="get", action=address)


def told(title: str, sentence: str, status: int) -> Page:
    """A page that only says something."""
    return Page(title, (paragraph(text(sentence)),), status=status)


def quiet(sentence: str) -> Html:
    """A sentence that explains."""
    return paragraph(sentence, class_="quiet")


__all__ = ["HEADERS", "Page", "answer", "at", "form", "link", "pager", "quiet", "select", "told", "void"]
