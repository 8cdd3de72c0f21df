"""Rows shared out over a few tasks without a shuffle: each task reads all of them and keeps its own.

A shuffle writes each row, compresses it and reads it back, which takes a core longer than to decode the row once
more. So where rows are at hand, cheap to decode, and wanted by few tasks, all of these read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import Column, DataFrame

from tidemark.config.address import is_s3

MOST = 2
"""Tasks that read the same rows."""


def at_hand(folder: str, tasks: int) -> bool:
    """Whether so many tasks, of which there are several, had better read the same files of a folder: from S3 each of
    them would have to wait for all."""
    return 1 < tasks <= MOST and not is_s3(folder)


def shares(rows: DataFrame, task: Column, tasks: int) -> list[DataFrame]:
    """The rows of each `task` by its number, which must be the same whenever it is asked for: in one task each, in
    the order in which they are read."""
    return [rows.where(task == number).coalesce(1) for number in range(tasks)]


def united(parts: Iterable[DataFrame]) -> DataFrame:
    """The rows of all parts, whose tasks stay as they are."""
    return reduce(DataFrame.union, parts)
