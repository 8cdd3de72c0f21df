"""Advice on the tolerances of sources: what others would have cost over the runs that were recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tidemark.advised import Advice, NoAdvice
from tidemark.config import PipelineSpec, SourceSpec, from_resolved
from tidemark.config.sources import MAX_LATE
from tidemark.config.values import fraction
from tidemark.core.advice import Targets, cells, recommended, targets_for
from tidemark.core.grid import Grid, chosen, rungs
from tidemark.core.highs import by_batch
from tidemark.core.hindsight import Recorded, arrivals_before, look_back
from tidemark.core.policy import Policy
from tidemark.core.progress import UNKNOWN
from tidemark.core.times import MAX_TIME, format_duration, parse_duration
from tidemark.errors import UsageError
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.rows import Row, partition_state

if TYPE_CHECKING:
    from tidemark.spark.engine import Engine
    from tidemark.spark.trial import Trial

MOST_TOLERANCES = 32
"""Tolerances of one kind that can be tried at once."""


@dataclass(frozen=True)
class Asked:
    """What advice was asked for: targets, and the tolerances to try (None: chosen from the rows)."""

    targets: Targets = field(default_factory=Targets)
    lates: tuple[int | None, ...] | None = None
    disorders: tuple[int, ...] | None = None


class Advising:
    """Advice from the batches of one ledger up to the last committed one, under the configuration recorded last.
    `spec` is today's: its limits of quality count."""

    def __init__(
        self,
        spec: PipelineSpec,
        ledger: Ledger,
        engine: Callable[[], Engine],
        progress: Callable[[str, int, int], None],
    ) -> None:
        self.spec, self.ledger, self.engine, self.progress = spec, ledger, engine, progress
        tail = ledger.last()
        self.through = tail.committed_through
        if self.through == 0 or tail.configuration is None:
            raise UsageError("there is nothing to advise on: no run is committed", hint="use `tidemark run` first")
        self.then = from_resolved(json.loads(tail.configuration), at=spec)

    @property
    def upto(self) -> tuple[int, int]:
        """The last batch whose rows count, and its as_of."""
        return self.through, int(self._batches[-1]["as_of"])

    def advise(self, names: Sequence[str], asked: Asked) -> list[Advice | NoAdvice]:
        """Advice on these sources, in their order."""
        found: list[Advice | NoAdvice] = []
        for done, name in enumerate(names):
            self.progress("advise", done, len(names))
            why = self._not_applicable(name)
            found.append(self._advice(self.then.sources[name], asked) if why is None else NoAdvice(name, why))
        self.progress("advise", len(names), len(names))
        return found

    def _not_applicable(self, name: str) -> str | None:
        source = self.then.sources.get(name)
        if source is None or not self._accounted(name):
            return "no row of it has been judged yet"
        if source.punctuation is not None:
            return "it goes by punctuations, which stand in the place of tolerances"
        if source.timestamp_by is None:
            return "arrival is its event time (it has no timestamp_by), so that no row is late or out of order"
        return None

    def _advice(self, source: SourceSpec, asked: Asked) -> Advice:
        from tidemark.spark.trial import Trial  # starts a JVM: only where there are rows

        policy, history = source.policy, self._history(source.name)
        rows = self._accounted(source.name)
        trial = Trial(self.engine(), source, self.through, rows)
        grid = _grid(trial, policy, asked)
        highs = [] if source.over else trial.highs(grid)
        reached = by_batch(highs)
        behind = grid.behind()
        seen = look_back(history, grid, behind, reached, bool(source.over))
        tallies = trial.tallies(grid, highs, seen.starts, arrivals_before(history))
        own = grid.behind(policy.out_of_order.action)
        if own != behind:
            seen = look_back(history, grid, own, reached, bool(source.over))
        found = cells(grid, tallies, policy, seen)
        targets = targets_for(asked.targets, self._limits(source.name), policy)
        present = (None if policy.late is None else policy.late.micros), policy.out_of_order.micros
        return Advice(
            source,
            targets,
            found,
            next(cell for cell in found if (cell.late, cell.out_of_order) == present),
            recommended(found, targets),
            whole=self._batches[0]["batch_id"] == 1 and found[0].fates.rows == rows,
        )

    def _limits(self, name: str) -> Targets:
        """The limits of quality that hold for a source: its own, or the pipeline's."""
        source = self.spec.sources.get(name)
        quality = (source.quality if source is not None else None) or self.spec.quality
        return Targets() if quality is None else Targets(quality.max_dropped, quality.max_adjusted)

    def _accounted(self, name: str) -> int:
        """Rows of a source that the ledger has counted."""
        return sum(each["rows"] for row in self._batches for each in row["counts"] or () if each["source"] == name)

    @cached_property
    def _batches(self) -> list[Row]:
        columns = ["batch_id", "run_last", "as_of", "fingerprint", "counts"]
        rows = self.ledger.stores["batches"].read(1, self.through, columns)
        return sorted(rows, key=lambda row: int(row["batch_id"]))

    @cached_property
    def _states(self) -> dict[int, list[Row]]:
        """The recorded states of all sources by batch."""
        found: dict[int, list[Row]] = {}
        for row in self.ledger.stores["watermarks"].read(1, self.through):
            found.setdefault(row["batch_id"], []).append(row)
        return found

    def _history(self, name: str) -> list[Recorded]:
        """What batches left to a source, in order."""
        declared: dict[str, frozenset[str]] = {}
        found = []
        for row in self._batches:
            batch, kind = row["batch_id"], row["fingerprint"]
            if kind not in declared:
                declared[kind] = self._declared(batch, name)
            states = {
                each["partition"]: partition_state(each)
                for each in self._states.get(batch, ())
                if each["source"] == name and each["partition"] != UNKNOWN
            }
            found.append(Recorded(batch, batch == row["run_last"], declared[kind], states))
        return found

    def _declared(self, batch: int, name: str) -> frozenset[str]:
        """The partitions that were declared when a batch was judged."""
        source = from_resolved(json.loads(self.ledger.batches(batch, batch)[0].configuration)).sources.get(name)
        return frozenset(() if source is None else source.partitions)


