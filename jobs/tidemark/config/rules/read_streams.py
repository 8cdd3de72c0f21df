"""Reads the streams of a pipeline file, keeping what can be used of each."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from tidemark.config.files.messages import findings, unknown_key
from tidemark.config.files.yaml import Document, KeyPath, key_text
from tidemark.config.models.pipeline import checked_name
from tidemark.config.models.streams import STREAM_KEYS, StreamSpec
from tidemark.config.models.values import shown
from tidemark.config.rules.streams import Stream
from tidemark.errors import Problem


def read_streams(document: Document, problems: list[Problem]) -> dict[str, Stream]:
    """Every stream that the file names; wrong keys are left out and added to `problems`."""
    entries = document.content.get("streams")
    if entries is None:
        return {}

    def refuse(path: KeyPath, message: str) -> None:
        here = ("streams", *path)
        problems.append(Problem(document.at(here), key_text(here), message))

    if not isinstance(entries, dict):
        refuse((), f"{shown(entries)} must be a mapping of names to streams: streams: {{fast: {{from: readings}}}}")
        return {}
    streams = {}
    for name, keys in entries.items():
        try:
            checked_name(name)
        except ValueError as error:
            refuse((name,), str(error))
        if isinstance(keys, dict):
            streams[name], found = _stream(name, {key: value for key, value in keys.items() if value is not None})
            for path, message in found:
                refuse((name, *path), message)
        else:
            refuse(
                (name,), f"{shown(keys)} must be a mapping: write the stream's keys below it, such as from: readings"
            )
            streams[name] = Stream(StreamSpec.model_validate({"name": name}), frozenset(), frozenset(STREAM_KEYS))
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
