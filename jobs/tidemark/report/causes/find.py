"""Finds the causes of abnormal rows in a scope, source by source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidemark.core.policy import Fate
from tidemark.report.causes.causes import Cause, heaviest
from tidemark.report.causes.cells import CountedSource, JudgedSource, RowScope, count, partitions_of
from tidemark.report.causes.judged import judged_cause
from tidemark.report.causes.numbers import burst, repeated, silent, slow, stray
from tidemark.report.causes.ordinary import REPEATED, VOLUME, Incident, abnormal, together
from tidemark.report.scan import single, sql


@dataclass(frozen=True)
class FoundCauses:
    """Causes of abnormal rows, the heaviest first; the number of rows in the scope, and the number of days before it
    that they were compared with."""

    causes: tuple[Cause, ...]
    rows: int
    days: int


def causes_of(sources: Sequence[JudgedSource], asked: RowScope) -> FoundCauses:
    """Find the causes of abnormal rows among the `asked` rows. If there are several sources, each sentence begins
    with the name of its source."""
    found: list[Cause] = []
    rows = days = 0
    for source in sources:
        with sql() as connection:
            look = CountedSource(connection, source, asked)
            rows += count(look)
            days = max(days, single(connection, "SELECT count(DISTINCT h // 24) FROM cells WHERE NOT scope") or 0)
            found += _causes(look)
    causes = heaviest(found)
    if len(sources) > 1:
        causes = [replace(cause, sentence=f"{cause.source}: {cause.sentence}") for cause in causes]
    return FoundCauses(tuple(causes), rows, days)


def _causes(look: CountedSource) -> Iterator[Cause]:
    """Yield all causes of a source, including causes that another one explains."""
    late = list(slow(look))
    files = {file for cause in late for file in cause.files}
    for partitions, span in _incidents(look):
        if span.kind == VOLUME:
            yield burst(look, partitions, span)
        elif span.kind == REPEATED:
            yield from repeated(look, partitions, span)
        else:
            yield from judged_cause(look, partitions, span, files)
    yield from late
    yield from silent(look)
    yield from stray(look)


def _incidents(look: CountedSource) -> Iterator[tuple[tuple[str, ...], Incident]]:
    """Yield incidents with their partitions (none: all): first of single partitions, then of the whole source."""
    partitions = partitions_of(look)
    explained: set[tuple[str, int]] = set()
    for group in together(abnormal(look.connection, whole=False)):
        names = tuple(dict.fromkeys(each.partition or "" for each in group))
        kind, first, last = group[0].kind, min(each.first for each in group), max(each.last for each in group)
        explained |= {(kind, hour) for hour in range(first, last + 1)}
        everyone = kind.startswith(Fate.QUARANTINED) or (len(names) > 1 and 2 * len(names) > partitions)
        yield () if everyone else names, Incident(None, kind, first, last, sum(each.excess for each in group))
    if partitions > 1:
        yield from (((), span) for span in abnormal(look.connection, whole=True, without=explained))
