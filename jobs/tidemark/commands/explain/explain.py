"""The story of one row, by the settings under which it was judged, not by today's file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tidemark.commands.explain.lineage import JudgingRecord, Lineage
from tidemark.config import SourceSpec
from tidemark.config.backfill_rules import JUDGING
from tidemark.core.windows import NumberedWindows
from tidemark.records.rows import ExplainRecord
from tidemark.report.events import read_row
from tidemark.report.explain.explain import SourceFacts, explain
from tidemark.report.explain.late import WindowStep, late_for
from tidemark.storage import is_table

if TYPE_CHECKING:
    from tidemark.commands.read import Reader


def explained_row(reader: Reader, source: str, partition: str, offset: int) -> ExplainRecord:
    """The story of a row of the live version. Raises UsageError if there is no such row."""
    from tidemark.commands.read import Reader, RunRecords

    events = reader.table(f"events/{source}", reader.judged_through())
    row = read_row(source, events, partition, offset)
    how = None if row is None else Lineage(reader.spec, reader.ledger).judged(row)
    late = () if row is None else late_for(row, _windows(reader), RunRecords(reader.ledger))
    if how is None:
        facts = facts_of(reader.declared.sources[source])
        return explain(events, facts, RunRecords(reader.ledger), partition, offset, late).record()
    if how.ledger.version != reader.ledger.version:
        there = Reader(reader.spec, how.ledger)
        events = there.table(f"events/{source}", there.judged_through())
    facts = replace(facts_of(how.source), before=how.history)
    found = explain(events, facts, RunRecords(how.ledger), partition, offset, late).record()
    found["sentences"][1:1] = _under(how, reader.spec.sources.get(source), reader.ledger.version)
    return found


def _windows(reader: Reader) -> list[WindowStep]:
    """The streams with windows that have dead letters in the live version."""
    found = {name: step.windows for name, step in reader.spec.streams.items()}
    return [
        WindowStep(
            name,
            reader.table(f"dead_letters/{name}"),
            windows.lateness,
            windows.partition_by,
            not isinstance(windows, NumberedWindows),
        )
        for name, windows in found.items()
        if windows is not None and is_table(reader.ledger.folder / "dead_letters" / name)
    ]


def facts_of(source: SourceSpec) -> SourceFacts:
    """Settings of a source that the story of a row needs."""
    return SourceFacts(
        source.name,
        source.policy,
        source.timestamp_by,
        source.arrival_time,
        source.landing_delay,
        source.over,
        source.partitions,
        source.punctuated,
        source.lifetimes,
        require=source.require,
        duplicates=None if source.deduplicate is None else (source.deduplicate.by, source.deduplicate.within),
    )


def _under(how: JudgingRecord, now: SourceSpec | None, live: int) -> list[str]:
    """Sentences about the settings that the row was judged under, where they differ from today's file."""
    sentences = []
    if how.version is not None:
        sentences.append(f"The backfill of version {how.version} has judged it.")
    elif how.ledger.version != live:
        sentences.append(
            f"It stands as in version {how.ledger.version}: the backfill of version {live} did not change it."
        )
    then = how.source.model_dump(mode="json")
    today = {} if now is None else now.model_dump(mode="json")
    other = [key for key in JUDGING if then.get(key) != today.get(key)]
    if other and now is not None:
        sentences.append(
            f"The file has other settings now ({', '.join(other)}): what follows is by those recorded then."
        )
    return sentences