def _grid(trial: Trial, policy: Policy, asked: Asked) -> Grid:
    """The tolerances to try: those that were asked for, else what the rows suggest, and the present ones."""
    late, disorder = None if policy.late is None else policy.late.micros, policy.out_of_order.micros
    lates, disorders = set(asked.lates or ()), set(asked.disorders or ())
    if asked.lates is None or asked.disorders is None:
        steps = rungs([late], MAX_LATE), rungs([disorder])
        spread = trial.spread(*steps)
        lates = lates if asked.lates is not None else {*chosen(spread.lateness, steps[0])}
        disorders = disorders if asked.disorders is not None else chosen(spread.disorder, steps[1])
    return Grid.of({*lates, late}, {*disorders, disorder})


def asked_for(
    target_dropped: str | float | None,
    target_adjusted: str | float | None,
    late: str | None,
    out_of_order: str | None,
) -> Asked:
    """What the options of the command ask for: shares as percentages (or numbers from 0 to 1), tolerances as
    durations with commas between. UsageError for what cannot be read."""
    targets = Targets(_share("--target-dropped", target_dropped), _share("--target-adjusted", target_adjusted))
    lates = None if late is None else tuple(_micros("--late", late, MAX_LATE, off=True))
    disorders = None if out_of_order is None else tuple(_micros("--out-of-order", out_of_order, MAX_TIME, off=False))
    return Asked(targets, lates, tuple(each for each in disorders if each is not None) if disorders else None)


def _share(option: str, given: str | float | None) -> float | None:
    if given is None or (isinstance(given, float | int) and 0 <= given <= 1):
        return given
    try:
        return fraction(given)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _micros(option: str, given: str, most: int, *, off: bool) -> Iterator[int | None]:
    listed = [text.strip() for text in given.split(",")]
    if len(listed) > MOST_TOLERANCES:
        raise UsageError(f"{option}: {len(listed)} tolerances are too many", hint=f"give at most {MOST_TOLERANCES}")
    for text in listed:
        try:
            micros = None if off and text == "off" else parse_duration(text)
        except ValueError as error:
            raise UsageError(f"{option}: {error}") from None
        if micros is not None and micros > most:
            raise UsageError(f"{option}: {text} is more than the most there is, {format_duration(most)}")
        yield micros
