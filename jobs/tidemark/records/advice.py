"""Record of `advise`. Keys that end in `_micros` are microseconds."""

from __future__ import annotations

from typing_extensions import TypedDict


class OwnCounts(TypedDict):
    """Numbers of rows under the source's own actions."""

    adjusted: int
    dropped: int


class CandidateCounts(TypedDict):
    """Numbers of rows. `adjusted`: rows adjusted if the actions for late and unordered rows are `adjust`; `dropped`:
    rows dropped if they are `drop`."""

    rows: int
    adjusted: int
    dropped: int
    own: OwnCounts


class CandidateCost(CandidateCounts):
    """Cost of a pair of tolerances. `delay` (median) and `longest_delay`: how far output is behind the latest arrival
    (null: there is no output)."""

    late: str
    out_of_order: str
    delay: str | None
    delay_micros: int | None
    longest_delay: str | None
    longest_delay_micros: int | None


class CandidateRecord(CandidateCost):
    """A pair of tolerances of a source's grid."""

    source: str
    present: bool
    recommended: bool
    meets_targets: bool
    partitions: dict[str, CandidateCounts]


class ChosenTolerances(CandidateCost):
    """A pair of tolerances with its settings as YAML."""

    yaml: str


class OwnActions(TypedDict):
    """Actions of a source for late and for unordered rows."""

    late: str
    out_of_order: str


HeldOutRecord = TypedDict(
    "HeldOutRecord",
    {
        "from": str,
        "to": str,
        "late": str | None,
        "out_of_order": str | None,
        "counts": CandidateCounts | None,
        "met": bool,
    },
)
"""A recent range of arrivals, with the tolerances that advice on the rows before it recommends (null: none met the
targets), the counts of its rows under these tolerances, and whether they meet the targets."""


class AdvisedSource(TypedDict):
    """A source with advice. Targets are shares from 0 to 1 (null: none). `whole`: retention has deleted none of its
    rows. `duplicates`: rows that are also dropped, whatever the tolerances. `held_out`: tests of the advice on the
    newest rows, newest first; `confidence`: their result in words."""

    source: str
    rows: int
    actions: OwnActions
    target_dropped: float | None
    target_adjusted: float | None
    sentence: str
    whole: bool
    duplicates: int
    held_out: list[HeldOutRecord]
    confidence: str


class DelayRecord(TypedDict):
    """A delay of generated punctuations, the rows that would be behind a punctuation, and the delay of output (null:
    not known, since some rows are punctuations)."""

    delay: str
    violations: int
    partitions: dict[str, int]
    output_delay: str | None
    output_delay_micros: int | None
    present: bool
    recommended: bool


class DelayedSource(TypedDict):
    """A punctuated source with the costs of other delays. `violations`: its action; `target`: the largest share of
    rows behind a punctuation; `recommended`: the smallest delay that meets the target (null: none)."""

    source: str
    rows: int
    violations: str
    target: float
    delays: list[DelayRecord]
    recommended: str | None
    sentence: str


class UnadvisedSource(TypedDict):
    """A source without advice, and the reason."""

    source: str
    why: str


class AdviseRecord(TypedDict):
    """Record of `advise`, over the rows up to a batch. `recommended` is null for a source if no pair meets the
    targets; `kept`: the report shows this advice."""

    batch_id: int
    as_of: str
    grid: list[CandidateRecord]
    recommended: dict[str, ChosenTolerances | None]
    present: dict[str, ChosenTolerances]
    sources: list[AdvisedSource]
    delays: list[DelayedSource]
    not_applicable: list[UnadvisedSource]
    kept: bool
