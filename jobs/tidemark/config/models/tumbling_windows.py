"""Model of `tumbling`: windows one after the other, of a size or by a calendar."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)

from tidemark.config.models.fields import Duration, PositiveDuration, Settings
from tidemark.core.calendar.calendars import Calendar, Unit
from tidemark.core.times import format_duration
from tidemark.core.windows import CalendarWindows, FixedWindows

_OF_MACHINES = ("localtime", "posixrules", "posix/", "right/")
"""Names, or their beginnings, that are not the database's: what they mean differs between machines, or counts leap
seconds."""


class TumblingSpec(Settings):
    """`tumbling`: windows one after the other, of a `size`, or by the `calendar` of a `zone`."""

    calendar: Literal["day", "week", "month", "quarter", "year"] | None = Field(
        None, description="Unit of the calendar; weeks begin on Monday"
    )
    zone: str | None = Field(
        None,
        validate_default=True,
        description="Time zone of the calendar: Area/City or UTC",
        examples=["Europe/Amsterdam"],
    )
    size: PositiveDuration | None = Field(
        None, validate_default=True, description="Length of a window, and time from one to the next"
    )
    offset: Duration = Field(
        0, description="Start of a window after a multiple of size since 1970, or by the clock after the calendar's"
    )

    @field_validator("zone")
    @classmethod
    def _in_the_database(cls, value: str | None, info: ValidationInfo) -> str | None:
        if "calendar" not in info.data:
            return value
        if info.data["calendar"] is None:
            if value is not None:
                raise ValueError("is for a calendar alone: write calendar: day, or remove it")
            return None
        if value is None:
            raise ValueError("is missing: write the time zone of the calendar, such as Europe/Amsterdam, or UTC")
        return _known(value)

    @field_validator("size")
    @classmethod
    def _or_a_calendar(cls, value: int | None, info: ValidationInfo) -> int | None:
        if "calendar" not in info.data:
            return value
        if value is None and info.data["calendar"] is None:
            raise ValueError("is missing: write size: 1h, or a calendar, such as calendar: day")
        if value is not None and info.data["calendar"] is not None:
            raise ValueError("cannot be beside calendar: remove one of them")
        return value

    @field_validator("offset")
    @classmethod
    def _within_a_window(cls, value: int, info: ValidationInfo) -> int:
        unit = info.data.get("calendar")
        if unit is None:
            return less_than("size", value, info.data.get("size"))
        return less_than(f"the shortest {unit}", value, Calendar(Unit(unit)).shortest)

    @model_serializer(mode="wrap")
    def _of_its_kind(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in written(self).items() if value is not None}

    def windows(self, *progress: Any) -> FixedWindows | CalendarWindows:  # as the windows have it
        """The windows, with their allowed lateness, idle timeout and parts."""
        if self.calendar is not None:
            return CalendarWindows(Calendar(Unit(self.calendar), self.zone or "", self.offset), *progress)
        return FixedWindows(self.size or 1, self.size or 1, self.offset, *progress)


def _long_form(value: object) -> object:
    return {"size": value} if isinstance(value, str | int) else value


Tumbling = Annotated[TumblingSpec, BeforeValidator(_long_form)]


def less_than(what: str, value: int, most: int | None) -> int:
    """An offset, if it is less than this. Raises ValueError."""
    if most is not None and value >= most:
        raise ValueError(f"{format_duration(value)!r} must be less than {what} ({format_duration(most)}), such as 0s")
    return value


def _known(name: str) -> str:
    if not name.startswith(_OF_MACHINES):
        with suppress(ZoneInfoNotFoundError, ValueError, OSError):
            return ZoneInfo(name).key
    raise ValueError(f"{name!r} is not in the time zone database: {_near(name)}")


def _near(name: str) -> str:
    by_lower = {each.lower(): each for each in available_timezones()}
    cities = {lower.rpartition("/")[2]: each for lower, each in by_lower.items()}
    close = [by_lower[each] for each in get_close_matches(name.lower(), by_lower, 3, 0.7)]
    close = close or [cities[each] for each in get_close_matches(name.lower(), cities, 3, 0.7)]
    if name.isupper():  # an abbreviation may be like one of another offset: CEST like EST
        close = []
    return f"did you mean {' or '.join(close)}?" if close else "write one such as Europe/Amsterdam, or UTC"
