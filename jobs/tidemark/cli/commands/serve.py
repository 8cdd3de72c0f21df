"""The command that keeps a Spark session for others."""

from __future__ import annotations

from typing import NoReturn

import click

from tidemark.cli.commands.runs import tidemark

RUNS = 200


@click.command()
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=RUNS,
    show_default=True,
    metavar="N",
    help="End the session and its JVM after N runs; the next run starts another.",
)
def serve(runs: int) -> NoReturn:
    """Keep one Spark session, in which `run`, `close` and `process` with --warm run.

    One run at a time; others wait for it. They come over a socket that only its user can open: TIDEMARK_SOCKET, or
    one in the user's runtime folder. A signal ends the server.
    """
    from tidemark.cli.warm.server import serve as serve_clients

    serve_clients(runs)


def add() -> None:
    """Add this command to `tidemark`."""
    tidemark.add_command(serve)
