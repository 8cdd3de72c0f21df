"""Configuration of a version's next run, the batches that a backfill made, and records of versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from tidemark.commands.returned_streams import returned_streams
from tidemark.commands.summaries import time_text
from tidemark.config import PipelineSpec, from_resolved
from tidemark.config.evolution import changes
from tidemark.config.load import relocated
from tidemark.core.batch_result import BatchRecord
from tidemark.core.quality import within
from tidemark.core.shell import command
from tidemark.core.times import format_time
from tidemark.errors import ConfigError
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tail import PLANNED
from tidemark.ledger.versions import Made, Version
from tidemark.quality.metrics import limits_of
from tidemark.records.versions import BackfillRecord, DifferenceRecord, VersionRecord, VersionsRecord
from tidemark.runner.recorded import content_of, spec_of
from tidemark.storage import Location

_LABEL = "label"
_COMPARED = "were compared with what is recorded"


def made(ledger: Ledger) -> Made | None:
    """The backfill that made the ledger's version; None if only runs made it."""
    if ledger.version == versions.FIRST:
        return None  # every run calls this, and most pipelines have no other version
    found = versions.found(ledger.root, ledger.version)
    return None if found is None else found.made


def in_force(ledger: Ledger) -> str | None:
    """Configuration (JSON) that the version's next run has to follow; None before the first run."""
    tail, how = ledger.last(), made(ledger)
    if how is not None and tail.next_batch_id - 1 <= how.through:
        return how.configuration
    return tail.configuration


def recorded_spec(ledger: Ledger, now: PipelineSpec) -> PipelineSpec:
    """Pipeline that the version's next run has to follow, with today's landing and warehouse; before the first run,
    today's. Raises ConfigError if a result depends on a variable that is not set or that now holds another value."""
    recorded = in_force(ledger)
    return now if recorded is None else relocated(spec_of(recorded, now, ledger.root), now)


def compared_spec(ledger: Ledger, now: PipelineSpec) -> PipelineSpec:
    """Pipeline that the version's next run has to follow, for comparison only: a reference to the environment stays
    as it is if its value has changed."""
    return from_resolved(content_of(in_force(ledger), now, ledger.root), at=now)


def unlike(ledger: Ledger, spec: PipelineSpec) -> list[str]:
    """Settings of a pipeline file that differ from the settings that the version's next run has to follow."""
    try:
        _changes(ledger, in_force(ledger), spec)
    except ConfigError as error:
        return [f"{problem.key}: {problem.message}" for problem in error.problems]
    return []


class Backfilled(NamedTuple):
    """Batches that backfills made: no run under one configuration gives their rows. `proof` is a sentence on how they
    are proven; None if there are none."""

    ranges: tuple[range, ...] = ()
    proof: str | None = None

    def has(self, batch: int) -> bool:
        """True if a backfill made the batch."""
        return any(batch in each for each in self.ranges)


NONE = Backfilled()


def backfilled(ledger: Ledger, file: str) -> Backfilled:
    """Batches of the ledger's version that backfills made: its own, and those of the versions that it began from."""
    how = made(ledger)
    found = [] if how is None else versions.backfilled(ledger.root, ledger.version)
    if how is None or not found:
        return NONE
    ranges = tuple(range(first, last + 1) for first, last in found)
    if how.rebuilt is None:
        return Backfilled(ranges, f"batches that earlier backfills made {_COMPARED}")
    ends = ("--from", format_time(how.from_), *(() if how.to is None else ("--to", format_time(how.to))))
    proof = (
        f"batches {how.rebuilt} to {how.through} were made by the backfill of version {ledger.version}: their tables "
        f"were compared with what it recorded; `{command('backfill', file, options=ends)}` makes them again, and "
        "finds no difference"
    )
    older = any(first < how.rebuilt for first, _ in found)
    return Backfilled(ranges, proof + (f"; those that earlier backfills made {_COMPARED}" if older else ""))


def by_run(records: Sequence[BatchRecord]) -> list[list[BatchRecord]]:
    """Recorded batches, run by run."""
    found: dict[int, list[BatchRecord]] = {}
    for record in records:
        found.setdefault(record.run_first, []).append(record)
    return list(found.values())


def by_plan(records: Sequence[BatchRecord]) -> list[list[BatchRecord]]:
    """Recorded batches of whole runs, plan by plan. A later plan ends a run whose rest was abandoned."""
    return [list(part) for run in by_run(records) for _, part in groupby(run, key=attrgetter("plan"))]


