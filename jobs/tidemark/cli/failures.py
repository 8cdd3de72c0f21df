"""Exit statuses and messages for everything that ends a command early: errors, wrong usage, signals."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

import click

from tidemark.core.shell import about
from tidemark.errors import Blocked, ConfigError, TidemarkError, missing_part

if TYPE_CHECKING:
    from tidemark.records.failures import ErrorRecord, FailureRecord, ProblemRecord

DEBUG_VARIABLE = "TIDEMARK_DEBUG"
LONGEST_MESSAGE = 500
AGAIN = 5.0
SAFE = "what a run has begun, the next run finishes"


class Terminated(KeyboardInterrupt):
    """SIGTERM was received. No Exception, so that no handler treats it as an error; a KeyboardInterrupt, so that py4j
    closes the connection of the interrupted call: else the next call would read its answer."""


@dataclass(frozen=True)
class Failure:
    """Reason why a command ended early, and its exit status."""

    code: str
    message: str
    where: str = ""
    hint: str = ""
    exit_code: int = 4
    problems: list[ProblemRecord] = field(default_factory=list)
    trace: str = ""
    figures: bool = False
    """True if no value from the environment can be in its texts, which have figures that may be equal to one."""

    def __post_init__(self) -> None:
        """Replace values from the environment by their references in all texts."""
        if self.figures:
            return
        from tidemark.config.secrets import hidden  # `tidemark --help` needs no configuration

        for name in ("message", "hint", "trace"):
            object.__setattr__(self, name, hidden(getattr(self, name)))
        shown: list[ProblemRecord] = [
            {"file": hidden(each["file"]), "key": hidden(each["key"]), "message": hidden(each["message"])}
            for each in self.problems
        ]
        object.__setattr__(self, "problems", shown)

    def record(self) -> FailureRecord:
        """The record that `--json` prints: `error` with code, message, where and hint."""
        error: ErrorRecord = {"code": self.code, "message": self.message, "where": self.where, "hint": self.hint}
        if self.problems:
            error["problems"] = self.problems
        return {"error": error}

    def text(self) -> str:
        """Text for people: one line; for a configuration, one line for each problem, and then the hint."""
        if self.problems:
            lines = [f"error: {line}" for line in self.message.splitlines()]
            return "\n".join([*lines, *([self.hint] if self.hint else [])])
        where = f" ({self.where})" if self.where and self.where not in self.message else ""
        return f"error: {self.message.rstrip('.')}{where}" + (f": {self.hint}" if self.hint else "")


@contextmanager
def interruptible(heard: list[BaseException]) -> Iterator[None]:
    """Let SIGTERM raise Terminated and SIGINT raise KeyboardInterrupt in the block. The exception is raised again
    every AGAIN seconds, since Python drops exceptions while it cleans up objects. `heard` gets it first, since
    another error may replace it: an interrupted call to the JVM raises its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - the handler's signature
        logging.disable()  # a call to the JVM that is cut short is logged with its stack
        heard.append(KeyboardInterrupt() if number == signal.SIGINT else Terminated())
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise type(heard[0])

    logged = logging.root.manager.disable
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        logging.disable(logged)
        for number, handler in before.items():
            signal.signal(number, handler)


def failure_of(error: BaseException, config: str = "CONFIG") -> Failure:
    """The failure for an exception; an unexpected one has status 4 and the first line of its message. Commands in the
    hint are for the file `config`."""
    if isinstance(error, TidemarkError):
        error.hint = about(error.hint, config)
    if isinstance(error, ModuleNotFoundError):
        error = missing_part(error) or error
    match error:
        case ConfigError():
            from tidemark.commands.summaries import problem_summary  # `tidemark --help` needs no records

            problems = [problem_summary(problem) for problem in error.problems]
            return Failure(error.code, error.message, error.where, error.hint, error.exit_code, problems)
        case TidemarkError():
            figures = isinstance(error, Blocked)
            return Failure(error.code, error.message, error.where, error.hint, error.exit_code, figures=figures)
        case click.ClickException():
            return _usage(error)
        case Terminated():
            return Failure("interrupted", "terminated, safe to repeat", hint=SAFE, exit_code=143)
        case KeyboardInterrupt() | click.Abort():
            return Failure("interrupted", "interrupted, safe to repeat", hint=SAFE, exit_code=130)
    return _unexpected(error)


def _usage(error: click.ClickException) -> Failure:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "tidemark"
    return Failure("usage", error.format_message(), hint=f"see `{command} --help`", exit_code=2)


def _unexpected(error: BaseException) -> Failure:
    first = next(iter(str(error).splitlines()), "")[:LONGEST_MESSAGE]
    debug = os.environ.get(DEBUG_VARIABLE) == "1"
    trace = "".join(traceback.format_exception(error)) if debug else ""
    if (status := _status_of_jvm(error)) is not None:
        killed = ", as the system ends processes when memory is short" if status == -signal.SIGKILL else ""
        how = f"by signal {-status}{killed}" if status < 0 else f"with status {status}"
        return Failure("jvm_ended", f"Spark's JVM has ended {how}", hint=f"repeat the command: {SAFE}", trace=trace)
    return Failure(
        "unexpected",
        f"{type(error).__name__}: {first}" if first else type(error).__name__,
        hint=f"repeat the command; if it fails again, set {DEBUG_VARIABLE}=1 to see where",
        trace=trace,
    )


def _status_of_jvm(error: BaseException) -> int | None:
    """Exit status of a JVM that ended before the command; None if the JVM runs, or if there is none."""
    if "pyspark" not in sys.modules:
        return None
    from tidemark.spark.compat.sessions import jvm_status

    return jvm_status(error)
