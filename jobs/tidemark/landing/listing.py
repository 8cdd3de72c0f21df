"""Lists the objects in a landing folder or prefix in object storage with their landing times, without opening any.

Hidden and `_`-prefixed files and folders are no objects; nor are files that Hadoop is still copying (`._COPYING_`),
which Spark does not read either; nor are files that a link reaches outside of the landing folder. `{yyyy}`, `{MM}`,
`{dd}` and `{HH}` are the digits of a date (UTC).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from tidemark.config.address import is_remote
from tidemark.core.times import EPOCH
from tidemark.errors import TidemarkError
from tidemark.landing.listing_remote import COPYING, UNFIT, is_hidden, objects_below, unreadable

_PLACEHOLDER = re.compile(r"\{(?:yyyy|MM|dd|HH)\}")
_FIRST = datetime(3, 1, 1, tzinfo=UTC)
_LAST = datetime(9997, 12, 31, tzinfo=UTC)
_AWAY = "a link that leads out of the landing folder is not followed"
_TWICE = "a link to what is listed under its own name is not followed: its rows would be taken twice"


class LandedAt(Protocol):
    """Reads an object's landing time, in microseconds UTC, from its URI; None if the URI has none. `plus`
    microseconds lie between the time in the URI and the landing time."""

    @property
    def plus(self) -> int: ...

    def landing_time(self, uri: str) -> int | None: ...


@dataclass(frozen=True)
class LandingLocation:
    """The location where a source's objects land. `landing` is an absolute folder, or an address in object storage;
    durations are microseconds."""

    landing: str
    landed_at: LandedAt | None = None
    max_object_age: int | None = None

    @cached_property
    def root(self) -> str:
        """The part before the first folder with a placeholder; URIs are relative to it."""
        return "/".join(self._parts[: self._dated]) or "/"

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """Folders below `root` in the landing path, from the first with a placeholder on."""
        return tuple(self._parts[self._dated :])

    def pieces(self, as_of: int, left_out: dict[str, str] | None = None) -> Iterator[Listed]:
        """The objects there are, as `list_objects` lists them."""
        return list_objects(self, as_of, left_out)

    def path(self, uri: str) -> str:
        """The path at which an object is read."""
        return f"{self.root.rstrip('/')}/{uri}"

    def refusal(self, uri: str) -> str | None:
        """The reason why an object of this name cannot be read and is quarantined whole; None if it can be read.

        It depends on the name alone, so that a repeated run gets an equal answer.
        """
        try:
            uri.encode("utf-8")
        except UnicodeEncodeError:
            return "its name is not valid UTF-8: rename the object"
        if is_remote(self.landing) and (reason := unreadable(uri)) is not None:
            return reason
        if self.landed_at is not None and self.landed_at.landing_time(uri) is None:
            return "its name has no landing time as `landed_at` describes: rename the object"
        return None

    @cached_property
    def _parts(self) -> list[str]:
        return self.landing.rstrip("/").split("/")

    @cached_property
    def _dated(self) -> int:
        parts = self._parts
        return next((i for i, part in enumerate(parts) if _PLACEHOLDER.search(part)), len(parts))


class Listed(NamedTuple):
    """An object in the landing folder. `modified` is its landing time: by `landed_at` from its name, else the time of
    the file. `arrived` is when its name or content last changed in the folder, by the file system's clock,
    independent of the landing time."""

    uri: str
    size: int
    modified: int
    tag: str
    arrived: int


def list_objects(location: LandingLocation, as_of: int, left_out: dict[str, str] | None = None) -> Iterator[Listed]:
    """List the objects in the landing folder, in no particular order. `left_out` gets skipped names with the reasons:
    links that are not followed and, if nothing is listed, names that do not fit the placeholders.

    With `max_object_age` and placeholders, only folders dated between as_of - max_object_age - `plus` of `landed_at`
    and as_of are opened, and one unit more on either side (at least a day, for time zones). A missing landing folder
    is an error, since it would look like a source without objects; a dated folder may be missing. In object storage a
    prefix without objects is no error: there are no folders, and lifecycle rules may have deleted the objects. A
    missing bucket is an error.
    """
    left_out = {} if left_out is None else left_out
    found, any_listed = (_in_store if is_remote(location.root) else _in_folder)(location, as_of, left_out), False
    for each in found:
        any_listed = True
        yield each
    if any_listed:
        for name in [name for name, reason in left_out.items() if reason == UNFIT]:
            del left_out[name]


def _in_folder(location: LandingLocation, as_of: int, left_out: dict[str, str]) -> Iterator[Listed]:
    if not Path(location.root).is_dir():
        raise TidemarkError(
            "the landing folder does not exist", where=location.root, hint="create it or correct `landing`"
        )
    inside = Path(location.root).resolve()
    paths = {prefix: Path(location.root, prefix) for prefix in _folders(location, as_of, left_out)}
    own = {inside / prefix for prefix, path in paths.items() if path.resolve() == inside / prefix}
    for prefix, path in paths.items():
        linked = inside / prefix not in own
        if linked and not _leads_inside(path, inside):
            left_out[prefix] = _AWAY
        elif linked and _has_own_name(path, inside, own):
            left_out[prefix] = _TWICE
        else:
            for uri, stat in _walk(location, prefix, inside, own, left_out):
                yield _listed(location, uri, stat)


def _listed(location: LandingLocation, uri: str, stat: os.stat_result) -> Listed:
    return Listed(
        uri=uri,
        size=stat.st_size,
        modified=_landing_time(location, uri, stat.st_mtime_ns // 1000),
        tag=f"{stat.st_mtime_ns}-{stat.st_size}",
        arrived=stat.st_ctime_ns // 1000,
    )


def _landing_time(location: LandingLocation, uri: str, written: int) -> int:
    named = None if location.landed_at is None else location.landed_at.landing_time(uri)
    return written if named is None else named


def _in_store(location: LandingLocation, as_of: int, left_out: dict[str, str]) -> Iterator[Listed]:
    """List a landing in object storage. On S3 equal content written again is no change: the tag is the ETag."""
    folders = None
    if location.levels and location.max_object_age is not None:
        folders = frozenset(_folders(location, as_of, left_out))
    patterns = [_pattern(level) for level in location.levels]
    for uri, found in objects_below(location.root, folders, location.levels, patterns, left_out):
        yield Listed(uri, found.size, _landing_time(location, uri, found.modified), found.tag, found.modified)


def _walk(
    location: LandingLocation, prefix: str, inside: Path, own: Collection[Path], left_out: dict[str, str]
) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [prefix]
    while waiting:
        folder = waiting.pop()
        for entry in _entries(location.path(folder)):
            if is_hidden(entry.name):
                continue
            uri = folder + entry.name
            if entry.is_symlink() and not _leads_inside(Path(entry.path), inside):
                if not Path(entry.path).resolve().is_relative_to(inside):
                    left_out[uri] = _AWAY
                continue
            if entry.is_symlink() and _has_own_name(Path(entry.path), inside, own):
                left_out[uri] = _TWICE
                continue
            if entry.is_dir():
                waiting.append(uri + "/")
            elif not entry.name.endswith(COPYING) and (stat := _file(entry)) is not None:
                yield uri, stat


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Entries of a folder; none if it vanished meanwhile or if there is no folder for its date."""
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TidemarkError(
            f"a landing folder cannot be read: {error.strerror}",
            where=folder,
            hint="make it readable and run again; nothing was taken",
        ) from error


