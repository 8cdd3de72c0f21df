"""DAGs for all pipelines: verifying the past by hand, a daily page each, upkeep."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Param, TriggerRule, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException

from tidemark.files import PipelineFile
from tidemark_dags.steps import as_of_of
from tidemark_dags.submit import TidemarkSubmitOperator

REPORTS_VARIABLE = "TIDEMARK_REPORTS"
DEFAULT_REPORTS = Path(__file__).parents[2] / "reports"
_SINCE = datetime(2000, 1, 1, tzinfo=UTC)
_PROMOTE = ("never", "when identical", "when quality passes")
_COMMON = {"owner": "tidemark", "retries": 1, "retry_delay": timedelta(minutes=1)}
_CHOSEN = "{{ ti.xcom_pull(task_ids='choose')['%s'] }}"

Files = Sequence[PipelineFile]


def _dag(name: str, doc: str | None, schedule: str | None = None, **options: Any) -> DAG:
    common = {"start_date": _SINCE, "catchup": False, "tags": ["tidemark"], "default_args": _COMMON}
    return DAG(name, schedule=schedule, doc_md=doc, **common, **options)


def backfill_dag(files: Files) -> DAG:
    """Triggered by hand: recomputes a stretch of a pipeline's past and compares it with what was recorded."""
    names = [file.spec.name for file in files]
    params = {
        "pipeline": Param(names[0] if names else None, enum=names, title="Pipeline"),
        "from": Param(type="string", format="date-time", title="From", description="as_of of the first run, UTC"),
        "to": Param(type="string", format="date-time", title="To", description="as_of of the last run, included"),
        "settings": Param([], type="array", items={"type": "string"}, title="Changed settings, KEY=VALUE each"),
        "promote": Param("never", enum=list(_PROMOTE), title="Let readers see the result"),
    }
    with _dag("tidemark_backfill", backfill_dag.__doc__, params=params) as dag:
        paths = {file.spec.name: str(file.path) for file in files}
        chosen = task(task_id="choose")(choose)(paths)
        batches = ["--from-batch", _CHOSEN % "first", "--to-batch", _CHOSEN % "last"]
        verify = TidemarkSubmitOperator(
            task_id="verify", job="replay", application_args=[_CHOSEN % "config", *batches], retries=0
        )
        chosen >> verify >> task(task_id="report", trigger_rule=TriggerRule.ALL_DONE)(tell)(chosen)
    return dag


def choose(paths: Mapping[str, str]) -> dict[str, Any]:
    """The batches of the runs that were asked for."""
    from tidemark.pipeline import Pipeline
    from tidemark.scheduled import batches_between

    asked = get_current_context()["params"]
    if asked["settings"]:
        raise AirflowFailException(
            "settings can't be changed: this version of tidemark builds no versions. Leave `settings` empty to verify"
        )
    config = paths[asked["pipeline"]]
    found = batches_between(Pipeline.load(config), asked["from"], asked["to"])
    if found is None:
        raise AirflowFailException(
            f"no run of {asked['pipeline']} has an as_of from {asked['from']} to {asked['to']}"
        )
    return {"config": config, "first": found[0], "last": found[1]}


def tell(chosen: Mapping[str, Any] | None) -> str:
    """What the backfill came to; fails where it did not come out identical."""
    context = get_current_context()
    asked, run = context["params"], context["dag_run"]
    what = f"pipeline {asked['pipeline']}, runs from {asked['from']} to {asked['to']}"
    if chosen is None:
        raise AirflowFailException(f"{what}: nothing was verified; the task `choose` says why")
    states = context["ti"].get_task_states(dag_id=run.dag_id, task_ids=["verify"], run_ids=[run.run_id])
    state = states.get(run.run_id, {}).get("verify")
    told = f"{what}: batches {chosen['first']} to {chosen['last']}"
    if state != "success":
        raise AirflowFailException(f"{told} did not come out identical; the task `verify` names the differences")
    print(f"{told} came out identical; nothing was changed")  # the task's log
    return f"{told} came out identical"


def report_dag(files: Files) -> DAG:
    """Every day a page for each pipeline: what became of rows in the day's runs, and how far partitions are."""
    with _dag("tidemark_quality_report", report_dag.__doc__, schedule="0 6 * * *") as dag:
        for file in files:
            task(task_id=file.spec.name)(write_page)(str(file.path))
    return dag


def write_page(config: str) -> str:
    """Write the page of a pipeline's last 24 hours, below $TIDEMARK_REPORTS (default: `reports` beside `dags`); its
    path."""
    from tidemark.pipeline import Pipeline

    pipeline, run = Pipeline.load(config), get_current_context()["dag_run"]
    end = as_of_of(run)
    folder = Path(os.environ.get(REPORTS_VARIABLE) or DEFAULT_REPORTS) / pipeline.spec.name
    folder.mkdir(parents=True, exist_ok=True)
    since = end - timedelta(days=1)
    return str(pipeline.report(folder / f"{end:%Y-%m-%d}.html", since.isoformat(), end.isoformat())["path"])


def maintenance_dag(files: Files) -> DAG:
    """Every week: small files are merged, and files that no table has needed for a week (no replay does) deleted."""
    params = {"dry_run": Param(False, type="boolean", title="Only say what would be done")}
    weekly = {"schedule": "0 3 * * 0", "max_active_tasks": 1, "params": params}
    with _dag("tidemark_maintenance", maintenance_dag.__doc__, **weekly) as dag:
        for file in files:
            arguments = [str(file.path), "{{ '--dry-run' if params.dry_run else '--json' }}"]
            TidemarkSubmitOperator(task_id=file.spec.name, job="maintain", application_args=arguments)
    return dag
