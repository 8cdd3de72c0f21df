"""The first lines of a page: the state with its reason and the next step, or abnormal rows and their causes."""

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
_JUDGED = frozenset({"blocked", "released"})
"""States of which the last judged run is the one that they are about."""
_MOST = 3
"""Most causes on a page; `tidemark why` has all."""


@dataclass(frozen=True)
class Standing:
    """The state of a pipeline, the checks that block it, and the runs of its DAG that wait for a person, each with
    its task."""

    record: StandingRecord
    failed: Sequence[Check] = ()
    waiting: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The state in one to three words."""
        state = self.record["state"]
        return WAITING if self.waiting and state in ("blocked", "ready") else _NAMES.get(state, state)

    @property
    def calm(self) -> bool:
        """True if nobody has to do anything."""
        return self.name in ("ready", _NAMES["new"])


def state_of(status: str, standing: Standing) -> str:
    """Return the state of a recorded batch; `planned` in the ledger means that its run goes on, or has crashed."""
    if status == "planned":
        return standing.name if not standing.calm else "planned"
    return standing.name if status == "blocked" else status


def badge(name: str) -> Html:
    """Return the name of a state, with its colour."""
    return element("span", name, class_=f"badge {name.replace(' ', '-')}")


def first_lines(name: str, standing: Standing, causes: Causes, attention: Iterable[str], links: Links) -> list[Html]:
    """Return the blocks at the beginning of a page: if somebody has to act, the state with reason, cause and next
    step; then abnormal rows of the last judged run, or of the blocked run if there is one."""
    found = [each["sentence"] for each in causes.causes[:_MOST]]
    unseen = [] if causes.unseen is None else [quiet(causes.unseen)]
    own = found if standing.record["state"] in _JUDGED else []
    state = [] if standing.calm else [_state(name, standing, own, links)]
    abnormal = _abnormal([*(found if not own else []), *attention])
    if state or abnormal or unseen:
        return [*state, *abnormal, *unseen]
    return [paragraph("Nothing is out of the ordinary in the newest run.", class_="calm")]


def of_run(causes: Causes, failing: Sequence[str]) -> list[Html]:
    """Return the first lines of a run's page: its abnormal rows with their causes, and its failed checks."""
    found = _abnormal([*(each["sentence"] for each in causes.causes[:_MOST]), *failing])
    unseen = [] if causes.unseen is None else [quiet(causes.unseen)]
    return [*found, *unseen] or [paragraph("Nothing is out of the ordinary in this run.", class_="calm")]


def _state(name: str, standing: Standing, causes: Sequence[str], links: Links) -> Html:
    title, reason = element("h2", badge(standing.name)), paragraph(*_reason(standing), class_="first")
    return element(
        "div",
        title,
        reason,
        *map(paragraph, causes),
        *_next(name, standing, links),
        class_=f"look {standing.name.replace(' ', '-')}",
    )


def _abnormal(lines: Sequence[str]) -> list[Html]:
    """Return the block on abnormal rows, its first sentence as the answer; empty if there are no sentences."""
    if not lines:
        return []
    first, more = paragraph(lines[0], class_="first"), [bullets(lines[1:])] if len(lines) > 1 else []
    return [element("div", element("h2", "Look at this"), first, *more, class_="look")]


def _reason(standing: Standing) -> Iterator[str]:
    record = standing.record
    if standing.name == WAITING and record["sentence"] is None:
        yield "A DAG run waits for a person's answer."
    else:
        yield record["sentence"] or ""
    checks = once([asdict(each) for each in standing.failed])
    if checks:
        yield f" It failed: {'; '.join(map(failed, checks))}."


def _next(name: str, standing: Standing, links: Links) -> Iterator[Html]:
    """Yield the next step: the question that waits for an answer, or the commands to run."""
    for run, task in standing.waiting.items():
        where = links.airflow(f"answer {task}", "dags", dag_id(name), "runs", run, "tasks", task)
        yield paragraph("Next step: ", where, f" of DAG run {run}.")
    commands = [element("li", element("code", each)) for each in standing.record["commands"]]
    if commands:
        yield element("div", element("p", "Next step:"), element("ul", *commands), class_="next")


def states_data(standing: Standing) -> dict[str, Any]:
    """Return the state as JSON: its name, and the runs that wait for a person."""
    return {"state": standing.name, "waiting": dict(standing.waiting)}
