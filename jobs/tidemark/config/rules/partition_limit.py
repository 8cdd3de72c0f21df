"""How many partitions a source may have. Each is kept track of by itself, in the driver's memory and in every run;
rows of many keys belong in `over`, whose watermarks Spark keeps.

A run is planned while a source has at most so many, and may bring as many again. So what grows slowly is told before
a run is planned, and only a leap in one run after that.
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
    """How many partitions a source may have before a run; UsageError: the environment does not say a number."""
    text = os.environ.get(VARIABLE, "")
    if not text.strip():
        return MOST_PARTITIONS
    if not (text.strip().isdecimal() and int(text)):
        raise UsageError(f"{VARIABLE} is {text!r}", hint=f"set it to a number such as {MOST_PARTITIONS}, or unset it")
    return int(text)


def most_after() -> int:
    """How many a source may have once a micro-batch is judged."""
    return 2 * most_partitions()


def ensure_few(states: Iterable[tuple[str, str]]) -> None:
    """That each source has so few partitions that a run may be planned; `states` are named (source, partition)."""
    most = most_partitions()
    for source, count in Counter(source for source, _ in states).items():
        if count > most:
            raise TidemarkError(
                f"source {source} has {count:,} partitions, and more than {most:,} make every run slow and large: "
                "nothing was planned, what landed waits",
                hint=f"{_RAISE}; or judge by substreams instead: take `partition` out, name the key in `over`, and "
                "`tidemark backfill CONFIG --from T0 --from-landing`",
            )


def crowded(source: str, objects: Iterable[str]) -> TidemarkError:
    """That rows of a micro-batch have too many partitions; nothing of them was written."""
    first, *others = objects
    more = f" and {len(others):,} more" if others else ""
    return TidemarkError(
        f"rows of source {source} have more than {most_after():,} partitions; nothing of the batch was written, "
        f"which is made of object {first!r}{more}",
        hint="name a key of many values in `over`, not in `partition`; if objects are wrong, move them out of "
        "landing and run again: the planned run ends without them, and what is put back is taken; if all is right, "
        + _RAISE,
    )
