"""Objects of a landing folder and the micro-batches that a run cuts them into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote_from_bytes, unquote_to_bytes

_QUOTED = "//"


class ObjectState(StrEnum):
    """State of an object. Only READ and QUARANTINED ones are taken for good; a quarantined one is taken again when it
    has changed, and a vanished one when it is back. CHANGED records an object as last reported and not read: it
    changed after it was taken, is too old, or landed after the source was closed."""

    PLANNED = "planned"
    READ = "read"
    QUARANTINED = "quarantined"
    VANISHED = "vanished"
    CHANGED = "changed"


@dataclass(frozen=True)
class LandedObject:
    """One object. `uri` is relative to the landing folder, `modified` its landing time in microseconds. `tag` differs
    between contents. `path` is where to read it now; `refusal` says why its name forbids that (None: it does not)."""

    source: str
    uri: str
    size: int
    modified: int
    tag: str
    path: str = field(default="", compare=False)
    refusal: str | None = field(default=None, compare=False)
    state: ObjectState = ObjectState.PLANNED
    rows: int = 0

    @property
    def order(self) -> tuple[int, bytes]:
        """Rank among the objects taken by one run: landing time, then the bytes of the URI."""
        return self.modified, self.uri.encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Batch:
    """A micro-batch of a run: the objects it judges, source by source, in log order."""

    batch_id: int
    objects: tuple[LandedObject, ...]

    def of(self, source: str) -> tuple[LandedObject, ...]:
        return tuple(item for item in self.objects if item.source == source)


@dataclass(frozen=True)
class RunPlan:
    """Everything a run will do, recorded before it does anything: recovery after a crash needs no more. `closing`
    names the sources that are complete when it ends."""

    run_id: str
    as_of: int
    batches: tuple[Batch, ...]
    closing: tuple[str, ...] = ()

    @property
    def first(self) -> int:
        return self.batches[0].batch_id

    @property
    def last(self) -> int:
        return self.batches[-1].batch_id


def cut(
    objects: Sequence[LandedObject], first_id: int, max_files: int | None, max_bytes: int | None
) -> tuple[Batch, ...]:
    """Cut log-ordered objects into consecutive micro-batches; no object gives one empty micro-batch.

    The cut changes no result (split invariance), only how much work is done at once.
    """
    groups = enumerate(_groups(objects, max_files, max_bytes))
    return tuple(Batch(first_id + index, group) for index, group in groups)


def _groups(
    objects: Iterable[LandedObject], max_files: int | None, max_bytes: int | None
) -> Iterator[tuple[LandedObject, ...]]:
    group: list[LandedObject] = []
    size = 0
    for item in objects:
        full = (max_files is not None and len(group) >= max_files) or (
            max_bytes is not None and group and size + item.size > max_bytes
        )
        if full:
            yield tuple(group)
            group, size = [], 0
        group.append(item)
        size += item.size
    yield tuple(group)


def stored_uri(uri: str) -> str:
    """The URI as tables hold it: unchanged, unless its bytes are not UTF-8 or it starts with `//`, as a key of an
    object may. Then it is `//` and the bytes percent-encoded, so that different names stay different."""
    try:
        uri.encode("utf-8")
    except UnicodeEncodeError:
        return _QUOTED + quote_from_bytes(uri.encode("utf-8", "surrogateescape"), safe="/ ")
    return _QUOTED + quote_from_bytes(uri.encode("utf-8"), safe="/ ") if uri.startswith(_QUOTED) else uri


def loaded_uri(stored: str) -> str:
    """The inverse of `stored_uri`."""
    if not stored.startswith(_QUOTED):
        return stored
    return unquote_to_bytes(stored.removeprefix(_QUOTED)).decode("utf-8", "surrogateescape")
