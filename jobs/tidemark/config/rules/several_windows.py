"""Steps with several windows: `windows: {minute: {tumbling: 1m}, hour: {tumbling: 1h}}`.

Each is a stream of its own, `<step>_minute` and `<step>_hour`, with the step's other keys. A recorded configuration
has these streams.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tidemark.config.files.messages import unknown_key
from tidemark.config.files.yaml import KeyFinding, KeyPath
from tidemark.config.models.pipeline import checked_name
from tidemark.config.models.streams import SEVERAL
from tidemark.config.models.values import shown
from tidemark.config.rules.streams import OPERATORS, WINDOWS

KINDS = tuple(key for key in OPERATORS if key in WINDOWS)
OF_A_WINDOW = (*KINDS, "allowed_lateness", "idle_timeout", "partition_by")
"""Keys that each of several windows may have."""
_EXAMPLE = "windows: {minute: {tumbling: 1m}, hour: {tumbling: 1h}}"


@dataclass(frozen=True)
class WindowOrigin:
    """Where the file has a stream that is one of several windows: its step, the window's name, and its own keys."""

    step: str
    window: str
    own: frozenset[str]

    def written(self, path: KeyPath) -> KeyPath:
        """The key path in the file of a path below the stream."""
        here: KeyPath = ("streams", self.step)
        if not path or path[0] in self.own or path[0] in KINDS:
            return (*here, SEVERAL, self.window, *path)
        return (*here, *path)


WindowOrigins = Mapping[str, WindowOrigin]
"""Streams that are one of several windows, by name."""


def written(path: KeyPath, origins: WindowOrigins) -> KeyPath:
    """The key path in the file of one in the configuration."""
    origin = origins.get(str(path[1])) if path[:1] == ("streams",) and len(path) > 1 else None
    return path if origin is None else origin.written(path[2:])


def plain_steps(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a sound file, with a step for each of several windows."""
    steps: dict[str, Any] = {}
    for name, keys in (content.get("streams") or {}).items():
        several = keys.get(SEVERAL) is not None
        steps |= {part: own for part, own, _ in divided(name, keys, {})} if several else {name: keys}
    return {**content, "streams": steps} if steps else dict(content)


def divided(
    name: str, keys: Mapping[str, Any], taken: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any], WindowOrigin]]:
    """The streams of a step with several windows, each with its keys and origin; wrong windows are left out. `taken`
    has the names of all steps."""
    shared = {key: value for key, value in keys.items() if key != SEVERAL}
    for window, own in _sound(name, keys[SEVERAL], taken).items():
        yield f"{name}_{window}", {**shared, **own}, WindowOrigin(name, window, frozenset(own))


def division_errors(name: str, keys: Mapping[str, Any], taken: Mapping[str, Any]) -> Iterator[KeyFinding]:
    """Problems of `windows` of a step, by key path below it."""
    windows = keys[SEVERAL]
    if not isinstance(windows, dict) or not windows:
        yield (SEVERAL,), f"{shown(windows)} must name windows: {_EXAMPLE}"
        return
    for key in KINDS:
        if key in keys:
            yield (key,), f"cannot be beside {SEVERAL}: name this window there, too"
    for window, own in windows.items():
        yield from (((SEVERAL, window, *path), message) for path, message in _window_errors(name, window, own, taken))


def _window_errors(name: str, window: object, own: object, taken: Mapping[str, Any]) -> Iterator[KeyFinding]:
    try:
        checked_name(str(window))
    except ValueError as error:
        yield (), str(error)
    if f"{name}_{window}" in taken:
        yield (), f"its stream would be '{name}_{window}', which is there already: name the window otherwise"
    if not isinstance(own, dict):
        yield (), f"{shown(own)} must be a mapping with a window, such as {{tumbling: 1m}}"
        return
    for key in own:
        if key not in OF_A_WINDOW:
            yield (key,), f"{unknown_key(key, OF_A_WINDOW)}; other keys are the step's, for all of its windows"
    if not set(own) & set(KINDS):
        yield (), f"has no window: write one of {', '.join(KINDS)}"


def _sound(name: str, windows: object, taken: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    entries = windows if isinstance(windows, dict) else {}
    return {window: own for window, own in entries.items() if not list(_window_errors(name, window, own, taken))}
