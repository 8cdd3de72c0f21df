"""What a request may ask, by type and bound; anything else is answered with 422."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from tidemark.core.policy import Fate

LONGEST = 250
"""Characters of the longest name: Airflow's for DAGs and runs."""


def _absent(value: object) -> object:
    """A field of a form that was left empty was not given."""
    return None if value == "" else value


Name = Annotated[str, Path(pattern=r"^[a-z][a-z0-9_]*$", max_length=LONGEST)]
DagId = Annotated[str, Path(pattern=r"^[\w.-]+$", max_length=LONGEST)]
RunId = Annotated[str, Path(min_length=1, max_length=LONGEST)]
BatchId = Annotated[int, Path(ge=1, le=2**53)]
Text = Annotated[str | None, BeforeValidator(_absent), Field(max_length=1_000)]
Asset = Literal["style.css", "frame.js", "icon.svg", "icon-dark.svg"]


class Nothing(BaseModel):
    """A page that can be asked nothing."""

    model_config = ConfigDict(extra="forbid")


class Paged(Nothing):
    """One page of a list."""

    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class Partitions(Paged):
    """Which partitions are listed."""

    source: Text = None
    held: bool = False


class Checks(Paged):
    """Which checks are listed."""

    failed: bool = False


class LetterFilter(Paged):
    """Which dead letters are listed: those of one stream."""

    stream: Text = None


class Moved(Nothing):
    """Which rows of a batch are listed."""

    fate: Annotated[Fate | None, BeforeValidator(_absent)] = None


class OneRow(Nothing):
    """The row whose story is asked for; without all three only the form is shown."""

    source: Text = None
    partition: Text = None
    offset: Annotated[int | None, BeforeValidator(_absent), Field(ge=0, le=2**53)] = None
