"""The verbs of a pipeline that only read its live version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tidemark.reading import Filters, Reader, instant
from tidemark.summaries import Record
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
    def rows(self, limit: int = 100, **filters: Unpack[Filters]) -> Record:
        """Which rows, why, and by how much they were moved, newest first."""
        return self.reader.rows(limit, **filters)

    @explained
    def export_rows(self, target: Path, kind: str, limit: int | None = None, **filters: Unpack[Filters]) -> Record:
        """The same rows, all of them unless limited, as a CSV or Parquet file."""
        return self.reader.export(target, kind, limit, **filters)

    @explained
    def explain(self, source: str, partition: str, offset: int) -> Record:
        """One row's story."""
        return self.reader.explain(source, partition, offset)

    @explained
    def status(self) -> Record:
        """Watermarks, delays, idle partitions, last runs."""
        return self.reader.status()

    @explained
    def report(
        self, out: Path | None = None, since: str | int | None = None, until: str | int | None = None
    ) -> Record:
        """Write one HTML page with pictures of what runs did, of those with an as_of in [since, until) if given."""
        from tidemark.reporting import write_report  # what draws is loaded for a report alone

        return write_report(self.reader, out, instant(since), instant(until))

    def path(self, table: str) -> Record:
        """The folder of a table in the live version."""
        return self.reader.path(table)

    @explained
    def table(self, name: str) -> Dataset:
        """A table cut at the last committed batch, as a pyarrow dataset."""
        return self.reader.table(name)
