"""Finds the causes of what is abnormal in a scope, source by source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

from tidemark.core.policy import Fate, Reason
from tidemark.core.times import HOUR, MINUTE
from tidemark.core.watermarks import UNKNOWN
from tidemark.report.causes.causes import Cause, Kind, clocks_change, heaviest
from tidemark.report.causes.cells import Asked, JudgedSource, count
from tidemark.report.causes.details import Beyond, Details, Repeats, details, file_rows, repeats, tolerance_of
from tidemark.report.causes.ordinary import REPEATED, VOLUME, Span, abnormal, together
from tidemark.report.causes.volume import late_files, silences, strayed
from tidemark.report.causes.sentences import capital, counted, kept_by, listed, of_total, ordinarily, span, when, who
from tidemark.report.scan import single, sql
from tidemark.report.words import brief, moment

_MOST = 0.8
"""Share of an incident's rows that names it."""


@dataclass(frozen=True)
class Found:
    """Causes of what is abnormal, the heaviest first; the number of rows that were looked at, and of the days before
    that they were compared with."""

    causes: tuple[Cause, ...]
    rows: int
    days: int


def causes_of(sources: Sequence[JudgedSource], asked: Asked) -> Found:
    """Find the causes of what is abnormal among the rows that are asked about."""
    found: list[Cause] = []
    rows = days = 0
    for source in sources:
        with sql() as connection:
            rows += count(connection, source, asked)
            days = max(days, single(connection, "SELECT count(DISTINCT h // 24) FROM cells WHERE NOT scope") or 0)
            found += _Finding(connection, source, asked).causes()
    return Found(tuple(heaviest(found)), rows, days)


