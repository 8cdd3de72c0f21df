"""Answers to requests that fail: always a page that people can read."""

from __future__ import annotations

import logging
from http import HTTPStatus

import pyarrow as pa
from deltalake.exceptions import DeltaError
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException as AnyHTTPException

from tidemark.dashboard.links import Links
from tidemark.dashboard.shell import Page, answer
from tidemark.errors import TidemarkError
from tidemark.report.page.markup import bullets, paragraph

UNREADABLE = (DeltaError, pa.ArrowException, OSError)
"""Errors of reading tables that are damaged, or that change while they are read."""

_TITLES = {
    401: "You are not logged in",
    403: "You may not see this",
    404: "There is no such page",
    405: "This can't be done",
    422: "This can't be asked",
    500: "Something went wrong",
    503: "The tables can't be read now",
}
_SENTENCES = {
    401: "Log in to Airflow, then come back.",
    403: "Who may read a pipeline's DAG in Airflow may see the pipeline here. Ask whoever gives rights there.",
    404: "The address names no pipeline, run, batch or page that is here.",
    405: "The dashboard only shows; nothing is changed by it.",
    422: "The address asks for something that can't be:",
    500: "The server's log says what.",
    503: "Load the page again in a moment; if that stays, the server's log says more.",
}
_log = logging.getLogger(__name__)


def refusal(status: int, *said: str) -> HTTPException:
    """Return the exception for a route to raise; the page shows the sentences in `said`."""
    return HTTPException(status, list(said))


def handle(app: FastAPI) -> None:
    """Show every failure of an application as a page."""
    app.add_exception_handler(AnyHTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(TidemarkError, _failed)
    for kind in UNREADABLE:
        app.add_exception_handler(kind, _unreadable)
    app.add_exception_handler(Exception, _broken)


def _page(request: Request, status: int, *said: str) -> Response:
    title = _TITLES.get(status) or HTTPStatus(status).phrase
    first = [_SENTENCES[status]] if status in _SENTENCES else []
    links = Links.of(request)
    inner = [*map(paragraph, first), *([bullets(said)] if said else [])]
    ways = [paragraph("To ", links.airflow("Airflow"), ".")] if status in {401, 403} else []
    data = {"status": status, "sentences": [*first, *said]}
    return answer(Page(title, (*inner, *ways), status=status, data=data), links)


async def _refused(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    said = getattr(error, "detail", None)
    return _page(request, status, *(map(str, said) if isinstance(said, list) else ()))


async def _invalid(request: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    return _page(request, 422, *(f"{each['loc'][-1]}: {each['msg']}" for each in found))


async def _failed(request: Request, error: Exception) -> Response:
    _log.warning("%s: %s", request.url.path, error)
    return _page(request, 503)


async def _unreadable(request: Request, error: Exception) -> Response:
    _log.warning("%s: tables can't be read", request.url.path, exc_info=error)
    return _page(request, 503)


async def _broken(request: Request, _: Exception) -> Response:
    return _page(request, 500)
