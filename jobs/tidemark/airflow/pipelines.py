"""The DAG of one pipeline file, and its tasks as a group in another DAG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, BaseOperator, TaskGroup, TriggerRule, chain, task

from tidemark.airflow import alerts, steps
from tidemark.airflow.approvals import QualityGate
from tidemark.airflow.assets import awaited_asset, pipeline_asset, record_asset, stream_assets
from tidemark.airflow.folders import beside_dags
from tidemark.airflow.links import RunPageLink
from tidemark.airflow.operators import spark_task
from tidemark.airflow.publish import publish
from tidemark.config import pipeline_files
from tidemark.config.pipeline_files import PipelineFile, content_of, dag_id
from tidemark.errors import UsageError
from tidemark.report.pipeline_graph import page

TASKS = ("discover", "process", "check_quality", "release", "publish")
"""Names of the tasks; `release` is there with `approval`."""
_FOUND = "{{ ti.xcom_pull(task_ids='%s')['%s'] }}"
_SETTINGS = "{{ (ti.xcom_pull(task_ids='%s') or {}).get('settings', '') }}"

Given = Mapping[str, Mapping[str, Any]]
"""Arguments of operators, by task."""


def pipeline_dag(file: PipelineFile) -> DAG:
    """Return the DAG discover -> process -> check_quality -> publish: one run at a time; with `catchup`, every missed
    interval is run. `publish` itself decides what is due, also if there was nothing to process."""
    scheduling, spec = file.scheduling, file.spec
    awaited = [awaited_asset(named) for named in scheduling.assets]
    with DAG(
        dag_id(spec.name),
        schedule=spec.schedule or awaited or None,
        start_date=scheduling.start_date,
        catchup=scheduling.catchup,
        max_active_runs=1,
        tags=["tidemark", *scheduling.tags],
        description=scheduling.description,
        is_paused_upon_creation=scheduling.paused,
        owner_links={scheduling.owner: scheduling.owner_link} if scheduling.owner_link else {},
        doc_md=page(spec),
        default_args=_defaults(file),
        **alerts.dag_options(file),
    ) as dag:
        _make(file, str, {})
    return dag


def pipeline_tasks(
    pipeline: str | Path | PipelineFile,
    group_id: str | None = None,
    default_args: Mapping[str, Any] | None = None,
    tasks: Given | None = None,
) -> TaskGroup:
    """Return a group with the tasks of a pipeline, in the DAG that is open.

    `pipeline` is a file, or a name in the folder of pipeline files; `group_id` is the pipeline's name by default.
    `default_args`: arguments of all operators (retries, callbacks, pool); `tasks`: arguments of single ones by task
    name; both win over the file. Raises UsageError for an unknown pipeline or task.
    """
    file, given = _file(pipeline), tasks or {}
    if unknown := given.keys() - set(TASKS):
        raise UsageError(
            f"no task of a pipeline is {', '.join(sorted(unknown))}", hint=f"there are {', '.join(TASKS)}"
        )
    common: Any = _defaults(file) | dict(default_args or {})
    with TaskGroup(group_id or file.spec.name, default_args=common) as group:
        _make(file, group.child_id, given)
    return group


def _make(file: PipelineFile, named: Callable[[str], str], given: Given) -> None:
    """Make the tasks of a pipeline; `named` gives their full names. If nothing landed, `process` and `check_quality`
    are skipped; other tasks follow their own trigger rules."""
    spec, config, name = file.spec, str(file.path), named("discover")
    awaited = [awaited_asset(each) for each in file.scheduling.assets]
    of: dict[str, dict[str, Any]] = {each: {"task_id": each} | dict(given.get(each, {})) for each in TASKS}
    own_rules: dict[str, Any] = {"ignore_downstream_trigger_rules": False, "inlets": awaited}
    found: Any = task.short_circuit(**own_rules | of["discover"])(steps.discover)(config, content_of(spec))
    arguments = [config, "--as-of", _FOUND % (name, "as_of"), "--run-id", _FOUND % (name, "run_id")]
    placed: dict[str, Any] = {"placement": file.scheduling.spark, "pinned": _SETTINGS % name}
    process = spark_task(job="process", application_args=arguments, **placed, **of["process"])
    checked = _checked(file, _SETTINGS % name, of)
    published = _published(file, of["publish"])
    chain(found, process, *checked, published)
    for each in (found.operator, process, *checked, published):
        each.operator_extra_links = (*each.operator_extra_links, RunPageLink(spec.name))


def _published(file: PipelineFile, given: Mapping[str, Any]) -> BaseOperator:
    """Return the task that emits events: one at a time, and also after a run without work."""
    spec, journal = file.spec, record_asset(file.spec)
    assets = [pipeline_asset(spec), *stream_assets(spec).values(), journal, *given.get("outlets", [])]
    once: dict[str, Any] = {"trigger_rule": TriggerRule.NONE_FAILED, "max_active_tis_per_dag": 1}
    inlets = [journal, *given.get("inlets", [])]
    made: Any = task(**once | dict(given) | {"inlets": inlets, "outlets": assets})(publish)(str(file.path))
    operator: BaseOperator = made.operator
    return operator


def _checked(file: PipelineFile, settings: str, given: Given) -> list[BaseOperator]:
    """Return the tasks that check a run's quality; with `approval`, a task that waits for a person and a task that
    releases the run."""
    config, asked = str(file.path), file.scheduling
    if not asked.approval:
        checked: Any = task(**given["check_quality"])(steps.check_quality)(config, settings)
        return [checked.operator]
    gate = QualityGate(config=config, settings=settings, notify=asked.notify, **given["check_quality"])
    placed: dict[str, Any] = {"placement": asked.spark, "pinned": settings}
    return [gate, spark_task(job="release", application_args=gate.output, **placed, **given["release"])]


def _defaults(file: PipelineFile) -> dict[str, Any]:
    scheduling = file.scheduling
    chosen = {key: value for key in ("pool", "queue") if (value := getattr(scheduling, key)) is not None}
    common = {
        "owner": scheduling.owner,
        "retries": scheduling.retries,
        "retry_delay": scheduling.retry_delay,
        "retry_exponential_backoff": scheduling.backoff,
    }
    return chosen | common | alerts.task_options(file)


def _file(pipeline: str | Path | PipelineFile) -> PipelineFile:
    if isinstance(pipeline, PipelineFile):
        return pipeline
    if isinstance(pipeline, Path) or Path(pipeline).suffix:
        return PipelineFile.load(Path(pipeline).absolute())
    folder = pipeline_files.folder(beside_dags("pipelines"))
    files = pipeline_files.read(folder)
    if pipeline in files.sound:
        return files.sound[pipeline]
    known = ", ".join(sorted(files.sound)) or "none"
    raise UsageError(f"{folder} has no valid file of the pipeline {pipeline!r}", hint=f"there is {known}")
