"""The command line: reads the arguments, calls one method of a pipeline, shows its record.

Exit status: 0 done; 1 a check failed; 2 bad usage or configuration; 3 another run holds the pipeline;
4 anything else, with one line saying what to do; 130 and 143 interrupted, safe to repeat.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from click.exceptions import Exit

from tidemark.cli import repaired, versioned
from tidemark.cli.commands import tidemark
from tidemark.cli.failures import failure_of, interruptible
from tidemark.cli.output import Output

versioned.add()
repaired.add()


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The process of one command; by default its arguments are the process's."""
    ended: list[int] = []
    # Threads of native libraries can abort an interpreter that is being taken down, and their status would replace
    # the command's. Registered first, this runs after all other clean-up and leaves at once.
    atexit.register(lambda: os._exit(ended[0]) if ended else None)
    ended.append(invoke(sys.argv[1:] if arguments is None else arguments))
    sys.exit(ended[0])


def invoke(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status; nothing that happens in it is raised."""
    given = list(arguments)
    output = Output("--json" in given)
    try:
        with interruptible():
            with tidemark.make_context("tidemark", given, obj=output.as_json) as context:
                answer = tidemark.invoke(context)
            output.show(answer)
            return int(answer.exit_code)
    except Exit as done:
        sys.stdout.flush()
        return done.exit_code
    except BaseException as error:  # noqa: BLE001 - this is where each error becomes an exit status
        failure = failure_of(error)
        output.fail(failure)
        return failure.exit_code
