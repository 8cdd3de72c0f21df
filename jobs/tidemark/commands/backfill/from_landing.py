"""Builds a version beside the live one from the present landing: executes recorded runs again, on all their objects.

clone batches before the range -> runs from landing -> contrast -> listed

There may be more or fewer rows than before, so that later rows have other offsets. Therefore all batches from the
first run that the range touches are made again, and nothing is merged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from tidemark.commands.backfill.examples import with_examples
from tidemark.commands.backfill.rerun import LandingRerun
from tidemark.commands.exclude import Taken
from tidemark.commands.versions import built_summary, by_plan, compared_spec, fates_of, recorded_difference
from tidemark.config import PipelineSpec
from tidemark.config.models.pipeline import relevant
from tidemark.context import RunContext
from tidemark.core.backfill.ranges import Range, readings
from tidemark.core.batch import stored_uri
from tidemark.errors import UsageError
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables import unfinished
from tidemark.ledger.tables.clone import clone
from tidemark.ledger.tables.schemas import TABLES
from tidemark.ledger.versions import Made
from tidemark.records.versions import BackfillRecord, DifferenceRecord, nothing_differs
from tidemark.runner.planner import judged_under
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import rules_of_streams
from tidemark.storage import Location
from tidemark.storage.folders import remove_tree, tables_below
from tidemark.storage.sync import sync_tree

_OF_VERSIONS = ("_slice", "difference/", "advice")


@dataclass
class Rereading:
    """One backfill from landing of the outputs from `begin` on, microseconds UTC, beside the live version.

    It is made under `spec`. No run may be pending. Rows of `excluded` objects are quarantined.
    """

    context: RunContext
    spec: PipelineSpec
    begin: int
    excluded: Taken = field(default_factory=dict)
    label: str | None = None
    live: Ledger = field(init=False)
    through: int = field(init=False)
    then: PipelineSpec = field(init=False)

    def __post_init__(self) -> None:
        self.live = self.context.ledger
        self.through = self.live.last().committed_through
        if not self.through:
            raise UsageError("there is nothing to backfill: no run is committed", hint="use `tidemark run` first")
        self.then = compared_spec(self.live, self.spec)
        if gone := sorted(self.then.sources.keys() - self.spec.sources.keys()):
            raise UsageError(
                f"source {gone[0]} is not in the file: its rows would be in no table of the version",
                hint="keep it, or give the pipeline another name",
            )
        if not self.live.batches(max(self.first - 1, 1), self.first):
            raise UsageError(
                "the runs that this range needs are older than retention keeps", hint="begin later, with --from"
            )

    @cached_property
    def first(self) -> int:
        """First batch to make again: batch 1 if settings changed, else the first batch of the first run whose objects
        may have a row that the range depends on."""
        if relevant(self.spec.resolved()) != relevant(self.then.resolved()):
            return 1
        both = [(rules_of(self.spec), rules_of_streams(self.spec))]
        begins = []
        for name, reading in readings(Range(self.begin, self.begin), both, None).items():
            if reading.begin is None:
                return 1
            begins.append(reading.begin - self.spec.sources[name].clock_skew)
        return min(self.live.first_since(min(begins)), self.through + 1)

    def build(self, now: int) -> BackfillRecord:
        """Build the version, list it, and return its record with what changed."""
        reserved = versions.reserve(self.live.root)
        number, folder = reserved.number, self.live.root / f"v{reserved.number}"
        for other in versions.unlisted(self.live.root, number):
            remove_tree(self.live.root / f"v{other}")
        self.context.checkpoint("cleared")
        target = self._standing(number, folder)
        self.context.checkpoint("cloned")
        rows, found = self._made(target)
        difference = with_examples(found, folder, self.spec)
        self.context.checkpoint("rebuilt")
        under = judged_under(self.spec, self.live.root)
        how = Made(
            self.begin,
            None,
            under["fingerprint"],
            under["configuration"],
            self.live.version,
            self.through,
            self._rebuilt,
            rows,
            recorded_difference(difference, self.label),
            from_landing=True,
            backfilled=self._backfilled(),
        )
        sync_tree(folder)
        versions.add(self.live.root, now, how, reserved)
        self.context.checkpoint("listed")
        return built_summary(number, folder, how, difference)

    @property
    def _rebuilt(self) -> int | None:
        """The first batch that no run from landing gives again: excluded objects are in landing as they were."""
        return self.first if self.excluded and self.first <= self.through else None

    def _backfilled(self) -> tuple[versions.Batches, ...]:
        """The batches that backfills made: those before the first run are the live version's."""
        own = versions.from_first(self._rebuilt, self.through)
        before = versions.backfilled(self.live.root, self.live.version)
        return (*own, *[(first, min(last, self.first - 1)) for first, last in before if first < self.first])

    def _standing(self, number: int, folder: Location) -> Ledger:
        """Clone the live version as it was before batch `first`."""
        target = Ledger(self.live.root, number)
        unfinished.carry(self.live.damaged, target.damaged, self.first)
        if self.first == 1:
            return target
        from tidemark.spark.rebuild.truncate import truncate

        tables = [name for name in tables_below(self.live.folder) if not name.startswith(_OF_VERSIONS)]
        for done, name in enumerate(tables):
            self.context.progress("clone", done, len(tables))
            clone(self.live.folder / name, folder / name, self.first - 1)
        self.context.progress("clone", len(tables), len(tables))
        states = self.live.states(self.first)
        truncate(self.context.engine.spark, folder, tables, self.spec.sources, states, self.first)
        for name in TABLES.keys() & set(tables):
            target.stores[name].delete(f"batch_id >= {self.first}")
        return target

    def _made(self, target: Ledger) -> tuple[int, DifferenceRecord]:
        """Execute the runs again; returns the number of judged rows, and the difference."""
        from tidemark.spark.rebuild.diff import Contrast

        records = self.live.batches(self.first, self.through)
        wrong = {name: frozenset(map(stored_uri, objects)) for name, objects in self.excluded.items()}
        again = LandingRerun(self.context, self.spec, self.live, target, wrong)
        made = again.make(by_plan(records), late=True) if records else []
        contrast = Contrast(self.context.engine.spark, self.live.folder, target.folder, self.first, self.begin)
        difference = contrast.find(self.spec) if records else nothing_differs()
        difference["fates"] = {"before": fates_of(records), "after": fates_of(made)}
        difference["excluded"] = contrast.excluded(self.excluded)
        return sum(account.rows for record in made for account in record.accounts), difference