def blank(record: BatchRecord, spec: Mapping[str, str], plan: str) -> BatchRecord:
    """A recorded batch as a planned batch with the token `plan`, under another configuration, without results."""
    return BatchRecord(
        batch_id=record.batch_id,
        run_id=record.run_id,
        run_first=record.run_first,
        run_last=record.run_last,
        as_of=record.as_of,
        status=PLANNED,
        configuration=spec["configuration"],
        fingerprint=spec["fingerprint"],
        engine=spec["engine"],
        plan=plan,
        suites=record.suites,
        closing=record.closing,
        objects=record.objects,
        bytes=record.bytes,
    )


def built_summary(number: int, folder: Location, how: Made, difference: DifferenceRecord) -> BackfillRecord:
    """The record of the version that a backfill built."""
    return {
        "version": number,
        "path": str(folder),
        "from": format_time(how.from_),
        "to": time_text(how.to),
        "base": how.base,
        "through": how.through,
        "fingerprint": how.fingerprint,
        "from_landing": how.from_landing,
        "input_rows": how.input_rows,
        "identical": not differs(difference),
        "difference": difference,
    }


def version_summary(root: Location, version: Version) -> VersionRecord:
    """The record of one version."""
    how = version.made
    difference = json.loads(how.difference) if how else None
    label = difference.pop(_LABEL, None) if difference else None
    return {
        "version": version.version,
        "live": version.live,
        "path": str(root / f"v{version.version}"),
        "created": time_text(version.created),
        "promoted": time_text(version.promoted),
        "from": time_text(how.from_) if how else None,
        "to": time_text(how.to) if how else None,
        "fingerprint": how.fingerprint if how else None,
        "base": how.base if how else None,
        "through": how.through if how else None,
        "from_landing": how.from_landing if how else None,
        "label": label,
        "difference": difference,
    }


def recorded_difference(difference: DifferenceRecord, label: str | None) -> str:
    """A difference as a version records it, as JSON, with the label that was given."""
    labelled = difference if label is None else {**difference, _LABEL: label}
    return json.dumps(labelled, sort_keys=True)


def differs(difference: DifferenceRecord) -> bool:
    """True if any row, output or dead letter changed."""
    return bool(difference["rows"] or difference["streams"] or difference["dead_letters"])


def fates_of(records: Iterable[BatchRecord]) -> dict[str, dict[str, int]]:
    """Numbers of rows in batches, by source and fate."""
    found: dict[str, dict[str, int]] = {}
    for record in records:
        for account in record.accounts:
            mine = found.setdefault(account.source, {})
            for fate, count in account.fates.items():
                mine[fate.value] = mine.get(fate.value, 0) + count
    return found


def exceeded(spec: PipelineSpec, difference: DifferenceRecord) -> list[str]:
    """Sentences on quality limits that the rows judged again exceed, by share of a fate."""
    found = []
    after = difference["fates"]["after"] if "fates" in difference else {}
    for source, fates in after.items():
        limits, rows = limits_of(spec, source), sum(fates.values())
        for fate in ("dropped", "adjusted", "quarantined"):
            limit, count = getattr(limits, f"max_{fate}", None), fates.get(fate, 0)
            if limit is not None and not within(count, rows, limit):
                found.append(f"{source}: {count / rows:.2%} of the rows are {fate}, limit {limit:.2%}")
    return found


def list_versions(root: Location, ledger: Ledger) -> VersionsRecord:
    """All versions, and the number of the live one."""
    listed = versions.listed(root)
    live = next((each.version for each in listed if each.live), None)
    found = [version_summary(root, each) for each in listed]
    for each in found:
        if each["fingerprint"] is None:
            tail = ledger.last() if each["version"] == ledger.version else Ledger(root, each["version"]).last()
            each["fingerprint"] = tail.fingerprint
    return {"live": live, "versions": found}


def differing(ledger: Ledger, spec: PipelineSpec) -> list[str]:
    """Changes since the last run, in sentences. Raises ConfigError for a refused change. In a version that a backfill
    made, the hint is to edit the file to the version's settings, or to build another version."""
    recorded, version = in_force(ledger), ledger.version
    if recorded is None:
        return []
    try:
        return _changes(ledger, recorded, spec)
    except ConfigError as error:
        if version == versions.FIRST:
            raise
        edit = f"write into {spec.path} what each key was, and run again"
        backfill = command("backfill", spec.path, options=("--from", "T0"))
        build = f"build a version under the file as it is, and promote it: {backfill}"
        hint = f"version {version} is live, and was made under other settings: {edit}; or {build}"
        raise ConfigError(error.problems, hint=hint) from None


def _changes(ledger: Ledger, recorded: str | None, spec: PipelineSpec) -> list[str]:
    content = content_of(recorded, spec, ledger.root)
    return changes(content, spec, returned_streams(ledger, content, spec))
