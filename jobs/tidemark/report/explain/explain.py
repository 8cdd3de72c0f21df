"""Explains one row: its times, each step's comparison, the watermark in force and its cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyarrow.dataset import Dataset

from tidemark.core.policy import Fate, Reason
from tidemark.errors import UsageError
from tidemark.records.rows import ExplainRecord
from tidemark.report.events import EventRow, read_row
from tidemark.report.explain.arrival import Arrival, arrival_of
from tidemark.report.explain.history import follows
from tidemark.report.explain.late import LateWindow
from tidemark.report.explain.origin import Origin, Past, RunLookup, SourceFacts, origin_of_watermark
from tidemark.report.explain.punctuated import origin_of_punctuation, steps_of_punctuated
from tidemark.report.explain.repeated import repeated_row
from tidemark.report.explain.steps import Comparison, steps_of
from tidemark.report.explain.story import sentences
from tidemark.report.explain.tolerances import LeastSetting, needs_of
from tidemark.report.scan import sql, stream
from tidemark.report.words import day_of

__all__ = ["Explanation", "RunLookup", "SourceFacts", "explain"]

_MOST_NAMES = 20


@dataclass(frozen=True)
class Explanation:
    """The reasons for one row's fate. `needs`: tolerances that together keep the row on time; None if no tolerance
    can, or if the row was never judged. `repeats`: the earlier row that it duplicates, if known."""

    row: EventRow
    arrival: Arrival
    steps: tuple[Comparison, ...]
    origin: Origin | None
    needs: tuple[LeastSetting, ...] | None
    sentences: tuple[str, ...]
    late: tuple[LateWindow, ...] = ()
    repeats: EventRow | None = None

    def record(self) -> ExplainRecord:
        """Return it as commands print it: times ISO 8601 with Z, durations readable and in microseconds."""
        return {
            "row": self.row.record(),
            "arrival": self.arrival.record(),
            "steps": [step.record() for step in self.steps],
            "set_by": self.origin.record() if self.origin else None,
            "on_time_with": None if self.needs is None else [need.record() for need in self.needs],
            "late_for": [late.record() for late in self.late],
            "repeats": None if self.repeats is None else self.repeats.reference(),
            "sentences": list(self.sentences),
        }


def explain(
    events: Dataset,
    facts: SourceFacts,
    recorded: RunLookup,
    partition: str,
    offset: int,
    late: tuple[LateWindow, ...] = (),
) -> Explanation:
    """Explain the row at `offset` of a partition; `late`: windows that the row is late for. Raises UsageError if
    there is no such row; the error lists sources, partitions or offsets that exist."""
    row = read_row(facts.name, events, partition, offset)
    if row is None:
        raise _missing(events, facts, partition, offset)
    past = Past.of(events, facts, recorded, row)
    judged = row.disposition != Fate.QUARANTINED and Reason.DUPLICATE not in row.reasons
    day = day_of(row.arrival_time)
    arrival = arrival_of(past)
    if judged and facts.punctuation is not None:
        compared, set_by = tuple(steps_of_punctuated(past, day)), origin_of_punctuation(past)
        story = tuple(sentences(past, arrival, compared, set_by, None, late))
        return Explanation(row, arrival, compared, set_by, None, story, late)
    if not judged or not follows(facts.policy, row):
        repeats = repeated_row(past)
        story = tuple(sentences(past, arrival, (), None, None, late, repeats))
        return Explanation(row, arrival, (), None, None, story, late, repeats)
    steps = tuple(steps_of(row, facts.policy, day))
    origin, needs = origin_of_watermark(past), needs_of(past)
    story = tuple(sentences(past, arrival, steps, origin, needs, late))
    return Explanation(row, arrival, steps, origin, needs, story, late)


def _missing(events: Dataset, facts: SourceFacts, partition: str, offset: int) -> UsageError:
    largest = _largest_offsets(events)
    if partition not in largest:
        names = sorted(largest, key=lambda name: (len(name), name))
        known = ", ".join(names[:_MOST_NAMES]) + f" and {len(names) - _MOST_NAMES} more" * (len(names) > _MOST_NAMES)
        return UsageError(
            f"source {facts.name} has no rows of a partition {partition!r}",
            hint=f"its partitions are: {known}" if names else "it has no rows yet",
        )
    last = largest[partition]
    if 0 <= offset <= last:
        return UsageError(
            f"row {offset} of partition {partition} of source {facts.name} is not in the table",
            hint="it arrived before the pipeline's start, or it is older than retention.events keeps rows",
        )
    return UsageError(
        f"partition {partition} of source {facts.name} has no row {offset}",
        hint=f"offsets count from 0; its largest offset is {last}",
    )


def _largest_offsets(events: Dataset) -> Mapping[str, int]:
    with sql() as connection:
        connection.register("events", stream(events, ["_partition", "_offset"], None))
        found = connection.execute("SELECT _partition, max(_offset) FROM events GROUP BY _partition").fetchall()
    return dict(found)
