"""The report of a pipeline: reads its tables up to the last committed batch and writes the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow.dataset as ds

from tidemark.commands.explain.lineage import Lineage
from tidemark.commands.explain.ran import RunTime, run_times
from tidemark.commands.explain.why import causes_in, scope_of_batches
from tidemark.commands.read import Reader
from tidemark.config import PipelineSpec
from tidemark.core.times import format_time, parse_time
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.records.rows import PathRecord
from tidemark.records.status import StatusRecord
from tidemark.report.causes.causes import Cause
from tidemark.report.page.build import build
from tidemark.report.page.data.tables import Scope, SourceTable, Tables
from tidemark.report.target import written_whole
from tidemark.report.words import counted
from tidemark.storage import dataset_of, is_table

QUALITY = "quality"


def write_report(reader: Reader, out: Path | None, samples: bool, since: int | None, until: int | None) -> PathRecord:
    """Write the page of runs that ran, or have an as_of, in [since, until), microseconds UTC; returns its path. The
    file appears whole or not at all. Default: all runs, as <pipeline>-report.html in the current folder. Without
    `samples` the page has no text of rows."""
    target = Path(f"{reader.spec.name}-report.html") if out is None else out
    with written_whole(target) as location:
        tables = covered(reader, since, until)
        location.write_text(build(replace(tables, samples=samples)), encoding="utf-8")
    return {"path": str(target)}


def covered(reader: Reader, since: int | None, until: int | None) -> Tables:
    """Tables for the page of runs that ran, or have an as_of, in [since, until)."""
    ledger = reader.ledger
    through = ledger.last().committed_through
    first = 1 if since is None else ledger.first_since(since)
    last = through if until is None else min(through, ledger.first_since(until) - 1)
    ran = run_times(ledger, list(reader.declared.sources), last, since)
    return tables_of(reader, scope_of(ledger, Scope(first, last), ran, since, until), ran, until)


def scope_of(ledger: Ledger, by_as_of: Scope, ran: Sequence[RunTime], since: int | None, until: int | None) -> Scope:
    """The batches of a page, and the range in words: runs with an as_of in [since, until), and earlier ones back to
    the first run that ran in it. A run never runs before its as_of, so no later run can have run in it."""
    if since is None and until is None:
        return by_as_of
    bounds = [] if since is None else [f"from {format_time(since)}"]
    bounds += [] if until is None else [f"before {format_time(until)}"]
    words = f"runs that ran, or have an as_of, {' and '.join(bounds)}"
    then = [run for run in ran if (since or run.time) <= run.time and (until is None or run.time < until)]
    if since is None or not then:
        return replace(by_as_of, words=words)
    first, end = then[0].first, max(run.last for run in then)
    if by_as_of.empty:
        return Scope(first, end, words)
    between = len({record.run_first for record in ledger.batches(end + 1, by_as_of.first - 1)})
    more = f", and {counted(between, 'run')} between them" if between else ""
    return Scope(min(first, by_as_of.first), by_as_of.last, words + more)


def tables_of(reader: Reader, scope: Scope, ran: Sequence[RunTime], until: int | None) -> Tables:
    """Tables of the live version for the page. `ran`: when runs ran. The scope ends before `until`."""
    spec, ledger = reader.spec, reader.ledger
    return Tables(
        spec=spec,
        config=str(spec.path),
        scope=scope,
        sources=_sources(reader, scope),
        batches=ledger.table("batches"),
        watermarks=ledger.table("watermarks"),
        diagnostics=ledger.table("diagnostics"),
        status=_status(reader, until),
        letters={name: reader.table(f"dead_letters/{name}") for name in _with_letters(spec, ledger)},
        quality=_quality(ledger),
        advice=ledger.table("advice"),
        versions=[asdict(version) for version in versions.listed(ledger.root)],
        causes=_causes(reader, scope),
        ran={run.first: run.time for run in ran},
    )


def _status(reader: Reader, until: int | None) -> StatusRecord:
    """The status, without what is abnormal in runs with an as_of of `until` or later."""
    found, tail = reader.status(), reader.ledger.last()
    if until is None:
        return found
    if tail.as_of is not None and tail.as_of >= until:
        found["pending"] = []
    if found["as_of"] is not None and parse_time(found["as_of"]) >= until:
        found["sources"] = [{**source, "attention": []} for source in found["sources"]]
    return found


def _causes(reader: Reader, scope: Scope) -> Sequence[Cause] | None:
    """Causes of abnormal values in the scope, compared with the runs before it; None if it has no batch."""
    if scope.empty:
        return None
    return causes_in(reader, scope_of_batches(reader.ledger, scope.first, scope.last)).causes


def _sources(reader: Reader, scope: Scope) -> Sequence[SourceTable]:
    """The sources with the settings that their rows were judged by."""
    found, lineage = [], Lineage(reader.spec, reader.ledger)
    for name, source in reader.declared.sources.items():
        judged = () if scope.empty else lineage.policies(name, scope.first, scope.last)
        one = SourceTable(
            name=name,
            events=reader.table(f"events/{name}") if is_table(reader.ledger.folder / "events" / name) else None,
            policy=judged[0] if judged else source.policy,
            timed=source.timestamp_by is not None,
            punctuated=source.punctuation is not None,
            substreams=bool(source.over) and source.timestamp_by is not None,
            others=judged[1:],
        )
        found.append(one)
    return found


def _with_letters(spec: PipelineSpec, ledger: Ledger) -> list[str]:
    windowed = [name for name, stream in spec.streams.items() if stream.published and stream.windowed]
    return [name for name in windowed if is_table(ledger.folder / "dead_letters" / name)]


def _quality(ledger: Ledger) -> ds.Dataset | None:
    location = ledger.folder / QUALITY
    return dataset_of(location) if is_table(location) else None
