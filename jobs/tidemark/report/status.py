"""Progress of every partition and source, what holds a source back, and the results of the last runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from tidemark.core.advance import SourceRules
from tidemark.core.batch_result import BatchRecord, total
from tidemark.core.policy import Fate
from tidemark.core.shell import command
from tidemark.core.watermarks import UNKNOWN, Combined, PartitionState, latest
from tidemark.records.runs import rows_by_fate
from tidemark.records.status import PartitionSummary, PastRunSummary, ProgressRecord, SourceSummary
from tidemark.report.attention import Limits, abnormal, standing_still
from tidemark.report.words import duration, iso, moment

LONGEST = 1_000
"""Most partitions in a list; if the list is cut, partitions that hold a source back are kept first."""

States = Mapping[tuple[str, str], PartitionState]


def status(
    states: States,
    combined: Mapping[str, Combined],
    as_of: int | None,
    batches: Sequence[BatchRecord],
    *,
    sources: Mapping[str, SourceRules] | None = None,
    limits: Mapping[str, Limits] | None = None,
    config: str = "CONFIG",
) -> ProgressRecord:
    """Return `{as_of, partitions[], sources[], runs[], truncated}`, partitions by source and name, runs newest first.

    `as_of` is the last recorded one: delays and idle times are measured from it, never from a clock. `batches` are
    the recent ones; a run whose first batches are missing is left out. `sources` adds declared partitions without a
    state, and policies for the sentences. `limits` are the longest delays allowed for each source. `config`: the
    pipeline's file, as the shown commands name it.
    """
    rules = sources or {}
    before = max((record.as_of for record in batches if record.as_of != as_of), default=None)
    progress = _Progress(_with_declared(states, rules), combined, rules, limits or {}, as_of, before)
    shown = _cut(progress.partitions())
    return {
        "as_of": iso(as_of),
        "partitions": shown,
        "sources": progress.sources(),
        "runs": list(_runs(batches, config)),
        "truncated": len(shown) < len(progress.states),
    }


@dataclass(frozen=True)
class _Progress:
    """Progress as of a run, and as of the run `before` it."""

    states: States
    combined: Mapping[str, Combined]
    rules: Mapping[str, SourceRules]
    limits: Mapping[str, Limits]
    as_of: int | None
    before: int | None

    def partitions(self) -> list[PartitionSummary]:
        """The progress of each partition, by source and name."""
        keys = sorted(self.states, key=_by_name)
        return [_partition(key, self.states[key], self.as_of, self._held[key[0]].get(key[1])) for key in keys]

    def sources(self) -> list[SourceSummary]:
        """The progress of each source, by name, with what needs attention."""
        return [self._source(name) for name in self._held]

    @cached_property
    def _held(self) -> dict[str, dict[str, str]]:
        """By source, the partitions that hold it back, and why."""
        own = self._by_source
        return {name: _holding(own[name], self.combined.get(name), self.rules.get(name)) for name in sorted(own)}

    @cached_property
    def _by_source(self) -> dict[str, dict[str, PartitionState]]:
        """States of partitions by source; an empty dict for a source without states."""
        found: dict[str, dict[str, PartitionState]] = {name: {} for name in (*self.combined, *self.rules)}
        for (source, partition), state in self.states.items():
            found.setdefault(source, {})[partition] = state
        return found

    def _source(self, name: str) -> SourceSummary:
        newest, held = _newest(self._by_source[name]), self._held[name]
        found = _source(name, self.combined.get(name, Combined(None)), newest, self.as_of, held)
        delays = Limits(found["watermark_delay_micros"], found["output_delay_micros"])
        limits = Limits() if found["complete"] else self.limits.get(name, Limits())
        still = standing_still(self._by_source[name], self.rules.get(name), self.as_of, self.before)
        found["attention"] = list(abnormal(delays, limits, held, still))
        return found


def _with_declared(states: States, rules: Mapping[str, SourceRules]) -> States:
    """Add empty states for declared partitions that have none yet."""
    declared = {(rule.name, name): PartitionState() for rule in rules.values() for name in rule.partitions}
    return declared | dict(states)


def _by_name(key: tuple[str, str]) -> tuple[str, bool, int, str]:
    source, name = key
    number = name.isascii() and name.isdecimal() and len(name) < 20
    return source, not number, int(name) if number else 0, name


def _cut(partitions: list[PartitionSummary]) -> list[PartitionSummary]:
    if len(partitions) <= LONGEST:
        return partitions
    first = sorted(partitions, key=lambda entry: not entry["holds_back"])[:LONGEST]
    return sorted(first, key=lambda entry: _by_name((entry["source"], entry["partition"])))


def _partition(key: tuple[str, str], state: PartitionState, as_of: int | None, why: str | None) -> PartitionSummary:
    delay = None if as_of is None or state.watermark is None else as_of - state.watermark
    idle = None if as_of is None or state.last_seen is None or not state.idle else as_of - state.last_seen
    return {
        "source": key[0],
        "partition": key[1],
        "watermark": iso(state.watermark),
        "watermark_delay": _text(delay),
        "watermark_delay_micros": delay,
        "high": iso(state.high),
        "last_arrival": iso(state.last_arrival),
        "last_seen": iso(state.last_seen),
        "idle_for": _text(idle),
        "idle_for_micros": idle,
        "estimated_arrival": iso(state.estimated_arrival),
        "floor": iso(state.floor),
        "complete": state.complete,
        "rows": state.next_offset,
        "open_lifetimes": state.open_lifetimes,
        "holds_back": why is not None,
        "why": why,
    }


def _newest(states: Mapping[str, PartitionState]) -> int | None:
    """Return the largest watermark of a source's partitions."""
    return latest(*[state.watermark for name, state in states.items() if name != UNKNOWN])


