"""Everything that a page says, read from the tables once, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.report.page.advised import Advised, advised_of
from tidemark.report.page.delays import Delay, Idle, delays_of, ends_of, idle_of
from tidemark.report.page.fates import Fates, fates_of
from tidemark.report.page.findings import findings_of, quality_of
from tidemark.report.page.lags import Lags, lags_of
from tidemark.report.page.letters import Letters, letters_of
from tidemark.report.page.moves import Move, moves_of
from tidemark.report.page.runs import Runs, runs_of
from tidemark.report.page.stretch import Stretch, stretch_of
from tidemark.report.page.tables import Row, Scope, Source, Tables


@dataclass(frozen=True)
class Judged:
    """What became of one source's rows. `accounted`: rows that the ledger has counted, which are more than the
    tables hold where old events were deleted."""

    source: Source
    accounted: int
    fates: Fates
    moves: tuple[Move, ...]
    stretch: Stretch | None
    lags: Lags

    @classmethod
    def of(cls, source: Source, scope: Scope, accounted: int) -> Judged:
        """Read one source's events."""
        held = source.held(scope, accounted)
        fates = fates_of(held, scope)
        stretch = stretch_of(held, scope, fates)
        return cls(source, accounted, fates, moves_of(held, scope), stretch, lags_of(held, scope, fates))


@dataclass(frozen=True)
class Answers:
    """The numbers of one page."""

    tables: Tables
    runs: Runs
    sources: tuple[Judged, ...]
    ends: list[Row]
    delays: list[Delay]
    idle: list[Idle]
    letters: tuple[Letters, ...]
    findings: list[Row]
    quality: list[Row]
    advised: list[Advised]

    @classmethod
    def of(cls, tables: Tables) -> Answers:
        """Read what a page needs; each source's rows are let go before the next one's are read."""
        runs, ends = runs_of(tables), ends_of(tables)
        counted = runs.by_source
        return cls(
            tables=tables,
            runs=runs,
            sources=tuple(Judged.of(each, tables.scope, counted.get(each.name, 0)) for each in tables.sources),
            ends=ends,
            delays=delays_of(tables, ends),
            idle=idle_of(tables, ends),
            letters=tuple(letters_of(name, table, tables.scope) for name, table in tables.letters.items()),
            findings=findings_of(tables),
            quality=quality_of(tables),
            advised=advised_of(tables),
        )
