"""The report of a pipeline: reads its tables up to the last committed batch and writes the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow.dataset as ds

from tidemark.commands.explain.lineage import Lineage
from tidemark.commands.explain.why import causes_in, scope_of_batches
from tidemark.commands.read import Reader
from tidemark.config import PipelineSpec
from tidemark.core.times import format_time
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.records.rows import PathRecord
from tidemark.report.causes.causes import Cause
from tidemark.report.page.build import build
from tidemark.report.page.data.tables import Scope, SourceTable, Tables
from tidemark.report.target import written_whole
from tidemark.storage import delta_table, is_table

QUALITY = "quality"


def write_report(reader: Reader, out: Path | None, samples: bool, since: int | None, until: int | None) -> PathRecord:
    """Write the page of the runs whose as_of is in [since, until), microseconds UTC; returns its path. The file
    appears whole or not at all. Default: all runs, as <pipeline>-report.html in the current folder. Without `samples`
    the page has no text of rows."""
    target = Path(f"{reader.spec.name}-report.html") if out is None else out
    with written_whole(target) as place:
        tables = tables_of(reader, scope_of(reader.ledger, since, until))
        place.write_text(build(replace(tables, samples=samples)), encoding="utf-8")
    return {"path": str(target)}


def scope_of(ledger: Ledger, since: int | None, until: int | None) -> Scope:
    """Committed batches of the runs whose as_of is in [since, until)."""
    through = ledger.last().committed_through
    first = 1 if since is None else ledger.first_since(since)
    last = through if until is None else min(through, ledger.first_since(until) - 1)
    if since is None and until is None:
        return Scope(first, last)
    bounds = [] if since is None else [f"from {format_time(since)}"]
    bounds += [] if until is None else [f"before {format_time(until)}"]
    return Scope(first, last, f"runs with an as_of {' and '.join(bounds)}")


def tables_of(reader: Reader, scope: Scope) -> Tables:
    """Tables of the live version in the form that the page takes."""
    spec, ledger = reader.spec, reader.ledger
    return Tables(
        pipeline=spec.name,
        config=str(spec.path),
        scope=scope,
        sources=_sources(reader, scope),
        batches=ledger.table("batches"),
        watermarks=ledger.table("watermarks"),
        diagnostics=ledger.table("diagnostics"),
        status=reader.status(),
        letters={name: reader.table(f"dead_letters/{name}") for name in _with_letters(spec, ledger)},
        quality=_quality(ledger),
        advice=ledger.table("advice"),
        versions=[asdict(version) for version in versions.listed(ledger.root)],
        causes=_causes(reader, scope),
    )


def _causes(reader: Reader, scope: Scope) -> Sequence[Cause] | None:
    """Causes of what is abnormal in the scope, compared with the runs before it; None if it has no batch."""
    if scope.empty:
        return None
    return causes_in(reader, scope_of_batches(reader.ledger, scope.first, scope.last), scope.last).causes


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
    place = ledger.folder / QUALITY
    return delta_table(place).to_pyarrow_dataset() if is_table(place) else None
