"""Prints the result of a command: one JSON object, or text for people. Standard output has only results."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tidemark.cli.failures import Failure
from tidemark.records import LOG_VARIABLE, LONGEST_LIST, SCHEMA_VERSION

if TYPE_CHECKING:
    from rich.console import RenderableType

PIPE_WIDTH = 400
"""Width in columns of text that does not go to a terminal: enough that no table is folded."""

_IN_A_LOG = {"discover": "sources listed", "judge": "micro-batches judged", "streams": "streams written"}
"""Names of phases in a log, where no bar shows what is counted; other phases have their own name there."""

R = TypeVar("R", bound=Mapping[str, Any])
Progress = Callable[[str, int, int], None]


class Verbatim(str):
    """Text for other programs, such as a path or SQL: printed unchanged, without folded lines."""

    __slots__ = ()


@dataclass(frozen=True)
class Answer(Generic[R]):
    """Result of a command: its record, and its text for people, which is made only on request. `warnings` are lines
    for people on standard error."""

    record: R
    text: Callable[[R], RenderableType] | None = None
    exit_code: int = 0
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Output:
    """Prints answers and failures."""

    as_json: bool

    def show(self, answer: Answer[Any]) -> None:
        """Print an answer."""
        with reader_may_leave():
            if self.as_json:
                sys.stdout.write(to_json(answer.record))
                sys.stdout.flush()
                if answer.text is not None and for_log():
                    sys.stderr.write(_rendered(answer.text(answer.record)))
            elif answer.text is not None:
                sys.stdout.write(_rendered(answer.text(answer.record)))
                sys.stderr.writelines(f"{line}\n" for line in answer.warnings)
            sys.stdout.flush()

    def fail(self, failure: Failure) -> None:
        """Print a failure: as JSON on standard output, else on standard error."""
        if failure.trace:
            sys.stderr.write(failure.trace)
        if self.as_json:
            self.show(Answer(failure.record()))
        if not self.as_json or for_log():
            sys.stderr.write(failure.text() + "\n")


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """End the block quietly if the reader of standard output has closed it, as `| head` does."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def to_json(record: Mapping[str, Any]) -> str:
    """One line of JSON: the record with `schema_version`, and `truncated` if a long list had to be cut."""
    cuts: list[int] = []
    shown = {"schema_version": SCHEMA_VERSION} | {key: _shown(value, cuts) for key, value in record.items()}
    if cuts:
        shown["truncated"] = True
    return json.dumps(shown) + "\n"


def _shown(value: object, cuts: list[int]) -> object:
    """The value in JSON's types. Lists and mappings are cut at LONGEST_LIST; `cuts` gets the lengths of cut ones."""
    if not isinstance(value, Mapping | list | tuple):
        return _scalar(value)
    if len(value) > LONGEST_LIST:
        cuts.append(len(value))
    if isinstance(value, Mapping):
        return {str(key): _shown(each, cuts) for key, each in islice(value.items(), LONGEST_LIST)}
    return [_shown(each, cuts) for each in value[:LONGEST_LIST]]


def _scalar(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return base64.b64encode(value).decode()
        case dt.datetime() if value.tzinfo is not None:
            return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    return str(value)


def _rendered(text: RenderableType) -> str:
    if isinstance(text, Verbatim):
        return f"{text}\n"
    from rich.console import Console

    console = Console(file=sys.stdout, width=text_width(), markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(text)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def text_width() -> int:
    """Width in columns of text for people."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def for_log() -> bool:
    """True if the environment asks for output for a scheduler's log (LOG_VARIABLE)."""
    return os.environ.get(LOG_VARIABLE) == "1"


def _logged(phase: str, done: int, total: int) -> None:
    sys.stderr.write(f"{_IN_A_LOG.get(phase, phase)}: {done:,} of {total:,}\n")
    sys.stderr.flush()


def _untold(phase: str, done: int, total: int) -> None:
    """Ignore progress: nobody is watching."""


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Yield a function that reports the progress of each phase on standard error: as bars on a terminal, as lines for
    a log, else not at all."""
    if not sys.stderr.isatty():
        yield _logged if for_log() else _untold
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    tasks: dict[str, TaskID] = {}
    shown = Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty())
    with shown as bars:

        def advance(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=None)
            bars.update(tasks[phase], completed=done, total=total or None)

        yield advance
