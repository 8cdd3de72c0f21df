"""Errors for missing or unreadable files of tables: they name the file and what to do, whichever library failed."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pyarrow as pa

from tidemark.errors import TidemarkError, first_line

UNREADABLE = (pa.ArrowException, OSError)
"""Exceptions that reading a damaged file raises."""
_HINT = "`tidemark repair` with the pipeline file rebuilds it from landing or the events tables"
_FILE = re.compile(
    r"/v\d+/(?P<table>[^\s'\"]+?)/(?:[^/\s'\"]+=[^/\s'\"]*/)*(?P<file>(?:part-|_delta_log/)[^\s'\",:)\]]+)"
)
_SIGNS = re.compile(
    r"(?i)parquet|corrupt|thrift|snappy|zstd|end of stream|FAILED_READ_FILE|no such file|not found|not exist|delta"
)
_OF_A_FILE = re.compile(r"(?i)parquet|corrupt|thrift|snappy|zstd|end of stream")


def damage_of(error: BaseException) -> TidemarkError | None:
    """The error for people if an exception means a damaged file of a table; else None."""
    text = f"{type(error).__name__}: {error}"
    found = _FILE.search(unquote(text))
    if found and _SIGNS.search(text):
        return damaged(found["table"], found["file"])
    if isinstance(error, UNREADABLE) and _OF_A_FILE.search(text):
        return TidemarkError(f"a file of a table cannot be read: {first_line(text)}", hint=_HINT)
    return None


def damaged(table: str, file: str) -> TidemarkError:
    """The error that names a missing or damaged file of a table."""
    return TidemarkError(f"a file of the table {table} is missing or damaged: {file}", hint=_HINT)


def unreadable_log(location: object, error: BaseException) -> TidemarkError:
    """The error that names a table whose log cannot be read."""
    named = re.search(r"/v\d+/(.+)$", str(location))
    table = named[1] if named else str(location).rpartition("/")[2]
    message = f"the log of the table {table} cannot be read: {first_line(error)}"
    return TidemarkError(message, where=str(location), hint=_HINT)
