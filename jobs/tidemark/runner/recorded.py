"""Reads recorded configurations again, with references resolved by today's environment."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from typing import Any

from tidemark.config import PipelineSpec, from_resolved
from tidemark.config.files.yaml import key_text
from tidemark.config.models.pipeline import IRRELEVANT, IRRELEVANT_IN_SOURCES
from tidemark.config.secrets import ENVIRONMENT, KeyPath, Taken, differs, opened, referred
from tidemark.errors import ConfigError, Problem
from tidemark.storage import Location, read_if_there, write_once

KEY_FILE = "environment.key"
"""The file beside a pipeline's versions with the key of its hashes: random, and readable by its owner alone."""
_HINT = "give this process the value that it had; with another one, `tidemark backfill` builds a version"


def key_of(root: Location, *, make: bool = False) -> bytes:
    """The key of a pipeline's hashes; empty if there is none and `make` is false."""
    found = read_if_there(root / KEY_FILE)
    if found is None and make:
        write_once(root / KEY_FILE, secrets.token_hex(32).encode())
        found = read_if_there(root / KEY_FILE)
    return found or b""


def content_of(configuration: str | None, now: PipelineSpec, root: Location) -> dict[str, Any]:
    """A recorded configuration, to compare with today's. A reference stays as it is if the environment now holds
    another value."""
    content: dict[str, Any] = json.loads(configuration or "{}")
    environ = _environ(now)
    others = _others(content, environ, root)
    return opened(content, {name: environ[name] for name in _names(content) if name not in others})


def spec_of(configuration: str, now: PipelineSpec, root: Location) -> PipelineSpec:
    """A recorded configuration, to be executed again. Raises ConfigError if a result depends on a variable that is
    not set or that now holds another value."""
    content: dict[str, Any] = json.loads(configuration)
    environ, paths = _environ(now), referred(content)
    others = _others(content, environ, root)
    problems = [
        Problem(str(now.path), key_text(path), f"{others[name]}, which the recorded run had in it")
        for path, names in paths.items()
        if _matters(path)
        for name in sorted(names & others.keys())
    ]
    if problems:
        raise ConfigError(problems, hint=_HINT)
    values = {name: environ[name] for name in _names(content) if environ.get(name)}
    own = {path: names & values.keys() for path, names in paths.items()}
    taken = Taken(values, {path: names for path, names in own.items() if names}, environ)
    return from_resolved(opened(content, values)).having(taken)


def _environ(now: PipelineSpec) -> Mapping[str, str]:
    return now.taken.environ or os.environ


def _names(content: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = content.get(ENVIRONMENT, {})
    return found


def _others(content: Mapping[str, Any], environ: Mapping[str, str], root: Location) -> dict[str, str]:
    """Variables without their recorded value, each with the problem. If the key of the hashes is lost, a variable
    that is set counts as unchanged."""
    hashes = _names(content)
    key = key_of(root) if hashes else b""
    found = {}
    for name, hash_ in hashes.items():
        if not environ.get(name):
            found[name] = f"the environment variable {name} is not set"
        elif key and differs(key, environ[name], hash_):
            found[name] = f"the environment variable {name} has another value than the one"
    return found


def _matters(path: KeyPath) -> bool:
    """True if results depend on the setting at a key path."""
    return path[0] not in IRRELEVANT and not (path[0] == "sources" and path[2] in IRRELEVANT_IN_SOURCES)
