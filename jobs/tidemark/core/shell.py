"""Command lines of tidemark, as messages and pages print them for a shell."""

from __future__ import annotations

import re
import shlex

_CONFIG = re.compile(r"\bCONFIG\b")


def command(verb: str, *arguments: object, options: tuple[str, ...] = ()) -> str:
    """Return a command line with every value quoted. If an argument begins with a hyphen, all arguments follow `--`,
    so that none is taken for an option."""
    given = list(map(str, arguments))
    if any(each.startswith("-") for each in given):
        return shlex.join(["tidemark", verb, *options, "--", *given])
    return shlex.join(["tidemark", verb, *given, *options])


def about(hint: str, config: str) -> str:
    """Return a hint whose commands are about CONFIG with the pipeline's file in its position."""
    return _CONFIG.sub(lambda _: shlex.quote(config), hint)
