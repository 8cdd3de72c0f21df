"""Limit on the partitions of a source. The driver keeps the state of each in memory, and every run records it; a key
with many values belongs in `over`, whose watermarks Spark keeps.

A run is planned while a source has at most `most_partitions()`, and may bring as many again. So slow growth is
reported before a run is planned; only a leap within one run is reported after that.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

from tidemark.errors import TidemarkError, UsageError

MOST_PARTITIONS = 100_000
VARIABLE = "TIDEMARK_MOST_PARTITIONS"
_RAISE = f"set {VARIABLE} higher (each takes about 7 KiB of memory): it changes no result"


def most_partitions() -> int:
    """Most partitions that a source may have before a run. Raises UsageError if the environment variable is no
    number."""
    text = os.environ.get(VARIABLE, "")
    if not text.strip():
        return MOST_PARTITIONS
    if not (text.strip().isdecimal() and int(text)):
        raise UsageError(f"{VARIABLE} is {text!r}", hint=f"set it to a number such as {MOST_PARTITIONS}, or unset it")
    return int(text)


def most_after() -> int:
    """Most partitions that a source may have once a micro-batch is judged."""
    return 2 * most_partitions()


def ensure_few(states: Iterable[tuple[str, str]]) -> None:
    """Raise TidemarkError if a source has too many partitions for a run to be planned; `states` are keys (source,
    partition)."""
    most = most_partitions()
    for source, count in Counter(source for source, _ in states).items():
        if count > most:
            raise TidemarkError(
                f"source {source} has {count:,} partitions, and more than {most:,} make every run slow and large: "
                "nothing was planned, what landed waits",
                hint=f"{_RAISE}; or judge by substreams instead: take `partition` out, name the key in `over`, and "
                "`tidemark backfill CONFIG --from T0 --from-landing`",
            )


def too_many_partitions(source: str, objects: Iterable[str]) -> TidemarkError:
    """The error of a micro-batch whose rows have too many partitions; none of them was written."""
    first, *others = objects
    more = f" and {len(others):,} more" if others else ""
    return TidemarkError(
        f"rows of source {source} have more than {most_after():,} partitions; nothing of the batch was written, "
        f"which is made of object {first!r}{more}",
        hint="name a key of many values in `over`, not in `partition`; if objects are wrong, move them out of "
        "landing and run again: the planned run ends without them, and what is put back is taken; if all is right, "
        + _RAISE,
    )
