"""The command line: reads the arguments, calls one method of a pipeline, shows its record.

Exit status: 0 done; 1 a check failed; 2 bad usage or configuration; 3 another run holds the pipeline;
4 anything else, with one line saying what to do; 130 and 143 interrupted, safe to repeat.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from tidemark.cli import completion
from tidemark.cli.commands import recover, schedule, serve, setup, test, versions, why
from tidemark.cli.commands.runs import tidemark
from tidemark.cli.examples import epilog
from tidemark.cli.invocation import invoke

__all__ = ["invoke", "main", "tidemark"]

versions.add()
recover.add()
schedule.add()
setup.add()
serve.add()
why.add()
test.add()
for _name, _command in (("tidemark", tidemark), *tidemark.commands.items()):
    _command.epilog = epilog(_name)

_SPARED = {"OPENBLAS_NUM_THREADS": "1", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""Settings that keep numpy (which comes with pyarrow and computes nothing here) from starting threads, and pydantic
from searching all installed packages."""
_CUT_SHORT = "KeyboardInterrupt while sending command."
"""py4j's log entry, with a traceback, for a call that a signal cuts short; the command has one line of its own."""
_GARBAGE = 200_000
"""Number of objects after which garbage is collected: more than a command creates and keeps."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command as a process, by default with the arguments of the process; or answer a shell that completes a
    command."""
    _start_lightly()
    logging.getLogger().addFilter(lambda record: record.msg != _CUT_SHORT)
    py4j = logging.getLogger("py4j")  # what it logs it raises, too
    py4j.addHandler(logging.NullHandler())
    py4j.propagate = False
    ended: list[int] = []
    # Threads of native libraries can abort an interpreter that is shutting down, and their status would replace
    # that of the command. This handler is registered first, so it runs after all other clean-up and exits at once.
    atexit.register(lambda: os._exit(ended[0]) if ended else None)
    asked = os.environ.get(completion.VARIABLE)
    given = sys.argv[1:] if arguments is None else arguments
    ended.append(invoke(given) if asked is None else completion.answer(tidemark, asked))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command has ended; only its clean-up is left
    sys.exit(ended[0])


def _start_lightly() -> None:
    """Skip work that would slow down a short command noticeably, unless the environment asks for it."""
    gc.set_threshold(_GARBAGE)
    for name, value in _SPARED.items():
        os.environ.setdefault(name, value)
