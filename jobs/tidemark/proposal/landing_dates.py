"""Landing times that names of objects say, for files that were copied and so have lost their own."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.config.landed_at import LandedAtSpec
from tidemark.core.times import DAY, MINUTE
from tidemark.proposal.objects import Landed, in_log_order
from tidemark.proposal.times import SKEW, Times

_FORMS = (
    (r"([0-9]{4}/[0-9]{2}/[0-9]{2}/[0-9]{2})", "yyyy/MM/dd/HH", "1h"),
    (r"([0-9]{4}/[0-9]{2}/[0-9]{2})", "yyyy/MM/dd", "1d"),
    (r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2})", "yyyy-MM-dd'T'HH", "1h"),
    (r"([0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2})", "yyyy-MM-dd-HH", "1h"),
    (r"([0-9]{4}-[0-9]{2}-[0-9]{2})", "yyyy-MM-dd", "1d"),
    (r"(?:^|[^0-9])([0-9]{10})(?![0-9])", "yyyyMMddHH", "1h"),
    (r"(?:^|[^0-9])([0-9]{8})(?![0-9])", "yyyyMMdd", "1d"),
    (r"(?:^|[^0-9])([0-9]{4}-[0-9]{2})(?![0-9])", "yyyy-MM", "31d"),
    (r"(?:^|[^0-9])([0-9]{4}/[0-9]{2})(?![0-9])", "yyyy/MM", "31d"),
)
_LONG_AFTER = 3 * DAY
_FIT = 0.999


def dated(objects: Sequence[Landed]) -> dict[str, str] | None:
    """`landed_at` for objects whose names all say a date; None where not all do."""
    for path, form, plus in _FORMS:
        spec = LandedAtSpec.model_validate({"path": path, "format": form, "plus": plus})
        if all(spec.landing_time(item.uri) is not None for item in objects):
            return {"path": path, "format": form, "plus": plus}
    return None


def redated(objects: Sequence[Landed], landed_at: dict[str, str]) -> list[Landed]:
    """The objects in the order of the landing times that their names say."""
    spec = LandedAtSpec.model_validate(landed_at)
    return in_log_order([item._replace(modified=spec.landing_time(item.uri) or item.modified) for item in objects])


def copied(objects: Sequence[Landed], times: Times) -> bool:
    """Whether the objects seem to have been copied: they landed long after all their rows, and at once for the
    time that these span."""
    chosen = times.arrival or times.event
    found = sorted(time for time in chosen.micros if time is not None) if chosen else []
    if not found:
        return False
    first, last = objects[0].modified, objects[-1].modified
    span = found[-1] - found[0]
    return first - found[-1] > _LONG_AFTER and last - first < max(span // 10, MINUTE)


def agree(objects: Sequence[Landed], of: Sequence[int], times: Times) -> bool:
    """Whether hardly any row of a sample is later than the landing that its object's name says."""
    chosen = times.arrival or times.event
    if chosen is None:
        return False
    pairs = [
        (objects[number].modified, time) for number, time in zip(of, chosen.micros, strict=True) if time is not None
    ]
    return sum(time <= landed + SKEW for landed, time in pairs) >= _FIT * len(pairs)


def remark(landed_at: dict[str, str]) -> str:
    """Why it is proposed."""
    unit = {"1h": "hour", "1d": "day", "31d": "month"}[landed_at["plus"]]
    return f"The files were copied long after their rows: their names tell when they landed (the end of that {unit})"
