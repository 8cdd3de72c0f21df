"""Rules for windows whose bounds come from rows: session, sliding and snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.config.files.yaml import KeyFinding
from tidemark.config.models.streams import StreamSpec
from tidemark.config.rules.sources import Ruled

_DATA_DRIVEN = ("session", "sliding", "snapshot")


def session_warnings(stream: Ruled[StreamSpec], kept: bool) -> Iterator[KeyFinding]:
    """Warnings about session windows that are legal but rarely meant; `kept`: rows from a source that keeps
    out-of-order rows reach them."""
    session = stream.spec.session
    if session is not None and session.max_duration is not None and session.gap > session.max_duration:
        yield (
            ("session", "gap"),
            "is longer than max_duration, which then cuts each session before it can end by itself",
        )
    written = next((key for key in _DATA_DRIVEN if key in stream.given), None)
    if written is None or not kept or stream.spec.allowed_lateness or not stream.sound(written, "allowed_lateness"):
        return
    yield (
        ("allowed_lateness",),
        f"is not given: a source below keeps rows that are out of order, and what is behind its watermark is late for"
        f" {written} windows even where one is still open; give it as long as rows may be behind, such as 5m, or give"
        " the out_of_order of the source the action adjust",
    )
