"""Paths of folders and addresses in object storage that a configuration names."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tidemark.config.address import WRITTEN, is_remote, normal
from tidemark.config.models.values import shown

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://|([A-Za-z][A-Za-z0-9+.-]+):/")
"""Beginning of an address: `hdfs://host/in`, and with one slash `dbfs:/in` or `file:/in`."""
_BRACES = re.compile(r"\{[^}]*\}?|\}")
PLACEHOLDERS = ("{yyyy}", "{MM}", "{dd}", "{HH}")
LONGEST_NAME, _LONGEST_PATH = 255, 3_072
"""Longest name that file systems take, and longest path that leaves room for the names of tables and files below it
(Linux takes 4,096 in all). In bytes."""


def folder(text: str, base: Path) -> str:
    """Absolute path of a folder that is written in a file of the folder `base`; an address in object storage in
    its canonical form. Raises ValueError for other addresses."""
    if is_remote(text):
        return normal(text)
    if _SCHEME.match(text) or not text.strip() or "\0" in text:
        raise ValueError(
            f"{shown(text)} is not a folder: write a path, absolute or relative to this file, s3://bucket/prefix,"
            f" gs://bucket/prefix or {WRITTEN['azure']}{_mounted(text)}"
        )
    try:
        path = os.path.abspath(base / Path(text).expanduser())  # noqa: PTH100 # keeps symbolic links
        names = [os.fsencode(name) for name in Path(path).parts]
    except RuntimeError:
        raise ValueError(f"{shown(text)}: there is no user of this name whose home it could be") from None
    except UnicodeEncodeError as error:
        raise ValueError(f"{shown(text)} is not a folder: {text[error.start]!r} is no character") from None
    if max(map(len, names)) > LONGEST_NAME or sum(map(len, names)) + len(names) > _LONGEST_PATH:
        raise ValueError(
            f"{shown(text)} is too long for a file system: a name in it may have {LONGEST_NAME} bytes,"
            f" the whole path {_LONGEST_PATH:,}"
        )
    return path


def _mounted(text: str) -> str:
    """Advice to use the folder that the files of this address are mounted at; empty for other addresses."""
    match text.lower().partition(":")[0]:
        case "dbfs":
            return f"; Databricks mounts these files at /dbfs/{text[5:].lstrip('/')}"
        case "file":
            return f"; this one is /{text[5:].lstrip('/')}"
        case _:
            return ""


def landing_folder(text: str, base: Path) -> str:
    """Like `folder`, but the path may contain {yyyy} {MM} {dd} {HH}. Raises ValueError."""
    path = folder(text, base)
    for brace in _BRACES.findall(path):
        if brace not in PLACEHOLDERS:
            raise ValueError(f"{shown(text)}: {shown(brace)} is not known: there are {' '.join(PLACEHOLDERS)}")
    if re.search(r"[*?]", path):
        raise ValueError(f"{shown(text)} is a pattern: name the folder, it is taken with all that is in it")
    return path


def fixed_part(landing: str) -> str:
    """The folder above the first placeholder; `landing` itself if there is none."""
    index = landing.find("{")
    return landing if index < 0 else landing[:index].rpartition("/")[0] or os.sep


def overlap(one: str, other: str) -> bool:
    """True if one folder is the other or is inside it."""
    if is_remote(one) or is_remote(other):
        return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
    common = os.path.commonpath([one, other])
    return common in (one, other)
