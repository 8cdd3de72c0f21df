"""Finds and reports objects that gave no rows although there is something in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing

from pyarrow import orc, parquet

from tidemark.config import SourceSpec
from tidemark.config.models.values import members_of
from tidemark.core.batch import LandedObject, ObjectState
from tidemark.core.batch_result import Diagnostic, Finding, FindingSample
from tidemark.spark.read import codecs
from tidemark.storage import seen

_BLANK = {"json": b" \t\n\v\f\r", "csv": bytes(range(33))}
"""Bytes that make a line blank, by format: a line of these alone is skipped."""
_MARK = b"\xef\xbb\xbf"


def without_rows(source: SourceSpec, objects: Sequence[LandedObject]) -> tuple[Finding, ...]:
    """A finding on objects that were read, are not empty, and have no row for no evident reason; or no finding."""
    silent = [item for item in objects if item.state is ObjectState.READ and not item.rows and item.size]
    found = [item for item in silent if not _is_bare(source, item)]
    if not found:
        return ()
    one = f"object {found[0].uri!r}" if len(found) == 1 else f"{len(found)} objects"
    message = f"{one}: no row was read, although there is more than blanks and headers: look what is in there"
    return (
        Finding(
            source=source.name,
            partition=None,
            type=Diagnostic.NO_ROWS,
            count=len(found),
            first_time=found[0].modified,
            last_time=found[-1].modified,
            sample=FindingSample(arrival_time=found[0].modified, file=found[0].uri),
            tolerance=None,
            message=message,
        ),
    )


def _is_bare(source: SourceSpec, item: LandedObject) -> bool:
    """True if nothing in an object is a row; False where this is unknown."""
    try:
        if source.format == "parquet":
            return parquet.read_metadata(seen(item.path)).num_rows == 0
        if source.format == "orc":
            return bool(orc.ORCFile(seen(item.path)).nrows == 0)
        spans = source.spans_lines and source.format == "json"
        return _has_no_element(source, item) if spans else _has_no_line(source, item)
    except codecs.DAMAGED:
        return False


def _has_no_element(source: SourceSpec, item: LandedObject) -> bool:
    """True if the arrays that rows are read from are empty in each document of an object; False for large objects."""
    with closing(codecs.pieces(item)) as pieces:
        content, more = next(pieces, b""), next(pieces, None)
    try:
        text = content.decode("utf-8-sig").strip()
        while text and more is None:
            value, end = json.JSONDecoder(strict=False).raw_decode(text)
            for name in members_of(source.rows or "[]"):
                value = value.get(name) if isinstance(value, dict) else None
            if value != []:
                return False
            text = text[end:].lstrip()
    except (ValueError, RecursionError):
        return False
    return more is None


def _has_no_line(source: SourceSpec, item: LandedObject) -> bool:
    """True if all lines of an object are blank, comments, or a header."""
    given = {name.lower(): value for name, value in source.options.items()}
    comment = given.get("comment", "").encode() if source.format == "csv" else b""
    expected = 1 if source.format == "csv" and given.get("header", "").lower() == "true" else 0
    with closing(codecs.lines(item)) as lines:
        for line in lines:
            if not line.removeprefix(_MARK).strip(_BLANK[source.format]) or (comment and line.startswith(comment)):
                continue
            expected -= 1
            if expected < 0:
                return False
    return True
