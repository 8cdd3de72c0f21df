"""Locations of a pipeline's tables and objects: a folder, which is a `Path`, or a prefix in object storage, a
`RemoteLocation`.

Both join with `/`, have a `name`, and convert to text: a path, or an address such as `s3://bucket/key`. Only this
package distinguishes between the two.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, TYPE_CHECKING, TypeAlias, TypeVar

from deltalake import DeltaTable

from tidemark.config.address import RemoteLocation, is_remote
from tidemark.storage import arrow, stores
from tidemark.storage.sync import sync_file, sync_folder

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

arrow.load()
T = TypeVar("T")
U = TypeVar("U")
Location: TypeAlias = Path | RemoteLocation
LOG = "_delta_log"
"""The folder of a Delta table's log."""


def location_of(text: str) -> Location:
    """The location that a text names: an address in object storage, or a path."""
    return RemoteLocation(text) if is_remote(text) else Path(text)


def make(location: Location) -> None:
    """Make the folder of a table; does nothing in object storage, which has no folders."""
    if isinstance(location, Path):
        location.mkdir(parents=True, exist_ok=True)


def storage_options(location: Location | str) -> dict[str, str] | None:
    """Options that delta-rs needs to reach a table in object storage; None for a folder. It finds credentials itself,
    where the service's own client finds them."""
    found = location_of(str(location))
    return stores.store_of(found).delta_options() if isinstance(found, RemoteLocation) else None


def is_table(location: Location | str) -> bool:
    """True if there is a Delta table; a log without a commit, which a crash left, does not count."""
    found = location_of(location) if isinstance(location, str) else location
    if isinstance(found, RemoteLocation):
        return stores.store_of(found).has_commit(found)
    return found.is_dir() and DeltaTable.is_deltatable(str(found))


def reachable(location: Location) -> bool:
    """True if a table may be opened. In object storage a missing table is noticed here, which is faster than delta-rs
    and gives the reason."""
    return isinstance(location, Path) or stores.store_of(location).has_commit(location)


def delta_table(location: Location | str) -> DeltaTable:
    """Open the Delta table at a location. Raises TableNotFoundError if there is none."""
    return DeltaTable(str(location), storage_options=storage_options(location))


def dataset_of(location: Location, table: DeltaTable | None = None) -> Dataset:
    """Open the newest version of the Delta table at a location, or the version opened as `table`.

    A folder is read by Arrow's own file system. Arrow's threads call one written in Python even while Python ends,
    which aborts Python (status 134; seen in four of ten scripts that read a table to their end, Arrow 26, Python
    3.11)."""
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    own = SubTreeFileSystem(str(location.resolve()), LocalFileSystem()) if isinstance(location, Path) else None
    return (table or delta_table(location)).to_pyarrow_dataset(filesystem=own)


def read_bytes(location: Location) -> bytes:
    """Read a whole file or object."""
    if isinstance(location, RemoteLocation):
        return stores.store_of(location).read(location)
    return location.read_bytes()


def read_if_there(location: Location) -> bytes | None:
    """Read a whole file or object; None if there is none."""
    if isinstance(location, RemoteLocation):
        found = stores.store_of(location).read_stamped(location)
        return None if found is None else found.content
    return location.read_bytes() if location.is_file() else None


def write_bytes(location: Location, content: bytes, lasting: bool = False) -> None:
    """Write a file or object, which appears whole or not at all. `lasting`: the file is also synced to the disk."""
    if isinstance(location, RemoteLocation):
        stores.store_of(location).put(location, content)
        return
    partial = location.with_name(f"{location.name}.partial")
    partial.write_bytes(content)
    if lasting:
        sync_file(partial)
    partial.replace(location)
    if lasting:
        sync_folder(location.parent)


def write_once(location: Location, content: bytes) -> None:
    """Write a file or object that only its owner may read, unless it exists already. A file is synced to the disk."""
    if isinstance(location, RemoteLocation):
        stores.store_of(location).put_if(location, content, None)
        return
    location.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=location.parent, prefix=f"{location.name}.") as partial:  # created with mode 0600
        partial.write(content)
        partial.flush()
        sync_file(Path(partial.name))
        with suppress(FileExistsError):
            os.link(partial.name, location)
    sync_folder(location.parent)


def remove(location: Location) -> None:
    """Delete a file or object, if it exists."""
    if isinstance(location, RemoteLocation):
        stores.store_of(location).delete(location)
    else:
        location.unlink(missing_ok=True)


def open_file(text: str, known: tuple[int, str] | None = None) -> IO[bytes]:
    """Open a file or object for reading from any position. If size and tag of an object are `known`, reading fails
    once its content has changed."""
    if is_remote(text):
        return io.BufferedReader(stores.Ranged(RemoteLocation(text), known), stores.PIECE)
    return Path(text).open("rb")


def seen(text: str, known: tuple[int, str] | None = None) -> str | IO[bytes]:
    """The form in which pyarrow reads a file or object: the path itself, or the open object."""
    return open_file(text, known) if is_remote(text) else text


def tag_of(text: str) -> str | None:
    """Tag of the content of a file or object, which changes with the content; None if there is no file or object."""
    if is_remote(text):
        return stores.tag_of(RemoteLocation(text))
    try:
        found = Path(text).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return f"{found.st_mtime_ns}-{found.st_size}"


def tags_of(texts: list[str]) -> list[str | None]:
    """Tags of many files, or of many objects of one bucket, in order."""
    return (
        stores.tags_of(list(map(RemoteLocation, texts))) if any(map(is_remote, texts)) else list(map(tag_of, texts))
    )


def at_once(ask: Callable[[T], U], of: Iterable[T], *, remote: bool) -> list[U]:
    """Results of `ask` for each item, in order; in parallel if `remote`, since a service answers slowly."""
    return stores.at_once(ask, list(of)) if remote else [ask(each) for each in of]
