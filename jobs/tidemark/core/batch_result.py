"""Results that a micro-batch reports: counts, findings and digests (time rules: what is reported)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate

from tidemark.core.batch import LandedObject
from tidemark.core.policy import Fate, Reason
from tidemark.core.quality import RowChecks
from tidemark.core.streams import StreamEnd
from tidemark.core.watermarks import Combined, Seen

APPLICATION = "tidemark"
"""Name under which a micro-batch's id is recorded in the log of a table that Spark writes, so that it is appended
once. For substreams the source's name is added, see `writer_of`."""


def writer_of(source: str) -> str:
    """Name of the writer of a source's substreams: all sources share one table."""
    return f"{APPLICATION}/{source}"


class Diagnostic(StrEnum):
    """The kinds of finding, with the meaning that Azure Stream Analytics gives the first six."""

    EARLY = "EarlyInputEvent"
    LATE = "LateInputEvent"
    OUT_OF_ORDER = "OutOfOrderEvent"
    NOT_PROGRESSING = "InputPartitionNotProgressing"
    INVALID_TIME = "InvalidInputTimeStamp"
    INVALID_ROW = "InputDeserializationError"
    LISTED_LATE = "ListedLate"
    TOO_OLD = "ObjectTooOld"
    LANDED_TOO_LATE = "LandedTooLate"
    LANDED_AFTER_CLOSE = "LandedAfterClose"
    OBJECT_CHANGED = "ObjectChanged"
    EDGE_LEFT_OPEN = "EdgeLeftOpen"
    NO_ROWS = "ObjectWithoutRows"
    UNKNOWN_COLUMNS = "UnknownColumns"


LISTED = frozenset({
    Diagnostic.LISTED_LATE,
    Diagnostic.TOO_OLD,
    Diagnostic.LANDED_AFTER_CLOSE,
    Diagnostic.OBJECT_CHANGED,
    Diagnostic.NO_ROWS,
    Diagnostic.UNKNOWN_COLUMNS,
})  # fmt: skip
"""Findings about objects: facts of a listing or of content, which no replay can compute again."""


FINDINGS = {
    Reason.EARLY: Diagnostic.EARLY,
    Reason.LATE: Diagnostic.LATE,
    Reason.OUT_OF_ORDER: Diagnostic.OUT_OF_ORDER,
    Reason.INVALID_TIME: Diagnostic.INVALID_TIME,
    Reason.INVALID_ROW: Diagnostic.INVALID_ROW,
}
"""The findings on rows, by the reason that judging gives. Rows with another reason have none."""


