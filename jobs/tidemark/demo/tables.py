"""Results of the demo's windows and join, read from their tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tidemark.pipeline import Pipeline

Order = Literal["ascending", "descending"]


def say_streams(pipeline: Pipeline, say: Callable[[str], None]) -> None:
    """Print hours in which airlines were late, delays with and without rain, and rows that came late for an hour."""
    _say_hours(pipeline, say)
    _say_weather(pipeline, say)
    _say_late(pipeline, say)


def _say_hours(pipeline: Pipeline, say: Callable[[str], None]) -> None:
    hours = pipeline.table("streams/hourly").to_table()
    departures = pc.sum(hours["departures"]).as_py()
    say(f"\nHourly departures of each airline (streams/hourly): {hours.num_rows:,} rows, {departures:,} departures.")
    say("The hours with the longest mean delay, of 10 departures or more:")
    busy = hours.filter(pc.greater_equal(hours["departures"], pa.scalar(10)))
    for row in _first(busy, 3, ("mean_delay", "descending"), ("_window_start", "ascending")):
        when = f"{row['_window_start']:%Y-%m-%d %H:%M}"
        say(f"  {when} UTC  {row['carrier']}  {row['departures']:>3} departures, {row['mean_delay']:4.0f} min late")


def _say_weather(pipeline: Pipeline, say: Callable[[str], None]) -> None:
    flights = pipeline.table("streams/in_weather").to_table(columns=["dep_delay", "precip"])
    say(f"\nJuly's flights with the weather of their hour (streams/in_weather): {flights.num_rows:,}.")
    say("Mean delay by whether it rained within the hour:")
    rain = pc.greater(flights["precip"], pa.scalar(0.0))
    for name, when in (("dry", pc.invert(rain)), ("rain", rain)):
        found = flights.filter(when)
        say(f"  {name:<6}{found.num_rows:>7,} flights, {pc.mean(found['dep_delay']).as_py():4.1f} min late")


def _say_late(pipeline: Pipeline, say: Callable[[str], None]) -> None:
    late = pipeline.table("dead_letters/board_hours").to_table()
    say(f"\nWhich of July's records were late for their hour (dead_letters/board_hours)? {late.num_rows:,}, such as:")
    for row in _first(
        late, 3, ("_window_start", "descending"), ("_partition", "ascending"), ("_offset", "ascending")
    ):
        left, passed = f"{row['_event_time']:%Y-%m-%d %H:%M}", f"{row['_watermark']:%H:%M}"
        where = f"{row['_partition']} row {row['_offset']:,}"
        say(f"  {where} left {left} UTC, and one of {passed} from there had landed before it")


def _first(table: pa.Table, count: int, *order: tuple[str, Order]) -> list[dict[str, Any]]:
    """Return the first rows of a table in an order."""
    return table.sort_by(list(order)).slice(0, count).to_pylist()
