"""The application: its addresses, their pages, and who may see them.

Every route asks the host for the user first; pages of a pipeline are for users who may read the pipeline's DAG. Only
then is the pipeline looked up, so that no user learns of a pipeline that this user may not read.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.responses import RedirectResponse, Response

from tidemark.config.pipeline_files import dag_id
from tidemark.dashboard import asked, failures
from tidemark.dashboard.asked import Asset, BatchId, DagId, Name, RunId
from tidemark.dashboard.host import Host, User
from tidemark.dashboard.known import Pipelines
from tidemark.dashboard.links import Links
from tidemark.dashboard.served import Served, first_page, one_of, within
from tidemark.dashboard.shell import HEADERS, Page, answer, at, message
from tidemark.dashboard.views import batch, history, listing, lists, overview, row, runs
from tidemark.dashboard.views import versions as of_versions
from tidemark.dashboard.wire import Plain
from tidemark.errors import UsageError
from tidemark.records.rows import ExplainRecord
from tidemark.report.page.definition import definition, definition_data
from tidemark.report.page.style import DARK, LIGHT, STYLE

_ASSETS = Path(__file__).parent / "assets"
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_THEMES = f"""
:root[data-theme="light"] {{ color-scheme: light; {LIGHT} }}
:root[data-theme="dark"] {{ color-scheme: dark; {DARK} }}
"""


def create_app(reader: Pipelines, host: Host) -> FastAPI:
    """Create the dashboard over the pipelines of `reader`, with users and rights from `host`."""
    user = [Depends(host.user)]
    app = FastAPI(
        dependencies=user, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, title="tidemark"
    )
    failures.handle(app)
    app.add_middleware(Plain)
    served = Served(reader, host)
    app.include_router(_list(served))
    app.include_router(_whole(served))
    app.include_router(_made(served))
    app.include_router(_past(served))
    app.include_router(_lists(served))
    app.include_router(_runs(served))
    app.include_router(_batches(served))
    app.include_router(_dags(served))
    app.include_router(_assets())
    return app


def _list(served: Served) -> APIRouter:
    router = APIRouter()

    @router.get("/")
    def pipelines(
        request: Request, given: Annotated[asked.NameFilter, Query()], user: User = Depends(served.host.user)
    ) -> Response:
        found, links = served.readable(user), Links.of(request)
        wanted = (given.name or "").lower()
        shown = served.glances([file for name, file in found.sound.items() if wanted in name], given.page)
        return answer(listing.listing(shown, found.broken, given.name, links), links)

    @router.get("/pipelines")
    def without_a_name(
        request: Request, given: Annotated[asked.Nothing, Query()], user: User = Depends(served.host.user)
    ) -> Response:
        served.readable(user)
        return RedirectResponse(Links.of(request).to("", format=given.format), 303, HEADERS)

    return router


def _of_pipeline(served: Served) -> APIRouter:
    return APIRouter(prefix="/pipelines/{name}", dependencies=[Depends(served.guard())])


def _whole(served: Served) -> APIRouter:
    """Routes of the pipeline's overview, and of one row."""
    router = _of_pipeline(served)

    @router.get("")
    def first(request: Request, name: Name, given: Annotated[asked.Partitions, Query()]) -> Response:
        pages, links = served.pages(name), Links.of(request)
        one_of(given.source, pages.spec.sources, "source")
        status = pages.status()
        shown = within(overview.partitions(status, given))
        beside = overview.Beside(served.standing(pages), pages.why(), list(pages.spec.sources))
        return answer(at(overview.overview(status, beside, shown, given, links), name, ""), links)

    @router.get("/row")
    def one_row(request: Request, name: Name, given: Annotated[asked.OneRow, Query()]) -> Response:
        links, pages = Links.of(request), served.pages(name)
        found: ExplainRecord | UsageError | None = None
        if given.source is not None and given.partition is not None and given.offset is not None:
            try:
                found = pages.explain(given.source, given.partition, given.offset)
            except UsageError as error:
                found = error
        return answer(at(row.row(name, given, list(pages.spec.sources), found, links), name, "row"), links)

    return router


def _made(served: Served) -> APIRouter:
    """Route of the page on how the pipeline's streams are made."""
    router = _of_pipeline(served)

    @router.get("/definition")
    def made(request: Request, name: Name, _: Annotated[asked.Nothing, Query()]) -> Response:
        spec = served.pages(name).spec
        page = Page(f"{name}: definition", (definition(spec),), data=definition_data(spec))
        return answer(at(page, name, "definition"), Links.of(request))

    return router


def _past(served: Served) -> APIRouter:
    """Routes of the pipeline's history and of its versions."""
    router = _of_pipeline(served)

    @router.get("/history")
    def pictures(request: Request, name: Name, _: Annotated[asked.Nothing, Query()]) -> Response:
        links = Links.of(request)
        return answer(at(history.history(name, served.pages(name).history(), links), name, "history"), links)

    @router.get("/versions")
    def versions(
        request: Request, name: Name, _: Annotated[asked.Nothing, Query()], user: User = Depends(served.host.user)
    ) -> Response:
        links, pages = Links.of(request), served.pages(name)
        listed = pages.versions()
        page = of_versions.versions(name, pages.spec.path.name, listed, served.users(user, listed), links)
        return answer(at(page, name, "versions"), links)

    return router