@dataclass(frozen=True)
class Shifts:
    """Moves of adjusted rows, in microseconds: the largest exactly, quantiles of moves rounded to three significant
    digits, so that they do not depend on the order of rows."""

    largest: int
    p50: int
    p95: int
    p99: int

    @classmethod
    def of(cls, largest: int, sizes: Mapping[int, int]) -> Shifts:
        """Compute the quantiles from the number of moves of each rounded size. Between two sizes a quantile lies in
        proportion, cut to a whole microsecond."""
        ordered = sorted(sizes)
        through = list(accumulate(sizes[size] for size in ordered))
        quantiles = []
        for percent in (50, 95, 99):
            rank = percent * (through[-1] - 1)
            below, above = (ordered[bisect_right(through, index)] for index in (rank // 100, -(-rank // 100)))
            quantiles.append(below + (above - below) * (rank % 100) // 100)
        return cls(largest, *quantiles)


@dataclass(frozen=True)
class Account:
    """Counts of one source and partition in one micro-batch; rows = sum of the four fates. `reasons` are those of
    `Reason`, and `require.<name>` of requirements."""

    source: str
    partition: str
    fates: Mapping[Fate, int]
    reasons: Mapping[str, int]
    shifts: Shifts | None = None

    @property
    def rows(self) -> int:
        return sum(self.fates.values())


@dataclass(frozen=True)
class FindingSample:
    """One row (or object) as an example of a finding."""

    offset: int | None = None
    event_time: int | None = None
    arrival_time: int | None = None
    file: str | None = None


@dataclass(frozen=True)
class Finding:
    """One row of `diagnostics`: times are those of the rows' arrival, or of the object's landing."""

    source: str
    partition: str | None
    type: Diagnostic
    count: int
    first_time: int | None
    last_time: int | None
    sample: FindingSample
    tolerance: int | None
    message: str


@dataclass(frozen=True)
class Occurrence:
    """Number of times that a finding occurs among a partition's rows, with the first and the last arrival."""

    count: int
    first: int | None
    last: int | None
    sample: FindingSample


@dataclass(frozen=True)
class PartitionReport:
    """One partition's part of a micro-batch."""

    account: Account
    seen: Seen
    occurrences: Mapping[Diagnostic, Occurrence]
    checks: RowChecks | None = None


NEWEST = 2
"""The version of the digests of new batches."""


@dataclass(frozen=True)
class TableDigest:
    """Order-independent digest of what one micro-batch wrote to one table."""

    table: str
    rows: int
    digest: str

    @property
    def version(self) -> int:
        """The version of the digest, written before its digits; 1 if there is none."""
        number, mark, _ = self.digest.partition(":")
        return int(number) if mark and number.isdecimal() else 1


def versions_of(digests: Iterable[TableDigest]) -> dict[str, int]:
    """By table, the version of its recorded digest: a comparison uses that version."""
    return {digest.table: digest.version for digest in digests}


@dataclass(frozen=True)
class LastWrite:
    """The last batch whose rows a writer has put into a table, as the table's own log records it, and the number of
    these rows, if known. A log that ends before it has lost commits."""

    table: str
    writer: str
    batch_id: int
    rows: int | None = None


@dataclass(frozen=True)
class FileHash:
    """A file of a table, by its path below the table's folder, with its size in bytes and its SHA-256 in hexadecimal.
    `log` is the id of the table whose log an entry of a log belongs to (None: a data file)."""

    table: str
    path: str
    size: int
    sha256: str
    log: str | None = None


@dataclass(frozen=True)
class Outcome:
    """Outcome of judging one source's part of a micro-batch. `skipped` has, by partition, the rows before the
    pipeline's `start`; `landed_too_late` rows whose arrival is before an estimate already used; `left_open` dropped
    end edges whose lifetime stays open; `recorded` the number of rows written by the table's log; `content` findings
    about what objects contain."""

    digests: tuple[TableDigest, ...] = ()
    partitions: Mapping[str, PartitionReport] = field(default_factory=dict)
    objects: tuple[LandedObject, ...] = ()
    skipped: Mapping[str, Seen] = field(default_factory=dict)
    landed_too_late: Mapping[str, Occurrence] = field(default_factory=dict)
    left_open: Mapping[str, Occurrence] = field(default_factory=dict)
    recorded: int | None = None
    content: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class BatchRecord:
    """One row of `batches`. `run_first` and `run_last` bound the run it belongs to; `combined`, `streams` and other
    results of the end of a run are in its last batch only. `written` is what every table's log must know once the
    batch is committed (None: recorded before that was), `reason` why a batch was abandoned, `suites` the users'
    suites that check the run, as JSON (None: planned before they were recorded). The last four are those of the chain
    of batches (docs/chain.md; None: recorded before it was)."""

    batch_id: int
    run_id: str
    run_first: int
    run_last: int
    as_of: int
    status: str
    configuration: str
    fingerprint: str
    engine: str
    plan: str
    suites: str | None = None
    closing: tuple[str, ...] = ()
    objects: int = 0
    bytes: int = 0
    accounts: tuple[Account, ...] = ()
    digests: tuple[TableDigest, ...] = ()
    combined: Mapping[str, Combined] = field(default_factory=dict)
    streams: Mapping[str, StreamEnd] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    written: tuple[LastWrite, ...] | None = None
    reason: str | None = None
    files: tuple[FileHash, ...] | None = None
    ledger_digests: tuple[TableDigest, ...] | None = None
    chain_before: str | None = None
    chain: str | None = None

    @property
    def ends_run(self) -> bool:
        return self.batch_id == self.run_last


def total(accounts: Iterable[Account]) -> tuple[dict[Fate, int], dict[str, int]]:
    """Sums of fates and of reasons over partitions; fates that no row has are kept."""
    fates = dict.fromkeys(Fate, 0)
    reasons: dict[str, int] = {}
    for account in accounts:
        for fate, count in account.fates.items():
            fates[fate] += count
        for reason, count in account.reasons.items():
            if count:
                reasons[reason] = reasons.get(reason, 0) + count
    return fates, reasons
