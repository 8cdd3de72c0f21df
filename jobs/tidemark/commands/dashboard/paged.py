"""Makes pages of long lists: finds the batches with the rows of a page by counting one narrow column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.report.page.data.tables import Row, ask
from tidemark.report.scan import both
from tidemark.report.values import plain

T_co = TypeVar("T_co", covariant=True)

SIZE = 50
"""Rows on one page."""


@dataclass(frozen=True)
class ListPage(Generic[T_co]):
    """One page of a list. Pages are numbered from 1, `pages` is at least 1, and a page beyond the last is empty."""

    rows: Sequence[T_co]
    page: int
    pages: int
    total: int


def page_of(rows: Sequence[T_co], page: int, total: int) -> ListPage[T_co]:
    """Return rows as one page of a list of `total` rows."""
    return ListPage(rows, page, max(1, -(-total // SIZE)), total)


def checks_of(whole: Dataset, page: int, failed: bool) -> ListPage[Row]:
    """Results of quality checks, newest batch first and failed ones first within a batch, with values in JSON's
    types."""
    where = ~pc.field("success") if failed else None
    count = "SELECT batch_id AS batch, count(*) AS n FROM t GROUP BY 1 ORDER BY 1 DESC"
    found = _cut(ask(whole, ["batch_id"], count, where=where), page)
    table = whole.to_table(filter=both(pc.field("batch_id").isin(found.batches), where))
    rows: list[Row] = [{name: plain(table[name][n]) for name in table.schema.names} for n in range(table.num_rows)]
    rows.sort(key=lambda row: (-row["batch_id"], bool(row["success"])))
    return page_of(rows[found.skipped : found.skipped + SIZE], page, found.total)


def letters_of(whole: Dataset, page: int) -> ListPage[Row]:
    """Dead letters of a stream, newest batch first; times in microseconds UTC."""
    count = "SELECT _batch_id AS batch, count(*) AS n FROM t GROUP BY 1 ORDER BY 1 DESC"
    found = _cut(ask(whole, ["_batch_id"], count), page)
    return page_of(_letters(whole, found), page, found.total)


@dataclass(frozen=True)
class _Cut:
    """Batches that hold the rows of one page, and the number of their rows that are on earlier pages."""

    batches: list[int]
    skipped: int
    total: int


def _cut(counted: Sequence[Row], page: int) -> _Cut:
    """Find the batches that hold the rows of a page; `counted` has the number of rows of each batch, newest first."""
    begin, batches, skipped, seen = (page - 1) * SIZE, list[int](), 0, 0
    for row in counted:
        if seen < begin + SIZE and seen + row["n"] > begin:
            skipped = skipped if batches else begin - seen
            batches.append(row["batch"])
        seen += row["n"]
    return _Cut(batches, skipped, seen)


def _letters(whole: Dataset, found: _Cut) -> list[Row]:
    times = ("_event_time", "_system_timestamp", "_watermark", "_window_start", "_window_end")
    named = ", ".join(f"epoch_us({name}) AS {name[1:]}" for name in times)
    keys = ("_batch_id", "_source", "_partition", "_offset")
    listed = ", ".join(f"{key} AS {key[1:]}" for key in keys)
    order = "_batch_id DESC, _source, _partition, _offset DESC, _window_start"
    return ask(
        whole,
        [*keys, *times],
        f"SELECT {listed}, {named} FROM t ORDER BY {order} LIMIT {SIZE} OFFSET {found.skipped}",  # noqa: S608
        where=pc.field("_batch_id").isin(found.batches),
    )