def _file(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Status of a file; None if it is no file or vanished meanwhile."""
    try:
        return entry.stat() if entry.is_file() else None
    except FileNotFoundError:
        return None


def _leads_inside(path: Path, inside: Path) -> bool:
    """True if a path, with links followed, ends inside the landing folder and not above itself (a loop)."""
    target = path.resolve()
    return target.is_relative_to(inside) and not path.parent.resolve().is_relative_to(target)


def _has_own_name(link: Path, inside: Path, own: Collection[Path]) -> bool:
    """True if the target of a link in the landing folder is listed under its own name, below a folder of `own`."""
    target = link.resolve()
    known = any(target.is_relative_to(folder) for folder in own) and target.exists()
    return known and not any(map(is_hidden, target.relative_to(inside).parts))


def _folders(location: LandingLocation, as_of: int, left_out: dict[str, str]) -> list[str]:
    """Dated folders to walk, relative to the root, each ending in `/`; the root itself is ''."""
    if not location.levels:
        return [""]
    if location.max_object_age is None:
        return _existing(location, left_out)
    plus = 0 if location.landed_at is None else location.landed_at.plus
    return _dated("/".join(location.levels) + "/", as_of - location.max_object_age - plus, as_of)


def _existing(location: LandingLocation, left_out: dict[str, str]) -> list[str]:
    prefixes = [""]
    for level in location.levels:
        pattern = re.compile(_pattern(level))
        found = [(prefix, entry) for prefix in prefixes for entry in _entries(location.path(prefix))]
        prefixes = [f"{at}{each.name}/" for at, each in found if pattern.fullmatch(each.name) and each.is_dir()]
        if not prefixes:
            left_out |= {f"{at}{each.name}": UNFIT for at, each in found if not is_hidden(each.name)}
    return prefixes


def _pattern(level: str) -> str:
    literals = [re.escape(literal) for literal in _PLACEHOLDER.split(level)]
    digits = [f"[0-9]{{{len(found) - 2}}}" for found in _PLACEHOLDER.findall(level)]
    return "".join(text for pair in zip(literals, [*digits, ""], strict=True) for text in pair)


def _dated(template: str, since: int, until: int) -> list[str]:
    """Folders of all dates between two times, and one unit more on either side (at least a day)."""
    step = timedelta(hours=1) if "{HH}" in template else timedelta(days=1)
    days = 1 if "{dd}" in template or "{HH}" in template else 31 if "{MM}" in template else 366
    time, end = _moment(since) - timedelta(days=days), _moment(until) + timedelta(days=days)
    found: dict[str, None] = {}
    while time <= end:
        found[_on(template, time)] = None
        time += step
    return list(found)


def _on(template: str, time: datetime) -> str:
    month, day, hour = f"{time.month:02}", f"{time.day:02}", f"{time.hour:02}"
    digits = {"{yyyy}": f"{time.year:04}", "{MM}": month, "{dd}": day, "{HH}": hour}
    return _PLACEHOLDER.sub(lambda found: digits[found[0]], template)


def _moment(micros: int) -> datetime:
    """A time as a date, limited to the years 3 to 9997."""
    least, most = ((bound - EPOCH) // timedelta(microseconds=1) for bound in (_FIRST, _LAST))
    return EPOCH + timedelta(microseconds=min(max(micros, least), most))
