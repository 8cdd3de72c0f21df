"""Folders a configuration names."""

from __future__ import annotations

import os
import re
from pathlib import Path

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BRACES = re.compile(r"\{[^}]*\}?|\}")
PLACEHOLDERS = ("{yyyy}", "{MM}", "{dd}", "{HH}")


def folder(text: str, base: Path) -> str:
    """The absolute path of a folder written in a file of the folder `base`.

    Raises ValueError for s3:// and other addresses: this version reads and writes folders only.
    """
    scheme = _SCHEME.match(text)
    if scheme and scheme[1].lower() in ("s3", "s3a"):
        raise ValueError(f"{text!r} is not supported yet: this version reads and writes folders only, not S3")
    if scheme:
        raise ValueError(f"{text!r} is not a folder: write a path, absolute or relative to this file")
    if not text.strip() or "\0" in text:
        raise ValueError(f"{text!r} is not a folder: write a path, absolute or relative to this file")
    return os.path.abspath(base / Path(text).expanduser())  # noqa: PTH100 # links stay as they are


def landing_folder(text: str, base: Path) -> str:
    """As `folder`, where {yyyy} {MM} {dd} {HH} may stand in the path. Raises ValueError."""
    path = folder(text, base)
    for brace in _BRACES.findall(path):
        if brace not in PLACEHOLDERS:
            raise ValueError(f"{text!r}: {brace!r} is not known: there are {' '.join(PLACEHOLDERS)}")
    if re.search(r"[*?]", path):
        raise ValueError(f"{text!r} is a pattern: name the folder, it is taken with all that is in it")
    return path


def fixed_part(landing: str) -> str:
    """The folder above the first placeholder; `landing` itself where there is none."""
    index = landing.find("{")
    return landing if index < 0 else landing[:index].rpartition(os.sep)[0] or os.sep


def overlap(one: str, other: str) -> bool:
    """Whether one folder is the other or lies in it."""
    common = os.path.commonpath([one, other])
    return common in (one, other)
