"""Pieces of HTML. All text is escaped here, and invisible characters are written out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tidemark.report.page.charts.vega import NARROW, WIDE, Picture
from tidemark.report.page.style import STYLE
from tidemark.report.text import safe

Cell = str | int | float | bool | None


class Html(str):
    """Markup made by this module: text that is not escaped again."""

    __slots__ = ()


class Amount(str):
    """Text of a number with its unit; aligned in columns like a whole number."""

    __slots__ = ()

    @classmethod
    def of(cls, value: str | None) -> Amount | None:
        """Return the text, if there is one."""
        return None if value is None else cls(value)


def text(value: object) -> Html:
    """Return a value of any origin as escaped text of a page."""
    return value if isinstance(value, Html) else Html(escape(safe(value)))


def element(tag: str, *inner: object, **attributes: object) -> Html:
    """Return an element with its text or elements. A trailing underscore of an attribute's name is removed
    (`class_`); other underscores become dashes."""
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Html(f"<{tag}{given}>{''.join(map(text, inner))}</{tag}>")


def paragraph(*inner: object, class_: str | None = None) -> Html:
    """Return a paragraph of sentences."""
    return element("p", *inner, class_=class_)


def bullets(lines: Iterable[object]) -> Html:
    """Return a list of sentences."""
    return element("ul", *(element("li", line) for line in lines))


def table(name: str, heads: Sequence[str], rows: Iterable[Sequence[Cell | Html]]) -> Html:
    """Return a table that scrolls sideways on a narrower page; `name` is its id. Whole numbers are grouped by
    thousands; None (not known, or none) is shown as a dash."""
    lines = [list(row) for row in rows]
    counted = {column for line in lines for column, value in enumerate(line) if _counts(value)}
    kinds = ("number" if column in counted else None for column in range(len(heads)))
    head = [element("th", each, scope="col", class_=kind) for each, kind in zip(heads, kinds, strict=True)]
    body = [element("tr", *(_cell(value, column in counted) for column, value in enumerate(line))) for line in lines]
    return scrolled(name, element("table", element("thead", element("tr", *head)), element("tbody", *body), id=name))


def scrolled(name: str, inner: Html) -> Html:
    """Return an element that may be wider than the page, in a region that scrolls sideways and shows a hint then."""
    hint = element("div", "scroll for more \u2192", class_="more", aria_hidden="true")
    return element("div", hint, inner, class_="wide", tabindex="0", role="region", aria_label=name.replace("-", " "))


def _counts(value: Cell | Html) -> bool:
    return isinstance(value, Amount) or (isinstance(value, int) and not isinstance(value, bool))


def _cell(value: Cell | Html, number: bool) -> Html:
    if _counts(value):
        return element("td", value if isinstance(value, Amount) else f"{value:,}", class_="number")
    absent = value is None or value == ""
    return element("td", "-" if absent else value, class_="number" if absent and number else None)


def figure(name: str, picture: Picture) -> Html:
    """Return a picture with its title and its caption. The page contains both drawings;
    its style shows one of them."""
    drawings = (
        element(
            "div",
            Html(picture.svg(width, f"{name}-{kind}")),
            class_=f"only-{kind}",
            role="img",
            aria_label=picture.alternative,
        )
        for kind, width in (("wide", WIDE), ("narrow", NARROW))
    )
    caption = element("figcaption", picture.caption)
    return element("figure", element("h3", picture.title), *drawings, caption, id=name)


def result(held: object) -> Html:
    """Return the result of a check: held or failed."""
    return element("span", "held", class_="badge held") if held else element("span", "failed", class_="badge failed")


def section(name: str, title: str, *inner: Html) -> Html:
    """Return a section of the page with a heading."""
    return element("section", element("h2", title), *inner, id=name)


def document(title: str, *inner: Html) -> str:
    """Return a whole page that loads nothing from elsewhere."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("title", title),
        Html(f"<style>{STYLE}</style>"),
    )
    body = element("main", element("h1", title), *inner)
    return f'<!doctype html>\n<html lang="en"><head>{"".join(head)}</head><body>{body}</body></html>\n'
