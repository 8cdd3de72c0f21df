"""Completes a command line that is being typed, in bash, zsh and fish.

By click's protocol: the shell's script calls `tidemark` with the words typed so far in the environment, and reads
candidates from standard output. No candidate needs a JVM or a network.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import redirect_stderr
from glob import escape, iglob
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from tidemark.pipeline import Pipeline

VARIABLE = "_TIDEMARK_COMPLETE"
"""The variable by which a shell's script asks for candidates, such as `bash_complete`."""
SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "tidemark"
_UNQUOTED = re.compile(r"[\w./@%+,-]+")
"""Paths that need no quotes in any of the shells."""
_PIPELINE = re.compile(rb"^pipeline[ \t]*:", re.MULTILINE)
_LONGEST_LOOK = 1 << 16
"""Number of bytes of a YAML file that are searched for the key `pipeline`."""


def script(group: click.Group, shell: str) -> str:
    """The script that completes the command line in a shell; the shell's start-up file evaluates it."""
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"there is no completion for {shell}")
    return ShellComplete.source(kind(group, {}, _PROGRAM, VARIABLE))  # bash's own runs bash, to ask for its version


def answer(group: click.Group, asked: str) -> int:
    """Print candidates for a shell's script and return the exit status. Never raises and never prints an error, which
    would appear in the middle of the line that is being typed."""
    from click.shell_completion import shell_complete

    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        try:
            return shell_complete(group, {}, _PROGRAM, VARIABLE, asked)
        except (Exception, KeyboardInterrupt):  # noqa: BLE001 - a broken pipeline file has no candidates
            return 1


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:  # noqa: ARG001
    """Folders, as the shell itself completes them."""
    return [_by_shell("dir", incomplete)]


def pipeline_files(
    ctx: click.Context,  # noqa: ARG001 - click's signature
    param: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[str] | list[CompletionItem[str]]:
    """Pipeline files whose paths begin as typed, also one folder below. If there are none, the shell completes any
    path."""
    return sorted(filter(_is_pipeline, _yaml_files(incomplete))) or [_by_shell("file", incomplete)]


def sources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Sources of the pipeline file on the command line."""
    return _beginning(incomplete, _keys(ctx, "sources"))


def streams(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Streams of the pipeline file on the command line."""
    return _beginning(incomplete, _keys(ctx, "streams"))


def tables(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Tables of the pipeline on the command line, if its warehouse is a folder."""
    pipeline = _local(ctx)
    return _beginning(incomplete, pipeline.reader.tables() if pipeline else [])


def versions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Versions of the pipeline on the command line, if its warehouse is a folder."""
    from tidemark.ledger.versions import remembered

    pipeline = _local(ctx)
    known = remembered(pipeline.root) if pipeline else None
    return _beginning(incomplete, [str(each.version) for each in known or []])


def reasons(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Reasons for which a row is not on time."""
    from tidemark.core.policy import Reason

    return _beginning(incomplete, [str(each) for each in Reason])


def dimensions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001
    """Dimensions by which rows are counted; in a list with commas, the last one is completed."""
    from tidemark.report.groups import DIMENSIONS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{each}" for each in _beginning(last, DIMENSIONS)]


def _by_shell(kind: str, incomplete: str) -> CompletionItem[str]:
    from click.shell_completion import CompletionItem

    return CompletionItem(incomplete, type=kind)


def _yaml_files(incomplete: str) -> Iterator[str]:
    for pattern in ("*.yml", "*.yaml", "*/*.yml", "*/*.yaml"):
        yield from filter(_UNQUOTED.fullmatch, iglob(escape(incomplete) + pattern))  # noqa: PTH207 - keeps ./ typed


def _is_pipeline(path: str) -> bool:
    """True if a YAML file has the key `pipeline`; others are files of sources, or of other programs."""
    with Path(path).open("rb") as file:
        return _PIPELINE.search(file.read(_LONGEST_LOOK)) is not None


def _keys(ctx: click.Context, of: str) -> list[str]:
    """Keys of a mapping in the pipeline file; other parts of the file may have mistakes."""
    from ruamel.yaml import YAML  # quicker than loading the configuration, which imports all its rules

    return [*YAML(typ="safe", pure=True).load(_config(ctx)).get(of, {})]


def _local(ctx: click.Context) -> Pipeline | None:
    """The pipeline on the command line; None if its tables are in object storage, where each look costs requests."""
    from tidemark.pipeline import Pipeline

    pipeline = Pipeline.load(_config(ctx))
    return pipeline if isinstance(pipeline.root, Path) else None


def _config(ctx: click.Context) -> Path:
    """The pipeline file on the command line. While an option lacks its value, click leaves arguments unparsed."""
    return Path(ctx.params["config"] or ctx.args[0])


def _beginning(incomplete: str, known: Iterable[str]) -> list[str]:
    return [each for each in known if each.startswith(incomplete)]
