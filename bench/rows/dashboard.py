"""Row `dashboard`: how long a page takes that nobody has looked at before, with years behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from statistics import median

from fastapi.testclient import TestClient

from bench.clock import Spread, alternate, seconds
from bench.data import LANES, Trickle
from bench.figures import Figure, Section
from bench.history import Past
from bench.place import Place
from bench.rows.batch import Side, sides
from tidemark.dashboard.app import create_app
from tidemark.dashboard.host import Verified
from tidemark.dashboard.known import Pipelines

FULL_PAST = Past(batches=10_000, objects=10_000, files=100)
MOST = 0.3
"""Seconds of the first view, at most."""
VIEWS = {
    "the list of pipelines": "/",
    "a pipeline": "/pipelines/bench",
    "its newest runs": "/pipelines/bench/runs",
    "its oldest runs": "/pipelines/bench/runs?page={pages}",
    "a batch": "/pipelines/bench/batches/1?fate=dropped",
    "one row": "/pipelines/bench/row?source=readings&partition=0&offset=0",
    "the pictures": "/pipelines/bench/history",
}
_ROUNDS = 5


class Anyone:
    """A host that lets everybody see everything."""

    @property
    def user(self) -> Callable[..., str]:
        return lambda: "anyone"

    def readable(self, user: str, dags: Collection[str]) -> set[str]:  # noqa: ARG002
        return set(dags)

    def may_read_errors(self, user: str) -> bool:  # noqa: ARG002
        return True

    def runs(self, dag: str, run_ids: Collection[str]) -> Mapping[str, str]:  # noqa: ARG002
        return {}

    def waiting(self, dag: str) -> Mapping[str, str]:  # noqa: ARG002
        return {}

    def starters(self, dag: str, run_ids: Collection[str]) -> Mapping[str, str]:  # noqa: ARG002
        return {}

    def verified(self, dag: str, run_ids: Collection[str]) -> Mapping[str, Verified]:  # noqa: ARG002
        return {}


def measure(place: Place) -> Section:
    """The same pages over a warehouse with a past and over a young one, in turns."""
    trickle = Trickle(place.spark, place.cache, 1_000, LANES, 1)
    old, young, past = sides(place, trickle, FULL_PAST)
    taken = {
        name: alternate(
            {"old": _view(old, path, past.batches), "young": _view(young, path, 1)},
            _ROUNDS * place.repeats,
            place.say,
        )
        for name, path in VIEWS.items()
    }
    figures = [
        Figure.of(f"{name}, {past.batches:,} batches in the log", "the same, young", both["old"], both["young"])
        for name, both in taken.items()
    ]
    told = [_told(name, both["old"]) for name, both in taken.items()]
    first = max(median(taken[name]["old"]) for name in list(VIEWS)[:2])
    reached = "reached" if first < MOST else "not reached"
    return Section(
        "dashboard",
        "A page of the dashboard with years behind it",
        figures,
        [
            f"The first view is to take less than {1000 * MOST:.0f} ms: {1000 * first:.0f} ms, {reached}.",
            f"Milliseconds, median and greatest: {'; '.join(told)}.",
            "Each view is a request to an application that has just been made, so that the pipeline's file and all "
            "tables are opened for it; users and rights are not asked for.",
        ],
    )


def _view(side: Side, path: str, batches: int) -> Callable[[], float]:
    """Seconds of one request to an application that has seen nothing before."""
    address = path.format(pages=-(-batches // 50))

    def case() -> float:
        client = TestClient(create_app(Pipelines(lambda: side.folder), Anyone()))
        found: list[int] = []
        took = seconds(lambda: found.append(client.get(address).status_code))
        assert found == [200], f"{address} answers {found}"
        return took

    return case


def _told(name: str, taken: list[float]) -> str:
    spread = Spread.of(taken)
    return f"{name} {1000 * spread.median:.0f} and {1000 * spread.high:.0f}"
