"""Finds the output times in which a stream of the live version differs from the version for which its periods were
emitted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.commands.backfill.examples import DIFFERENCE
from tidemark.core.completeness.emitted import Emitted, Range
from tidemark.core.times import MAX_TIME, MIN_TIME
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.versions import Made, Version
from tidemark.storage import Location, dataset_of, is_table

EVERYTHING = (MIN_TIME, MAX_TIME)


def changed(ledger: Ledger, stream: str, emitted: Emitted) -> list[Range]:
    """Ranges of output times in which a stream may differ between the live version and the version of `emitted`:
    ranges of the backfills between the two that changed the stream, and outputs that later runs made under other
    settings. Everything if a version between them is no longer listed."""
    known = {each.version: each for each in versions.listed(ledger.root)}
    way = _between(known, emitted.version, ledger.version)
    if way is None:
        return [EVERYTHING]
    found: list[Range] = []
    for version, made in way:
        if stream in json.loads(made.difference)["streams"]:
            found.append(_differing(ledger.root / f"v{version}" / DIFFERENCE / "streams" / stream, made))
        if emitted.batch > made.through and made.fingerprint != _fingerprint(ledger, made):
            found.append((_reached(ledger, version, stream, made.through), MAX_TIME))
    return found


def _differing(outputs: Location, made: Made) -> Range:
    """The range of a backfill, extended to the times of the `outputs` that it changed: windows that end in the range
    begin before it, and so may rows that live into it. A backfill from landing may change outputs of any time."""
    begin, end = made.from_, MAX_TIME if made.to is None else made.to
    if not is_table(outputs):
        return begin, end
    rows = dataset_of(outputs)
    names = ["_window_start"] if "_window_start" in rows.schema.names else ["_system_timestamp", "_end_time"]
    columns = [each.cast(pa.timestamp("us", "UTC")).cast(pa.int64()) for each in rows.to_table(columns=names).columns]
    bounds = [bound.as_py() for each in map(pc.min_max, columns) for bound in each.values()]
    times = [bound for bound in bounds if bound is not None]
    return min([begin, *times]), max([end, *(time + 1 for time in times)])


def _between(known: Mapping[int, Version], one: int, other: int) -> list[tuple[int, Made]] | None:
    """The versions from each of the two back to their common ancestor (left out), each with its backfill; None if the
    listed versions contain no common ancestor."""
    lines = [list(_line(known, one)), list(_line(known, other))]
    shared = next((version for version in lines[0] if version in lines[1]), None)
    if shared is None:
        return None
    apart = [version for line in lines for version in line[: line.index(shared)]]
    return [(version, made) for version in apart if (made := known[version].made) is not None]


def _line(known: Mapping[int, Version], version: int) -> Iterator[int]:
    """A version, its base, and so on, up to a version that no backfill made or that is not listed."""
    yield version
    while version in known and (made := known[version].made) is not None:
        version = made.base
        yield version


def _fingerprint(ledger: Ledger, made: Made) -> str | None:
    """Fingerprint of the base's settings at the last batch that a backfill covers; None if that batch is not kept."""
    found = Ledger(ledger.root, made.base).batches(made.through, made.through)
    return found[0].fingerprint if found else None


def _reached(ledger: Ledger, version: int, stream: str, batch: int) -> int:
    """The watermark of a version's stream after the run that ends with a batch; MIN_TIME if it is not recorded."""
    for record in Ledger(ledger.root, version).batches(batch, batch):
        end = record.streams.get(stream)
        if end is not None and end.state.back is not None:
            return end.state.back
    return MIN_TIME
