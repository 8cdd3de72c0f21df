"""Addresses within the dashboard and of Airflow's pages around it, under any prefix."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

from fastapi import Request

from tidemark.dashboard import MOUNTED
from tidemark.report.page.markup import Html, element


@dataclass(frozen=True)
class Links:
    """Builds addresses. `base` is the path of the dashboard, `home` the path of Airflow, both without a final slash.
    `json`: the request asks for JSON. `as_json`: the address of the page as JSON, relative to the page."""

    base: str
    home: str
    json: bool = False
    as_json: str = "?format=json"

    @classmethod
    def of(cls, request: Request) -> Links:
        """Return the links for the answer to one request."""
        base = str(request.scope.get("root_path", "")).rstrip("/")
        asked = [(name, value) for name, value in request.query_params.multi_items() if name != "format"]
        as_json = f"?{urlencode([*asked, ('format', 'json')])}"
        return cls(base, base.removesuffix(MOUNTED), request.query_params.get("format") == "json", as_json)

    def to(self, *segments: object, **query: object) -> str:
        """Return the address of a page; parameters that are None or False are left out of the query."""
        given = {name: value for name, value in query.items() if value not in (None, False)}
        asked = f"?{urlencode(given)}" if given else ""
        return f"{self.base}/{_path(segments)}{asked}"

    def pipeline(self, name: str, *segments: object, **query: object) -> str:
        """Return the address of a page of a pipeline."""
        return self.to("pipelines", name, *segments, **query)

    def airflow(self, text: object, *segments: object) -> Html:
        """Return a link to a page of Airflow, which replaces the whole page around the dashboard."""
        address = f"{self.home}/{_path(segments)}"
        return element("a", text, href=address, target="_top", class_="outward")


def link(text: object, address: str) -> Html:
    """Return a link to a page of the dashboard."""
    return element("a", text, href=address)


def named(text: object, address: str) -> Html:
    """Return a link with a text that may be long, such as a run id; it may break anywhere."""
    return element("a", text, href=address, class_="id")


def _path(segments: tuple[object, ...]) -> str:
    return "/".join(quote(str(each), safe="") for each in segments)
