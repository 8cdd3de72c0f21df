"""Replaces `${NAME}` and `${NAME:-default}` in the values of a configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\{([^}]*)\}")
_INSIDE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(:-(.*))?", re.DOTALL)


def substitute(text: str, environ: Mapping[str, str]) -> tuple[str, list[str]]:
    """Replace the references in `text`; returns it with a message for each reference that has no value.

    As in a shell, the default counts if the variable is unset or empty.
    """
    unset: list[str] = []

    def value(match: re.Match[str]) -> str:
        inside = _INSIDE.fullmatch(match[1])
        if inside is None:
            unset.append(f"{match[0]!r} is not a reference: write ${{NAME}} or ${{NAME:-default}}")
            return match[0]
        name, has_default, default = inside.groups()
        if has_default:
            return environ.get(name) or default
        if name not in environ:
            unset.append(f"the environment variable {name} is not set: set it, or write ${{{name}:-default}}")
        return environ.get(name, match[0])

    return _REFERENCE.sub(value, text), unset


def taken_from(text: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Values from the environment in `text`, by variable; a default belongs to the file and does not count."""
    found = {}
    for match in _REFERENCE.finditer(text):
        inside = _INSIDE.fullmatch(match[1])
        if inside is not None and environ.get(inside[1]):
            found[inside[1]] = environ[inside[1]]
    return found


def references_only(text: str) -> bool:
    """True if all of `text` comes from the environment, with no default written in the file."""
    rest = _REFERENCE.sub(lambda match: match[1].partition(":-")[2], text)
    return not rest.strip()
