"""Airflow as the host: its users, rights and DAG runs, and the runs that these have verified."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.resource_details import AccessView
from airflow.api_fastapi.core_api.security import get_user
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from airflow.utils.state import TaskInstanceState
from sqlalchemy import select

from tidemark.dashboard.host import User, Verified

REMEMBERED = 500
"""Number of newest DAG runs that are searched for verified runs."""


class AirflowHost:
    """The host in Airflow. Airflow authenticates no requests for a plugin: each check asks its auth manager."""

    @property
    def user(self) -> Callable[..., User]:
        """Airflow's own dependency: it reads a token in the header, or the cookie of the surrounding page."""
        return get_user

    def readable(self, user: User, dags: Collection[str]) -> set[str]:
        """Select the readable DAGs as Airflow's own list does, team by team."""
        teams = DagModel.get_dag_id_to_team_name_mapping(list(dags))
        by_team: dict[str | None, set[str]] = {}
        for dag in dags:
            by_team.setdefault(teams.get(dag), set()).add(dag)
        found = (
            get_auth_manager().filter_authorized_dag_ids(dag_ids=ids, user=user, method="GET", team_name=team)
            for team, ids in by_team.items()
        )
        return set[str]().union(*found)

    def may_read_errors(self, user: User) -> bool:
        """True if Airflow shows the user import errors."""
        return bool(get_auth_manager().is_authorized_view(access_view=AccessView.IMPORT_ERRORS, user=user))

    def runs(self, dag: str, run_ids: Collection[str]) -> Mapping[str, str]:
        """Read the states from the table of DAG runs."""
        asked = select(DagRun.run_id, DagRun.state).where(DagRun.dag_id == dag, DagRun.run_id.in_(run_ids))
        with create_session() as session:
            return {run_id: str(state) for run_id, state in session.execute(asked)}

    def waiting(self, dag: str) -> Mapping[str, str]:
        """Read the tasks that are parked until a person answers."""
        asked = select(TaskInstance.run_id, TaskInstance.task_id).where(
            TaskInstance.dag_id == dag, TaskInstance.state == TaskInstanceState.AWAITING_INPUT
        )
        with create_session() as session:
            return {run_id: str(task) for run_id, task in session.execute(asked)}

    def users(self, dag: str, run_ids: Collection[str]) -> Mapping[str, str]:
        """Read who triggered DAG runs, and who answered their questions; scheduled runs have no user."""
        asked = select(DagRun.run_id, DagRun.triggering_user_name).where(
            DagRun.dag_id == dag, DagRun.run_id.in_(run_ids), DagRun.triggering_user_name.is_not(None)
        )
        questions = select(TaskInstance.run_id, HITLDetail).join(HITLDetail, HITLDetail.ti_id == TaskInstance.id)
        of_these = questions.where(TaskInstance.dag_id == dag, TaskInstance.run_id.in_(run_ids))
        with create_session() as session:
            found = {run_id: str(name) for run_id, name in session.execute(asked)}
            for run_id, question in session.execute(of_these):
                found[run_id] = "; ".join([*filter(None, [found.get(run_id)]), *_answer(question)])
            return found

    def verified(self, dag: str, run_ids: Collection[str]) -> Mapping[str, Verified]:
        """Read the results of the task `discover` of newer DAG runs, which name the run to verify, and the states of
        their task `process`."""
        with create_session() as session:
            rows = session.execute(
                select(XComModel.run_id, XComModel.value)
                .where(XComModel.dag_id == dag, XComModel.task_id == "discover", XComModel.key == "return_value")
                .order_by(XComModel.timestamp.desc())
                .limit(REMEMBERED)
            ).all()
            asked = {by: verified_run(value) for by, value in rows}
            asked = {by: run for by, run in asked.items() if run in run_ids}
            ended = session.execute(
                select(TaskInstance.run_id, TaskInstance.state, TaskInstance.end_date)
                .where(TaskInstance.dag_id == dag, TaskInstance.task_id == "process")
                .where(TaskInstance.run_id.in_(list(asked)))
            ).all()
        states = {by: Verified(by, str(state or "waiting"), at) for by, state, at in ended}
        return {run: states[by] for by, run in reversed(asked.items()) if run is not None and by in states}


def verified_run(value: object) -> str | None:
    """Return the run that a DAG run verifies, by the result of its task `discover`; None if it verifies none."""
    note = json.loads(value) if isinstance(value, str) else value
    if not isinstance(note, dict) or note.get("need") != "verify":
        return None
    answered = note.get("answered_by")
    return answered if isinstance(answered, str) else None


def _answer(question: HITLDetail) -> list[str]:
    """Return who answered a task's question, empty if nobody did; the question's first option is the approval."""
    who, chosen = question.responded_by_user, question.chosen_options or []
    if who is None or not chosen:
        return []
    return [f"{'approved' if chosen == question.options[:1] else 'declined'} by {who['name']}"]
