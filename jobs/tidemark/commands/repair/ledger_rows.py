"""Makes lost rows of the ledger's own tables again, as a recovery of the batch would record them: from its events,
its plan and the states before it. The digests and counts in `batches` prove them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidemark.config import PipelineSpec
from tidemark.context import RunContext
from tidemark.core.advance import Advance, States, advance, in_import_order
from tidemark.core.batch import LandedObject
from tidemark.core.batch_result import (
    APPLICATION,
    LISTED,
    NEWEST,
    BatchRecord,
    Diagnostic,
    Finding,
    Outcome,
    TableDigest,
    versions_of,
)
from tidemark.errors import TidemarkError
from tidemark.ledger.digest import digest_findings, digest_states
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.lost_commits import WRITERS
from tidemark.ledger.tables.rows import Row, finding_rows, object_row, state_rows
from tidemark.runner.executor import Before, changed_states, step_of
from tidemark.runner.source_rules import rules_of
from tidemark.runner.stream_progress import StreamProgress

MADE = ("objects", "watermarks", "diagnostics")
"""Tables whose rows of a batch can be made again."""


@dataclass(frozen=True)
class Remade:
    """Rows of one batch and table. `unlike` says how they differ from the recorded rows (None: not at all)."""

    rows: list[Row]
    unlike: str | None


@dataclass(frozen=True)
class LedgerRebuild:
    """Makes rows of the live version's batches again. `then` returns the configuration under which a batch was
    judged, `planned` the objects of a batch, and `located` these objects with their present paths."""

    context: RunContext
    then: Callable[[BatchRecord], PipelineSpec]
    located: Callable[[BatchRecord, Sequence[LandedObject]], tuple[LandedObject, ...]]
    planned: Callable[[BatchRecord], tuple[LandedObject, ...]]

    @property
    def ledger(self) -> Ledger:
        """The ledger of the live version."""
        return self.context.ledger

    def put_back(self, record: BatchRecord, tables: Iterable[str]) -> dict[str, str | int]:
        """Put the rows of a batch back into `tables` if they are proven. Returns by table the number of rows, or the
        reason why they could not be made."""
        try:
            made = self._made(record)
        except TidemarkError as error:
            return dict.fromkeys(tables, error.message)
        results: dict[str, str | int] = {}
        for table in tables:
            remade = made[table]
            results[table] = remade.unlike or len(remade.rows)
            if remade.unlike is None:
                self.ledger.store(table).put_back(record.batch_id, remade.rows, WRITERS[table][0])
        return results

    def _made(self, record: BatchRecord) -> dict[str, Remade]:
        objects = self.located(record, self.planned(record))
        reported = self.ledger.noticed(record).reported
        outcomes, states, result = self._recalled(record, objects)
        changed = changed_states(states, result.states, record.batch_id)
        findings = self._findings(record, outcomes, result)
        judged = {(item.source, item.uri): item for outcome in outcomes.values() for item in outcome.objects}
        final = [judged.get((item.source, item.uri), item) for item in objects]
        taken = [*final, *reported]
        digests = {digest.table: digest for digest in record.digests}
        return {
            "objects": Remade(
                [object_row(record.batch_id, item) for item in taken], _unlike(record, final, outcomes, digests)
            ),
            "watermarks": Remade(
                state_rows(record.batch_id, changed),
                _differing(digest_states(record.batch_id, changed), digests),
            ),
            "diagnostics": Remade(
                finding_rows(record.batch_id, findings),
                _differing(digest_findings(record.batch_id, findings), digests),
            ),
        }

    def _findings(self, record: BatchRecord, outcomes: Mapping[str, Outcome], result: Advance) -> list[Finding]:
        """Findings of a batch, in the order in which a run records them.

        Findings about objects come from the record, or else from the plan and the objects' present content. Earlier
        releases made fewer findings about objects: the recorded digest shows which set was recorded.
        """
        listed = [finding for finding in self.ledger.findings(record.batch_id) if finding.type in LISTED]
        if listed:
            return [*listed, *result.findings]
        planned = self.ledger.noticed(record).findings
        content = [finding for outcome in outcomes.values() for finding in outcome.content]
        silent = [finding for finding in content if finding.type is Diagnostic.NO_ROWS]
        candidates = [[*planned, *some, *result.findings] for some in (content, silent, [])]
        digests = {digest.table: digest for digest in record.digests}
        found = (each for each in candidates if _differing(digest_findings(record.batch_id, each), digests) is None)
        return next(found, candidates[0])

    def _recalled(
        self, record: BatchRecord, objects: tuple[LandedObject, ...]
    ) -> tuple[dict[str, Outcome], States, Advance]:
        """Outcomes of a batch's objects, the states before the batch, and the progress that the batch made."""
        from tidemark.spark.micro_batch import MicroBatch

        then = self.then(record)
        rules, before = rules_of(then), Before.run(self.ledger, record.run_first)
        states = self.ledger.states(record.batch_id)
        outcomes = {}
        for name in (each.name for each in in_import_order(rules)):
            mine = [item for item in objects if item.source == name]
            if not mine:
                continue
            if self.ledger.store(f"events/{name}").number(APPLICATION) < record.batch_id:
                raise TidemarkError(f"the table events/{name} does not have the batch")
            opening = before.opening(rules, name, states, record, StreamProgress(then).read_from)
            version = versions_of(record.digests).get(f"events/{name}", NEWEST)
            batch = MicroBatch(then.sources[name], record.batch_id, mine, opening)
            outcomes[name] = self.context.engine.recall(batch, version)
        return (
            outcomes,
            states,
            advance(rules, states, before.combined, outcomes, step_of(record, before.brought(states))),
        )


def _differing(made: TableDigest, recorded: Mapping[str, TableDigest]) -> str | None:
    then = recorded.get(made.table, TableDigest(made.table, 0, made.digest if not made.rows else ""))
    return None if made == then else "events and states come to other rows than were recorded"


def _unlike(
    record: BatchRecord,
    objects: list[LandedObject],
    outcomes: Mapping[str, Outcome],
    recorded: Mapping[str, TableDigest],
) -> str | None:
    """The reason why objects are not the ones that the batch took: their number, bytes or rows differ. None if they
    match."""
    if (len(objects), sum(item.size for item in objects)) != (record.objects, record.bytes):
        return "their number or size is not that of the objects that the batch took"
    for outcome in outcomes.values():
        for digest in outcome.digests:
            if digest != recorded.get(digest.table, digest):
                return f"{digest.table} has other rows than were recorded"
    return None
