"""The keys of a source, merged from its files; each remembers its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidemark.config.files.messages import unknown_key
from tidemark.config.files.paths import landing_folder
from tidemark.config.files.yaml import Document, KeyPath, key_text, read_yaml
from tidemark.config.models.sources import SOURCE_KEYS
from tidemark.config.models.values import shown
from tidemark.errors import ConfigError, Problem


@dataclass
class Given:
    """Merged keys of one source with absolute paths, and the problems found while merging.

    `home` is the pipeline's file, `own` the one that the source extends. `bad` holds the keys whose value cannot be
    used, or is unknown because `own` could not be read.
    """

    name: str
    home: Document
    own: Document | None = None
    content: dict[str, Any] = field(default_factory=dict)
    bad: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    origin: dict[str, tuple[Document, KeyPath]] = field(default_factory=dict)

    @property
    def prefix(self) -> KeyPath:
        return ("sources", self.name)

    @property
    def keys(self) -> frozenset[str]:
        """Every key that was written or may have been, usable or not."""
        return frozenset(self.origin) | self.bad

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A problem at a key path below the source, located in the file that has the key."""
        document, prefix = self.origin.get(str(path[0]) if path else "", (self.home, self.prefix))
        return Problem(document.at((*prefix, *path)), key_text((*prefix, *path)), message)

    def refuse(self, path: KeyPath, message: str) -> None:
        """Note a problem and that its key cannot be used."""
        self.problems.append(self.problem(path, message))
        if path:
            self.bad.add(str(path[0]))

    def usable(self) -> dict[str, Any]:
        """The keys that can be used, with their values."""
        return {key: value for key, value in self.content.items() if key not in self.bad}


def read_source(name: str, keys: Mapping[str, Any], home: Document, environ: Mapping[str, str]) -> Given:
    """Read one entry of `sources`; its keys override those of the file that it `extends`."""
    given = Given(name, home)
    own = dict(keys)
    extends = own.pop("extends", None)
    if extends is not None:
        given.origin["extends"] = (home, given.prefix)
        _take_file(given, extends, environ)
        del given.origin["extends"]
    _take(given, own, home, given.prefix)
    _resolve_paths(given)
    return given


def _take_file(given: Given, extends: object, environ: Mapping[str, str]) -> None:
    if not isinstance(extends, str):
        given.bad |= set(SOURCE_KEYS)
        given.refuse(("extends",), f"{shown(extends)} is not a file: write a path, such as sources/{given.name}.yml")
        return
    try:
        given.own = document = read_yaml(given.home.path.parent / extends, environ)
    except ConfigError as error:
        if error.problems[0].message == "there is no such file":
            given.refuse(("extends",), f"{shown(extends)}: there is no such file (paths are relative to this file)")
        else:
            given.problems += error.problems
        given.bad |= set(SOURCE_KEYS)
        return
    keys = document.content
    if "extends" in keys:
        message = "a source's own file cannot extend another: write all keys in it"
        given.problems.append(Problem(document.at(("extends",)), "extends", message))
        keys = {key: value for key, value in keys.items() if key != "extends"}
    _take(given, keys, document, ())


def _take(given: Given, keys: Mapping[str, Any], document: Document, prefix: KeyPath) -> None:
    for key, value in keys.items():
        given.content.pop(key, None)
        given.bad.discard(key)
        given.origin[key] = (document, prefix)
        if key not in SOURCE_KEYS:
            given.refuse((key,), unknown_key(key, (*SOURCE_KEYS, "extends")))
        elif value is None:
            del given.origin[key]
        else:
            given.content[key] = value


def _resolve_paths(given: Given) -> None:
    landing, schema = given.content.get("landing"), given.content.get("schema")
    if isinstance(landing, str):
        try:
            given.content["landing"] = landing_folder(landing, given.origin["landing"][0].path.parent)
        except ValueError as error:
            given.refuse(("landing",), str(error))
    if isinstance(schema, dict):
        try:
            given.content["schema"] = _schema_file(schema, given.origin["schema"][0].path.parent)
        except ValueError as error:
            given.refuse(("schema",), str(error))


def _schema_file(schema: Mapping[str, Any], base: Path) -> str:
    name = schema.get("file")
    if list(schema) != ["file"] or not isinstance(name, str):
        raise ValueError(f'{shown(schema)} is not a schema: write "DeviceId STRING, ...", or {{file: readings.ddl}}')
    try:
        return (base / name).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"the schema file {shown(name)} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"the schema file {shown(name)} is not UTF-8 text") from None
    except ValueError as error:
        raise ValueError(f"the schema file {shown(name)} cannot be read: {error}") from None
