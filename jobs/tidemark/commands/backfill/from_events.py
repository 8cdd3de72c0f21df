"""Builds a version beside the live one from recorded events: executes recorded runs again and merges what changed.

clone -> slice -> merge -> record -> listed

Nobody sees the version before the last step; the next backfill removes the folder of an interrupted one. The live
version is only read ([decision](docs/decisions/backfill.md)).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from tidemark.commands.backfill.examples import with_examples
from tidemark.commands.backfill.merge import Merged, SliceMerge
from tidemark.commands.backfill.rejudge import EventsRerun
from tidemark.commands.exclude import Taken, tainted
from tidemark.commands.versions import blank, built_summary, by_run, compared_spec, in_force, recorded_difference
from tidemark.config import PipelineSpec, from_resolved
from tidemark.config.backfill_rules import check_rebuilding, unchanged_sources
from tidemark.context import RunContext
from tidemark.core.backfill.ranges import (
    JudgedRows,
    Range,
    ReadRange,
    first_batch,
    floors_after,
    kept_streams,
    passed_by,
    readings,
    rebased,
    recombined,
    widened,
)
from tidemark.core.batch_result import BatchRecord
from tidemark.core.times import format_time
from tidemark.errors import Held, UsageError
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.rerun_ledger import SliceLedger
from tidemark.ledger.tables import unfinished
from tidemark.ledger.tables.clone import clone
from tidemark.ledger.versions import Made
from tidemark.records.versions import BackfillRecord
from tidemark.runner.kept_rows import KeptRows
from tidemark.runner.planner import judged_under
from tidemark.runner.recorded import content_of
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import rules_of_streams
from tidemark.storage import Location
from tidemark.storage.folders import remove_tree, tables_below
from tidemark.storage.sync import sync_tree

SLICE = "_slice"
_OWN = (SLICE, "difference/")
_ALL_NEEDED = (
    "nothing bounds how far back rows count here (punctuation, intervals, lifetimes without at_most, sessions without"
    " max_duration), so all are needed: read landing again, with --from-landing"
)


@dataclass
class Backfill:
    """One backfill of the outputs in a range, under `spec`, from the live version.

    No run of the live version may be pending. Rows of `excluded` objects are quarantined. `label` is recorded with
    the version.
    """

    context: RunContext
    spec: PipelineSpec
    asked: Range
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
        check_rebuilding(content_of(in_force(self.live), self.spec, self.live.root), self.spec)
        self.then = compared_spec(self.live, self.spec)
        self._check_end()
        self._check_retained()

    @cached_property
    def reads(self) -> dict[str, ReadRange]:
        """By source, the range of arrivals to read."""
        states = self.live.states(self.through + 1)
        both = [(rules_of(each), rules_of_streams(each)) for each in (self.then, self.spec)]
        floors = [floors_after(states, rules) for rules, _ in both]
        known = [floor for floor in floors if floor is not None]
        found = readings(self.asked, both, min(known) if len(known) == len(floors) else None)
        return widened(found, self._judged) if self._judged else found

    @cached_property
    def _judged(self) -> dict[str, JudgedRows]:
        """Rows of the live version in the range, by source, if backfills made any: these may have been judged under
        settings that are no longer known, and so be outside of what follows from `then` and `spec`."""
        if not versions.backfilled(self.live.root, self.live.version):
            return {}
        from tidemark.spark.rebuild.rejudge import judged_in

        return judged_in(self.context.engine.spark, self.live.folder, self.spec.sources, self.asked)

    @cached_property
    def first(self) -> int | None:
        """The first batch of the first run that has a row to read; None if no run has."""
        store = self.live.stores["watermarks"]
        if all(reading.begin is None for reading in self.reads.values()):
            return 1
        rows = store.read(1, self.through, ["batch_id", "source", "last_arrival"])
        known = [
            (row["batch_id"], row["source"], row["last_arrival"]) for row in rows if row["last_arrival"] is not None
        ]
        batch = first_batch(known, self.reads)
        return None if batch is None else self.live.batches(batch, batch)[0].run_first

    def build(self, now: int) -> BackfillRecord:
        """Build the version, list it, and return its record with what changed."""
        reserved = versions.reserve(self.live.root)
        number, folder = reserved.number, self.live.root / f"v{reserved.number}"
        for other in versions.unlisted(self.live.root, number):
            remove_tree(self.live.root / f"v{other}")
        self.context.checkpoint("cleared")
        self._clone(number, folder)
        self.context.checkpoint("cloned")
        merged = self._kept(folder) if self.first is None else self._rebuilt(number, folder, self.first)
        remove_tree(folder / SLICE)
        self.context.checkpoint("rebuilt")
        found, under = with_examples(merged.difference, folder, self.spec), judged_under(self.spec, self.live.root)
        how = Made(
            self.asked.begin,
            self.asked.end,
            under["fingerprint"],
            under["configuration"],
            self.live.version,
            self.through,
            merged.rebuilt,
            merged.input_rows,
            recorded_difference(found, self.label),
            origin=versions.origins(self.live.root)[self.live.version],
            backfilled=self._backfilled(merged.rebuilt),
        )
        sync_tree(folder)
        versions.add(self.live.root, now, how, reserved)
        self.context.checkpoint("listed")
        return built_summary(number, folder, how, found)

    def _backfilled(self, rebuilt: int | None) -> tuple[versions.Batches, ...]:
        before = versions.backfilled(self.live.root, self.live.version)
        return versions.from_first(rebuilt, self.through) + before

    def _clone(self, number: int, folder: Location) -> None:
        tables = [name for name in tables_below(self.live.folder) if not name.startswith(_OWN)]
        for done, name in enumerate(tables):
            self.context.progress("clone", done, len(tables))
            clone(self.live.folder / name, folder / name)
        self.context.progress("clone", len(tables), len(tables))
        target = Ledger(self.live.root, number)
        unfinished.carry(self.live.damaged, target.damaged)
        if target.last().pending:
            raise Held(
                "another run was planned while the version was begun",
                where=str(self.live.folder),
                hint="run again: the run is finished first",
            )

    def _kept(self, folder: Location) -> Merged:
        """Judge no row again; only write the remembered keys by the new settings, for later runs of the version."""
        if any(source.deduplicate for source in self.spec.sources.values()):
            from tidemark.spark.rebuild.truncate import write_all_seen

            states, spark = self.live.states(self.through + 1), self.context.engine.spark
            write_all_seen(spark, folder, self.spec.sources, states, self.through + 1)
        return Merged()

    def _rebuilt(self, number: int, folder: Location, first: int) -> Merged:
        ledger = SliceLedger(folder / SLICE, self.live)
        excluded = {name: tuple(objects) for name, objects in self.excluded.items()}
        again = EventsRerun(self.context, self.spec, self.live, ledger, self.reads, excluded, checked=False)
        if before := self.live.before(first):
            self._begin(ledger, first, before)
        last = self._execute(again, ledger, first)
        self.context.checkpoint("sliced")
        target = Ledger(self.live.root, number)
        merging = SliceMerge(
            self.then,
            self.spec,
            self.live,
            ledger,
            target,
            self.asked,
            again,
            first,
            last,
            self.through,
            self.excluded,
        )
        merged = merging.merge(self.context.checkpoint, self.context.progress)
        self.context.checkpoint("merged")
        return merged

    def _begin(self, ledger: SliceLedger, first: int, before: BatchRecord) -> None:
        """Record the state before the slice's first run: the state after batch `before`, as far as it is still
        valid."""
        configuration = content_of(before.configuration, self.spec, self.live.root)
        unchanged = (
            unchanged_sources(configuration, self.spec, tainted(self.live, self.excluded, first))
            & before.combined.keys()
        )
        states = rebased(self.live.states(first), rules_of(self.spec), unchanged)
        old = {name: stream.model_dump() for name, stream in from_resolved(configuration).streams.items()}
        same = {name for name, stream in self.spec.streams.items() if old.get(name) == stream.model_dump()}
        kept = kept_streams(rules_of_streams(self.spec), same, unchanged)
        streams = {name: end for name, end in before.streams.items() if name in kept}
        combined = recombined(before.combined, states, unchanged)
        left = replace(before, combined=combined, streams=streams, accounts=(), digests=())
        ledger.begin(left, states)

    def _execute(self, again: EventsRerun, ledger: SliceLedger, first: int) -> int:
        """Execute the recorded runs again until all outputs of the range are final; returns the last batch."""
        under = judged_under(self.spec, self.live.root)
        runs = by_run(self.live.batches(first, self.through))
        for number, run in enumerate(runs):
            self.context.progress("backfill", number, len(runs))
            records = [blank(record, under, record.plan) for record in run]
            ledger.plan_again(records)
            done = again.execute(records)
            whole = done[-1].batch_id >= max((rows.batch for rows in self._judged.values()), default=0)
            if whole and self._ended(done[-1], self.spec) and self._ended(run[-1], self.then):
                break
        if self.asked.end is not None:
            self._release(again, ledger, run[-1])
        self.context.progress("backfill", len(runs), len(runs))
        return done[-1].batch_id

    def _release(self, again: EventsRerun, ledger: SliceLedger, last: BatchRecord) -> None:
        """Execute a run that closes every source and takes no object. It releases all outputs of the slice: no more
        rows can fall into the range, and rows that cross its end may end long after it."""
        number, under = last.batch_id + 1, judged_under(self.spec, self.live.root)
        fields = {"batch_id": number, "run_id": "release", "run_first": number, "run_last": number, "plan": ""}
        closing = tuple(self.spec.sources)
        record = BatchRecord(**under, **fields, as_of=last.as_of, status="planned", closing=closing)  # type: ignore[arg-type] # of text and numbers
        ledger.plan_again([record])
        again.execute([record])

    def _ended(self, last: BatchRecord, spec: PipelineSpec) -> bool:
        if self.asked.end is None:
            return False
        return passed_by(self.asked.end, last.combined, last.streams, _lateness(spec))

    def _check_end(self) -> None:
        """Raise UsageError if the live version has not passed the end of the range. Later runs go on from its state,
        so a backfill with an end must not make later outputs."""
        if self.asked.end is None:
            return
        (last,) = self.live.batches(self.through, self.through)
        if not passed_by(self.asked.end, last.combined, last.streams, _lateness(self.then)):
            raise UsageError(
                f"--to {format_time(self.asked.end)} is later than the live version has come",
                hint="leave out --to: the version then goes to the end, and later runs go on from it",
            )
        if new := sorted(self.spec.streams.keys() - self.then.streams.keys()):
            raise UsageError(
                f"stream {new[0]} is new: with --to it would have a hole from there to the next run",
                hint="leave out --to",
            )

    def _check_retained(self) -> None:
        """Raise UsageError unless events and ledger reach back as far as the slice."""
        kept = KeptRows(self.live, self.through + 1, self.spec)
        begins = [reading.begin for reading in self.reads.values()]
        lost = any(kept.was_deleted(name, self.reads[name].begin) for name in self.then.sources)
        if lost or (self.first is not None and not self.live.batches(max(self.first - 1, 1), self.first)):
            raise UsageError(
                "the rows or runs that this range needs are older than retention keeps",
                hint="begin later, with --from" if None not in begins else _ALL_NEEDED,
            )
        if left_out := [name for name in self.then.sources if kept.was_skipped(name, self.asked.begin)]:
            raise UsageError(
                f"this range needs rows of the source {left_out[0]!r} that start left out: windows or lifetimes reach"
                " further back than when the pipeline was started",
                hint="begin later, with --from, or read landing again, with --from-landing",
            )


def _lateness(spec: PipelineSpec) -> dict[str, int]:
    return {step.name: 0 if step.windows is None else step.windows.lateness for step in rules_of_streams(spec)}
