"""Records of failures and of problems of a configuration."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class ProblemRecord(TypedDict):
    """One problem of a configuration: its file (with the line, if known), its key path, and what is wrong."""

    file: str
    key: str
    message: str


class ValidateRecord(TypedDict):
    """Record of `validate`."""

    valid: bool
    errors: list[ProblemRecord]
    warnings: list[ProblemRecord]


class ErrorRecord(TypedDict):
    """Reason of a failure: a code for programs, a message, the place, and a hint. `problems`: problems of a
    configuration."""

    code: str
    message: str
    where: str
    hint: str
    problems: NotRequired[list[ProblemRecord]]


class FailureRecord(TypedDict):
    """Printed instead of any other record if the command fails."""

    error: ErrorRecord
