"""Abnormal progress of a source: delays beyond their limits, and partitions that do not progress.

The rules are those of the quality checks `watermark_delay`, `output_delay` and `partitions_progress`. A partition is
not abnormal only because its watermark is the lowest: one always is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tidemark.core.advance import SourceRules
from tidemark.core.watermarks import PartitionState, not_progressing
from tidemark.report.words import duration

MOST_NAMED = 5
"""Most partitions of a source that are named one by one."""


@dataclass(frozen=True)
class Limits:
    """The longest delays that a source may have, microseconds; None: no limit."""

    watermark_delay: int | None = None
    output_delay: int | None = None


def abnormal(delays: Limits, limits: Limits, held: Mapping[str, str], standing: Collection[str]) -> Iterator[str]:
    """Yield a clause for each delay beyond its limit and for each partition that holds its source back abnormally.

    `held` maps each partition that holds the source back to the reason. `standing`: partitions that do not progress.
    If the output delay exceeds its limit, every partition of `held` is abnormal, else only those in `standing`.
    """
    over = [name for name in ("watermark_delay", "output_delay") if _exceeds(delays, limits, name)]
    for name in over:
        delay, limit = (duration(getattr(each, name)) for each in (delays, limits))
        yield f"its {name.replace('_', ' ')} of {delay} exceeds max_{name} {limit}"
    named = list(held) if "output_delay" in over else [name for name in held if name in standing]
    yield from (held[name] for name in named[:MOST_NAMED])
    if len(named) > MOST_NAMED:
        yield f"{len(named) - MOST_NAMED:,} more partitions hold it back"


def _exceeds(delays: Limits, limits: Limits, name: str) -> bool:
    delay, limit = getattr(delays, name), getattr(limits, name)
    return delay is not None and limit is not None and bool(delay > limit)


def standing_still(
    states: Mapping[str, PartitionState], rules: SourceRules | None, as_of: int | None, before: int | None
) -> set[str]:
    """Partitions without a watermark, or idle for longer than the source's `late_arrival` (if it is off: for more
    than one run). `as_of` belongs to the last run, `before` to the run before it; microseconds UTC."""
    return {name for name, state in states.items() if state.watermark is None or _idle(state, rules, as_of, before)}


def _idle(state: PartitionState, rules: SourceRules | None, as_of: int | None, before: int | None) -> bool:
    if rules is None or as_of is None:
        return False
    last = state.since if state.last_seen is None else state.last_seen
    was_idle = last is not None and before is not None and last < before
    return not_progressing(state, rules.policy, as_of, was_idle)
