"""Makes another version live: brings it up to the live version's last run, then switches readers in one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidemark.commands.backfill.rejudge import EventsRerun
from tidemark.commands.backfill.rerun import LandingRerun
from tidemark.commands.names.follow import ensure_movable, follow
from tidemark.commands.recover import held_and_recovered
from tidemark.commands.versions import blank, by_plan, compared_spec, recorded_spec, unlike, version_summary
from tidemark.config import PipelineSpec
from tidemark.context import RunContext
from tidemark.core.batch import Batch, RunPlan
from tidemark.core.batch_result import LISTED, BatchRecord
from tidemark.core.shell import command
from tidemark.errors import UsageError
from tidemark.ledger import versions
from tidemark.ledger.abandoned import skip
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import ensure_events
from tidemark.ledger.plans import Noticed, new_token
from tidemark.ledger.tail import ABANDONED, PLANNED
from tidemark.records.versions import PromoteRecord
from tidemark.runner.planner import judged_under

_ANEW = "build the version again: `tidemark backfill`, with the same range and settings"


@dataclass(frozen=True)
class Promotion:
    """Makes a version live. No run of the live version may be pending."""

    context: RunContext

    @property
    def spec(self) -> PipelineSpec:
        """Today's pipeline file."""
        return self.context.spec

    @property
    def live(self) -> Ledger:
        """The ledger of the version that is live before the promotion."""
        return self.context.ledger

    def promote(self, version: int, now: int) -> PromoteRecord:
        """Make the version live; does nothing if it is live already. Raises Held if another command has changed the
        list of versions, or taken the lock over, meanwhile."""
        root = self.live.root
        known = versions.found(root, version)
        if known is None:
            names = [each.version for each in versions.listed(root)]
            raise UsageError(
                f"version {version} does not exist",
                where=str(root),
                hint=f"there are {names}: `{command('versions', self.spec.path)}`",
            )
        before, brought, since = self.live.version, [], versions.commits(root)
        target = Ledger(root, version)
        if not known.live:
            brought = self._bring_up(target)
            self.context.checkpoint("brought up")
            versions.promote(root, version, now, since)
            self.context.checkpoint("promoted")
        switched = versions.found(root, version) or known
        return {
            "version": version,
            "before": before,
            "live": version,
            "brought_up": [record.batch_id for record in brought],
            "edit": unlike(target, self.spec),
            "versions": [version_summary(root, each) for each in versions.listed(root)],
            "path": version_summary(root, switched)["path"],
            "names": [],
        }

    def _bring_up(self, target: Ledger) -> list[BatchRecord]:
        """Execute the live version's runs that the target lacks, under the target's configuration."""
        spec = recorded_spec(target, self.spec)
        self._check_known(target, spec)
        origins = versions.origins(self.live.root)
        apart = origins[self.live.version] != origins[target.version]
        tools = self.context, spec, self.live, target
        again: EventsRerun | LandingRerun = (
            LandingRerun(*tools) if apart else EventsRerun(*tools, progress=self.context.progress)
        )
        done = []
        self._ensure_recorded(target)
        if pending := target.last().pending:
            done += again.execute(pending, recovering=True)
        plans = by_plan(self.live.batches(target.last().committed_through + 1, self.live.last().committed_through))
        if isinstance(again, LandingRerun):
            done += again.make(plans, late=False) if plans else []
        else:
            ensure_events(self.live, plans[0][0].batch_id if plans else self.live.last().next_batch_id)
            for part in plans:
                done += again.execute(self._planned(target, spec, part))
            self._ensure_rows(target)
        skip(target, self.live, (self.live.stores["batches"].newest() or 0) + 1)
        return done

    def _ensure_recorded(self, target: Ledger) -> None:
        """Raise UsageError if retention has deleted runs that the target lacks."""
        first, last = target.last().committed_through + 1, self.live.last().committed_through
        if len(self.live.recorded(first, last)) < last + 1 - first:
            raise _too_old(target.version)
        used = {record.batch_id for record in self.live.batches(first, last)}
        aside = {each.batch_id for each in target.recorded(first, last) if each.status == ABANDONED}
        if both := sorted(used & aside):
            raise UsageError(
                f"version {target.version} has abandoned batch {both[0]}, and the live version has it",
                hint=_ANEW,
            )

    def _ensure_rows(self, target: Ledger) -> None:
        """Raise UsageError if a batch that was brought up has fewer rows than in the live version: retention has
        deleted their events."""
        known = versions.found(target.root, target.version)
        first = known.made.through + 1 if known and known.made else 1
        last = target.last().committed_through
        there = {record.batch_id: _rows(record) for record in self.live.batches(first, last)}
        for record in target.batches(first, last):
            if _rows(record) != there.get(record.batch_id, _rows(record)):
                raise _too_old(target.version)

    def _planned(self, target: Ledger, spec: PipelineSpec, run: Sequence[BatchRecord]) -> list[BatchRecord]:
        """Plan a run of the live version in the target. If the rest of a run was abandoned, `run` holds only the
        batches of one plan."""
        under, token = judged_under(spec, target.root), new_token()
        records = [blank(record, under, token) for record in run]
        batches = tuple(Batch(record.batch_id, self.live.objects_of(record)) for record in run)
        plan = RunPlan(records[0].run_id, records[0].as_of, batches, records[0].closing)
        listed = tuple(item for item in self.live.findings(run[0].batch_id) if item.type in LISTED)
        skip(target, self.live, run[0].batch_id)
        target.plan(plan, records, Noticed(listed))
        self.context.checkpoint("planned")
        return [replace(record, status=PLANNED) for record in records]

    def _check_known(self, target: Ledger, spec: PipelineSpec) -> None:
        """Raise UsageError if a source of the live version is new to the target, or has other columns."""
        live = compared_spec(self.live, self.spec)
        for name, source in live.sources.items():
            if name not in spec.sources or spec.sources[name].columns != source.columns:
                what = "is new" if name not in spec.sources else "has other columns"
                raise UsageError(
                    f"source {name} {what} since version {target.version} was made",
                    hint=_ANEW,
                )


def _rows(record: BatchRecord) -> int:
    return sum(account.rows for account in record.accounts)


def _too_old(version: int) -> UsageError:
    return UsageError(
        f"runs that version {version} lacks are older than retention keeps",
        hint=_ANEW,
    )


def promote(context: RunContext, version: int, wait: bool) -> PromoteRecord:
    """Recover a crashed run, then make a version live. One commit switches readers to its tables; then links and
    views are updated."""
    with held_and_recovered(context, wait):
        ensure_movable(context)
        record = Promotion(context).promote(version, context.clock())
        context.forget()
        record["names"] = follow(context, must=True)
        return record
