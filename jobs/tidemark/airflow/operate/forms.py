"""Forms of an operator's verbs: the fields of each, and the command arguments made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow.sdk import Param


@dataclass(frozen=True)
class Field:
    """One entry of a form. `option`: the command's option, None for a positional argument. `schema`: the JSON Schema
    by which Airflow shows and checks it."""

    name: str
    option: str | None
    schema: Mapping[str, Any]

    def param(self, suggested: Iterable[str] = ()) -> Param:
        """Return the entry as Airflow shows it, with suggestions for a text."""
        examples = {"examples": sorted(suggested)} if self.name == SOURCE.name else {}
        schema = {**self.schema, **examples}
        return Param(**schema) if "default" in schema or "minLength" in schema else Param(None, **schema)


@dataclass(frozen=True)
class Verb:
    """A command that an operator starts with a form. `in_the_way`: if the form names no run, the run that blocks the
    pipeline is taken. `runs_beside_process`: it runs where the pipeline's Spark task runs. `waits`: its command can
    wait for a run of the pipeline to end."""

    name: str
    doc: str
    fields: tuple[Field, ...] = field(default=())
    in_the_way: bool = False
    runs_beside_process: bool = True
    waits: bool = False


def _text(title: str, description: str = "") -> dict[str, Any]:
    return {"type": ["null", "string"], "title": title, "description_md": description}


def _needed(title: str, description: str = "") -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "title": title, "description_md": description}


def _number(title: str) -> dict[str, Any]:
    return {"type": ["null", "integer"], "minimum": 1, "title": title}


def _flag(title: str, description: str = "") -> dict[str, Any]:
    return {"type": "boolean", "default": False, "title": title, "description_md": description}


_ONE_OF_LAST = "Empty: the last run"
_IN_THE_WAY = "Empty: the run that keeps the pipeline from going on, as `tidemark status` names it"
SOURCE = Field("source", "--source", _text("Source", "Empty: all sources"))
REASON = Field("reason", "--reason", _needed("Reason", "Recorded, with your name"))
RUN = Field("run", None, _text("Run", _IN_THE_WAY))

FORMS = (
    Verb(
        "replay",
        "Computes recorded micro-batches again and compares digests. Writes nothing.",
        (
            Field("run", "--run", _text("Run", _ONE_OF_LAST)),
            Field("from_batch", "--from-batch", _number("From batch")),
            Field("to_batch", "--to-batch", _number("To batch, with it")),
            Field("all", "--all", _flag("All recorded batches")),
            Field("input", "--input", _text("Where rows are read again") | {"enum": ["landing", "events", None]}),
        ),
    ),
    Verb(
        "advise",
        "Counts on recorded rows what other tolerances would have cost, and recommends the smallest that meet the "
        "targets.",
        (
            SOURCE,
            Field("target_dropped", "--target-dropped", _text("At most this share dropped", "Such as `1%`")),
            Field("target_adjusted", "--target-adjusted", _text("At most this share adjusted", "Such as `5%`")),
        ),
    ),
    Verb("release", "Publishes a run that quality blocked.", (RUN, REASON), in_the_way=True),
    Verb(
        "abandon",
        "Sets a planned run aside that cannot be finished: what it appended is deleted, and its objects are free.",
        (
            RUN,
            REASON,
            Field(
                "published", "--published", _flag("Withdraw what it has published, too", "Readers may have seen it")
            ),
        ),
        in_the_way=True,
    ),
    Verb(
        "exclude",
        "Records that an object is wrong: the next backfill quarantines its rows.",
        (Field("uri", None, _needed("Object", "Its name in the column `_file` of the events")), REASON),
        runs_beside_process=False,
        waits=True,
    ),
    Verb("repair", "Rebuilds damaged tables, and proves each batch by its digest.", waits=True),
    Verb(
        "close",
        "Does a last run, after which the source takes no more objects.",
        (
            SOURCE,
            Field(
                "as_of",
                "--as-of",
                {"type": ["null", "string"], "format": "date-time", "title": "As of", "description": "Empty: now"},
            ),
        ),
    ),
    Verb(
        "verify",
        "Checks chain, files, digests and laws of the live version with code that shares nothing with the writer.",
        (
            Field("all", "--all", _flag("Judge every row again", "Otherwise a sample of each source")),
            Field("head", "--head", _text("A head of the chain noted before")),
        ),
        runs_beside_process=False,
        waits=True,
    ),
)
"""In the order in which an operator needs them."""
