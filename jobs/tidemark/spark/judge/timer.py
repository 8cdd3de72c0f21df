"""Measures the time that each phase of judging takes."""

from __future__ import annotations

import time


class Timer:
    """Context manager that adds the seconds spent inside to `timings[phase]`."""

    def __init__(self, timings: dict[str, float], phase: str) -> None:
        self.timings, self.phase = timings, phase

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.timings[self.phase] = self.timings.get(self.phase, 0.0) + time.perf_counter() - self.start
