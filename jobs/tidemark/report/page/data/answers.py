"""All numbers of a page, read from the tables once, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.core.policy import Fate
from tidemark.records.status import StatusRecord
from tidemark.report.causes.causes import Cause
from tidemark.report.page.data.advised import Advised, advised_of
from tidemark.report.page.data.dead_letters import DeadLetters, letters_of
from tidemark.report.page.data.delays import Delay, Idle, delays_of, ends_of, idle_of
from tidemark.report.page.data.fates import FatesOverTime, fates_of
from tidemark.report.page.data.findings import findings_of, quality_of
from tidemark.report.page.data.lags import Lags, lags_of
from tidemark.report.page.data.lost.aftermath import Aftermath, aftermath_of
from tidemark.report.page.data.lost.files import SourceFiles, files_of
from tidemark.report.page.data.lost.missed import Missed, missed_of
from tidemark.report.page.data.lost.samples import Quarantined, quarantined_of
from tidemark.report.page.data.lost.shares import Shares, shares_of
from tidemark.report.page.data.moves import Move, moves_of
from tidemark.report.page.data.runs import Runs, runs_of
from tidemark.report.page.data.stretch import Stretch, stretch_of
from tidemark.report.page.data.tables import Row, SourceTable, Tables


def cause_of(tables: Tables, source: str) -> Cause | None:
    """Return the heaviest cause of abnormal rows in a source."""
    return next((cause for cause in tables.causes or () if cause.source == source), None)


@dataclass(frozen=True)
class SourceFates:
    """The fates of one source's rows. `accounted`: rows counted by the ledger, more than the tables hold if old
    events were deleted."""

    source: SourceTable
    accounted: int
    fates: FatesOverTime
    moves: tuple[Move, ...]
    stretch: Stretch | None
    lags: Lags
    shares: Shares | None
    missed: tuple[Missed, ...]
    files: SourceFiles
    quarantined: tuple[Quarantined, ...]

    @classmethod
    def of(cls, source: SourceTable, tables: Tables, accounted: int) -> SourceFates:
        """Read one source's events; the stretch shows its first cause, if there is one."""
        scope, cause = tables.scope, cause_of(tables, source.name)
        held = source.held(scope, accounted)
        fates = fates_of(held, scope)
        stretch = stretch_of(held, scope, fates, cause)
        return cls(
            source,
            accounted,
            fates,
            moves_of(held, scope),
            stretch,
            lags_of(held, scope, fates),
            shares_of(held, scope, fates),
            missed_of(held, scope),
            files_of(source, scope),
            quarantined_of(source, scope, fates.totals[Fate.QUARANTINED], tables.samples),
        )


@dataclass(frozen=True)
class Answers:
    """The numbers of one page."""

    tables: Tables
    status: StatusRecord
    runs: Runs
    sources: tuple[SourceFates, ...]
    ends: list[Row]
    delays: list[Delay]
    idle: list[Idle]
    letters: tuple[DeadLetters, ...]
    findings: list[Row]
    quality: list[Row]
    advised: list[Advised]
    aftermath: Aftermath | None

    @classmethod
    def of(cls, tables: Tables) -> Answers:
        """Read all input of a page; each source's rows are released before the next source is read. Raises ValueError
        if the tables have no status."""
        if tables.status is None:
            raise ValueError("a page needs the status")
        runs, ends = runs_of(tables), ends_of(tables)
        counted = runs.by_source
        return cls(
            tables=tables,
            status=tables.status,
            runs=runs,
            sources=tuple(SourceFates.of(each, tables, counted.get(each.name, 0)) for each in tables.sources),
            ends=ends,
            delays=delays_of(tables, ends),
            idle=idle_of(tables, ends),
            letters=tuple(letters_of(name, table, tables.scope) for name, table in tables.letters.items()),
            findings=findings_of(tables),
            quality=quality_of(tables),
            advised=advised_of(tables),
            aftermath=aftermath_of(tables.sources, tables.scope, next(iter(tables.causes or ()), None)),
        )
