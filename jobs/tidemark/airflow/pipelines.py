"""The DAG of one pipeline file."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, Asset, TriggerRule, chain, task

from tidemark.airflow import alerts, steps
from tidemark.airflow.approvals import QualityGate
from tidemark.airflow.operators import spark_task
from tidemark.config.pipeline_files import PipelineFile, dag_id
from tidemark.report.pipeline_graph import page

_FOUND = "{{ ti.xcom_pull(task_ids='discover')['%s'] }}"


def pipeline_dag(file: PipelineFile) -> DAG:
    """Return the DAG discover -> process -> check_quality -> publish: one run at a time; with `catchup`, every missed
    interval is run."""
    scheduling, spec, config = file.scheduling, file.spec, str(file.path)
    common = {"owner": scheduling.owner, "retries": scheduling.retries, "retry_delay": scheduling.retry_delay}
    chosen = {key: value for key in ("pool", "queue") if (value := getattr(scheduling, key)) is not None}
    asset = Asset(dag_id(spec.name))
    with DAG(
        dag_id(spec.name),
        schedule=spec.schedule,
        start_date=scheduling.start_date,
        catchup=scheduling.catchup,
        max_active_runs=1,
        tags=["tidemark", *scheduling.tags],
        doc_md=page(spec),
        default_args=common | chosen | alerts.task_options(file),
        **alerts.dag_options(file),
    ) as dag:
        found: Any = task.short_circuit(task_id="discover")(steps.discover)(config)
        arguments = [config, "--as-of", _FOUND % "as_of", "--run-id", _FOUND % "run_id"]
        process = spark_task(task_id="process", job="process", application_args=arguments)
        checked = _checked(file)
        rule = TriggerRule.NONE_FAILED if scheduling.approval else TriggerRule.ALL_SUCCESS
        published = task(task_id="publish", outlets=[asset], trigger_rule=rule)(steps.publish)(config, found, asset)
        chain(found, process, *checked, published)
    return dag


def _checked(file: PipelineFile) -> list[Any]:
    """Return the tasks that check a run's quality: with `approval` one that waits for a person, and one that releases
    the run."""
    config, asked = str(file.path), file.scheduling
    if not asked.approval:
        return [task(task_id="check_quality")(steps.check_quality)(config)]
    gate = QualityGate(task_id="check_quality", config=config, notify=asked.notify)
    return [gate, spark_task(task_id="release", job="release", application_args=gate.output)]
