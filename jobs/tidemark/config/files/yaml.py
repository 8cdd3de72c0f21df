"""Reads one YAML 1.2 file into plain data that remembers its lines.

Only words, numbers, true, false, null, lists and mappings exist: `on`, `off` and times stay text, and no tag creates
an object. Keys are text and unique. `${NAME}` is replaced before a plain scalar gets its type, so that `max_files:
${MAX_FILES:-100}` is a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tidemark.config.credentials import written_credential
from tidemark.config.environment import substitute, taken_from
from tidemark.errors import ConfigError, Problem

KeyPath = tuple[str | int, ...]
KeyFinding = tuple[KeyPath, str]
"""A key, and a message about its value."""

_MAX_DEPTH = 50
_MAX_NODES = 100_000
_TEXT = "tag:yaml.org,2002:str"
_PLAIN_TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null", "timestamp", "value", "merge")
}
_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]{1,30}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Document:
    """The content of one file, the line of every key path in it, and its problems other than syntax errors: doubled
    keys, variables without a value, credentials. `taken` has, for each setting, its values from the environment, by
    variable."""

    path: Path
    content: dict[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    taken: Mapping[KeyPath, Mapping[str, str]] = field(default_factory=dict, repr=False)

    def at(self, path: KeyPath) -> str:
        """`file:line` of the deepest part of `path` that is written in the file."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return f"{self.path}:{self.lines[path[:length]]}"
        return str(self.path)


def read_yaml(path: Path, environ: Mapping[str, str]) -> Document:
    """Read a file and replace references by values of `environ`.

    Raises ConfigError if the file cannot be used at all: missing, not text, not YAML, not a mapping.
    """
    node = next(iter(documents_of(path, several=False)), None)
    if not isinstance(node, MappingNode):
        raise refused(path, 0, "must be a mapping of keys to values, such as `pipeline: toll`")
    reader = YamlReader(path, environ)
    content = reader.mapping(node, ())
    return Document(path, content, reader.lines, tuple(reader.problems), reader.taken)


def read_value(
    text: str, file: Path, path: KeyPath, environ: Mapping[str, str]
) -> tuple[object, Mapping[KeyPath, Mapping[str, str]]]:
    """Parse a text as the value at a key path of the file. Returns the value and its parts from the environment.
    Raises ConfigError if the text is no value."""
    where = key_text(path)
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except (MarkedYAMLError, YAMLError, RecursionError):
        raise ConfigError([Problem(str(file), where, f"{text!r} is not a value: put it in quotes")]) from None
    if node is None:
        return None, {}
    reader = YamlReader(file, environ)
    value = reader.value(node, path)
    if reader.problems:
        raise ConfigError([Problem(str(file), where, problem.message) for problem in reader.problems])
    return value, reader.taken


def key_text(path: KeyPath) -> str:
    """A key path as people write it: `sources.readings.partitions[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def documents_of(path: Path, several: bool = True) -> list[Node]:
    """The documents of a file that are not empty; one at most, unless there may be several. Raises ConfigError if the
    file is missing, not text or not YAML."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise refused(path, 0, "there is no such file") from None
    except IsADirectoryError:
        raise refused(path, 0, "is a folder: name the YAML file in it") from None
    except OSError as error:
        raise refused(path, 0, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise refused(path, 0, f"is not UTF-8 text (byte {error.start})") from None
    except ValueError as error:
        raise refused(path, 0, f"cannot be read: {error}") from None
    try:
        yaml = YAML(typ="safe", pure=True)
        nodes = [*yaml.compose_all(text)] if several else [yaml.compose(text)]
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "cannot be understood"
        raise refused(path, mark.line + 1 if mark else 0, f"is not YAML: {what}") from None
    except (YAMLError, RecursionError) as error:
        raise refused(path, 0, f"is not YAML: {error}") from None
    return [node for node in nodes if node is not None]


def refused(path: Path, line: int, message: str) -> ConfigError:
    """The error of a file that cannot be used; line 0 is the whole file."""
    name = str(path).encode("utf-8", "backslashreplace").decode("utf-8")
    return ConfigError([Problem(f"{name}:{line}" if line else name, "", message)])


class YamlReader:
    """One walk over the nodes of a file."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self.path = path
        self.environ = environ
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self.seen = 0
        self.taken: dict[KeyPath, Mapping[str, str]] = {}

    def mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, ScalarNode) else "?"
            here = (*path, key)
            line = key_node.start_mark.line + 1
            if key == "<<":
                self.problem(here, line, "merge keys are not YAML 1.2: write the keys out, or use `extends`")
            elif key == "?":
                self.problem(here, line, "a key must be a word")
            elif key in content:
                self.problem(here, line, f"is given twice (first in line {self.lines[here]}): remove one")
            else:
                self.lines[here] = line
                content[key] = self.value(value_node, here)
        return content

    def value(self, node: Node, path: KeyPath) -> object:
        self.seen += 1
        if len(path) > _MAX_DEPTH or self.seen > _MAX_NODES:
            raise refused(self.path, node.start_mark.line + 1, "is nested too deep, or an alias repeats without end")
        if isinstance(node, MappingNode):
            return self.mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.item(child, (*path, index)) for index, child in enumerate(node.value)]
        return self.scalar(node, path) if isinstance(node, ScalarNode) else None

    def item(self, node: Node, path: KeyPath) -> object:
        self.lines[path] = node.start_mark.line + 1
        return self.value(node, path)

    def scalar(self, node: ScalarNode, path: KeyPath) -> object:
        line = node.start_mark.line + 1
        credential = written_credential(path, node.value)
        if credential:
            self.problem(path, line, credential)
        text, unset = substitute(node.value, self.environ)
        if taken := taken_from(node.value, self.environ):
            self.taken[path] = taken
        for message in unset:
            self.problem(path, line, message)
        if node.style is not None or (node.tag == _TEXT and node.value == text):
            return text
        if node.tag != _TEXT and node.tag not in _PLAIN_TAGS:
            self.problem(path, line, f"the tag {node.tag!r} is not allowed: write a plain value")
        value = plain(text)
        return text if isinstance(value, int | float) and _is_text(path) else value

    def problem(self, path: KeyPath, line: int, message: str) -> None:
        self.problems.append(Problem(f"{self.path}:{line}", key_text(path), message))


def _is_text(path: KeyPath) -> bool:
    """True if a number, true or false at a key path is text as it is written, as `0000` or `1.50`: a reader option,
    or an expression of `select` or `group_by`."""
    if path[:1] == ("streams",):
        return any(key in path[2:-1] for key in ("select", "group_by")) and isinstance(path[-1], str)
    own = path[2:] if path[:1] == ("sources",) else path
    return len(own) == 2 and own[0] == "options"


def plain(text: str) -> object:
    """The value of a plain scalar: null, true, false, a number, else text."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
