"""Reads the streams of a pipeline file, keeping what can be used of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from tidemark.config.files.messages import findings, unknown_key
from tidemark.config.files.yaml import Document, KeyPath, key_text
from tidemark.config.models.pipeline import checked_name
from tidemark.config.models.streams import SEVERAL, STREAM_KEYS, StreamSpec
from tidemark.config.models.values import shown
from tidemark.config.rules.several_windows import WindowOrigin, WindowOrigins, divided, division_errors, written
from tidemark.config.rules.streams import Stream
from tidemark.errors import Problem


def read_streams(document: Document, problems: list[Problem]) -> tuple[dict[str, Stream], WindowOrigins]:
    """Every stream that the file names, and where it has those that are one of several windows; wrong keys are left
    out and added to `problems`."""
    entries = document.content.get("streams")
    if entries is None:
        return {}, {}

    def refuse(path: KeyPath, message: str) -> None:
        here = ("streams", *path)
        problems.append(Problem(document.at(here), key_text(here), message))

    if not isinstance(entries, dict):
        refuse((), f"{shown(entries)} must be a mapping of names to streams: streams: {{fast: {{from: readings}}}}")
        return {}, {}
    streams: dict[str, Stream] = {}
    origins: dict[str, WindowOrigin] = {}
    for name, keys in entries.items():
        try:
            checked_name(name)
        except ValueError as error:
            refuse((name,), str(error))
        if isinstance(keys, dict):
            streams |= _read(name, {k: v for k, v in keys.items() if v is not None}, entries, origins, refuse)
        else:
            refuse(
                (name,), f"{shown(keys)} must be a mapping: write the stream's keys below it, such as from: readings"
            )
            streams[name] = Stream(StreamSpec.model_validate({"name": name}), frozenset(), frozenset(STREAM_KEYS))
    return streams, origins


Refuse = Callable[[KeyPath, str], None]


def _read(
    name: str, keys: dict[str, Any], entries: dict[str, Any], origins: dict[str, WindowOrigin], refuse: Refuse
) -> dict[str, Stream]:
    """The stream of a step, or one for each of its several windows, whose origins are added."""
    parts = [(name, keys)]
    if SEVERAL in keys:
        for path, message in division_errors(name, keys, entries):
            refuse((name, *path), message)
        divisions = list(divided(name, keys, entries))
        origins |= {part: origin for part, _, origin in divisions}
        parts = [(part, own) for part, own, _ in divisions]
    streams = {}
    for part, own in parts:
        streams[part], found = _stream(part, own)
        for path, message in found:
            refuse(written(("streams", part, *path), origins)[1:], message)
    return streams


def _stream(name: str, keys: dict[str, Any]) -> tuple[Stream, list[tuple[KeyPath, str]]]:
    """The stream without its wrong keys, and the problems of these."""
    found: list[tuple[KeyPath, str]] = [
        ((key,), unknown_key(key, STREAM_KEYS)) for key in keys if key not in STREAM_KEYS
    ]
    bad = {str(path[0]) for path, _ in found}
    usable = {key: value for key, value in keys.items() if key not in bad}
    try:
        spec = StreamSpec.model_validate({**usable, "name": name})
    except ValidationError as error:
        found += findings(error, StreamSpec)
        bad |= {str(detail["loc"][0]) for detail in error.errors()}
        usable = {key: value for key, value in usable.items() if key not in bad}
        spec = StreamSpec.model_validate({**usable, "name": name})
    return Stream(spec, frozenset(keys), frozenset(bad)), found