@dataclass(frozen=True)
class _Finding:
    """Finds the causes of one source, whose rows `count` has counted."""

    connection: duckdb.DuckDBPyConnection
    source: JudgedSource
    asked: Asked

    @property
    def name(self) -> str:
        return self.source.rules.name

    def causes(self) -> list[Cause]:
        """All causes of the source, with those that follow from others."""
        slow = list(self._slow())
        late = {file for cause in slow for file in cause.files}
        found: list[Cause] = []
        for partitions, each in self._incidents():
            if each.kind == VOLUME:
                found.append(self._burst(partitions, each))
            elif each.kind == REPEATED:
                found += self._repeated(partitions, each)
            else:
                found += self._judged(partitions, each, late)
        return [*found, *slow, *self._silent(), *self._strayed()]

    def _incidents(self) -> Iterator[tuple[tuple[str, ...], Span]]:
        """Spans with their partitions (none: all): those of partitions, then those of the source as one."""
        query = "SELECT count(DISTINCT p) FROM cells WHERE scope AND p <> ?"
        partitions = single(self.connection, query, [UNKNOWN]) or 0
        explained: list[tuple[str, str, int, int]] = []
        for group in together(abnormal(self.connection, whole=False)):
            names = tuple(dict.fromkeys(each.partition or "" for each in group))
            first, last = min(each.first for each in group), max(each.last for each in group)
            explained += [(name, group[0].kind, first, last) for name in names]
            excess = sum(each.excess for each in group)
            everyone = len(names) > 1 and 2 * len(names) > partitions
            yield () if everyone else names, Span(None, group[0].kind, first, last, excess)
        self.connection.execute(
            "CREATE OR REPLACE TEMP TABLE explained (p TEXT, kind TEXT, first BIGINT, last BIGINT)"
        )
        if explained:
            self.connection.executemany("INSERT INTO explained VALUES (?, ?, ?, ?)", explained)
        if partitions > 1:
            known = {(kind, hour) for _, kind, first, last in explained for hour in range(first, last + 1)}
            for each in abnormal(self.connection, whole=True):
                if (each.kind, each.first) not in known:
                    yield (), each

    # rows with a fate out of the ordinary

    def _judged(self, partitions: tuple[str, ...], each: Span, late: set[str]) -> Iterator[Cause]:
        found = details(self.connection, self.source, self.asked, partitions, each)
        if found is None:
            return
        fate, _, reason = each.kind.partition(" ")
        own = () if not partitions else found.partitions
        again = repeats(self.connection, self.source, self.asked, partitions, each) if found.beyond else []
        kind = self._kind(own, found, reason, again, late)
        total = (
            single(self.connection, "SELECT CAST(sum(n) AS BIGINT) FROM cells WHERE scope AND fate = ?", [fate]) or 0
        )
        count_ = of_total(found.rows, total, fate)
        text, remedy = self._words(kind, own, found, reason, again)
        files = tuple(file for file, _ in found.files)
        beyond = None if found.beyond is None else (found.beyond.low, found.beyond.median, found.beyond.high)
        yield Cause(
            kind,
            self.name,
            own,
            found.rows,
            found.first,
            found.last,
            files,
            capital(f"{count_} are {text}; {remedy}"),
            remedy,
            fate,
            reason,
            found.kept if found.keeping and kind is not Kind.REPLAYED_FILE else None,
            beyond,
        )

    def _kind(
        self, own: tuple[str, ...], found: Details, reason: str, again: Sequence[Repeats], late: set[str]
    ) -> Kind:
        largest = found.files[0][1] / found.rows
        if found.beyond is None:
            whole, _ = file_rows(self.connection, [found.files[0][0]], ())
            del whole
            return Kind.BAD_FILE if largest >= _MOST else Kind.SCHEMA_CHANGE
        if sum(each.rows for each in again) >= _MOST * found.rows and not self._coincide(own):
            return Kind.REPLAYED_FILE if largest >= _MOST else Kind.DUPLICATES
        if sum(rows for file, rows in found.files if file in late) >= _MOST * found.rows:
            return Kind.SLOW_LANDING
        if reason == Reason.OUT_OF_ORDER:
            return Kind.DISORDER
        return self._shifted(own, found, found.beyond, reason)

    def _shifted(self, own: tuple[str, ...], found: Details, beyond: Beyond, reason: str) -> Kind:
        """The kind of rows that are away from their arrival."""
        constant = beyond.high - beyond.low <= 20 * MINUTE and abs(beyond.median - HOUR) <= 6 * MINUTE
        if constant and clocks_change(found.first):
            return Kind.CLOCK_CHANGE
        if beyond.grows(found.last - found.first):
            return Kind.GROWING_SKEW
        if reason == Reason.EARLY:
            return Kind.CLOCK_AHEAD
        whole, _ = file_rows(self.connection, [file for file, _ in found.files], own)
        if not self.source.own_arrival and found.rows >= 0.9 * whole:
            return Kind.SLOW_LANDING
        return Kind.LATE_SENDER

    def _coincide(self, own: tuple[str, ...]) -> bool:
        """Whether so many rows ordinarily have the time of another that equal times say nothing."""
        share = self.connection.execute(
            "SELECT coalesce((SELECT sum(n) FROM repeats WHERE NOT scope AND (len($1) = 0 OR list_contains($1, p))), 0) / "
            "greatest(1, (SELECT sum(n) FROM cells WHERE NOT scope AND (len($1) = 0 OR list_contains($1, p))))",
            {"1": list(own)},
        ).fetchall()[0][0]
        return bool(share is not None and share > 0.4)

    def _words(
        self, kind: Kind, own: tuple[str, ...], found: Details, reason: str, again: Sequence[Repeats]
    ) -> tuple[str, str]:
        """What the rows are, and the remedy."""
        files = listed([file for file, _ in found.files])
        arrived = f"{who(own)}, arrived {when(found.first, found.last)}"
        kept = kept_by(found.keeping, found.kept) if found.keeping else ""
        if kind is Kind.BAD_FILE:
            return (
                f"from {files} ({reason}), arrived {when(found.first, found.last)}",
                f"mend {found.files[0][0]} and land it again",
            )
        if kind is Kind.SCHEMA_CHANGE:
            return (
                f"{arrived}, {reason} in {files}",
                "compare these files with the schema: the sender may have changed it",
            )
        if kind in (Kind.REPLAYED_FILE, Kind.DUPLICATES):
            origins = listed(list(dict.fromkeys(each.origin or "" for each in again)))
            return f"{arrived}, from {files}, and repeat rows of {origins}", "no row is lost by leaving them out"
        assert found.beyond is not None
        limit = tolerance_of(self.source.rules, reason)
        bound = f" (tolerance {brief(limit or 0)})"
        ways = {Reason.LATE.value: "late", Reason.EARLY.value: "ahead of their arrival"}
        way = ways.get(reason, "behind the watermark")
        far = f"{span(found.beyond.low, found.beyond.high)} {way}{bound}"
        text = f"{arrived}, {far}, from {files}"
        return {
            Kind.CLOCK_AHEAD: (f"{text}: its clock is ahead", kept or "set its clock"),
            Kind.GROWING_SKEW: (f"{text}, and more with each hour: its clock runs wrong", kept or "set its clock"),
            Kind.CLOCK_CHANGE: (
                f"{text}, 1h since the day on which clocks change: it sends local time",
                kept or "have it send UTC",
            ),
            Kind.SLOW_LANDING: (f"{text}: these files landed late", kept or "look at what brings the files"),
        }.get(kind, (text, kept or "look at its sender"))

    # rows out of the ordinary by number

    def _burst(self, partitions: tuple[str, ...], each: Span) -> Cause:
        rows, first, last = self.connection.execute(
            "SELECT CAST(sum(n) AS BIGINT), min(first), max(last) FROM cells "
            "WHERE scope AND h BETWEEN $1 AND $2 AND (len($3) = 0 OR list_contains($3, p))",
            {"1": each.first, "2": each.last, "3": list(partitions)},
        ).fetchall()[0]
        files = self._files(partitions, each.first, each.last)
        usual = max(0, round(rows - each.excess))
        text = f"{rows:,} rows are {who(partitions)}, arrived {when(first, last)}, from {listed(files)}: at most {usual:,} are ordinary"
        remedy = "look at the sender: it sent more than ever"
        return Cause(Kind.BURST, self.name, partitions, rows, first, last, tuple(files), capital(text), remedy)

    def _files(self, partitions: tuple[str, ...], first: int, last: int) -> list[str]:
        found = self.connection.execute(
            "SELECT f FROM cells WHERE scope AND h BETWEEN $1 AND $2 AND (len($3) = 0 OR list_contains($3, p)) "
            "GROUP BY f ORDER BY sum(n) DESC, f",
            {"1": first, "2": last, "3": list(partitions)},
        ).fetchall()
        return [file for (file,) in found if file is not None]

    def _repeated(self, partitions: tuple[str, ...], each: Span) -> Iterator[Cause]:
        again = repeats(self.connection, self.source, self.asked, partitions, each)
        rows = sum(one.rows for one in again)
        if not rows:
            return
        files = list(dict.fromkeys(one.file or "" for one in again))
        origins = list(dict.fromkeys(one.origin or "" for one in again))
        whole, _ = file_rows(self.connection, files[:1], ())
        mine = sum(one.rows for one in again if one.file == files[0])
        replayed = mine >= _MOST * rows and mine >= _MOST * whole and files[0] not in origins
        kind = Kind.REPLAYED_FILE if replayed else Kind.DUPLICATES
        first, last = min(one.first for one in again), max(one.last for one in again)
        text = f"{rows:,} rows {who(partitions)}, arrived {when(first, last)}, from {listed(files)}, repeat rows of {listed(origins)}"
        remedy = (
            f"tidemark exclude and a backfill leave {listed(files)} out"
            if replayed
            else "look at why its sender sends rows twice"
        )
        yield Cause(
            kind, self.name, partitions, rows, first, last, tuple(files), capital(f"{text}; {remedy}"), remedy
        )

    def _silent(self) -> Iterator[Cause]:
        for each in silences(self.connection, self.source.rules.landing_delay, self.asked):
            lasting = each.last - each.first
            until = "and is silent still" if each.still else f"until {moment(each.last)[:16]}"
            text = (
                f"{each.partition} of {self.name} brought no row from {moment(each.first)[:16]} {until} "
                f"({brief(lasting)}; {ordinarily(each.longest)}), about {counted(each.missing, 'row')} are missing"
            )
            kind, remedy = Kind.IDLE_PARTITION, "look at its sender"
            partitions: tuple[str, ...] = (each.partition,)
            if each.instead is not None:
                kind = Kind.WRONG_PARTITION
                partitions = (each.partition, each.instead)
                text += f", and {each.instead} brought {each.more:,} more than usual"
                remedy = f"look at whether rows of {each.partition} are sent as {each.instead}"
            yield Cause(
                kind,
                self.name,
                partitions,
                each.missing,
                each.first,
                each.last,
                (),
                capital(f"{text}; {remedy}"),
                remedy,
            )

    def _strayed(self) -> Iterator[Cause]:
        if not self.source.rules.substreams:
            return
        for each in strayed(self.connection, self.source, self.asked):
            files = tuple(file for file, _ in each.files)
            text = (
                f"{each.rows:,} rows of {each.partition}, arrived {when(each.first, each.last)}, from {listed(files)}, "
                f"are of senders that have only ever been in {each.home}"
            )
            remedy = f"look at why they are sent as {each.partition}"
            partitions = (each.partition, each.home)
            yield Cause(
                Kind.WRONG_PARTITION,
                self.name,
                partitions,
                each.rows,
                each.first,
                each.last,
                files,
                capital(f"{text}; {remedy}"),
                remedy,
            )

    def _slow(self) -> Iterator[Cause]:
        found = late_files(self.connection, self.source.rules.landing_delay)
        if not found:
            return
        rows, files = sum(each.rows for each in found), [each.file for each in found]
        first, last = min(each.first for each in found), max(each.last for each in found)
        lags = sorted(each.lag for each in found)
        text = (
            f"{rows:,} rows, arrived {when(first, last)}, landed {span(lags[0], lags[-1])} after their last arrival "
            f"({ordinarily(found[0].ordinary)}), in {listed(files)}"
        )
        delay = -(-lags[-1] // MINUTE) * MINUTE
        remedy = f"landing_delay {brief(delay)} covers them"
        yield Cause(
            Kind.SLOW_LANDING, self.name, (), rows, first, last, tuple(files), capital(f"{text}; {remedy}"), remedy
        )


FATES = tuple(fate.value for fate in Fate)
