"""Numbers that shipped expectations check: a few lines for each run, computed from counts, states and digests,
without reading rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import median
from typing import Any

from tidemark.config import PipelineSpec
from tidemark.config.models.sources import QualitySpec
from tidemark.core.advance import States
from tidemark.core.batch_result import Account, TableDigest, total
from tidemark.core.policy import Fate, Reason
from tidemark.core.quality import RowRule, within
from tidemark.core.watermarks import UNKNOWN, Combined, PartitionState, latest, not_progressing
from tidemark.quality.run_facts import Gathered, example

SHARES = (Fate.DROPPED, Fate.ADJUSTED, Fate.QUARANTINED)
SECOND = 1_000_000
FEWEST_RUNS = 3
"""Fewest earlier runs with rows for a comparison."""


@dataclass(frozen=True)
class Line:
    """Numbers of one table, or of a part of a table (`where`), that expectations check; None: nothing to check.
    `examples` are by column. `source`: the source whose `quality` decides the effect of a failure, if the table has
    lines of several sources."""

    table: str
    values: Mapping[str, float | None]
    where: str = ""
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    source: str | None = None

    @property
    def owner(self) -> str:
        """The table whose `quality` decides the effect of a failure: for a line of a source, its events."""
        return self.table if self.source is None else f"events/{self.source}"


def events(gathered: Gathered) -> Iterator[Line]:
    """Yield a line for each partition to which the run brought rows, and a line for each source."""
    for (source, partition), rows in sorted(gathered.partitions.items()):
        broken = {rule.name.lower(): float(rows.broken.get(rule, 0)) for rule in RowRule}
        examples = {
            rule.name.lower(): tuple(example(source, partition, offset) for offset in offsets)
            for rule, offsets in rows.breaking.items()
        }
        counts = {"taken": float(rows.taken), "fates": float(rows.fates), "offsets_wrong": float(rows.offsets_wrong)}
        yield Line(f"events/{source}", counts | broken, f"partition {partition}", examples)
    for source, found in sorted(gathered.sources.items()):
        counts = {"recorded": float(found.recorded), "counted": float(found.counted)}
        yield Line(f"events/{source}", counts)


def batches(
    spec: PipelineSpec,
    run: Sequence[Account],
    history: Sequence[Sequence[Account]],
    gathered: Gathered,
    advised: Mapping[str, Mapping[Fate, float]],
) -> Iterator[Line]:
    """Yield the shares of fates in a run: one line for all sources together, one for each source. `history`: accounts
    of earlier runs. `advised`: by source, the targets that its tolerances met in the last advice; they are checked on
    all these runs together."""
    sources = sorted({account.source for account in run})
    for source in (None, *sources):
        of_run = _fates(run, source)
        if not sum(of_run.values()):
            continue
        earlier = [fates for past in history if sum((fates := _fates(past, source)).values())]
        limits = limits_of(spec, source)
        values: dict[str, float | None] = {"max_jump": limits.max_jump}
        for fate in SHARES:
            values[fate.value] = _share(of_run, fate)
            values[f"max_{fate.value}"] = getattr(limits, f"max_{fate.value}")
            values[f"{fate.value}_jump"] = _jump(of_run, earlier, fate)
        recent = _by_tolerances([*run, *chain.from_iterable(history)], source)
        values |= _advised(recent, advised.get(source or "", {}))
        among = sources if source is None else [source]
        examples = {
            fate.value: tuple(text for name in among for text in gathered.examples(name, fate)) for fate in SHARES
        }
        table = "batches" if source is None else f"events/{source}"
        yield Line(table, values, examples=examples)


def watermarks(
    spec: PipelineSpec,
    states: tuple[States, States],
    combined: tuple[Mapping[str, Combined], Mapping[str, Combined]],
    as_of: int,
) -> Iterator[Line]:
    """Yield a line for each partition and for each source, from the states before and after the run."""
    before, after = states
    for key, state in sorted(after.items()):
        was, source = before.get(key), spec.sources[key[0]]
        still = key[1] != UNKNOWN and not_progressing(state, source.policy, as_of, was is not None and was.idle)
        values = {"step": _step(None if was is None else was.watermark, state.watermark), "standing": float(still)}
        examples = {"standing": (f"{key[0]} {key[1]}",)} if still else {}
        yield Line("watermarks", values, f"{key[0]}, partition {key[1]}", examples, key[0])
    for name in spec.sources:
        was_, now = (each.get(name, Combined(None)) for each in combined)
        values = {"step": _step(was_.watermark, now.watermark)}
        newest, limits = latest(*[state.watermark for state in _known(after, name)]), limits_of(spec, name)
        for delay, mark in (("watermark_delay", newest), ("output_delay", now.watermark)):
            known, limit = mark is not None and not now.complete, getattr(limits, f"max_{delay}")
            values[delay] = (as_of - mark) / SECOND if mark is not None and known else None
            values[f"max_{delay}"] = limit / SECOND if limit is not None and known else None
        examples = {"output_delay": (name,), "watermark_delay": (name,)}
        yield Line("watermarks", values, f"source {name}", examples, name)


def streams(behind: Mapping[str, int]) -> Iterator[Line]:
    """Yield a line for each published stream: its rows that are about to be published but not due."""
    for name, rows in behind.items():
        yield Line(f"streams/{name}", {"not_due": float(rows)})


def digests(written: Iterable[TableDigest], standing: Mapping[str, TableDigest]) -> Iterator[Line]:
    """Yield a line for each small table: 1 if its present digest differs from the written one, else 0."""
    for digest in written:
        if digest.table in standing:
            yield Line(digest.table, {"differs": float(standing[digest.table] != digest)})


def advised_targets(spec: PipelineSpec, advice: Iterable[Mapping[str, Any]]) -> dict[str, dict[Fate, float]]:
    """Return, by source, the targets that its present tolerances met in the last advice (rows of table `advice`)."""
    found: dict[str, dict[Fate, float]] = {}
    for cell in advice:
        source = spec.sources.get(cell["source"])
        if source is None or (cell["late"], cell["out_of_order"]) != source.policy.tolerances:
            continue
        targets = {fate: cell[f"target_{fate.value}"] for fate in (Fate.DROPPED, Fate.ADJUSTED)}
        found[cell["source"]] = {
            fate: most
            for fate, most in targets.items()
            if most is not None and within(cell[f"own_{fate.value}"], cell["rows"], most)
        }
    return found


def _advised(recent: Mapping[Fate, int], targets: Mapping[Fate, float]) -> Iterator[tuple[str, float | None]]:
    for fate in (Fate.DROPPED, Fate.ADJUSTED):
        yield f"recent_{fate.value}", _share(recent, fate)
        yield f"advised_{fate.value}", targets.get(fate)


def limits_of(spec: PipelineSpec, source: str | None) -> QualitySpec:
    """Return the limits of a source; a limit that it lacks is taken from the pipeline. Without a source: the limits
    of the pipeline."""
    own = None if source is None else spec.sources[source].quality
    given: dict[str, Any] = {}
    for each in (spec.quality, own):
        if each is not None:
            given |= {key: value for key in type(each).model_fields if (value := getattr(each, key)) is not None}
    return QualitySpec.model_construct(**given)


def _by_tolerances(accounts: Iterable[Account], source: str | None) -> dict[Fate, int]:
    """Fates as advice counts them: a duplicate counts as quarantined, not as dropped: no tolerance judges it."""
    fates, reasons = total(account for account in accounts if source in (None, account.source))
    repeated = reasons.get(Reason.DUPLICATE, 0)
    unjudged = {Fate.DROPPED: fates[Fate.DROPPED] - repeated, Fate.QUARANTINED: fates[Fate.QUARANTINED] + repeated}
    return fates | unjudged


def _fates(accounts: Iterable[Account], source: str | None) -> dict[Fate, int]:
    return total(account for account in accounts if source in (None, account.source))[0]


def _share(fates: Mapping[Fate, int], fate: Fate) -> float:
    return fates[fate] / sum(fates.values())


def _jump(fates: Mapping[Fate, int], earlier: Sequence[Mapping[Fate, int]], fate: Fate) -> float | None:
    """Return a share as a multiple of the usual share, the median of earlier runs; None if there are too few. The
    usual share is at least one row's, so that a single row is never a jump."""
    if len(earlier) < FEWEST_RUNS:
        return None
    usual = max(median(_share(each, fate) for each in earlier), 1 / sum(fates.values()))
    return _share(fates, fate) / usual


def _step(before: int | None, after: int | None) -> float | None:
    return None if before is None or after is None else (after - before) / SECOND


def _known(states: States, source: str) -> list[PartitionState]:
    return [state for (name, partition), state in states.items() if name == source and partition != UNKNOWN]
