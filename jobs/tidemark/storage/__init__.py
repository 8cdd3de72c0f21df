"""Where a pipeline's tables and objects are: a folder, which is a `Path`, or a place on S3, an `S3Place`.

Both join with `/`, have a `name`, and are written as text: a path, or `s3://bucket/key`. What differs between
the two is decided in this room and nowhere else.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TypeAlias, TypeVar

from deltalake import DeltaTable

from tidemark.config.address import S3Place, is_s3
from tidemark.storage import arrow, s3
from tidemark.storage.sync import sync_file, sync_folder

arrow.load()
T = TypeVar("T")
U = TypeVar("U")
Place: TypeAlias = Path | S3Place


def place_of(text: str) -> Place:
    """The place that a text names: s3://bucket/key, or a path."""
    return S3Place(text) if is_s3(text) else Path(text)


def make(place: Place) -> None:
    """Make the folder of a table; on S3 there are no folders to make."""
    if isinstance(place, Path):
        place.mkdir(parents=True, exist_ok=True)


def storage_options(place: Place | str) -> dict[str, str] | None:
    """What delta-rs must be told to reach a table; credentials it finds itself, in the same places as boto3."""
    return s3.delta_options() if is_s3(str(place)) else None


def is_table(place: Place | str) -> bool:
    """Whether a Delta table is there; a log that a crash left without a commit is none."""
    found = place_of(place) if isinstance(place, str) else place
    if isinstance(found, S3Place):
        return s3.has_commit(found)
    return found.is_dir() and DeltaTable.is_deltatable(str(found))


def reachable(place: Place) -> bool:
    """Whether a table may be opened: on S3 a missing one is found by us, which fails sooner and says why."""
    return isinstance(place, Path) or s3.has_commit(place)


def delta_table(place: Place | str) -> DeltaTable:
    """The Delta table at a place; TableNotFoundError when there is none."""
    return DeltaTable(str(place), storage_options=storage_options(place))


def read_bytes(place: Place) -> bytes:
    """All of a file or object."""
    return s3.read(place) if isinstance(place, S3Place) else place.read_bytes()


def read_if_there(place: Place) -> bytes | None:
    """All of a file or object; None when there is none."""
    if isinstance(place, S3Place):
        found = s3.read_stamped(place)
        return None if found is None else found.content
    return place.read_bytes() if place.is_file() else None


def write_bytes(place: Place, content: bytes, lasting: bool = False) -> None:
    """Write a file or object, which appears whole or not at all; a `lasting` one is on the disk then."""
    if isinstance(place, S3Place):
        s3.put(place, content)
        return
    partial = place.with_name(f"{place.name}.partial")
    partial.write_bytes(content)
    if lasting:
        sync_file(partial)
    partial.replace(place)
    if lasting:
        sync_folder(place.parent)


def write_once(place: Place, content: bytes) -> None:
    """Write a file or object that only its owner may read, unless it is there; it is on the disk then."""
    if isinstance(place, S3Place):
        s3.put_if(place, content, None)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=place.parent, prefix=f"{place.name}.") as partial:  # its mode is 0600
        partial.write(content)
        partial.flush()
        sync_file(Path(partial.name))
        with suppress(FileExistsError):
            os.link(partial.name, place)
    sync_folder(place.parent)


def remove(place: Place) -> None:
    """Delete a file or object, if it is there."""
    if isinstance(place, S3Place):
        s3.delete(place)
    else:
        place.unlink(missing_ok=True)


def open_file(text: str, known: tuple[int, str] | None = None) -> IO[bytes]:
    """A file or object for reading, from any position; an object whose size and tag are `known` has that content, or
    reading fails."""
    return io.BufferedReader(s3.Ranged(S3Place(text), known), s3.PIECE) if is_s3(text) else Path(text).open("rb")


def seen(text: str, known: tuple[int, str] | None = None) -> str | IO[bytes]:
    """What pyarrow reads a file or object from: the path itself, or the open object."""
    return open_file(text, known) if is_s3(text) else text


def tag_of(text: str) -> str | None:
    """What tells one content of a file or object from another; None when there is none."""
    if is_s3(text):
        return s3.tag_of(S3Place(text))
    try:
        found = Path(text).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return f"{found.st_mtime_ns}-{found.st_size}"


def tags_of(texts: list[str]) -> list[str | None]:
    """The tags of many files, or of many objects of one bucket, in their order."""
    return s3.tags_of(list(map(S3Place, texts))) if any(map(is_s3, texts)) else list(map(tag_of, texts))


def at_once(ask: Callable[[T], U], of: Iterable[T], *, s3_too: bool) -> list[U]:
    """What is asked of each, in their order; many at a time where that asks S3, which answers slowly."""
    return s3.at_once(ask, list(of)) if s3_too else [ask(each) for each in of]
