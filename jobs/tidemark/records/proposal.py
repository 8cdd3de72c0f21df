"""Records of `init`. Durations are microseconds, shares are from 0 to 1."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from tidemark.records.failures import ProblemRecord
from tidemark.records.runs import RowsByFate


class IntervalSummary(TypedDict):
    """Time between consecutive landing times (null: all objects landed at one moment)."""

    median: int | None
    longest: int | None


class SampleSummary(TypedDict):
    """The sampled objects, newest first, and the number of rows. `whole`: the sample has all rows of these objects.
    `unread` counts lines that are no rows, `without_time` rows that lack a required time."""

    objects: list[str]
    rows: int
    whole: bool
    unread: int
    without_time: int


class ColumnSummary(TypedDict):
    """A column of the schema, with some of its values."""

    name: str
    type: str
    note: str
    nulls: int
    samples: list[str]


class CandidateTime(TypedDict):
    """A column that holds times, its SQL expression, its scores, and shares of its values. `before_landing`: median
    time until the landing. `without_zone`: number of values without a zone."""

    column: str
    expression: str
    read_as: str
    event_score: float
    arrival_score: float
    fits: float
    filled: float
    not_after_landing: float
    in_order: float
    before_landing: int
    without_zone: int


class TimeOrderSummary(TypedDict):
    """Two times as SQL expressions: `later` is never before `earlier` in the `rows` sampled rows that have both.
    `median` and `largest`: median and largest difference."""

    later: str
    earlier: str
    rows: int
    median: int
    largest: int


class TimesSummary(TypedDict):
    """Columns of event time and arrival (null: none), the confidence in this choice, and pairs of times in which one
    is never before the other, the closest pair first."""

    event_time: str | None
    arrival_time: str | None
    confidence: str
    candidates: list[CandidateTime]
    orders: list[TimeOrderSummary]


class PartitionProposal(TypedDict):
    """The proposed partition: a column, or a regular expression over paths."""

    column: str | None
    path: str | None
    values: list[str]
    why: str


class QuantileSummary(TypedDict):
    """Quantiles of durations."""

    rows: int
    p50: int
    p95: int
    p99: int
    p999: int
    largest: int


class CostSummary(TypedDict):
    """Number and share of rows that a tolerance's step would adjust or drop."""

    tolerance: int
    rows: int
    share: float


class ExpectedReasons(TypedDict):
    """Numbers of sampled rows by reason."""

    early: int
    late: int
    out_of_order: int


class MeasuredSummary(TypedDict):
    """Measures of sampled rows, the proposed tolerances, and the costs of these and of others. `late_arrival` null
    means `off`."""

    lateness: QuantileSummary
    disorder: QuantileSummary
    earliness: QuantileSummary
    late_arrival: int | None
    out_of_order: int
    early_arrival: int
    late_costs: list[CostSummary]
    out_of_order_costs: list[CostSummary]
    fates: RowsByFate
    by_reason: ExpectedReasons


class SourceProposal(TypedDict):
    """All findings on a source. `measured` is null if rows have no event time of their own, `landing_delay` if they
    have no arrival of their own. `settings`: keys of the configuration. `strays`: objects of other kinds."""

    landing: str
    objects: int
    bytes: int
    first_landed: str
    last_landed: str
    interval: IntervalSummary
    sampled: SampleSummary
    columns: list[ColumnSummary]
    left_out: dict[str, str]
    times: TimesSummary
    partition: PartitionProposal | None
    over: list[str]
    landing_delay: int | None
    measured: MeasuredSummary | None
    settings: dict[str, Any]
    strays: list[str]


class GuessSummary(TypedDict):
    """An assumption: its source and setting. `effect`: what happens to rows, as proposed or if it is wrong:
    quarantined, dropped, mistimed, adjusted, delayed, unread or text (values are text). `rows`: sampled rows with
    this effect (null: only rows outside the sample may have it)."""

    source: str
    key: str
    message: str
    effect: str
    rows: int | None


class ProposalRecord(TypedDict):
    """The proposed sources, the assumptions, the most expensive first, and, by folder, the kinds of files that no
    source takes."""

    landing: str
    pipeline: str
    objects: int
    sources: dict[str, SourceProposal]
    guesses: list[GuessSummary]
    left_out: dict[str, list[str]]
    notes: list[str]


class InitRecord(TypedDict):
    """Record of `init`: the path of the configuration, and its warnings."""

    path: str
    proposal: ProposalRecord
    warnings: list[ProblemRecord]


class CheckedSample(TypedDict):
    """The sampled objects, newest first, and rows. `whole`: the sample has all rows of the objects."""

    objects: list[str]
    rows: int
    whole: bool


class DriftSummary(TypedDict):
    """One difference between settings and landed rows. `kind`: format, header, rows, row, new, missing, type,
    partition, time, landed_at, landing_delay, clock_skew, early, late or out_of_order. `key`: the setting of the
    source. `rows`, `share`: sampled rows with this difference (0: it is about whole objects or columns). `effect`:
    the fate of these rows, `unread` (values are not read) or `none`. `proposed`: a value that would fit."""

    kind: str
    key: str
    column: str | None
    message: str
    rows: int
    share: float
    effect: str
    proposed: str | None


class CheckedSource(TypedDict):
    """One source compared with its newest objects: the expected fates of sampled rows (null: only Spark can compute
    them), the differences, the costliest first, and the parts that could not be compared."""

    landing: str
    objects: int
    last_landed: str | None
    sampled: CheckedSample
    fates: RowsByFate | None
    drifts: list[DriftSummary]
    unseen: list[str]


class CheckRecord(TypedDict):
    """Record of `init --check`: the path of the configuration, and the comparison of each source."""

    path: str
    drifted: bool
    sources: dict[str, CheckedSource]
