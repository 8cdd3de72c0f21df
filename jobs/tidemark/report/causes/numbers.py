"""Causes of abnormal numbers of rows, whatever their fates: too many, none, repeated, strayed, landed late."""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.core.times import MINUTE
from tidemark.report.causes.causes import Cause, Kind
from tidemark.report.causes.cells import CountedSource
from tidemark.report.causes.details import repeats, rows_of_files
from tidemark.report.causes.ordinary import Incident
from tidemark.report.causes.sentences import before, capital, listed, span_of, when, who
from tidemark.report.causes.volume import Silence, late_files, silences, strayed
from tidemark.report.words import brief, counted, moment

_MOST = 0.8
"""Share of a file's rows that must repeat others for the file to count as sent again."""


def burst(look: CountedSource, partitions: tuple[str, ...], span: Incident) -> Cause:
    """Return the cause of an incident with far more rows than usual."""
    where = "scope AND h BETWEEN $1 AND $2 AND (len($3) = 0 OR list_contains($3, p))"
    values = {"1": span.first, "2": span.last, "3": list(partitions)}
    totals = f"SELECT CAST(sum(n) AS BIGINT), min(first), max(last) FROM cells WHERE {where}"  # noqa: S608
    rows, first, last = look.connection.execute(totals, values).fetchall()[0]
    by_file = f"SELECT f FROM cells WHERE {where} GROUP BY f ORDER BY sum(n) DESC, f"  # noqa: S608
    files = tuple(file for (file,) in look.connection.execute(by_file, values).fetchall() if file is not None)
    usual = max(0, round(rows - span.excess))
    arrived = f"{rows:,} rows are {who(partitions)}, arrived {when(first, last)}, from {listed(files)}"
    remedy = "look at why the sender sent so many"
    sentence = capital(f"{arrived}: at most {usual:,} are ordinary; {remedy}")
    return Cause(Kind.BURST, look.name, partitions, rows, first, last, files, sentence, remedy)


def repeated(look: CountedSource, partitions: tuple[str, ...], span: Incident) -> Iterator[Cause]:
    """Yield the cause of an incident of rows that repeat earlier ones: a file that was sent again, or a sender that
    sends rows twice."""
    again = repeats(look, partitions, span)
    if not again:
        return
    rows = sum(each.rows for each in again)
    files, origins = (
        tuple(dict.fromkeys(getattr(each, name) or "" for each in again)) for name in ("file", "origin")
    )
    mine = sum(each.rows for each in again if each.file == files[0])
    whole = mine >= _MOST * max(rows, rows_of_files(look, files[:1], ())) and files[0] not in origins
    first, last = min(each.first for each in again), max(each.last for each in again)
    remedy = "look at why the sender sends rows twice"
    if whole:
        remedy = f"`tidemark exclude` and a backfill leave {listed(files)} out"
    arrived = f"{rows:,} rows are {who(partitions)}, arrived {when(first, last)}, from {listed(files)}"
    sentence = capital(f"{arrived}, and repeat rows of {listed(origins)}; {remedy}")
    kind = Kind.REPLAYED_FILE if whole else Kind.DUPLICATES
    yield Cause(kind, look.name, partitions, rows, first, last, files, sentence, remedy)


def silent(look: CountedSource) -> Iterator[Cause]:
    """Yield a cause for each partition that brought no row for longer than ever."""
    for each in silences(look):
        text = f"Partition {each.partition} {_silence(each)}: about {counted(each.missing, 'row')} are missing"
        kind, remedy = Kind.IDLE_PARTITION, "look at its sender"
        partitions: tuple[str, ...] = (each.partition,)
        if each.instead is not None:
            kind, partitions = Kind.WRONG_PARTITION, (each.partition, each.instead)
            text += f", and {each.instead} brought {each.more:,} more than usual"
            remedy = f"look at whether rows of {each.partition} are sent as {each.instead}"
        sentence = capital(f"{text}; {remedy}")
        yield Cause(kind, look.name, partitions, each.missing, each.first, each.last, (), sentence, remedy)


def _silence(each: Silence) -> str:
    lasting = f"({brief(each.last - each.first)}; {before(each.longest)})"
    if each.still:
        return f"has brought no row since {moment(each.first)[:16]} {lasting}"
    return f"brought no row from {moment(each.first)[:16]} until {moment(each.last)[:16]} {lasting}"


def stray(look: CountedSource) -> Iterator[Cause]:
    """Yield a cause for rows of substreams in a partition that never had these substreams."""
    for each in strayed(look):
        files = tuple(file for file, _ in each.files)
        arrived = f"{counted(each.rows, 'row')} of {each.partition}, arrived {when(each.first, each.last)}"
        remedy = f"look at why they are sent as {each.partition}"
        text = f"{arrived}, from {listed(files)}, are of substreams that were only ever in {each.home}; {remedy}"
        partitions = (each.partition, each.home)
        sentence = capital(text)
        yield Cause(
            Kind.WRONG_PARTITION, look.name, partitions, each.rows, each.first, each.last, files, sentence, remedy
        )  # fmt: skip


def slow(look: CountedSource) -> Iterator[Cause]:
    """Yield the files that landed late, as one cause."""
    found = late_files(look)
    if not found:
        return
    rows, files = sum(each.rows for each in found), tuple(each.file for each in found)
    first, last = min(each.first for each in found), max(each.last for each in found)
    lags = sorted(each.lag for each in found)
    remedy = f"landing_delay {brief(-(-lags[-1] // MINUTE) * MINUTE)} covers them"
    landed = f"landed {span_of(lags[0], lags[-1])} after their last row ({before(found[0].ordinary)})"
    text = f"{counted(rows, 'row')}, arrived {when(first, last)}, {landed}, in {listed(files)}; {remedy}"
    yield Cause(Kind.SLOW_LANDING, look.name, (), rows, first, last, files, capital(text), remedy)
