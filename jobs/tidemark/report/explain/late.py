"""Windows that a row came late for: the watermark that passed each, and the `allowed_lateness` that keeps the row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.dataset import Dataset

from tidemark.core.times import SECOND, format_duration
from tidemark.records.rows import LateRecord
from tidemark.report.events import EventRow
from tidemark.report.explain.origin import RunLookup
from tidemark.report.values import micros_of
from tidemark.report.words import counted, duration, iso, moment


@dataclass(frozen=True)
class WindowStep:
    """A stream with windows: its dead letters, and the settings that decide lateness.

    `data_driven`: session and snapshot windows, whose bounds come from rows. `partition_by`: `partition` or
    `substream` if each one has its own windows.
    """

    stream: str
    letters: Dataset
    lateness: int = 0
    partition_by: str | None = None
    data_driven: bool = False


@dataclass(frozen=True)
class LateWindow:
    """A window that a row is late for; times in microseconds UTC. `own`: the row's own watermark, as the step sees
    it. `passed`: the later of `own` and the step's watermark when the run began; None if that is not recorded."""

    step: WindowStep
    start: int
    end: int
    own: int | None
    passed: int | None

    @property
    def needed(self) -> int | None:
        """The smallest `allowed_lateness`, in microseconds, with which the row would have counted in the window."""
        if self.passed is None:
            return None
        return self.passed - self.start if self.step.data_driven else self.passed - self.end + 1

    @property
    def by_row(self) -> bool:
        """True if the row's own watermark, not the step's, had passed the window furthest."""
        return self.own is not None and self.own == self.passed

    def record(self) -> LateRecord:
        """Return it as commands print it."""
        needed = self.needed
        return {
            "stream": self.step.stream,
            "window_start": iso(self.start),
            "window_end": iso(self.end),
            "watermark": iso(self.passed),
            "passed_by": None if self.passed is None else "row" if self.by_row else "step",
            "allowed_lateness": None if needed is None else readable(needed),
            "allowed_lateness_micros": needed,
            "sentence": self.sentence(None),
        }

    def sentence(self, day: str | None) -> str:
        """Return a sentence: the window, the watermark that had passed it, and the
        setting that would keep the row."""
        step = self.step
        window = f"the window from {moment(self.start, day)} to {moment(self.end, day)}"
        what = f"{'the part of ' if step.data_driven else ''}{window} of stream {step.stream}"
        allowed = f"allowed_lateness {duration(step.lateness)}"
        late = f"It is late for {what} and does not count there"
        if self.passed is None or self.needed is None:
            part = f"what its {step.partition_by}" if step.partition_by else "what the step"
            return f"{late}: {part} had passed when the run began ({allowed}) is no longer recorded."
        before = "the watermark in force before it" if self.by_row else "the step's watermark when the run began"
        mark = f"{before}, {moment(self.passed, day)}, had passed it ({allowed})"
        wanted = f"allowed_lateness at least {readable(self.needed)} (exactly {format_duration(self.needed)})"
        return f"{late}: {mark}. It would have counted there with {wanted}, all else being the same."


def readable(micros: int) -> str:
    """Return the smallest sufficient whole number of seconds, as a configuration writes it."""
    return format_duration(-(-max(micros, 0) // SECOND) * SECOND)


def late_for(row: EventRow, steps: Sequence[WindowStep], recorded: RunLookup) -> tuple[LateWindow, ...]:
    """Return the windows that a row is late for, by stream and time."""
    return tuple(late for step in steps for late in _late(row, step, recorded))


def outcome(late: Sequence[LateWindow]) -> str:
    """Return a sentence for a row's result: it is late for windows; empty if it is late for none."""
    if not late:
        return ""
    streams = ", ".join(dict.fromkeys(each.step.stream for each in late))
    return f" But it is late for {counted(len(late), 'window')} of {streams}, and is in the dead letters."


def _late(row: EventRow, step: WindowStep, recorded: RunLookup) -> Iterator[LateWindow]:
    here = (
        (pc.field("_source") == row.source)
        & (pc.field("_partition") == row.partition)
        & (pc.field("_offset") == row.offset)
    )
    found = step.letters.to_table(filter=here).sort_by("_window_start")
    for n in range(found.num_rows):
        start, end, own = (_micros(found, name, n) for name in ("_window_start", "_window_end", "_watermark"))
        if start is not None and end is not None:
            yield LateWindow(step, start, end, own, _passed(step, (start, end), own, row, recorded))


def _micros(table: pa.Table, name: str, index: int) -> int | None:
    return micros_of(table[name][index])


def _passed(
    step: WindowStep, window: tuple[int, int], own: int | None, row: EventRow, recorded: RunLookup
) -> int | None:
    """Return the furthest watermark by which the row is late; None if that is the step's, which is not recorded."""
    least = (window[0] if step.data_driven else window[1]) + step.lateness
    if step.partition_by is None:
        known = [mark for mark in (own, *_of_step(step, row, recorded)) if mark is not None]
    else:
        known = [] if own is None else [own]
    if step.data_driven:  # the late part ends at the row, or at the watermark that had passed it
        known.append(window[1] + step.lateness)
    furthest = max(known, default=None)
    if furthest is None or furthest < least or (step.data_driven and furthest == least):
        return None
    return furthest


def _of_step(step: WindowStep, row: EventRow, recorded: RunLookup) -> Iterator[int | None]:
    """Yield the watermarks of the step when the row's run began; for session windows, the bounds beyond the
    watermarks of rows."""
    mine = recorded.batch(row.batch_id)
    if mine is None:
        return
    before = recorded.before(mine.run_first)
    if before is not None and step.stream in before.streams and not step.data_driven:
        yield before.streams[step.stream].state.passed
    after = recorded.batch(mine.run_last)
    if step.data_driven and after is not None and step.stream in after.streams:
        bounds = after.streams[step.stream].state.bounds
        yield from (each.time for each in bounds if row.batch_id >= each.batch_id)
