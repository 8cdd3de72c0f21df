"""Checks arguments of the Python verbs: impossible values become a UsageError that names the argument."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidemark.errors import UsageError

_OF_ROW = ("source", "partition", "offset")
_A_ROW = "a row of `tidemark rows CONFIG --json`"
RowName = str | Mapping[str, Any]
"""A source, or a row of the record of `rows`."""


def known_names(verb: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Raise UsageError for a keyword argument that the verb does not have."""
    allowed = list(names)
    for name in given:
        if name not in allowed:
            close = get_close_matches(name.lower(), allowed, 1)
            meant = f"did you mean {close[0]!r}? It" if close else "it"
            raise UsageError(f"{verb} has no argument {name!r}", hint=f"{meant} takes {', '.join(allowed)}")


def partition(value: object) -> str:
    """A partition's name; a whole number is written as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"{value!r} is not a partition", hint="give its name, such as '0'")


def number(name: str, value: object, least: int) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise UsageError(f"{name} is {value!r}", hint=f"give a whole number of {least} or more")


def number_or_none(name: str, value: object, least: int) -> int | None:
    """Like `number`; None stays None."""
    return None if value is None else number(name, value, least)


def row(source: object, partition_: object, offset: object) -> tuple[str, str, int]:
    """Source, partition and offset of a row; `source` may be a row of `rows` instead, then the others are None."""
    if isinstance(source, Mapping):
        if partition_ is not None or offset is not None:
            raise UsageError("a row has its partition and offset itself", hint="leave out the other two")
        missing = [name for name in _OF_ROW if name not in source]
        if missing:
            raise UsageError(f"the row has no {missing[0]}", hint=f"give {_A_ROW}")
        source, partition_, offset = (source[name] for name in _OF_ROW)
    if not isinstance(source, str):
        raise UsageError(
            f"{source!r} is not a source", hint="give its name, or a row of `tidemark rows CONFIG --json`"
        )
    if partition_ is None or offset is None:
        raise UsageError("partition and offset are missing", hint="give SOURCE PARTITION OFFSET")
    return source, partition(partition_), number("offset", offset, 0)


def file_path(name: str, value: object) -> Path:
    """A path, given as text or as a path."""
    if isinstance(value, str | os.PathLike):
        return Path(os.fspath(value))
    raise UsageError(f"{name} is {value!r}", hint="give a path as text or as pathlib.Path")


def alias(given: Mapping[str, object], *, verb: str, instead_of: Mapping[str, str]) -> dict[str, object]:
    """Keyword arguments with names of the command line, renamed to those of the verb."""
    known_names(verb, given, instead_of)
    return {instead_of[name]: value for name, value in given.items()}


def texts(name: str, value: object, example: str = "sources.s.settle=1m") -> list[str]:
    """A list of texts; a single text is a list of one."""
    given: list[object] = [*value] if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    for each in given:
        if not isinstance(each, str):
            raise UsageError(f"{name} has {each!r} in it", hint=f"give text, such as {example!r}")
    return [str(each) for each in given]


def reason_for(what: str, text: str, hint: str) -> str:
    """A person's reason, without blanks around it. Raises UsageError if there is none, or only dots."""
    if not text.strip(" \t\n.…"):
        raise UsageError(f"{what} needs a reason", hint=hint)
    return text.strip()
