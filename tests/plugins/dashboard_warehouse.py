"""A pipeline with everything that a dashboard shows, judged by the oracle and written without a JVM, and a host that
knows who may see what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.testclient import TestClient
from page_warehouse import HOSTILE, LETTERS, QUALITY, SETTINGS, T0, accounts_of, delta, found, two_runs
from report_warehouse import record

from oracle import Obj, Outcome, Run
from tidemark.core.batch import LandedObject, ObjectState
from tidemark.core.batch_result import BatchRecord, TableDigest
from tidemark.core.streams import StreamEnd, StreamState
from tidemark.core.times import HOUR
from tidemark.core.watermarks import PartitionState
from tidemark.dashboard.app import create_app
from tidemark.dashboard.host import Verified
from tidemark.dashboard.known import Pipelines
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.tables.rows import batch_row, object_row, state_row


def write_tables(
    folder: Path,
    name: str = "toll",
    runs: Sequence[Run] | None = None,
    run_id: str = "r{}",
    letters: int = 0,
    checks: int = 0,
) -> Outcome:
    """The tables of some runs, each of one batch, as their pipeline would have left them in `folder`/warehouse."""
    runs = runs or two_runs()
    root = folder / "warehouse" / name
    versions.first(root, T0)
    recorded = record(root / "v1" / "events" / "readings", SETTINGS, runs)
    ledger = Ledger(root)
    batches = [
        _batch(recorded.ledger.batches[n], recorded.outcome, n, run_id, letters * (n == len(runs)))
        for n in range(1, len(runs) + 1)
    ]
    ledger.stores["batches"].append([batch_row(batch) for batch in batches])
    states: list[tuple[int, str, PartitionState]] = [
        (batch, partition, state)
        for partition, history in recorded.ledger.history.items()
        for batch, state in history
    ]
    ledger.stores["watermarks"].append([state_row(batch, "readings", part, state) for batch, part, state in states])
    ledger.stores["diagnostics"].append([found(partition=HOSTILE, message=HOSTILE)])
    objects = [object_row(n, _taken(each)) for n, run in enumerate(runs, 1) for each in run.objects]
    ledger.stores["objects"].append(objects, "commit", len(runs))
    if letters:
        delta(root / "v1" / "dead_letters" / "rolling", map(letter, range(letters)), LETTERS)
    if checks:
        delta(root / "v1" / "quality", (check(number) for number in range(checks)), QUALITY)
    return recorded.outcome


def _taken(each: Obj) -> LandedObject:
    return LandedObject("readings", each.uri, 10, each.modified, "t", state=ObjectState.READ, rows=len(each.rows))


def _batch(batch: BatchRecord, outcome: Outcome, number: int, run_id: str, letters: int) -> BatchRecord:
    mine = [verdict for verdict in outcome.verdicts if verdict.run == number - 1]
    return replace(
        batch,
        run_id=run_id.format(number),
        accounts=accounts_of(mine),
        objects=number,
        engine='{"versions": {"pyspark": "4.2.0"}, "settings": {}}',
        fingerprint="f" * 64,
        digests=(TableDigest("events/readings", len(mine), "d" * 64),),
        streams={"rolling": StreamEnd(StreamState(watermark=T0), 7, 0, letters)},
    )


def letter(number: int) -> dict[str, Any]:
    """One row that came late for a window."""
    times = {"_event_time": T0, "_system_timestamp": T0, "_watermark": T0 + 2 * HOUR}
    window = {"_window_start": T0, "_window_end": T0 + HOUR}
    return {"_source": "readings", "_partition": "0", "_offset": number, "_batch_id": 1 + number % 2} | times | window


def check(number: int) -> dict[str, Any]:
    """One check of quality: every tenth failed."""
    return {
        "batch_id": 1 + number % 2,
        "run_id": f"r{1 + number % 2}",
        "table": "events/readings",
        "expectation": HOSTILE if number == 0 else f"max_dropped {number}",
        "observed": 0.5,
        "limit": 0.01,
        "success": number % 10 != 0,
        "severity": "warn",
        "examples": [HOSTILE] if number == 0 else [],
    }


@dataclass
class Doorman:
    """A host whose user is named by a header, and may read the DAGs that are listed for them. Without the header
    there is none."""

    rights: Mapping[str, Collection[str]] = field(default_factory=dict)
    errors: Collection[str] = ()
    dag_runs: Mapping[str, str] = field(default_factory=dict)
    checked: Mapping[str, Verified] = field(default_factory=dict)
    waits: Mapping[str, str] = field(default_factory=dict)
    started: Mapping[str, str] = field(default_factory=dict)

    @property
    def user(self) -> Callable[..., str]:
        def user(request: Request) -> str:
            name = request.headers.get("x-user")
            if name is None:
                raise HTTPException(401, "Not authenticated")
            return name

        return user

    def readable(self, user: str, dags: Collection[str]) -> set[str]:
        return set(dags) & set(self.rights.get(user, ()))

    def may_read_errors(self, user: str) -> bool:
        return user in self.errors

    def runs(self, dag: str, run_ids: Collection[str]) -> Mapping[str, str]:  # noqa: ARG002
        return {run: state for run, state in self.dag_runs.items() if run in run_ids}

    def waiting(self, dag: str) -> Mapping[str, str]:  # noqa: ARG002
        return self.waits

    def users(self, dag: str, run_ids: Collection[str]) -> Mapping[str, str]:  # noqa: ARG002
        return {run: user for run, user in self.started.items() if run in run_ids}

    def verified(self, dag: str, run_ids: Collection[str]) -> Mapping[str, Verified]:  # noqa: ARG002
        return {run: recorded for run, recorded in self.checked.items() if run in run_ids}


def application(folder: Path, host: Doorman) -> FastAPI:
    """The dashboard over the pipeline files of a folder."""
    return create_app(Pipelines(lambda: folder), host)


def client_of(app: FastAPI, user: str | None = "reader") -> TestClient:
    """Requests of a user, or of nobody."""
    headers = {} if user is None else {"x-user": user}
    return TestClient(app, headers=headers, follow_redirects=False, raise_server_exceptions=False)
