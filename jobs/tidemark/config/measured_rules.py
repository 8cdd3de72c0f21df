"""Rules for windows whose bounds come from rows: session, sliding and snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.config.rules import Finding, Ruled
from tidemark.config.streams import StreamSpec

MEASURED = ("session", "sliding", "snapshot")
_OTHERWISE = {
    "idle_timeout": "time alone cannot close windows whose ends rows decide; remove it, and let late_arrival of the"
    " source move the watermark on when no rows come",
    "partition_by": "they share one watermark in this version; remove it, and name in group_by a column that tells"
    " the parts apart, such as one selected from _partition in a step before",
}


def measured_errors(stream: Ruled[StreamSpec]) -> Iterator[Finding]:
    """What cannot stand beside windows whose bounds come from rows."""
    written = next((key for key in MEASURED if key in stream.given), None)
    if written is None:
        return
    for key, otherwise in _OTHERWISE.items():
        if key in stream.given:
            yield (key,), f"cannot be beside {written}: {otherwise}"
