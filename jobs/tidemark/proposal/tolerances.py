"""Measures how late and how disordered sampled rows are, and the effect of tolerances (time rules: judging a row)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tidemark.core.policy import Action, Fate, Policy, Tolerance
from tidemark.core.times import MINUTE, SECOND
from tidemark.proposal.durations import LADDER, rounded_up
from tidemark.records.proposal import QuantileSummary

MAX_LATE = 1_814_399 * SECOND
FEW_LATE, FEW_BEHIND = 0.001, 0.01
"""Shares of rows that proposed tolerances may leave to be adjusted: late ones, and ones out of order. The second is
larger, since a longer out_of_order delays all output."""
_DEFAULT_LATE, _DEFAULT_EARLY = 5 * SECOND, 5 * MINUTE


@dataclass(frozen=True)
class SampledRow:
    """One sampled row in log order: its partition, event time, arrival and its object's landing, microseconds. None:
    the row has no such time."""

    partition: str
    event: int | None
    arrival: int | None
    landed: int


@dataclass
class ExpectedFates:
    """The expected fates of rows, and the number of rows that each step acts on."""

    counts: dict[Fate, int] = field(default_factory=lambda: dict.fromkeys(Fate, 0))
    early: int = 0
    late: int = 0
    out_of_order: int = 0

    @property
    def rows(self) -> int:
        return sum(self.counts.values())


def timed(rows: Iterable[SampledRow], skew: int) -> list[tuple[str, int | None, int | None]]:
    """Return (partition, event, arrival in force) of each row. Arrival is never later than the landing and never goes
    back within a partition; it is None if the row is quarantined for its arrival."""
    last: dict[str, int] = {}
    found = []
    for row in rows:
        own = None if row.arrival is None or row.arrival > row.landed + skew else min(row.arrival, row.landed)
        if own is not None:
            last[row.partition] = max(own, last.get(row.partition, own))
        found.append((row.partition, row.event, None if own is None else last[row.partition]))
    return found


def judge(rows: Iterable[SampledRow], policy: Policy, skew: int) -> ExpectedFates:
    """Judge rows as in a first run."""
    fates = ExpectedFates()
    high: dict[str, int] = {}
    for partition, event, arrival in timed(rows, skew):
        if event is None or arrival is None:
            fates.counts[Fate.QUARANTINED] += 1
            continue
        before = high.get(partition)
        stamp, adjusted = _stamp(fates, policy, event, arrival, None if before is None else before - policy.disorder)
        if stamp is None:
            fates.counts[Fate.DROPPED] += 1
            continue
        fates.counts[Fate.ADJUSTED if adjusted else Fate.ON_TIME] += 1
        high[partition] = stamp if before is None else max(before, stamp)
    return fates


def _stamp(
    fates: ExpectedFates, policy: Policy, event: int, arrival: int, watermark: int | None
) -> tuple[int | None, bool]:
    """Return a row's time after the three steps (None if a step drops it), and whether a step acted."""
    stamp, order = event, policy.out_of_order
    if policy.early is not None and event > arrival + policy.early.micros:
        fates.early += 1
        if policy.early.action is Action.DROP:
            return None, True
        stamp = arrival + policy.early.micros
    if policy.late is not None and event < arrival - policy.late.micros:
        fates.late += 1
        if policy.late.action is Action.DROP:
            return None, True
        stamp = arrival - policy.late.micros
    if order.action is not Action.KEEP and watermark is not None and stamp < watermark:
        fates.out_of_order += 1
        return (None if order.action is Action.DROP else watermark), True
    return stamp, stamp != event


