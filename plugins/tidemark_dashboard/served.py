"""What routes are given: the pipeline that an address names, once its reader is known to be allowed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Depends

from tidemark.commands.dashboard import ListPage, Pages
from tidemark.config.pipeline_files import Files, PipelineFile, dag_id
from tidemark.core.batch_result import BatchRecord
from tidemark.errors import TidemarkError
from tidemark_dashboard.asked import DagId, Name
from tidemark_dashboard.failures import UNREADABLE, refusal
from tidemark_dashboard.host import Host, User
from tidemark_dashboard.known import Pipelines
from tidemark_dashboard.views.listing import SHOWN, Told
from tidemark_dashboard.views.runs import Around

T = TypeVar("T")


@dataclass(frozen=True)
class Served:
    """The pipelines, and the host that tells who may see them."""

    reader: Pipelines
    host: Host

    def guard(self) -> Callable[..., None]:
        """A dependency of routes below a pipeline: 403 for one who may not read its DAG."""

        def allowed(name: Name, user: User = Depends(self.host.user)) -> None:
            self.allow(user, dag_id(name))

        return allowed

    def dag_guard(self) -> Callable[..., None]:
        """The same for routes that name the DAG itself."""

        def allowed(dag: DagId, user: User = Depends(self.host.user)) -> None:
            self.allow(user, dag)

        return allowed

    def allow(self, user: User, dag: str) -> None:
        """403 unless a user may read a DAG, whether there is one or not."""
        if dag not in self.host.readable(user, {dag}):
            raise refusal(403)

    def file(self, name: str) -> PipelineFile:
        """The file of a pipeline; 404: no file that holds names it."""
        found = self.reader.files().sound.get(name)
        if found is None:
            raise refusal(404)
        return found

    def pages(self, name: str) -> Pages:
        """The tables of a pipeline."""
        return self.reader.pages(self.file(name))

    def readable(self, user: User) -> Files:
        """The pipelines that a user may see, by name, and the broken files if those, too; 403: neither."""
        files = self.reader.files()
        allowed = self.host.readable(user, {dag_id(name) for name in files.sound})
        errors = self.host.may_read_errors(user)
        if not allowed and not errors:
            raise refusal(403)
        sound = {name: files.sound[name] for name in sorted(files.sound) if dag_id(name) in allowed}
        return Files(sound, files.broken if errors else {})

    def glances(self, found: Collection[PipelineFile], page: int) -> ListPage[tuple[PipelineFile, Told]]:
        """A page of pipelines with what their ledgers say; one that can't be read does not hide the others."""
        begin, pages = (page - 1) * SHOWN, max(1, -(-len(found) // SHOWN))
        shown = [(file, self._glance(file)) for file in list(found)[begin : begin + SHOWN]]
        return within(ListPage(shown, page, pages, len(found)))

    def _glance(self, file: PipelineFile) -> Told:
        try:
            return self.reader.pages(file).glance()
        except TidemarkError as error:
            return error
        except UNREADABLE:
            return TidemarkError("its tables can't be read now")

    def around(self, name: str, records: Sequence[BatchRecord]) -> Around:
        """What the host knows of the runs of some batches."""
        ids = {record.run_id for record in records}
        return Around(self.host.runs(dag_id(name), ids), self.host.verified(dag_id(name), ids))


def within(part: ListPage[T]) -> ListPage[T]:
    """The page; 404: the list ends before it."""
    if part.page > part.pages:
        raise refusal(404, f"The list has {part.pages:,} pages.")
    return part


def one_of(value: str | None, known: Collection[str], kind: str) -> str | None:
    """A name that is known, or none; 422: it is another."""
    if value is not None and value not in known:
        raise refusal(422, f"{kind}: there is no {kind} of this name.")
    return value
