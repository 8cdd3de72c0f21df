"""The first lines of a page: the state by name with its reason and the next step, or what is abnormal and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tidemark.commands.dashboard.causes import Causes
from tidemark.config.pipeline_files import dag_id
from tidemark.core.quality import Check
from tidemark.dashboard.links import Links
from tidemark.dashboard.shell import quiet
from tidemark.records.status import StandingRecord
from tidemark.report.page.markup import Html, bullets, element, paragraph
from tidemark.report.page.measures import failed, once

_NAMES = {"new": "no run yet", "interrupted": "crashed"}
"""Names of states where people have another word than the record."""
WAITING = "waiting for approval"
_MOST = 3
"""Most causes on a page; `tidemark why` has all."""


@dataclass(frozen=True)
class Standing:
    """The state of a pipeline, the checks that block it, and the runs of its DAG that wait for a person, with the
    task."""

    record: StandingRecord
    failed: Sequence[Check] = ()
    waiting: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The state in a word or three."""
        state = self.record["state"]
        return WAITING if self.waiting and state in ("blocked", "ready") else _NAMES.get(state, state)

    @property
    def calm(self) -> bool:
        """True if nobody has to do anything."""
        return self.name in ("ready", _NAMES["new"])


def state_of(status: str, standing: Standing) -> str:
    """Return the state of a recorded batch: the ledger says `planned` of one that runs, and of one that crashed."""
    if status == "planned":
        return standing.name if not standing.calm else "planned"
    return standing.name if status == "blocked" else status


def badge(name: str) -> Html:
    """Return the name of a state, with its colour."""
    return element("span", name, class_=f"badge {name.replace(' ', '-')}")


def first_lines(name: str, standing: Standing, causes: Causes, attention: Iterable[str], links: Links) -> list[Html]:
    """Return the block that a pipeline's page begins with: its state with reason, cause and next step if somebody has
    to act; else what is abnormal; else one calm sentence."""
    found = [each["sentence"] for each in causes.causes[:_MOST]]
    more = [*found[1:], *attention]
    unseen = [] if causes.unseen is None else [quiet(causes.unseen)]
    if not standing.calm:
        reason = paragraph(*_reason(standing), class_="first")
        inner = [reason, *map(paragraph, found[:1]), *_bullets(more)]
        title = element("h2", badge(standing.name))
        block = element("div", title, *inner, *_next(name, standing, links), class_=f"look {_class(standing.name)}")
        return [block, *unseen]
    if found or more:
        first = [] if not found else [paragraph(found[0], class_="first")]
        return [element("div", element("h2", "Look at this"), *first, *_bullets(more), class_="look"), *unseen]
    return unseen or [paragraph("Nothing is out of the ordinary in the newest run.", class_="calm")]


def of_run(causes: Causes) -> list[Html]:
    """Return the lines that a run's page begins with: what is abnormal in it, and why."""
    if causes.unseen is not None:
        return [quiet(causes.unseen)]
    if not causes.causes:
        return [paragraph("Nothing is out of the ordinary in this run.", class_="calm")]
    found = [each["sentence"] for each in causes.causes[:_MOST]]
    first = paragraph(found[0], class_="first")
    return [element("div", element("h2", "Look at this"), first, *_bullets(found[1:]), class_="look")]


def _reason(standing: Standing) -> Iterator[str]:
    record = standing.record
    if standing.name == WAITING and record["sentence"] is None:
        yield "A DAG run waits for a person's answer."
    else:
        yield record["sentence"] or ""
    checks = once([asdict(each) for each in standing.failed])
    if checks:
        yield f" It failed: {'; '.join(map(failed, checks))}."


def _bullets(lines: Sequence[str]) -> list[Html]:
    return [bullets(lines)] if lines else []


def _next(name: str, standing: Standing, links: Links) -> Iterator[Html]:
    """Yield the next step: the answer that is asked for, or the commands that lead on."""
    for run, task in standing.waiting.items():
        where = links.airflow(f"answer {task}", "dags", dag_id(name), "runs", run, "tasks", task)
        yield paragraph("Next step: ", where, f" of DAG run {run}.")
    commands = [element("li", element("code", each)) for each in standing.record["commands"]]
    if commands:
        yield element("div", element("p", "Next step:"), element("ul", *commands), class_="next")


def _class(name: str) -> str:
    return name.replace(" ", "-")


def states_data(standing: Standing) -> dict[str, Any]:
    """Return the state as JSON: its name, and the runs that wait for a person."""
    return {"state": standing.name, "waiting": dict(standing.waiting)}