@dataclass(frozen=True)
class Quantiles:
    """Quantiles of a measure over `rows` rows, microseconds."""

    rows: int
    p50: int
    p95: int
    p99: int
    p999: int
    largest: int
    _ordered: tuple[int, ...] = field(repr=False, compare=False, default=())

    @classmethod
    def of(cls, values: Iterable[int]) -> Quantiles:
        """Compute quantiles from values in any order; all zero if there are none."""
        if not (ordered := sorted(values)):
            return cls(0, 0, 0, 0, 0, 0)
        last = len(ordered) - 1
        p50, p95, p99, p999 = (ordered[-(-last * share // 1000)] for share in (500, 950, 990, 999))
        return cls(len(ordered), p50, p95, p99, p999, ordered[-1], tuple(ordered))

    def beyond(self, tolerance: int) -> int:
        """Return the number of values larger than a tolerance."""
        return len(self._ordered) - bisect_right(self._ordered, tolerance)

    def enough(self, share: float = FEW_LATE) -> int:
        """Return the shortest readable duration that at most this share of values exceeds."""
        return next((step for step in LADDER if self.beyond(step) <= share * self.rows), rounded_up(self.largest))

    def record(self) -> QuantileSummary:
        return {"rows": self.rows, "p50": self.p50, "p95": self.p95, "p99": self.p99, "p999": self.p999,
                "largest": self.largest}  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """The cost of a tolerance, with all others as proposed: the rows that its step adjusts or drops."""

    tolerance: int
    rows: int
    share: float


@dataclass(frozen=True)
class MeasuredTolerances:
    """The measures of rows, the proposed tolerances, and the costs of these and of others. `late` None: off."""

    lateness: Quantiles
    disorder: Quantiles
    earliness: Quantiles
    late: int | None
    out_of_order: int
    early: int
    late_costs: tuple[Cost, ...]
    order_costs: tuple[Cost, ...]
    fates: ExpectedFates

    @property
    def early_action(self) -> Action:
        """Action for early rows: drop if that drops no sampled row, else adjust."""
        return _early_action(self.earliness, self.early)


def measure(rows: Sequence[SampledRow], skew: int) -> MeasuredTolerances:
    """Propose tolerances for rows that have an event time of their own."""
    known = [(p, e, a) for p, e, a in timed(rows, skew) if e is not None and a is not None]
    lateness, earliness = (
        Quantiles.of(max(a - e, 0) for _, e, a in known),
        Quantiles.of(max(e - a, 0) for _, e, a in known),
    )
    late: int | None = max(lateness.enough(), _DEFAULT_LATE)
    late = late if late is not None and late <= MAX_LATE else None
    early = max(min(earliness.enough(), 60 * MINUTE), _DEFAULT_EARLY)
    disorder = Quantiles.of(_behind(known, late))
    order = disorder.enough(FEW_BEHIND)
    order = order if late is None else min(order, late)
    bound = Tolerance(early, _early_action(earliness, early))
    fates = judge(rows, policy_of(late, order, bound), skew)
    counted = max(len(known), 1)

    def late_cost(tolerance: int) -> Cost:
        found = lateness.beyond(tolerance)
        return Cost(tolerance, found, found / counted)

    def order_cost(tolerance: int) -> Cost:
        found = judge(rows, policy_of(late, tolerance, bound), skew).out_of_order
        return Cost(tolerance, found, found / counted)

    late_costs = _ladder(lateness, late, MAX_LATE, late_cost)
    order_costs = _ladder(disorder, order, MAX_LATE if late is None else late, order_cost)
    return MeasuredTolerances(lateness, disorder, earliness, late, order, early, late_costs, order_costs, fates)


def policy_of(late: int | None, out_of_order: int, early: Tolerance) -> Policy:
    """Return a policy with these tolerances that adjusts late rows and rows out of order."""
    adjust = Action.ADJUST
    return Policy(early, None if late is None else Tolerance(late, adjust), Tolerance(out_of_order, adjust))


def _early_action(earliness: Quantiles, early: int) -> Action:
    return Action.ADJUST if earliness.beyond(early) else Action.DROP


def _behind(known: Iterable[tuple[str, int, int]], late: int | None) -> Iterable[int]:
    """Yield the distance of each row, after the late step, behind the latest earlier row of its partition."""
    high: dict[str, int] = {}
    for partition, event, arrival in known:
        stamp = event if late is None else max(event, arrival - late)
        before = high.get(partition, stamp)
        yield max(before - stamp, 0)
        high[partition] = max(before, stamp)


def _ladder(spread: Quantiles, chosen: int | None, most: int, cost: Callable[[int], Cost]) -> tuple[Cost, ...]:
    """Return the cost of the proposed tolerance and of some shorter and longer ones, up to `most`."""
    steps = {spread.enough(share) for share in (0.5, 0.1, FEW_BEHIND, FEW_LATE, 0)} | (
        {chosen} if chosen is not None else set()
    )
    return tuple(cost(step) for step in sorted(steps) if step <= most)