def _lists(served: Served) -> APIRouter:
    router = _of_pipeline(served)

    @router.get("/quality")
    def checks(request: Request, name: Name, given: Annotated[asked.Checks, Query()]) -> Response:
        links, found = Links.of(request), served.pages(name).checks(given.page, given.failed)
        shown = None if found is None else within(found)
        first_page(given.page, shown)
        return answer(at(lists.quality(name, shown, given, links), name, "quality"), links)

    @router.get("/letters")
    def letters(request: Request, name: Name, given: Annotated[asked.LetterFilter, Query()]) -> Response:
        links, pages = Links.of(request), served.pages(name)
        counts = pages.lettered()
        stream = one_of(given.stream, counts, "stream") or lists.opened(counts)
        shown = None if stream is None else within(pages.letters(stream, given.page))
        first_page(given.page, shown)
        page = lists.letters(name, stream, counts, shown, given, links)
        return answer(at(page, name, "letters"), links)

    return router


def _runs(served: Served) -> APIRouter:
    router = _of_pipeline(served)

    @router.get("/runs")
    def newest(request: Request, name: Name, given: Annotated[asked.Paged, Query()]) -> Response:
        links, shown = Links.of(request), within(served.pages(name).batches(given.page))
        return answer(at(runs.runs(name, shown, served.around(name, shown.rows), links), name, "runs"), links)

    @router.get("/runs/{run_id:path}")
    def one_run(request: Request, name: Name, run_id: RunId, given: Annotated[asked.Paged, Query()]) -> Response:
        links, pages = Links.of(request), served.pages(name)
        found = pages.run(run_id, given.page)
        if found is None:
            raise failures.refusal(404)
        shown = within(found)
        around = served.around(name, shown.rows)
        told = around.standing.failed if around.standing.record["run_id"] == run_id else ()
        causes, failing = pages.why(run_id), pages.failed_checks(run_id, told)
        page = runs.run(name, run_id, shown, around, causes, failing, links)
        return answer(at(page, name, "runs"), links)

    return router


def _batches(served: Served) -> APIRouter:
    router = _of_pipeline(served)

    @router.get("/batches/{batch_id}")
    def one_batch(
        request: Request, name: Name, batch_id: BatchId, given: Annotated[asked.Moved, Query()]
    ) -> Response:
        links, pages = Links.of(request), served.pages(name)
        record = pages.batch(batch_id)
        if record is None:
            raise failures.refusal(404)
        within(batch.page_of_rows(record, given))
        moved = None if given.fate is None else pages.moved(record, given.fate, given.page)
        page = batch.batch(name, record, pages.findings(batch_id), served.standing(pages), given, moved, links)
        return answer(at(page, name, "runs"), links)

    return router


def _dags(served: Served) -> APIRouter:
    """Routes that Airflow shows on the pages of a DAG and of a DAG run: they lead to pages of the DAG's pipeline."""
    router = APIRouter(prefix="/dags/{dag}", dependencies=[Depends(served.dag_guard())])

    @router.get("")
    def of_dag(request: Request, dag: DagId, given: Annotated[asked.Nothing, Query()]) -> Response:
        links, name = Links.of(request), _pipeline_of(served, dag)
        if name is None:
            return answer(message(dag, "This DAG is of no pipeline.", 200), links)
        return RedirectResponse(links.pipeline(name, format=given.format), 303, HEADERS)

    @router.get("/runs/{run_id:path}")
    def of_run(request: Request, dag: DagId, run_id: RunId, given: Annotated[asked.Nothing, Query()]) -> Response:
        links, name = Links.of(request), _pipeline_of(served, dag)
        if name is None:
            return answer(message(dag, "This DAG is of no pipeline.", 200), links)
        if served.pages(name).run(run_id, 1) is not None:
            return RedirectResponse(links.pipeline(name, "runs", run_id, format=given.format), 303, HEADERS)
        sentence = (
            "The ledger has no batch of this run: nothing had landed, or it verified an earlier run, "
            "or it has not begun. The log of its task discover says which."
        )
        return answer(at(message(f"{name}: run {run_id}", sentence, 200), name, "runs"), links)

    return router


def _pipeline_of(served: Served, dag: str) -> str | None:
    return next((name for name in served.reader.files().sound if dag_id(name) == dag), None)


def _assets() -> APIRouter:
    router = APIRouter()
    texts = {path.name: path.read_text() for path in _ASSETS.iterdir()}
    texts["style.css"] = STYLE + _THEMES + texts.pop("dashboard.css")
    tags = {name: f'"{sha256(text.encode()).hexdigest()[:16]}"' for name, text in texts.items()}

    @router.get("/assets/{asset}")
    def served_here(request: Request, asset: Asset) -> Response:
        headers = HEADERS | {"Cache-Control": "private, no-cache", "ETag": tags[asset]}
        if request.headers.get("if-none-match") == tags[asset]:
            return Response(status_code=304, headers=headers)
        return Response(texts[asset], headers=headers, media_type=_KINDS[asset.rpartition(".")[2]])

    return router
