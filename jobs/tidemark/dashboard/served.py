"""Input of routes: the pipeline that an address names, after a check that the user may read it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Depends

from tidemark.commands.dashboard.paged import ListPage
from tidemark.commands.dashboard.pages import Pages
from tidemark.commands.dashboard.versions import ListedVersion
from tidemark.config.pipeline_files import Files, PipelineFile, dag_id
from tidemark.core.batch_result import BatchRecord
from tidemark.dashboard.asked import DagId, Name
from tidemark.dashboard.failures import UNREADABLE, refusal
from tidemark.dashboard.host import Host, User
from tidemark.dashboard.known import Pipelines
from tidemark.dashboard.views.listing import SHOWN, Listed
from tidemark.dashboard.views.runs import Around
from tidemark.dashboard.views.states import Standing
from tidemark.dashboard.views.versions import BACKFILLS
from tidemark.errors import TidemarkError

T = TypeVar("T")


@dataclass(frozen=True)
class Served:
    """The pipelines, and the host that decides who may see them."""

    reader: Pipelines
    host: Host

    def guard(self) -> Callable[..., None]:
        """Return a dependency for routes below a pipeline: 403 for a user who may not read its DAG."""

        def allowed(name: Name, user: User = Depends(self.host.user)) -> None:
            self.allow(user, dag_id(name))

        return allowed

    def dag_guard(self) -> Callable[..., None]:
        """Return a dependency for routes that name a DAG: 403 for a user who may not read it."""

        def allowed(dag: DagId, user: User = Depends(self.host.user)) -> None:
            self.allow(user, dag)

        return allowed

    def allow(self, user: User, dag: str) -> None:
        """Raise 403 unless a user may read a DAG, whether it exists or not."""
        if dag not in self.host.readable(user, {dag}):
            raise refusal(403)

    def file(self, name: str) -> PipelineFile:
        """Return the file of a pipeline; 404 if no valid file has this name."""
        found = self.reader.files().sound.get(name)
        if found is None:
            raise refusal(404)
        return found

    def pages(self, name: str) -> Pages:
        """Return the tables of a pipeline."""
        return self.reader.pages(self.file(name))

    def readable(self, user: User) -> Files:
        """Return the pipelines that a user may see, by name, and, if allowed, the broken files; 403 if neither."""
        files = self.reader.files()
        allowed = self.host.readable(user, {dag_id(name) for name in files.sound})
        errors = self.host.may_read_errors(user)
        if not allowed and not errors:
            raise refusal(403)
        sound = {name: files.sound[name] for name in sorted(files.sound) if dag_id(name) in allowed}
        return Files(sound, files.broken if errors else {})

    def glances(self, found: Collection[PipelineFile], page: int) -> ListPage[tuple[PipelineFile, Listed]]:
        """Return a page of pipelines with summaries of their ledgers; an unreadable ledger
        does not hide the others."""
        begin, pages = (page - 1) * SHOWN, max(1, -(-len(found) // SHOWN))
        shown = [(file, self._glance(file)) for file in list(found)[begin : begin + SHOWN]]
        return within(ListPage(shown, page, pages, len(found)))

    def _glance(self, file: PipelineFile) -> Listed:
        try:
            pages = self.reader.pages(file)
            return pages.glance(), self.standing(pages)
        except TidemarkError as error:
            return error
        except UNREADABLE:
            return TidemarkError("its tables can't be read now")

    def around(self, name: str, records: Sequence[BatchRecord]) -> Around:
        """Return the host's records of the runs of these batches, and the pipeline's state."""
        ids = {record.run_id for record in records}
        dag, state = dag_id(name), self.standing(self.pages(name))
        return Around(self.host.runs(dag, ids), self.host.verified(dag, ids), state)

    def users(self, user: User, listed: Sequence[ListedVersion]) -> Mapping[str, str]:
        """Return who started the DAG runs that built some versions; empty if `user` may not read their DAG."""
        labels = {each.record["label"] for each in listed}
        if BACKFILLS not in self.host.readable(user, {BACKFILLS}):
            return {}
        return self.host.users(BACKFILLS, {label for label in labels if label is not None})

    def standing(self, pages: Pages) -> Standing:
        """Return the state of a pipeline, with the runs that wait for a person."""
        record = pages.standing()
        failed = pages.failed() if record["failed"] else ()
        return Standing(record, failed, self.host.waiting(dag_id(pages.spec.name)))


def within(part: ListPage[T]) -> ListPage[T]:
    """Return the page; 404 if the list ends before it."""
    if part.page > part.pages:
        raise refusal(404, f"The list has {part.pages:,} pages.")
    return part


def first_page(page: int, shown: ListPage[T] | None) -> None:
    """Raise 404 for a page after the first if there is no list."""
    if shown is None and page > 1:
        raise refusal(404, "There is no list yet.")


def one_of(value: str | None, known: Collection[str], kind: str) -> str | None:
    """Return a known name, or None; 422 for an unknown name."""
    if value is not None and value not in known:
        raise refusal(422, f"{kind}: there is no {kind} of this name.")
    return value
