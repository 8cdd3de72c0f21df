"""Texts that name a column, or a member of one, and nothing else."""

from __future__ import annotations

import re

CONSTANTS = ("true", "false", "null")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile(r"`((?:[^`]|``)+)`")
_PART = re.compile(r"`(?:[^`]|``)+`|[^.`]+|\.")


def plain_names(text: str) -> list[str]:
    """The names of a plain column or member, `Payload.Ts` as ["Payload", "Ts"]; empty for any other text."""
    parts = _PART.findall(text.strip())
    if "".join(parts) != text.strip() or parts[1::2] != ["."] * (len(parts) // 2) or len(parts) % 2 == 0:
        return []
    if not all(_QUOTED.fullmatch(part) or _WORD.fullmatch(part) for part in parts[::2]):
        return []
    return [part[1:-1].replace("``", "`") if part.startswith("`") else part for part in parts[::2]]
