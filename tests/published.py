"""The worked examples that the three systems publish, and how they write times and durations."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from oracle import SECOND

PUBLISHED = json.loads((Path(__file__).parent / "data" / "published.json").read_text())
EXAMPLES = {example["name"]: example for example in PUBLISHED}
_UNITS = {"s": SECOND, "m": 60 * SECOND}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at(text: str) -> int:
    """A time as microseconds."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def length(text: str) -> int:
    """A duration as microseconds."""
    return int(text[:-1]) * _UNITS[text[-1]]
