"""Puts settings from the command line (`--set KEY=VALUE`) into the content of a file before it is checked."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidemark.config.files.messages import unknown_key
from tidemark.config.files.yaml import Document, read_value
from tidemark.config.models.pipeline import IRRELEVANT, IRRELEVANT_IN_SOURCES, PIPELINE_KEYS
from tidemark.config.models.sources import SOURCE_KEYS
from tidemark.config.models.values import shown
from tidemark.errors import UsageError

EXAMPLE = "sources.readings.late_arrival.tolerance=10m"
_FREE = "it changes no result: edit the file, no backfill is needed"


def overridden(
    document: Document, given: Sequence[str], resolved: Mapping[str, Any], environ: Mapping[str, str]
) -> Document:
    """The document with these settings in place of its own. If only a part of a setting is given and the file itself
    does not have that setting, the other parts come from `resolved`, the configuration without these settings."""
    content, taken = copy.deepcopy(document.content), dict(document.taken)
    for text in given:
        key, equals, value = text.partition("=")
        path = tuple(key.strip().split("."))
        if not equals or not all(path):
            raise UsageError(f"--set {text!r} is not KEY=VALUE", hint=f"write it as in --set {EXAMPLE}")
        _check(path, resolved)
        found, own = read_value(value.strip(), document.path, path, environ)
        _put(content, path, resolved, found)
        taken = {key: names for key, names in taken.items() if key[: len(path)] != path} | dict(own)
    return replace(document, content=content, taken=taken)


def _check(path: tuple[str, ...], resolved: Mapping[str, Any]) -> None:
    """Raise UsageError for a key that does not exist or that no result depends on."""
    key, within = ".".join(path), {"sources": SOURCE_KEYS}.get(path[0])
    if path[0] not in PIPELINE_KEYS:
        raise UsageError(f"--set {key}: {unknown_key(path[0], PIPELINE_KEYS)}")
    if path[0] in IRRELEVANT or (within is not None and set(path[2:3]) & IRRELEVANT_IN_SOURCES):
        raise UsageError(f"--set {key}: {_FREE}")
    if path[0] not in ("sources", "streams"):
        return
    known = resolved.get(path[0], {})
    if len(path) < 2 or (path[1] not in known and (within is not None or len(path) > 2)):
        names = ", ".join(known) or "none"
        raise UsageError(f"--set {key}: name one of the {path[0]}: {names}", hint=f"such as --set {EXAMPLE}")
    if within is not None and (len(path) < 3 or path[2] not in within):
        raise UsageError(f"--set {key}: {unknown_key(path[2] if len(path) > 2 else '', within)}")


def _put(content: dict[str, Any], path: tuple[str, ...], resolved: Mapping[str, Any], value: object) -> None:
    here: dict[str, Any] = content
    known: Any = resolved
    for depth, part in enumerate(path[:-1]):
        known = known.get(part) if isinstance(known, Mapping) else None
        inner = here.get(part)
        if not isinstance(inner, dict):
            inner = copy.deepcopy(known) if depth != 1 or inner is not None else {}
        if not isinstance(inner, dict):
            at = ".".join(path[: depth + 1])
            raise UsageError(
                f"--set {'.'.join(path)}: {at} is {shown(inner)}, which has no parts",
                hint=f"set it whole: --set '{at}={{...}}'",
            )
        here[part] = here = inner
    here[path[-1]] = value
