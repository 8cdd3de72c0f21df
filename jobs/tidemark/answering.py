"""The verbs of a pipeline that only read its live version."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tidemark.arguments import file_path, known_names, number, number_or_none, texts
from tidemark.arguments import partition as name_of_partition
from tidemark.reading import Filters, Reader, instant
from tidemark.summaries import LONGEST_LIST, Record
from tidemark.verbs import explained

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset


class Answering:
    """Answers about rows, progress and tables. None starts a JVM."""

    @property
    def reader(self) -> Reader:
        """Reads the live version's tables."""
        raise NotImplementedError

    @explained
    def rows(
        self, limit: int | None = 100, by: str | Iterable[str] | None = None, **filters: Unpack[Filters]
    ) -> Record:
        """Which rows, why, and by how much they were moved, newest first; of at most `limit` (None: the longest list
        there is) the record has each. With `by` their counts, by one or more of partition, reason, fate, hour, day,
        file, run and source; with `dead_letters` those of a stream, with the window that each row is late for."""
        most = LONGEST_LIST if limit is None else number("limit", limit, 0)
        if by is not None:
            return self.reader.groups(texts("by", by, "partition"), most, **_checked("rows", filters))
        return self.reader.rows(most, **_checked("rows", filters))

    @explained
    def export_rows(
        self, target: Path | str, kind: str, limit: int | None = None, **filters: Unpack[Filters]
    ) -> Record:
        """The same rows, all of them unless limited, as a CSV or Parquet file."""
        place, most = file_path("target", target), number_or_none("limit", limit, 0)
        return self.reader.export(place, kind, most, **_checked("export_rows", filters))

    @explained
    def explain(self, source: str, partition: str | int, offset: int) -> Record:
        """One row's story."""
        return self.reader.explain(source, name_of_partition(partition), number("offset", offset, 0))

    @explained
    def status(self) -> Record:
        """Watermarks, delays, idle partitions, last runs."""
        return self.reader.status()

    @explained
    def report(
        self, out: Path | str | None = None, since: str | int | None = None, until: str | int | None = None
    ) -> Record:
        """Write one HTML page with pictures of what runs did, of those with an as_of in [since, until) if given."""
        from tidemark.reporting import write_report  # what draws is loaded for a report alone

        target = None if out is None else file_path("out", out)
        reader = self.reader
        now = reader.clock()
        return write_report(reader, target, instant(since, now), instant(until, now))

    def path(self, table: str) -> Record:
        """The folder of a table in the live version."""
        return self.reader.path(table)

    @explained
    def table(self, name: str) -> Dataset:
        """A table cut at the last committed batch, as a pyarrow dataset."""
        return self.reader.table(name)


def _checked(verb: str, filters: Filters) -> Filters:
    """Filters with the partition as text. UsageError: one that is not known, or a value that can't be."""
    known_names(verb, filters, ["limit", *["by"] * (verb == "rows"), *Filters.__annotations__])
    found = Filters(**filters)
    if filters.get("partition") is not None:
        found["partition"] = name_of_partition(filters["partition"])
    if filters.get("dead_letters") is not None:
        (found["dead_letters"],) = texts("dead_letters", [filters["dead_letters"]], "hourly")
    if filters.get("batch") is not None:
        found["batch"] = number("batch", filters["batch"], 1)
    return found
