"""Records and shows values from the environment as references, and compares them by keyed hashes.

A record has `${NAME}` in the position of each value, and by name the HMAC-SHA256 of the value. So a change is
noticed, but nobody who has only the record can test guesses. Settings that are not free text (durations, numbers,
words of a list) are recorded as they are.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

KeyPath = tuple[str | int, ...]
ENVIRONMENT = "environment"
"""The key of a recorded configuration that has the hashes."""
SHORTEST = 3
"""Shortest length of a value that is hidden wherever it occurs in a text; shorter values are hidden only in their own
settings."""
_PIECE, _OF_KEY = 4, 8
_NAMED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_hidden: dict[str, str] = {}
"""Values that this process has read from the environment, with their variables."""
_shown: set[str] = set()
"""Paths of the files of pipelines, and of their folders: a value that happens to be part of one is shown in it."""


@dataclass(frozen=True)
class Taken:
    """Values by variable, and for each key path the variables that its setting uses; `environ` is the whole
    environment, `file` the pipeline's."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    paths: Mapping[KeyPath, frozenset[str]] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    file: Path | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hide these values, except those of paths, in everything that this process prints from now on."""
        if self.file is not None:
            _shown.update(map(str, (self.file, self.file.absolute(), self.file.absolute().parent)))
        for path, names in self.paths.items():
            if not _is_location(path):
                _hidden.update({self.values[name]: name for name in names if len(self.values[name]) >= SHORTEST})

    def referring(self, resolved: Mapping[str, Any]) -> dict[str, Any]:
        """A resolved configuration with references in the position of these values, each in its own setting."""
        content: dict[str, Any] = dict(resolved)
        for path, names in self.paths.items():
            content = _changed(content, path, partial(hidden, values={name: self.values[name] for name in names}))
        return content

    def hashes(self, key: bytes, content: object) -> dict[str, str]:
        """Keyed hashes of the values that a configuration with references refers to."""
        names = {name for _, text in leaves(content) for name in _NAMED.findall(text)} & self.values.keys()
        return {name: keyed(key, self.values[name]) for name in sorted(names)}


def forget() -> None:
    """Hide no value any more: the next command of this process has an environment of its own."""
    _hidden.clear()
    _shown.clear()


def keyed(key: bytes, value: str) -> str:
    """Hash of a value, with a hash of the key in front. Hashes are comparable under one key only."""
    found = hmac.new(key, value.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
    return f"{hmac.new(key, b'', hashlib.sha256).hexdigest()[:_OF_KEY]}:{found}"


def differs(key: bytes, value: str, recorded: str) -> bool:
    """True if a value differs from that of a recorded hash. False for a hash under another key: the two cannot be
    compared."""
    now = keyed(key, value)
    return now != recorded and now[:_OF_KEY] == recorded[:_OF_KEY]


def hidden(text: str, values: Mapping[str, str] | None = None) -> str:
    """A text with `${NAME}` in the position of values, however they are quoted in it. Default: all values that this
    process has read from the environment, except paths and the shortest ones; paths of pipelines' files stay."""
    known = _hidden if values is None else {value: name for name, value in values.items()}
    whole = _shown if values is None else ()
    for value, name in sorted(known.items(), key=lambda each: -len(each[0])):
        for form in dict.fromkeys((value, repr(value)[1:-1], value.replace("'", "''"))):
            text = _replaced(text, form, f"${{{name}}}", whole)
    return text


def _replaced(text: str, value: str, reference: str, whole: Collection[str]) -> str:
    """A text with a reference in the position of a value, except within the texts that stay whole."""
    if not value or value not in text:
        return text
    kept = [match.span() for each in whole for match in re.finditer(re.escape(each), text)]

    def reference_of(match: re.Match[str]) -> str:
        return match[0] if any(start <= match.start() and match.end() <= end for start, end in kept) else reference

    return re.sub(re.escape(value), reference_of, text)


def said(message: str, values: Mapping[str, str]) -> str:
    """A message about a configuration without any value from the environment or a larger piece of one."""
    shown = hidden(message, {name: value for name, value in values.items() if len(value) >= SHORTEST})
    for name, value in values.items():
        pieces = {value[start : start + _PIECE] for start in range(len(value) - _PIECE + 1)}
        if any(piece in shown for piece in pieces):
            return f"does not hold with the value of ${{{name}}}, which is not shown"
    return shown


def leaves(content: object, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Every text of a configuration with its key path."""
    if isinstance(content, str):
        yield path, content
    elif isinstance(content, Mapping):
        for key, each in content.items():
            yield from leaves(each, (*path, key))
    elif isinstance(content, list | tuple):
        for index, each in enumerate(content):
            yield from leaves(each, (*path, index))


def referred(content: Mapping[str, Any]) -> dict[KeyPath, frozenset[str]]:
    """Variables that a recorded configuration refers to, by key path."""
    names = frozenset(content.get(ENVIRONMENT, {}))
    found = {path: names.intersection(_NAMED.findall(text)) for path, text in leaves(content)}
    return {path: own for path, own in found.items() if own}


def opened(content: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """A recorded configuration with values in the position of its references; references to other names stay."""

    def open_text(text: str) -> str:
        return _NAMED.sub(lambda match: values.get(match[1], match[0]), text)

    found: dict[str, Any] = everywhere({k: v for k, v in content.items() if k != ENVIRONMENT}, open_text)
    return found


def _is_location(path: KeyPath) -> bool:
    return path[-1:] == ("warehouse",) or (path[:1] == ("sources",) and path[2:3] == ("landing",))


def _changed(content: Any, path: KeyPath, change: Callable[[str], str]) -> Any:  # noqa: ANN401 # JSON
    """Change the texts at a path and below it; if the content has no such path, all texts below its known part."""
    if not path or not isinstance(content, dict | list):
        return everywhere(content, change)
    if isinstance(content, dict):
        if path[0] not in content:
            return everywhere(content, change)
        return {key: _changed(each, path[1:], change) if key == path[0] else each for key, each in content.items()}
    if path[0] not in range(len(content)):
        return everywhere(content, change)
    return [_changed(each, path[1:], change) if index == path[0] else each for index, each in enumerate(content)]


def everywhere(content: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 # JSON
    """Content with each of its texts changed."""
    if isinstance(content, str):
        return change(content)
    if isinstance(content, dict):
        return {key: everywhere(each, change) for key, each in content.items()}
    return [everywhere(each, change) for each in content] if isinstance(content, list | tuple) else content
