"""The periods by which the completeness of streams is signalled: `periods` of a pipeline file's `airflow` key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidemark.config.models.pipeline import PipelineSpec
from tidemark.config.models.streams import StreamSpec
from tidemark.config.scheduling.values import zone
from tidemark.core.calendar.calendars import Unit
from tidemark.core.calendar.clocks import clock_of
from tidemark.core.completeness.periods import Periods
from tidemark.core.times import DATE, DAY, HOUR, parse_time
from tidemark.core.windows import FixedWindows, NumberedWindows, SessionWindows, Windows
from tidemark.errors import ConfigError, Problem

KEY, NONE = "periods", "none"
_KEYS = ("unit", "zone", "from")


@dataclass(frozen=True)
class StreamPeriods:
    """The periods of a stream; `since` is the time from which they count, microseconds UTC (None: from the stream's
    first row)."""

    periods: Periods
    since: int | None = None


def periods_of(spec: PipelineSpec) -> dict[str, StreamPeriods]:
    """The periods of each published stream whose completeness is signalled. Raises ConfigError for settings that are
    wrong."""
    given = spec.airflow.get(KEY, {})
    problems: list[Problem] = []
    found: dict[str, StreamPeriods] = {}
    if not isinstance(given, Mapping):
        raise ConfigError([Problem(str(spec.path), f"airflow.{KEY}", "must be a mapping of streams")])
    published = [name for name, stream in spec.streams.items() if stream.published]
    strangers = [name for name in given if name not in published]
    problems += _problems(spec, strangers, f"is no stream with a table: there are {', '.join(published) or 'none'}")
    for name in published:
        try:
            periods = _read(given[name]) if name in given else StreamPeriods(Periods(default_unit(spec, name)))
        except (TypeError, ValueError) as error:
            problems += _problems(spec, [name], str(error))
        else:
            found |= {} if periods is None else {name: periods}
    if problems:
        raise ConfigError(problems)
    return found


def default_unit(spec: PipelineSpec, name: str) -> Unit:
    """An hour; a day if a window of the stream, or of a stream below it, may last longer than an hour."""
    longest = max((_lasts(step.windows) for step in _steps(spec, name) if step.windows is not None), default=0)
    return Unit.DAY if longest > HOUR else Unit.HOUR


def _steps(spec: PipelineSpec, name: str) -> Iterator[StreamSpec]:
    if name in spec.streams:
        yield spec.streams[name]
        for below in spec.streams[name].inputs:
            yield from _steps(spec, below)


def _lasts(windows: Windows) -> int:
    if isinstance(windows, FixedWindows):
        return max(windows.size, windows.hop)
    if isinstance(windows, NumberedWindows):
        return windows.lives(0)
    return windows.max_duration or DAY if isinstance(windows, SessionWindows) else windows.size or 0


def _problems(spec: PipelineSpec, names: Iterable[str], message: str) -> list[Problem]:
    return [Problem(str(spec.path), f"airflow.{KEY}.{name}", message) for name in names]


def _read(value: object) -> StreamPeriods | None:
    if value == NONE:
        return None
    if isinstance(value, str):
        return StreamPeriods(Periods(_unit(value)))
    if not isinstance(value, Mapping):
        raise TypeError(f"must be one of {', '.join(Unit)}, {NONE}, or a mapping with {', '.join(_KEYS)}")
    if unknown := [key for key in value if key not in _KEYS]:
        raise ValueError(f"{unknown[0]!r} is not known: there are {', '.join(_KEYS)}")
    if "unit" not in value:
        raise ValueError(f"needs `unit`, one of {', '.join(Unit)}")
    unit, zone = _unit(value["unit"]), _zone(value.get("zone", "UTC"))
    if unit is Unit.HOUR and zone != "UTC":
        raise ValueError("hours are those of UTC: leave `zone` out, or choose a longer unit")
    return StreamPeriods(Periods(unit, zone), _time(value["from"], zone) if "from" in value else None)


def _unit(value: object) -> Unit:
    if value not in list(Unit):
        raise ValueError(f"{value!r} is no unit: choose one of {', '.join(Unit)}, or {NONE}")
    return Unit(str(value))


def _zone(value: object) -> str:
    try:
        return zone(value).key
    except ValueError as error:
        raise ValueError(f"{value!r} is no time zone: write one such as Europe/Berlin") from error


def _time(value: object, zone: str) -> int:
    """The time that `from` names: a date is its midnight in the zone."""
    text = str(value)
    if DATE.fullmatch(text):
        return clock_of(zone).instant(parse_time(f"{text}T00:00:00Z"))
    return parse_time(text)
