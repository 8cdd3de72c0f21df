"""Records of `test`."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict


class CaseDifference(TypedDict):
    """A row of a table that differs: `expected` is null if no row was expected, `got` if there is no row. `columns`:
    columns that differ. `given`: input rows that it was made from, as far as known."""

    table: str
    given: list[dict[str, Any]]
    expected: dict[str, Any] | None
    got: dict[str, Any] | None
    columns: list[str]


class CaseRecord(TypedDict):
    """A test case: its name and place, and how the tables differ. `failure`: the reason why it could not run, else
    null."""

    name: str
    file: str
    line: int
    passed: bool
    seconds: float
    failure: str | None
    differences: list[CaseDifference]


class CasesRecord(TypedDict):
    """Record of `test`. `kept` is the folder with landing and warehouse of each case, if they were kept."""

    cases: list[CaseRecord]
    passed: int
    failed: int
    kept: str | None
    junit: str | None


class RecordedCaseRecord(TypedDict):
    """Record of `test --record`: the file, and the name of the case in it. `differing` counts rows with another fate
    in the case than the recorded one, since a case begins without any state."""

    path: str
    case: str
    rows: int
    runs: int
    differing: int
    masked: list[str]
