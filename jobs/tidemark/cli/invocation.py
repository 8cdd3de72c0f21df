"""Runs one command: its record, or its failure, is printed and becomes an exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from click.exceptions import Exit

from tidemark.cli.commands.runs import tidemark
from tidemark.cli.failures import failure_of, interruptible
from tidemark.cli.output import Output
from tidemark.cli.warm.client import OPTION, ask

_FILES = (".yml", ".yaml")


def invoke(arguments: Sequence[str], client: AbstractContextManager[object] | None = None) -> int:
    """Run one command and return its exit status; without arguments print the help. Never raises. With `client`, a
    server runs a client's command; the client may interrupt it while the context `client` is open."""
    given = list(arguments) or ["--help"]
    output, heard = Output("--json" in given), list[BaseException]()
    try:
        with interruptible(heard), client or nullcontext():
            if OPTION in given and client is None and (status := ask(given)) is not None:
                return status
            with tidemark.make_context("tidemark", given, obj=output.as_json) as context:
                answer = tidemark.invoke(context)
            output.show(answer)
            return int(answer.exit_code)
    except Exit as done:
        sys.stdout.flush()
        return done.exit_code
    except BaseException as error:  # noqa: BLE001 - this is where each error becomes an exit status
        words = zip(["", *given], given, strict=False)
        config = next((word for before, word in words if word.endswith(_FILES) and before != "--out"), "CONFIG")
        failure = failure_of(heard[0] if heard else error, config)
        output.fail(failure)
        return failure.exit_code
