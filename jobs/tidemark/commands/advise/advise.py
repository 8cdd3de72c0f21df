"""Advice on the tolerances of sources: the costs of candidates over recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

from tidemark.arguments import known_names
from tidemark.commands.advise.delays import DelayAdvice, delay_advice, why_not
from tidemark.commands.advise.record import Advice, NoAdvice, advice_summary, kept_rows
from tidemark.commands.versions import in_force
from tidemark.config import PipelineSpec, SourceSpec, from_resolved
from tidemark.config.load import relocated
from tidemark.config.models.sources import MAX_LATE
from tidemark.config.models.values import fraction
from tidemark.core.advice.costs import Targets, cells, recommended, targets_for
from tidemark.core.advice.grid import Grid, chosen, rungs
from tidemark.core.advice.held_out import held_out
from tidemark.core.advice.history import RecordedStates, arrivals_before, newest_arrival, repeat_runs
from tidemark.core.advice.maxima import by_batch
from tidemark.core.policy import Policy, Reason
from tidemark.core.times import MAX_TIME, format_duration, parse_duration
from tidemark.core.watermarks import UNKNOWN
from tidemark.errors import Held, UsageError
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lock import hold
from tidemark.ledger.tables.rows import Row, partition_state
from tidemark.quality.metrics import limits_of
from tidemark.records.advice import AdviseRecord
from tidemark.runner.recorded import content_of, spec_of

if TYPE_CHECKING:
    from tidemark.spark.advice import AdvisedRows
    from tidemark.spark.judge.engine import Engine

MOST_TOLERANCES = 32
"""Maximum number of candidates for one kind of tolerance."""


class Wanted(TypedDict, total=False):
    """Request for advice. Targets: the largest shares of rows that may be dropped or adjusted, as percentages or
    numbers from 0 to 1. Tolerances to try: durations separated by commas (default: chosen from the rows)."""

    target_dropped: str | float | None
    target_adjusted: str | float | None
    late: str | None
    out_of_order: str | None


@dataclass(frozen=True)
class Asked:
    """A request for advice, parsed. Tolerances are microseconds; a late tolerance of None is `off`."""

    targets: Targets = field(default_factory=Targets)
    lates: frozenset[int | None] | None = None
    disorders: frozenset[int] | None = None


class Advising:
    """Advice from the committed batches of one ledger, under the configuration in force there. Quality limits come
    from `spec`, today's configuration."""

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
        recorded = in_force(ledger)
        if self.through == 0 or recorded is None:
            raise UsageError("there is nothing to advise on: no run is committed", hint="use `tidemark run` first")
        self.then = relocated(spec_of(recorded, spec, ledger.root), spec)

    def answer(self, names: Sequence[str], wanted: Wanted) -> AdviseRecord:
        """The record of advice on these sources. It is stored for the report unless a run holds the pipeline."""
        asked, upto = asked_for(wanted), (self.through, int(self._batches[-1]["as_of"]))
        found = self.advise(names, asked)
        rows = [row for each in found if isinstance(each, Advice) for row in kept_rows(each, *upto)]
        return advice_summary(found, *upto, kept=bool(rows) and self._kept(rows))

    def advise(self, names: Sequence[str], asked: Asked) -> list[Advice | DelayAdvice | NoAdvice]:
        """Advice on these sources, in their order."""
        found: list[Advice | DelayAdvice | NoAdvice] = []
        for done, name in enumerate(names):
            self.progress("advise", done, len(names))
            why = self._not_applicable(name)
            found.append(self._on(self.then.sources[name], asked) if why is None else NoAdvice(name, why))
        self.progress("advise", len(names), len(names))
        return found

    def _kept(self, rows: Sequence[Row]) -> bool:
        try:
            with hold(self.ledger.root):
                if versions.live(self.ledger.root) != self.ledger.version:
                    return False
                self.ledger.record_advice(rows)
        except Held:
            return False
        return True

    def _not_applicable(self, name: str) -> str | None:
        source = self.then.sources.get(name)
        if source is None or not self._accounted(name):
            return "no row of it has been judged yet"
        if source.punctuation is not None:
            return why_not(source.punctuation.core())
        if source.timestamp_by is None:
            return "arrival is its event time (it has no timestamp_by), so that no row is late or out of order"
        return None

    def _on(self, source: SourceSpec, asked: Asked) -> Advice | DelayAdvice:
        if source.punctuation is None:
            return self._advice(source, asked)
        targets = asked.targets if asked.targets != Targets() else self._limits(source.name)
        return delay_advice(self.engine(), source, self.through, self._history(source.name), targets)

    def _advice(self, source: SourceSpec, asked: Asked) -> Advice:
        from tidemark.spark.advice import AdvisedRows  # starts a JVM: only if there are rows

        if source.over and None in (asked.lates or ()):
            raise UsageError(
                f"late cannot be off for {source.name}: it has substreams", hint="leave it out of --late"
            )
        policy, history, number = source.policy, self._history(source.name), self._accounted(source.name)
        rows = AdvisedRows(self.engine(), source, self.through, number)
        grid = _grid(rows, policy, asked)
        highs = [] if source.over else rows.highs(grid)
        reached, behind = by_batch(highs), grid.behind()
        seen = repeat_runs(history, grid, behind, reached, bool(source.over))
        arrivals, newest = arrivals_before(history), newest_arrival(history)
        tallies, periods = rows.tallies(grid, highs, seen.starts, arrivals, newest)
        own = grid.behind(policy.out_of_order.action)
        if own != behind:
            seen = repeat_runs(history, grid, own, reached, bool(source.over))
        found = cells(grid, tallies, policy, seen)
        targets = targets_for(asked.targets, self._limits(source.name), policy)
        return Advice(
            source,
            targets,
            found,
            next(cell for cell in found if (cell.late, cell.out_of_order) == policy.tolerances),
            recommended(found, targets),
            held_out(grid, periods, policy, seen, targets, newest),
            whole=self._batches[0]["batch_id"] == 1 and found[0].fates.rows == number,
            duplicates=self._duplicates(source.name),
        )

    def _limits(self, name: str) -> Targets:
        """Quality limits of a source, as targets."""
        quality = limits_of(self.spec, name if name in self.spec.sources else None)
        return Targets(quality.max_dropped, quality.max_adjusted)

    def _accounted(self, name: str) -> int:
        """Number of rows of a source that the ledger has counted."""
        return sum(each["rows"] for row in self._batches for each in row["counts"] or () if each["source"] == name)

    def _duplicates(self, name: str) -> int:
        """Number of rows of a source that were dropped as duplicates."""
        found = [each for row in self._batches for each in row["further_reasons"] or () if each["source"] == name]
        return sum(each["rows"] for each in found if each["reason"] == Reason.DUPLICATE)

    @cached_property
    def _batches(self) -> list[Row]:
        columns = ["batch_id", "run_last", "as_of", "fingerprint", "counts", "further_reasons"]
        rows = self.ledger.stores["batches"].read(1, self.through, columns)
        return sorted(rows, key=lambda row: int(row["batch_id"]))

    @cached_property
    def _states(self) -> dict[int, list[Row]]:
        """Recorded states of all sources, by batch."""
        found: dict[int, list[Row]] = {}
        for row in self.ledger.stores["watermarks"].read(1, self.through):
            found.setdefault(row["batch_id"], []).append(row)
        return found

    def _history(self, name: str) -> list[RecordedStates]:
        """Recorded states of a source after each batch, in order."""
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
            found.append(RecordedStates(batch, batch == row["run_last"], declared[kind], states))
        return found

    def _declared(self, batch: int, name: str) -> frozenset[str]:
        """Partitions that the configuration declared when a batch was judged."""
        source = from_resolved(
            content_of(self.ledger.batches(batch, batch)[0].configuration, self.spec, self.ledger.root)
        ).sources.get(name)
        return frozenset(() if source is None else source.partitions)


