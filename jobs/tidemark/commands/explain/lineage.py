"""Finds the version and the settings that a row of the live version was judged under.

A version that a backfill made holds rows of two kinds. Rows with a time in its range were judged again, under the
settings of the backfill. The others are unchanged from an earlier version, which also has the rows that set their
watermarks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from tidemark.commands.versions import in_force, made
from tidemark.config import PipelineSpec, SourceSpec, from_resolved
from tidemark.config.backfill_rules import unchanged_sources
from tidemark.core.policy import Policy
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.versions import Made
from tidemark.report.events import EventRow, read_row
from tidemark.report.explain.history import PolicyHistory
from tidemark.runner.recorded import content_of
from tidemark.storage import dataset_of, is_table

_CHANGED = "difference/rows"
"""The table of rows that a backfill changed, with both fates."""


@dataclass(frozen=True)
class JudgingRecord:
    """Ledger of the version that judged a row, the row's source as declared then, and the policies in force up to the
    row. `version` is the version whose backfill judged it; None if a run did."""

    ledger: Ledger
    source: SourceSpec
    history: PolicyHistory
    version: int | None = None


@dataclass(frozen=True)
class Lineage:
    """Settings under which rows of one version were judged, back through the versions that it was made from. `spec`
    is today's pipeline: recorded references to the environment are resolved if their values have not changed."""

    spec: PipelineSpec
    ledger: Ledger

    def judged(self, row: EventRow) -> JudgingRecord | None:
        """The record of judging a row of this version; None if that is no longer recorded."""
        how = made(self.ledger)
        if how is None or how.from_landing or row.batch_id > how.through:
            source = self._declared(self._configuration(row.batch_id), row.source)
            return None if source is None else JudgingRecord(self.ledger, source, self._history(row, source))
        if how.rebuilt is not None and row.batch_id >= how.rebuilt and self._anew(how, row):
            return self._by_backfill(how, row)
        base = self._base(how)
        before = None if base is None else base._row(row)
        if base is not None and before is not None:
            return base.judged(before)
        source = self._declared(self._configuration((how.rebuilt or row.batch_id + 1) - 1), row.source)
        return None if source is None else JudgingRecord(self.ledger, source, PolicyHistory(((0, source.policy),)))

    def policies(self, source: str, first: int, last: int) -> tuple[Policy, ...]:
        """Policies by which rows of batches first..last may have been judged, the last ones first."""
        how = made(self.ledger)
        declared = [self._declared(self._configuration(batch), source) for batch in self._changes(last)]
        found = [each.policy for each in reversed(declared) if each is not None]
        if how is not None and first <= how.through:
            anew, base = self._declared(how.configuration, source), self._base(how)
            found += [] if anew is None else [anew.policy]
            found += () if base is None else base.policies(source, first, min(last, how.through))
        return tuple(dict.fromkeys(found))

    def _base(self, how: Made) -> Lineage | None:
        """The version that a backfill started from; None if it has been removed."""
        kept = versions.found(self.ledger.root, how.base) is not None
        return Lineage(self.spec, Ledger(self.ledger.root, how.base)) if kept else None

    def _by_backfill(self, how: Made, row: EventRow) -> JudgingRecord | None:
        """The record of judging a row by this version's backfill; None if that is no longer recorded."""
        source = self._declared(how.configuration, row.source)
        if source is None:
            return None
        if self._same(how, row.source):
            return JudgingRecord(self.ledger, source, self._history(row, source), self.ledger.version)
        rebased = how.rebuilt or 0
        history = PolicyHistory(((0, source.policy),), rebased, sliced=True, apart=how.to is not None)
        return JudgingRecord(self.ledger, source, history, self.ledger.version)

    def _anew(self, how: Made, row: EventRow) -> bool:
        """True if the backfill judged a row again: its time is in the range, or was in it before the backfill."""
        time = row.system_timestamp
        if time is not None and time >= how.from_ and (how.to is None or time < how.to):
            return True
        location = self.ledger.folder / _CHANGED
        if not is_table(location):
            return False
        mine = (pc.field("_source") == row.source) & (pc.field("_partition") == row.partition)
        rows = dataset_of(location)
        return bool(rows.count_rows(filter=mine & (pc.field("_offset") == row.offset)))

    def _row(self, row: EventRow) -> EventRow | None:
        """This version's row with the same partition and offset; None if there is none."""
        location = self.ledger.folder / "events" / row.source
        if not is_table(location):
            return None
        return read_row(row.source, dataset_of(location), row.partition, row.offset)

    def _history(self, row: EventRow, source: SourceSpec) -> PolicyHistory:
        """Policies by which runs have moved the watermarks, up to a row."""
        if made(self.ledger) is None:
            return PolicyHistory(((0, source.policy),))  # without a backfill, all runs have equal tolerances
        found, known = list[tuple[int, Policy]](), None
        for batch in self._changes(row.batch_id):
            declared = self._declared(self._configuration(batch), row.source)
            if declared is not None and (declared.policy, declared.punctuated) != known:
                found.append((batch if found else 0, declared.policy))
                known = declared.policy, declared.punctuated
        return PolicyHistory(tuple(found) or ((0, source.policy),), self._rebased(row.source))

    def _rebased(self, source: str) -> int:
        """The last batch from which a source's state was rebuilt from arrivals alone; 0 if there is none."""
        at, how = self, made(self.ledger)
        while how is not None and not how.from_landing:
            if how.to is None and how.rebuilt is not None and not at._same(how, source):
                return how.rebuilt
            at = Lineage(self.spec, Ledger(self.ledger.root, how.base))
            how = made(at.ledger)
        return 0

    def _same(self, how: Made, source: str) -> bool:
        """True if a backfill judged a source by its earlier settings."""
        before = self._configuration(how.rebuilt - 1) if how.rebuilt and how.rebuilt > 1 else None
        if before is None:
            base = self._base(how)
            before = None if base is None else in_force(base.ledger)
        if before is None:
            return False
        return source in unchanged_sources(self._content(before), from_resolved(self._content(how.configuration)))

    def _changes(self, last: int) -> Iterator[int]:
        """Batches up to `last` with other settings than the batch before, oldest first."""
        rows = self.ledger.stores["batches"].read(1, last, ["batch_id", "fingerprint"])
        known = None
        for row in sorted(rows, key=lambda each: int(each["batch_id"])):
            if row["fingerprint"] != known:
                known = row["fingerprint"]
                yield row["batch_id"]

    def _configuration(self, batch: int) -> str | None:
        """The recorded configuration of a batch; if it is no longer recorded, the configuration of the next run."""
        found = next(iter(self.ledger.batches(batch, batch)), None)
        return in_force(self.ledger) if found is None else found.configuration

    def _declared(self, configuration: str | None, source: str) -> SourceSpec | None:
        return from_resolved(self._content(configuration)).sources.get(source) if configuration else None

    def _content(self, configuration: str) -> dict[str, Any]:
        return content_of(configuration, self.spec, self.ledger.root)
