"""Reports objects that gave no rows although they are not empty."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.config import SourceSpec
from tidemark.core.batch import LandedObject, ObjectState
from tidemark.core.batch_result import Diagnostic, Finding, FindingSample
from tidemark.spark.read import codecs
from tidemark.spark.read.formats import reader_of


def without_rows(source: SourceSpec, objects: Sequence[LandedObject]) -> tuple[Finding, ...]:
    """One finding on the objects that were read and are not empty, but gave no row for no evident reason."""
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
    """True if an object evidently has no row; False if this is unknown."""
    try:
        return reader_of(source).is_bare(source, item)
    except codecs.DAMAGED:
        return False
