"""Keeps credentials out of configuration files, and masks those from the environment in records."""

from __future__ import annotations

import re
from typing import Any

from tidemark.config.environment import references_only

MASK = "***"

_SECRET_KEY = re.compile(
    r"password|passwd|passphrase|^pwd$|secret|token|credential|accesskey|apikey|privatekey|sastoken"
)
_USER_INFO = re.compile(r"(?<=://)([^/@\s:]*):((?:\$\{[^}]*\}|[^/@\s])+)@")
_ACCESS_KEY_ID = re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b")
_SIGNATURE = re.compile(r"[?&]sig=|\bAccountKey=")
_ADVICE = "take it from the environment of the process (the usual variables or profile of the service)"


def written_credential(path: tuple[str | int, ...], text: str) -> str:
    """Reason why the text at `path` may not be written in a file; empty if it may. Never shows the text."""
    if not text or references_only(text):
        return ""
    if is_secret_key(path):
        return f"credentials may not stand in a configuration file: {_ADVICE}"
    match = _USER_INFO.search(text)
    if match and not references_only(match[2]):
        return f"an address with a user and password may not stand in a configuration file: {_ADVICE}"
    if _SIGNATURE.search(text):
        return f"a shared access signature may not stand in a configuration file: {_ADVICE}"
    if _ACCESS_KEY_ID.search(text):
        return f"an access key may not stand in a configuration file: {_ADVICE}"
    return ""


def is_secret_key(path: tuple[str | int, ...]) -> bool:
    """True if the innermost name of a key path is that of a credential, such as `db_password`."""
    if path[:1] == ("streams",) and path[2:3] in (("select",), ("group_by",)):
        return False  # keys below these are names of columns, and their values are expressions
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    return bool(_SECRET_KEY.search(re.sub(r"[^a-z0-9]", "", name.lower())))


def masked(value: Any, path: tuple[str | int, ...] = ()) -> Any:  # noqa: ANN401 # JSON in, JSON out
    """`value` with every credential replaced by `***`: values of secret names, and passwords in addresses."""
    if isinstance(value, dict):
        return {key: masked(item, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item, path) for item in value]
    if isinstance(value, str) and value:
        return MASK if is_secret_key(path) else _USER_INFO.sub(rf"\1:{MASK}@", value)
    return value
