"""Decides whether the cause of abnormal rows is over, by the rows that arrived after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.core.policy import Fate
from tidemark.core.times import HOUR, MAX_TIME
from tidemark.report.causes.causes import Cause
from tidemark.report.page.data.tables import Row, Scope, SourceTable, ask
from tidemark.report.scan import Condition, between, both


@dataclass(frozen=True)
class Aftermath:
    """Committed rows of a cause's partitions that arrived from `since` on (the end of the cause's last hour): their
    number, last arrival, and `hit`, rows with the cause's fate and reason. `during`: rows while the cause lasted.
    Quarantined rows may lack an arrival: for them `since` is None, and batches after the cause's files are counted.
    Times are microseconds UTC."""

    cause: Cause
    since: int | None
    during: int
    rows: int
    hit: int
    last: int | None

    @property
    def over(self) -> bool:
        """True if the share of rows with the cause's fate and reason has fallen to a tenth or less."""
        return 10 * self.hit * self.during <= self.cause.rows * self.rows


def aftermath_of(sources: Sequence[SourceTable], scope: Scope, cause: Cause | None) -> Aftermath | None:
    """Count the rows after a cause, also of runs after the scope: the page of a past day says how it went on."""
    source = next((each for each in sources if cause is not None and each.name == cause.source), None)
    if source is None or source.events is None or cause is None:
        return None
    if cause.fate == Fate.QUARANTINED:
        return _by_batches(source.events, scope, cause)
    since = (cause.last // HOUR + 1) * HOUR
    mine = pc.field("_partition").isin(list(cause.partitions)) if cause.partitions else None
    mine = both(pc.field("_batch_id") >= scope.first, mine)
    while_it_was = _counted(source.events, cause, both(between("_arrival_time", cause.first, since - 1), mine))
    after = _counted(source.events, cause, both(between("_arrival_time", since, MAX_TIME), mine))
    return Aftermath(cause, since, while_it_was["n"], after["n"], after["hit"], after["last"])


def _by_batches(events: Dataset, scope: Scope, cause: Cause) -> Aftermath | None:
    within = both(pc.field("_batch_id") >= scope.first, pc.field("_file").isin(list(cause.files)))
    during = _counted(events, cause, within)
    if during["batch"] is None:
        return None
    after = _counted(events, cause, pc.field("_batch_id") > during["batch"])
    return Aftermath(cause, None, during["n"], after["n"], after["hit"], after["last"])


def _counted(events: Dataset, cause: Cause, where: Condition) -> Row:
    return ask(
        events,
        ["_partition", "_file", "_disposition", "_reasons", "_arrival_time", "_batch_id"],
        "SELECT count(*) AS n, count(*) FILTER (_disposition = ? AND coalesce(_reasons[1], '') = ?) AS hit, "
        "epoch_us(max(_arrival_time)) AS last, max(_batch_id) AS batch FROM t",
        cause.fate,
        cause.reason,
        where=where,
    )[0]
