"""DAGs for all pipelines: backfills started by hand, a daily report for each, maintenance."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, BaseOperator, Param, TriggerRule, get_current_context, task
from airflow.sdk.exceptions import AirflowSkipException

from tidemark.airflow import aws
from tidemark.airflow.approvals import WHEN_APPROVED, PromotionGate, built_by
from tidemark.airflow.folders import beside_dags
from tidemark.airflow.operators import spark_task
from tidemark.airflow.routes import Files, routed, routes
from tidemark.airflow.steps import as_of_of
from tidemark.config.pipeline_files import SINCE
from tidemark.config.scheduling.placement import Placement
from tidemark.records.versions import nothing_differs

REPORTS_VARIABLE = "TIDEMARK_REPORTS"
_PROMOTE = ("never", "when identical", "when quality passes", WHEN_APPROVED)
_COMMON = {"owner": "tidemark", "retries": 1, "retry_delay": timedelta(minutes=1)}


def _dag(name: str, doc: str | None, schedule: str | None = None, **options: Any) -> DAG:
    common: dict[str, Any] = {"start_date": SINCE, "catchup": False, "tags": ["tidemark"], "default_args": _COMMON}
    return DAG(name, schedule=schedule, doc_md=doc, **common, **options)


def backfill_dag(files: Files) -> DAG:
    """Triggered by hand: rebuilds a range of a pipeline's outputs as a version beside the live one, reports the
    differences, and promotes the version if that was chosen, or if a person approves."""
    names = [file.spec.name for file in files]
    params = {
        "pipeline": Param(names[0] if names else None, enum=names, title="Pipeline"),
        "from": Param(type="string", format="date-time", title="From", description="First output time, UTC"),
        "to": Param(
            None, type=["null", "string"], format="date-time", title="To", description="Empty: up to the last run"
        ),
        "from_landing": Param(False, type="boolean", title="Read landing again, as it is now"),
        "settings": Param([], type="array", items={"type": "string"}, title="Changed settings, KEY=VALUE each"),
        "promote": Param("never", enum=list(_PROMOTE), title="Let readers see the result"),
    }
    with _dag("tidemark_backfill", backfill_dag.__doc__, params=params, max_active_runs=1) as dag:
        paths = {file.spec.name: str(file.path) for file in files}
        chosen: Any = task.branch(task_id="choose")(choose)(paths, routes("build", files))
        builds = routed("build", files, _command("backfill", chosen["arguments"], retries=0))
        one_built = TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS
        decide = PromotionGate(task_id="decide", chosen=chosen["chosen"], trigger_rule=one_built)
        report: Any = task.branch(task_id="report")(report_differences)(chosen["chosen"], routes("promote", files))
        promotions = routed("promote", files, _command("promote", report["arguments"]))
        chosen >> builds >> decide >> report >> promotions
    return dag


def _command(job: str, arguments: Any, **options: Any) -> Callable[[str, Placement], BaseOperator]:
    """Return a function that makes the task of a command for a placement."""

    def made(task_id: str, placement: Placement) -> BaseOperator:
        return spark_task(task_id=task_id, job=job, application_args=arguments, placement=placement, **options)

    return made


def choose(paths: Mapping[str, str], builds: Mapping[str, str]) -> str:
    """Return the task that carries out the chosen backfill. Its arguments, and the input of its report, are XComs."""
    asked, label = get_current_context()["params"], get_current_context()["run_id"]
    config = paths[asked["pipeline"]]
    arguments = [config, "--from", asked["from"], "--wait", "--label", label]
    arguments += ["--to", asked["to"]] if asked["to"] else []
    arguments += ["--from-landing"] if asked["from_landing"] else []
    arguments += [part for setting in asked["settings"] for part in ("--set", setting)]
    get_current_context()["ti"].xcom_push("arguments", arguments)
    get_current_context()["ti"].xcom_push("chosen", {"config": config, "label": label})
    return builds[asked["pipeline"]]


def report_differences(chosen: Mapping[str, Any], promotions: Mapping[str, str]) -> str:
    """Print the result of this run's backfill to the task's log, and return the task that promotes the version; its
    arguments are an XCom. Skips the promotion if it was not chosen, or if its condition is not met."""
    from tidemark.commands.versions import differs, exceeded

    asked, newest = get_current_context()["params"]["promote"], built_by(chosen)
    found = newest["difference"] or nothing_differs()
    identical = not differs(found)
    spec = aws.load(chosen["config"]).spec
    beyond = exceeded(spec, found)
    print(f"version {newest['version']} {'came out identical' if identical else f'differs: {json.dumps(found)}'}")
    reasons = {
        _PROMOTE[0]: ["nobody asked for it"],
        _PROMOTE[1]: [] if identical else ["it is not identical"],
        _PROMOTE[2]: beyond,
        WHEN_APPROVED: [],
    }
    if reasons[asked]:
        raise AirflowSkipException(f"version {newest['version']} is not promoted: {'; '.join(reasons[asked])}")
    get_current_context()["ti"].xcom_push("arguments", [chosen["config"], str(newest["version"]), "--wait"])
    return promotions[spec.name]


def report_dag(files: Files) -> DAG:
    """Every day a page for each pipeline: the fates of rows in the day's runs, and the progress of partitions."""
    with _dag("tidemark_quality_report", report_dag.__doc__, schedule="0 6 * * *") as dag:
        for file in files:
            task(task_id=file.spec.name)(write_page)(str(file.path))
    return dag


def write_page(config: str) -> str:
    """Write the page of a pipeline's last 24 hours below $TIDEMARK_REPORTS (default: `reports` beside the folder of
    DAG files), and return its path."""
    pipeline, run = aws.load(config), get_current_context()["dag_run"]
    end = as_of_of(run)
    folder = Path(os.environ.get(REPORTS_VARIABLE) or beside_dags("reports")) / pipeline.spec.name
    folder.mkdir(parents=True, exist_ok=True)
    since = end - timedelta(days=1)
    return str(pipeline.report(folder / f"{end:%Y-%m-%d}.html", since.isoformat(), end.isoformat())["path"])


def maintenance_dag(files: Files) -> DAG:
    """Every week: small files are compacted, and files that no table has needed for a week are deleted. No replay
    needs them."""
    params = {"dry_run": Param(False, type="boolean", title="Only say what would be done")}
    weekly: dict[str, Any] = {"schedule": "0 3 * * 0", "max_active_tasks": 1, "params": params}
    with _dag("tidemark_maintenance", maintenance_dag.__doc__, **weekly) as dag:
        for file in files:
            arguments = [str(file.path), "{{ '--dry-run' if params.dry_run else '--json' }}"]
            _command("maintain", arguments)(file.spec.name, file.scheduling.spark)
    return dag