def _grid(rows: AdvisedRows, policy: Policy, asked: Asked) -> Grid:
    """Tolerances of the candidates: the requested ones, or else suggested by the rows; always the present ones,
    too."""
    late, disorder = policy.tolerances
    lates, disorders = set(asked.lates or ()), set(asked.disorders or ())
    if asked.lates is None or asked.disorders is None:
        steps = rungs([late], MAX_LATE), rungs([disorder])
        strays = rows.strays(*steps)
        lates = lates if asked.lates is not None else {*chosen(strays.lateness, steps[0])}
        disorders = disorders if asked.disorders is not None else chosen(strays.disorder, steps[1])
    return Grid.of({*lates, late}, {*disorders, disorder})


def asked_for(wanted: Wanted) -> Asked:
    """Parse a request for advice. Raises UsageError for a value that cannot be read."""
    known_names("advise", wanted, ["source", *Wanted.__annotations__])
    lates, disorders = wanted.get("late"), wanted.get("out_of_order")
    return Asked(
        Targets(
            _share("--target-dropped", wanted.get("target_dropped")),
            _share("--target-adjusted", wanted.get("target_adjusted")),
        ),
        None if lates is None else frozenset(_micros("--late", lates, MAX_LATE, off=True)),
        None if disorders is None else frozenset(_durations("--out-of-order", disorders)),
    )


def _share(option: str, given: str | float | None) -> float | None:
    if given is None or (isinstance(given, float | int) and 0 <= given <= 1):
        return given
    try:
        return fraction(given)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None


def _micros(option: str, given: str, most: int, *, off: bool) -> Iterator[int | None]:
    """Durations of a list with commas, in microseconds; None for `off`, where that is allowed."""
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


def _durations(option: str, given: str) -> Iterator[int]:
    return (micros for micros in _micros(option, given, MAX_TIME, off=False) if micros is not None)
