"""Reads a YAML file of several documents, as it is written: no reference to the environment is replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml.nodes import ScalarNode

from tidemark.config.files.yaml import KeyPath, YamlReader, documents_of, plain
from tidemark.errors import Problem


@dataclass(frozen=True)
class Part:
    """One document: its content, the line of every key path in it, and keys that are given twice or are no words."""

    path: Path
    content: object
    line: int
    lines: Mapping[KeyPath, int]
    problems: tuple[Problem, ...] = ()

    def at(self, path: KeyPath) -> str:
        """`file:line` of the deepest part of `path` that is written in the file."""
        known = (self.lines[path[:length]] for length in range(len(path), 0, -1) if path[:length] in self.lines)
        return f"{self.path}:{next(known, self.line)}"


def read_documents(path: Path) -> list[Part]:
    """Read every document of a file that is not empty. Raises ConfigError if it is missing, not text or not YAML."""
    parts = []
    for node in documents_of(path):
        reader = _AsWritten(path, {})
        content = reader.value(node, ())
        if content is not None:
            parts.append(Part(path, content, node.start_mark.line + 1, reader.lines, tuple(reader.problems)))
    return parts


class _AsWritten(YamlReader):
    """Reads values of rows: text with `${` in it is text, and a word may look like a credential."""

    def scalar(self, node: ScalarNode, path: KeyPath) -> object:  # noqa: ARG002 # the reader's signature
        return node.value if node.style is not None else plain(node.value)
