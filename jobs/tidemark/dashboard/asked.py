"""Parameters of requests, with types and bounds; anything else is answered with 422."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tidemark.core.policy import Fate

LONGEST = 250
"""Most characters of a name: Airflow's limit for DAGs and runs."""


def _absent(value: object) -> object:
    """Treat an empty field of a form as absent."""
    return None if value == "" else value


Name = Annotated[str, Path(pattern=r"^[a-z][a-z0-9_]*$", max_length=LONGEST)]
DagId = Annotated[str, Path(pattern=r"^[\w.-]+$", max_length=LONGEST)]
RunId = Annotated[str, Path(min_length=1, max_length=LONGEST)]
BatchId = Annotated[int, Path(ge=1, le=2**53)]
Text = Annotated[str | None, BeforeValidator(_absent), Field(max_length=1_000)]
Asset = Literal["style.css", "frame.js", "icon.svg", "icon-dark.svg"]


class Nothing(BaseModel):
    """Parameters of a page that has only `format`: a page for people, or its numbers as JSON."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["json"] | None = None


class Paged(Nothing):
    """Parameters of a list: its page."""

    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class NameFilter(Paged):
    """Parameters of the list of pipelines: a text that their names contain."""

    name: Text = None


class Partitions(Paged):
    """Parameters of the list of partitions: one source, or only partitions that hold back."""

    source: Text = None
    held: bool = False


class Checks(Paged):
    """Parameters of the list of checks: all checks, or only failed ones."""

    failed: bool = False


class LetterFilter(Paged):
    """Parameters of the list of dead letters: one stream."""

    stream: Text = None


class Moved(Paged):
    """Parameters of the list of a batch's rows: one fate."""

    fate: Annotated[Fate | None, BeforeValidator(_absent)] = None


class OneRow(Nothing):
    """Parameters of the explanation of one row; without all three only the form is shown."""

    source: Text = None
    partition: Text = None
    offset: Annotated[int | None, BeforeValidator(_absent), Field(ge=0, le=2**53)] = None