def _source(
    name: str, combined: Combined, newest: int | None, as_of: int | None, held: Mapping[str, str]
) -> SourceSummary:
    """Return the progress of a source. Watermark delay: of its largest watermark. Output delay: of its combined
    watermark. `attention` is empty."""
    delay, output = (None if as_of is None or mark is None else as_of - mark for mark in (newest, combined.watermark))
    return {
        "source": name,
        "watermark": iso(combined.watermark),
        "watermark_delay": _text(delay),
        "watermark_delay_micros": delay,
        "output_delay": _text(output),
        "output_delay_micros": output,
        "complete": combined.complete,
        "held_back_by": sorted(held, key=lambda part: _by_name((name, part)))[:LONGEST],
        "attention": [],
    }


def _text(micros: int | None) -> str | None:
    return None if micros is None else duration(micros)


def _holding(
    states: Mapping[str, PartitionState], combined: Combined | None, rules: SourceRules | None
) -> dict[str, str]:
    """Map each partition that holds the combined watermark back to the reason.

    These are the partitions without a watermark. If there are none: the partitions with the lowest watermark, if
    another one is further.
    """
    if combined is not None and combined.complete:
        return {}
    judged = {name: state for name, state in states.items() if name != UNKNOWN}
    without = [name for name, state in judged.items() if state.watermark is None]
    if without:
        return {name: _nothing_known(name, judged[name], rules) for name in without}
    marks = [state.watermark for state in judged.values() if state.watermark is not None]
    if not marks or min(marks) == max(marks):
        return {}
    lowest = [name for name, state in judged.items() if state.watermark == min(marks)]
    return {name: _lowest(name, judged[name], rules) for name in lowest}


def _nothing_known(name: str, state: PartitionState, rules: SourceRules | None) -> str:
    seen = "has brought no row in any committed run" if state.last_seen is None else "has no judged row yet"
    if rules is not None and rules.punctuation is not None:
        return f"partition {name} has no punctuation: it {seen}; only punctuations move it"
    off = rules is not None and rules.policy.late is None
    after = "; late_arrival is off, so that nothing but a row of its own can give it one" if off else ""
    return f"partition {name} has no watermark: it {seen}{after}"


def _lowest(name: str, state: PartitionState, rules: SourceRules | None) -> str:
    mark = moment(state.watermark)
    if rules is not None and rules.punctuation is not None:
        return f"partition {name} is lowest, at {mark}: no later punctuation has reached it"
    if state.last_seen is None:
        unseen = "no committed run has brought a row of it, its arrival is only estimated"
        return f"partition {name} is lowest, at {mark}: {unseen}"
    arrived = f"its last row arrived at {moment(state.last_arrival)}"
    if not state.idle:
        return f"partition {name} is lowest, at {mark}: {arrived}"
    idle = f"it has brought no row since the run of {moment(state.last_seen)}, {arrived}"
    if rules is not None and rules.policy.late is None:
        return f"partition {name} is lowest, at {mark}: {idle}; late_arrival is off, so that only rows move it"
    return f"partition {name} is lowest, at {mark}: {idle}"


def _runs(batches: Iterable[BatchRecord], config: str) -> Iterator[PastRunSummary]:
    ordered = sorted(batches, key=lambda record: record.batch_id, reverse=True)
    for _, group in groupby(ordered, key=lambda record: record.run_first):
        run = list(group)
        if run[-1].batch_id == run[-1].run_first:
            yield _run(run, config)


def _run(records: Sequence[BatchRecord], config: str) -> PastRunSummary:
    newest = records[0]
    fates, reasons = total(account for record in records for account in record.accounts)
    done = all(record.status == newest.status for record in records)
    return {
        "run_id": newest.run_id,
        "as_of": iso(newest.as_of),
        "status": newest.status if done else "planned",
        "first_batch": newest.run_first,
        "last_batch": newest.run_last,
        "objects": sum(record.objects for record in records),
        "bytes": sum(record.bytes for record in records),
        "rows": sum(fates.values()),
        **rows_by_fate(fates),
        "by_reason": {str(reason): count for reason, count in reasons.items()},
        "command": _dropped_rows(records, config) if fates[Fate.DROPPED] else None,
    }


def _dropped_rows(records: Sequence[BatchRecord], config: str) -> str:
    """Return the command that lists the dropped rows of the run's batch with most of them."""
    most = max(records, key=lambda record: total(record.accounts)[0][Fate.DROPPED])
    return command("rows", config, options=("--fate", "dropped", "--batch", str(most.batch_id)))
