"""The DAG of one pipeline file."""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, TriggerRule, task

from tidemark.airflow import steps
from tidemark.airflow.assets import awaited_asset, pipeline_asset, record_asset, stream_assets
from tidemark.airflow.operators import spark_task
from tidemark.airflow.publish import publish
from tidemark.config.pipeline_files import PipelineFile, dag_id
from tidemark.report.pipeline_graph import page

_FOUND = "{{ ti.xcom_pull(task_ids='discover')['%s'] }}"


def pipeline_dag(file: PipelineFile) -> DAG:
    """Return the DAG discover -> process -> check_quality -> publish: one run at a time; with `catchup`, every missed
    interval is run. `publish` looks for itself at what is due, also if there was nothing to process."""
    scheduling, spec, config = file.scheduling, file.spec, str(file.path)
    common = {"owner": scheduling.owner, "retries": scheduling.retries, "retry_delay": scheduling.retry_delay}
    chosen = {key: value for key in ("pool", "queue") if (value := getattr(scheduling, key)) is not None}
    awaited = [awaited_asset(named) for named in scheduling.assets]
    journal = record_asset(spec)
    assets = [pipeline_asset(spec), *stream_assets(spec).values(), journal]
    with DAG(
        dag_id(spec.name),
        schedule=spec.schedule or awaited or None,
        start_date=scheduling.start_date,
        catchup=scheduling.catchup,
        max_active_runs=1,
        tags=["tidemark", *scheduling.tags],
        doc_md=page(spec),
        default_args=common | chosen,
    ) as dag:
        own_rules: dict[str, Any] = {"ignore_downstream_trigger_rules": False}  # publish is not skipped
        found: Any = task.short_circuit(task_id="discover", inlets=awaited, **own_rules)(steps.discover)(config)
        arguments = [config, "--as-of", _FOUND % "as_of", "--run-id", _FOUND % "run_id"]
        process = spark_task(task_id="process", job="process", application_args=arguments)
        checked = task(task_id="check_quality")(steps.check_quality)(config)
        once: dict[str, Any] = {"trigger_rule": TriggerRule.NONE_FAILED, "max_active_tis_per_dag": 1}
        published = task(task_id="publish", inlets=[journal], outlets=assets, **once)(publish)(config)
        found >> process >> checked >> published
    return dag
