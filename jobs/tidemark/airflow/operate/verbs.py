"""DAGs for an operator's verbs, one each, with a form: a user who may trigger it needs no shell.

Airflow checks the form and gives rights by DAG, so that a team may, say, verify but not abandon. The task's log has
the text for people, its XCom the record. A failure is a message in the log, without traceback and without retry.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk import DAG, BaseOperator, Param, get_current_context, task
from airflow.sdk.exceptions import AirflowException

from tidemark.airflow import aws
from tidemark.airflow.command import TidemarkCommandOperator
from tidemark.airflow.operate.forms import FORMS, REASON, RUN, Verb
from tidemark.airflow.routes import Files, routed, routes
from tidemark.commands.state import PipelineState
from tidemark.config.pipeline_files import OPERATE, SINCE, dag_id
from tidemark.config.scheduling.placement import Placement
from tidemark.errors import TidemarkError, UsageError

if TYPE_CHECKING:
    from airflow.sdk import Context

_log = logging.getLogger(__name__)
_TAGS = ["tidemark", "tidemark-operate"]


def operate_dags(files: Files) -> list[DAG]:
    """Return a DAG for each verb."""
    return [_dag(verb, files) for verb in FORMS]


def _dag(verb: Verb, files: Files) -> DAG:
    names = [file.spec.name for file in files]
    sources = {source for file in files for source in file.spec.sources}
    params = {"pipeline": Param(names[0] if names else None, enum=names or [None], title="Pipeline")}
    params |= {field.name: field.param(sources) for field in verb.fields}
    common: Any = {"owner": "tidemark", "retries": 0}
    named = dag_id(f"{OPERATE}_{verb.name}")
    options: dict[str, Any] = {"schedule": None, "start_date": SINCE, "catchup": False, "tags": _TAGS}
    with DAG(named, doc_md=verb.doc, description=verb.doc, params=params, default_args=common, **options) as dag:
        paths = {file.spec.name: str(file.path) for file in files}
        tasks = routes(verb.name, files) if verb.runs_beside_process else dict.fromkeys(names, verb.name)
        chosen: Any = task.branch(task_id="choose")(choose)(verb.name, paths, tasks)

        def made(task_id: str, placement: Placement) -> BaseOperator:
            arguments = chosen["arguments"]
            return TidemarkVerbOperator(
                task_id=task_id, job=verb.name, application_args=arguments, placement=placement
            )

        chosen >> routed(verb.name, files if verb.runs_beside_process else [], made)
    return dag


def choose(verb: str, paths: Mapping[str, str], tasks: Mapping[str, str]) -> str:
    """Return the task that carries out the form. The command's arguments are an XCom."""
    context: Any = get_current_context()
    asked, user = dict(context["params"]), context["dag_run"].triggering_user_name or "an unknown user"
    form = next(each for each in FORMS if each.name == verb)
    try:
        if asked["pipeline"] not in paths:
            raise UsageError("there is no pipeline", hint="put a valid file into the folder of pipeline files")
        arguments = arguments_of(form, paths[asked["pipeline"]], asked, user)
    except TidemarkError as error:
        _end(error)
    context["ti"].xcom_push("arguments", arguments)
    return tasks[asked["pipeline"]]


def arguments_of(verb: Verb, config: str, values: Mapping[str, Any], user: str) -> list[str]:
    """Return the command's arguments for a filled-in form. Values follow `=` or `--`: none is read as an option.

    Raises UsageError if the form names no run, and no run blocks the pipeline.
    """
    given = dict(values)
    if REASON in verb.fields:
        given[REASON.name] = f"{given[REASON.name]} (by {user}, in Airflow)"
    if verb.in_the_way and not given.get(RUN.name):
        given[RUN.name] = _run_in_the_way(config)
    named, placed = [config, "--json", *(["--wait"] if verb.waits else [])], list[str]()
    for field in verb.fields:
        value = given.get(field.name)
        if field.option is None:
            placed.append(str(value))
        elif value is True:
            named.append(field.option)
        elif value not in (None, "", False):
            named.append(f"{field.option}={value}")
    return [*named, *(["--", *placed] if placed else [])]


def _run_in_the_way(config: str) -> str:
    found = aws.load(config).status().record["standing"]
    if found["state"] in (PipelineState.NEW, PipelineState.READY) or found["run_id"] is None:
        raise UsageError("no run is in the way", hint=found["sentence"] or "the last run is committed")
    return found["run_id"]


class TidemarkVerbOperator(TidemarkCommandOperator):
    """Runs a command of tidemark as a child process, and returns its record, which is kept if a check fails, too."""

    def execute(self, context: Context) -> Any:
        try:
            super().execute(context)
        except (AirflowException, TidemarkError) as error:
            if self.record is not None:
                context["ti"].xcom_push("return_value", self.record)
            _end(error)
        return self.record


def _end(error: Exception) -> NoReturn:
    """End the task as failed with a message: an exception would show a traceback."""
    hint = getattr(error, "hint", "")
    _log.error("%s%s", error, f": {hint}" if hint else "")
    sys.exit(1)
