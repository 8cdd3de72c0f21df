"""Row `quality`: the checks of a run, against the same run without any."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

from bench.clock import alternate, seconds
from bench.data import LANES, landed
from bench.figures import Figure, Section
from bench.place import Place
from bench.subject import timed
from tidemark.pipeline import Pipeline

LIMITS = {"max_dropped": "50%", "max_adjusted": "50%", "max_jump": 3, "on_failure": "block"}


def measure(place: Place) -> Section:
    """Both in turns, each to a fresh warehouse."""
    data = landed(place.spark, place.cache, place.rows, LANES)
    seen: set[int] = set()

    def judged(*, checked: bool) -> float:
        def look(pipeline: Pipeline, _: float) -> None:
            found = len(pipeline.ledger.checks(1))
            assert bool(found) == checked, "the checks are not what is measured"
            seen.add(found)

        with nullcontext() if checked else without_checks():
            return timed(place.work / "checked", data, look, quality=LIMITS)

    taken = alternate(
        {"checked": lambda: judged(checked=True), "unchecked": lambda: judged(checked=False)},
        place.repeats,
        place.say,
    )
    what = f"a run of {data.rows:,} rows with its {max(seen)} checks"
    return Section(
        "quality",
        "Quality",
        [Figure.of(what, "the same without", taken["checked"], taken["unchecked"], 1.15)],
        [f"Importing Great Expectations takes {imported():.1f} s of its own, once a process, while Spark works."],
    )


@contextmanager
def without_checks() -> Iterator[None]:
    """Nothing is imported, counted for a check, judged or recorded."""
    audit = "tidemark.runner.checks.Audit"
    with (
        patch(f"{audit}.begin", lambda _: None),
        patch(f"{audit}.of_run", lambda *_: ()),
        patch("tidemark.spark.tables.fate_counter.rules_of", lambda *_: None),
    ):
        yield


def imported() -> float:
    """Seconds of an import in a process of its own, less those of an empty one."""
    code = "from tidemark.quality.validate import imported; imported()"
    return seconds(lambda: _python(code)) - seconds(lambda: _python("import tidemark.quality.validate"))


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
