"""Random stories of one pipeline and a real Airflow's database: `python stories.py FOLDER SEED RUNS` in Airflow's
environment prints what its consumers got, as JSON.

Runs, crashes and recoveries are those of the real runner and ledger, with rows judged in plain Python. `publish` runs
as Airflow's own task runner runs it, against Airflow's execution API, and the scheduler's own code makes the runs of
the consumers' DAGs.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
from airflow.jobs.job import Job
from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
from airflow.models.asset import AssetEvent, AssetModel
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.serialized_dag import SerializedDagModel
from airflow.models.taskinstance import TaskInstance, clear_task_instances
from airflow.sdk.api.client import ServerResponseError, TaskInstanceOperations
from airflow.sdk.api.datamodels._generated import TaskInstance as RunnableTask
from airflow.sdk.execution_time.supervisor import run_task_in_process
from airflow.settings import Session
from airflow.utils.state import DagRunState, TaskInstanceState
from airflow.utils.types import DagRunTriggeredByType, DagRunType
from ruamel.yaml import YAML

from row_engine import NoRows, RowEngine, without_spark
from tidemark.commands.schedule import ScheduledWork, answer, foresee
from tidemark.context import RunContext
from tidemark.core.times import DAY, HOUR, MAX_TIME, from_datetime
from tidemark.ledger import versions
from tidemark.ledger.ledger import Ledger
from tidemark.ledger.versions import Made
from tidemark.pipeline import Pipeline

DAG, STREAMS = "tidemark_story", ("hours", "days")
START = datetime(2026, 1, 1, tzinfo=UTC)
PIPELINE: dict[str, Any] = {
    "pipeline": "story",
    "warehouse": "../warehouse",
    "start": START.isoformat(),
    "sources": {
        "s": {
            "landing": "../landing",
            "format": "json",
            "schema": "p STRING, e TIMESTAMP, a TIMESTAMP, k STRING, n INT",
            "timestamp_by": "e",
            "late_arrival": {"tolerance": "2h", "action": "adjust"},
            "out_of_order": {"tolerance": "30m", "action": "adjust"},
        }
    },
    "streams": {
        "hours": {"from": "s", "tumbling": "1h", "select": {"n": "count(*)"}},
        "days": {"from": "s", "tumbling": "1d", "select": {"n": "count(*)"}},
    },
}
FAULTS = ("none", "none", "none", "killed", "zombie", "answer lost", "sent twice", "cleared", "left out", "deleted")
"""What happens to `publish`: its process ends before it has emitted anything, and its message comes late besides; or
ends afterwards; or sends its message twice; the task is cleared, or never runs; or its events are deleted later."""


class Crash(BaseException):
    """The sudden end of a process."""


@dataclass
class Story:
    """One pipeline, the metadata of an Airflow, and what consumers should have got by now."""

    folder: Path
    dice: Random
    now: datetime = START + timedelta(hours=5)
    made: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    through: dict[str, int] = field(default_factory=dict)
    """By stream, the time by which its periods must have been emitted."""
    version: int = 1
    changes: list[tuple[int, int]] = field(default_factory=list)
    """Ranges in which promoted versions differ, since the last event."""
    early: list[str] = field(default_factory=list)
    got: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Events by stream and key, and runs of consumers by DAG and key; `wanted` are those that should be there."""
    wanted: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        (self.folder / "landing").mkdir()
        with self.config.open("w") as file:
            YAML().dump(PIPELINE, file)
        self.engine, self.session, self.last_run, self.last_event = RowEngine(), Session(), 0, 0
        manager = DagBundlesManager()
        manager.sync_bundles_to_db()
        bundle = next(iter(manager.get_all_dag_bundles()))
        bundle.initialize()
        self.bag = BundleDagBag(dag_folder=bundle.path, bundle_path=bundle.path, bundle_name=bundle.name)
        assert not self.bag.import_errors, self.bag.import_errors
        sync_bag_to_db(self.bag, bundle.name, bundle.version)
        self.session.query(DagModel).update({"is_paused": False})
        self.job = Job()
        self.session.add(self.job)
        self.session.commit()
        self.scheduler = SchedulerJobRunner(self.job)

    @property
    def config(self) -> Path:
        return self.folder / "pipelines" / "story.yml"

    @property
    def context(self) -> RunContext:
        return Pipeline.load(self.config).context

    # -- the pipeline

    def land(self) -> None:
        path = self.folder / "landing" / f"{self.made:05d}"
        rows = []
        for _ in range(self.dice.randint(1, 3)):
            event = self.now - timedelta(minutes=self.dice.randint(0, 240))
            rows.append({"p": "x", "e": event.isoformat(), "k": "y", "n": 1})
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (self.now.timestamp(), self.now.timestamp()))

    def run(self, run_id: str, crash: int = 0) -> None:
        """What `discover` and `process` do; the process ends suddenly at its checkpoint number `crash`."""
        context, left = self.context, [crash]

        def passed(step: str) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Crash(step)

        context.on_checkpoint = passed
        if foresee(self.context, self.now.isoformat(), run_id).need is ScheduledWork.RUN:
            with suppress(Crash):
                answer(context, self.now.isoformat(), run_id)

    def promote(self) -> None:
        """A backfill that changed some outputs, and its promotion; or back to the version before."""
        context = self.context
        ledger, root = context.ledger, context.root
        last = ledger.last()
        if last.pending or not last.committed_through:
            return
        record = ledger.batches(last.committed_through, last.committed_through)[0]
        first = from_datetime(self.now) - self.dice.randint(1, 80) * HOUR
        to = self.dice.choice((None, first + self.dice.randint(1, 40) * HOUR))
        difference = {"rows": {}, "streams": {name: {"gone": 1, "new": 1} for name in STREAMS}, "dead_letters": {}}
        made = Made(
            first, to, record.fingerprint, record.configuration, ledger.version, record.batch_id, None, 0,
            json.dumps(difference),
        )  # fmt: skip
        number = versions.reserve(root)
        shutil.copytree(ledger.folder, root / f"v{number.number}")
        versions.add(root, from_datetime(self.now), made, number)
        versions.promote(root, number.number, from_datetime(self.now))
        self.changes.append((first, MAX_TIME if to is None else to))
        if self.dice.random() < 0.3:
            versions.promote(root, ledger.version, from_datetime(self.now))
            self.changes.pop()
        self.faults["promotion"] += 1

    # -- Airflow

    def publish(self, run_id: str, fault: str) -> None:
        """A DAG run of which only `publish` is left, with a fault."""
        run = SerializedDagModel.get(DAG, session=self.session).dag.create_dagrun(
            run_id=run_id,
            logical_date=None,
            data_interval=None,
            run_after=datetime.now(UTC),
            run_type=DagRunType.MANUAL,
            triggered_by=DagRunTriggeredByType.TEST,
            state=DagRunState.RUNNING,
            session=self.session,
        )
        task = run.get_task_instance("publish", session=self.session)
        self.session.commit()
        died = fault in ("killed", "zombie")
        late = self.killed(task) if died else None
        self.attempt(task, "none" if died else fault)
        if fault == "zombie" and late is not None:
            with pytest.raises(ServerResponseError):
                SENT(*late[0], **late[1])
        if fault in ("cleared", "deleted"):
            clear_task_instances([task], self.session)
            self.session.commit()
            self.attempt(task)
        self.session.expire_all()
        assert task.state in ("success", "skipped"), task.state

    def killed(self, task: TaskInstance) -> Any:
        """An attempt that ends before its message is sent, and what the scheduler does then. Returns the message."""
        message = self.attempt(task, "killed")
        task.handle_failure("its process is gone", session=self.session)
        self.session.commit()
        self.session.expire_all()
        return message

    def attempt(self, task: TaskInstance, fault: str = "none") -> Any:
        """One attempt of the task. Returns the message that it succeeded, None if it was skipped."""
        said: list[Any] = []

        def succeed(*arguments: Any, **options: Any) -> Any:
            said.append((arguments, options))
            if fault == "killed":
                raise Crash
            done = SENT(*arguments, **options)
            if fault == "answer lost":
                raise Crash
            return SENT(*arguments, **options) if fault == "sent twice" else done

        task.set_state(TaskInstanceState.QUEUED, session=self.session)
        self.session.commit()
        names = ("task_id", "dag_id", "run_id", "try_number", "map_index")
        ids = {"id": UUID(str(task.id)), "dag_version_id": UUID(str(task.dag_version_id))}
        with pytest.MonkeyPatch.context() as patched, suppress(Crash):
            patched.setattr(TaskInstanceOperations, "succeed", succeed)
            runnable = RunnableTask(**ids, **{name: getattr(task, name) for name in names})
            run_task_in_process(runnable, self.bag.dags[DAG].get_task("publish"))
        self.session.expire_all()
        return said[0] if said else None

    def consumers(self) -> None:
        """Let the scheduler make the runs of consumers that are due, and count them and the new events."""
        while self.scheduler._create_dagruns_for_partitioned_asset_dags(self.session):
            self.session.commit()
        self.session.commit()
        watermarks = self.watermarks()
        new = self.session.query(DagRun).filter(DagRun.id > self.last_run, DagRun.dag_id != DAG).order_by(DagRun.id)
        for run in new:
            self.last_run = run.id
            self.got[run.dag_id, run.partition_key] += 1
            end = from_datetime(datetime.fromisoformat(run.partition_key)) + DAY
            needed = STREAMS if run.dag_id == "both" else STREAMS[:1]
            self.early += [f"{run.dag_id} {run.partition_key}" for name in needed if watermarks[name] < end]
        events = self.session.query(AssetEvent.id, AssetModel.name, AssetEvent.partition_key)
        events = events.join(AssetModel, AssetEvent.asset_id == AssetModel.id).order_by(AssetEvent.id)
        for number, name, key in events.filter(AssetEvent.id > self.last_event):
            self.last_event = number
            if key is not None:
                self.got[name.removeprefix(f"{DAG}."), key] += 1

    # -- what consumers should have got

    def watermarks(self) -> dict[str, int]:
        ledger = Ledger(self.context.root)
        last = ledger.last().last_run
        if last is None:
            return {}
        ends = ledger.batches(last.last, last.last)[0].streams
        return {name: end.state.watermark for name, end in ends.items() if end.state.watermark is not None}

    def note(self) -> None:
        """Count what a `publish` that succeeded must have emitted: periods that were completed, and those before them
        of days in which a promotion changed emitted times. Consumers get each day that ends by the watermark."""
        live = versions.live(self.context.root)
        changed = self.changes if live != self.version else []
        reached = self.watermarks()
        for name, size in (("hours", HOUR), ("days", DAY), ("daily", DAY), ("both", DAY)):
            watermark = min(reached.get(each, 0) for each in (STREAMS if name in ("days", "both") else STREAMS[:1]))
            through = self.through.get(name, 0)
            touched = [(first, min(last, through)) for first, last in changed if first < min(last, through)]
            for begin in range(from_datetime(START), watermark - size + 1, size):
                day = begin // DAY * DAY
                again = any(first < day + DAY and day < last for first, last in touched)
                if again or begin + size > through:
                    self.wanted[name, text(begin)[: None if name in STREAMS else 10]] += 1
            self.through[name] = max(through, watermark)
        self.version, self.changes = live or 1, []

    def step(self) -> None:
        self.made += 1
        self.now += timedelta(minutes=self.dice.randint(20, 480))
        if self.dice.random() < 0.8:
            self.land()
        if self.dice.random() < 0.2:
            self.faults["person's run"] += 1
            self.run(f"person-{self.made}", crash=self.dice.choice((0, 3)))
            self.now += timedelta(minutes=self.dice.randint(0, 60))
        crash = self.dice.choice((0, 0, 0, self.dice.randint(1, 8)))
        self.faults["crash of process"] += bool(crash)
        self.run(f"run-{self.made}", crash)
        if crash:
            self.run(f"run-{self.made}")
        if self.dice.random() < 0.05:
            self.promote()
        fault = self.dice.choice(FAULTS)
        self.faults[fault] += 1
        if fault == "left out":
            return
        self.publish(f"run-{self.made}", fault)
        self.note()
        self.consumers()
        if fault == "deleted":
            self.session.query(AssetEvent).delete()
            self.session.commit()

    def result(self) -> dict[str, Any]:
        """Numbers of what happened, and every event or run of a consumer that is wrong."""
        totals = Counter(dict.fromkeys((*STREAMS, "daily", "both"), 0))
        for (name, _), count in self.got.items():
            totals[name] += count
        return {
            "runs": self.made,
            "faults": self.faults,
            "totals": totals,
            "again": sum(count - 1 for (name, _), count in self.wanted.items() if name == "daily"),
            "early": self.early,
            "twice": sorted(map(str, self.got - self.wanted)),
            "missing": sorted(map(str, self.wanted - self.got)),
        }


def text(time: int) -> str:
    return datetime.fromtimestamp(time / 1_000_000, UTC).replace(tzinfo=None).isoformat()


SENT = TaskInstanceOperations.succeed


def main(folder: Path, seed: int, runs: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        without_spark(patched)
        story = Story(folder, Random(seed))  # noqa: S311 - a story, not a secret
        patched.setattr(RunContext, "engine", property(lambda _: story.engine))
        patched.setattr(RunContext, "outputs", lambda *_, **__: NoRows())
        for _ in range(runs):
            story.step()
    sys.stdout.write(json.dumps(story.result()) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
