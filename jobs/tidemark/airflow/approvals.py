"""Tasks at which a run waits for a person: release a blocked run, or promote a version, each with a reason.

They are the standard provider's human-in-the-loop tasks: a run waits at them in Airflow's state `awaiting_input`,
without a worker's slot, and the answer is given on the page "Required actions" or through Airflow's API.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import BaseNotifier, Param
from airflow.sdk.bases.skipmixin import SkipMixin
from airflow.sdk.exceptions import AirflowFailException

from tidemark.airflow import aws, pinned
from tidemark.airflow.alerts.channels import send
from tidemark.airflow.alerts.notifier import Declined, named_run
from tidemark.airflow.steps import as_of_of
from tidemark.airflow.telemetry import metrics
from tidemark.config.scheduling.notify import Recipient
from tidemark.records.versions import VersionRecord
from tidemark.report.alerts.message import RunMessage

RELEASE, LEAVE = "Release", "Leave blocked"
PROMOTE, KEEP = "Promote", "Do not promote"
WHEN_APPROVED = "when approved"
"""Choice of `promote` with which a backfill waits."""
_REASON, _BLOCKED = "reason", "blocked"


class MessageNotifier(BaseNotifier):
    """Sends one message to recipients; its errors go to the log."""

    def __init__(self, message: RunMessage, recipients: Sequence[Recipient]) -> None:
        super().__init__()
        self.message, self.recipients = message, tuple(recipients)

    def notify(self, context: Any) -> None:
        send(self.message, self.recipients, context, self.log)


class DecisionOperator(HITLOperator, SkipMixin):
    """Waits for one of two answers: the first continues and takes a reason, the second fails the task with its
    reason."""

    def __init__(self, *, answers: tuple[str, str], notify: Sequence[Recipient] = (), **options: Any) -> None:
        reason = Param("", type="string", title="Reason", description="It is recorded with your name.")
        given: dict[str, Any] = {"subject": "", "options": list(answers), "params": {_REASON: reason}}
        super().__init__(**{**options, **given, "execution_timeout": None})
        self.answers, self.notify = answers, tuple(notify)

    def ask(self, context: Any, message: RunMessage) -> None:
        """Show the message as the question, send it, and wait. Its lines are shown as a block of code, so that
        nothing in them is markup."""
        self.subject = message.fields()["subject"]
        self.body = "\n".join(f"    {line}" for line in message.text().splitlines())
        self.notifiers = [MessageNotifier(message, self.notify)]
        super().execute(context)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> Any:
        """Take the answer. Raises Declined for the second one, AirflowFailException if a reason is missing."""
        answer = super().execute_complete(context, event)
        who = (answer["responded_by_user"] or {}).get("name") or "nobody"
        reason = str(answer["params_input"].get(_REASON) or "").strip()
        chosen = answer["chosen_options"][0]
        self.log.info("%s: %s, %s", who, chosen, reason or "no reason")
        if chosen != self.answers[0]:
            raise Declined(f"{chosen}, says {who}: {reason or 'no reason was given'}")
        if not reason:
            raise AirflowFailException(f"{chosen!r} takes a reason: clear this task to be asked again")
        return self.approved(context, f"{reason} ({who}, in Airflow)")

    def approved(self, context: Any, reason: str) -> Any:  # noqa: ARG002 - for subclasses
        """Return the input of the next task; `reason` includes the person's name."""
        return reason


class QualityGate(DecisionOperator):
    """Waits if quality blocks the run. Returns the arguments of its release; skips the release of another run."""

    inherits_from_skipmixin = True
    template_fields = (*HITLOperator.template_fields, "settings")

    def __init__(self, *, config: str, settings: str | None = None, **options: Any) -> None:
        super().__init__(answers=(RELEASE, LEAVE), **options)
        self.config, self.settings = config, settings

    def execute(self, context: Any) -> None:
        from tidemark.commands.alerts.messages import waiting
        from tidemark.commands.alerts.trouble import trouble
        from tidemark.commands.schedule import blocking

        pipeline = pinned.load(self.config, self.settings)
        metrics.send(pipeline, as_of_of(context["dag_run"]))
        if blocking(pipeline.context) is None:
            self._skip_release(context)
        else:
            found = trouble(pipeline.context, with_causes=True)
            run = named_run(pipeline.spec.name, str(found.run_id), context["dag_run"].dag_id)
            message = waiting(run, found)
            self.log.info("%s", message.text())
            context["ti"].xcom_push(_BLOCKED, found.run_id)
            self.ask(context, message)

    def approved(self, context: Any, reason: str) -> list[str] | None:
        """Return the arguments for releasing the run in question. Skips the release if somebody has released the run
        meanwhile. Raises AirflowFailException if another run is blocked now."""
        from tidemark.commands.alerts.trouble import trouble

        found = trouble(pinned.load(self.config, self.settings).context, with_causes=False)
        asked = context["ti"].xcom_pull(task_ids=context["ti"].task_id, key=_BLOCKED)
        if not found.failed:
            self._skip_release(context)
        elif found.run_id != asked:
            raise AirflowFailException(
                f"run {found.run_id} is blocked now, and not {asked}: clear this task to be asked again"
            )
        return [self.config, str(found.run_id), "--reason", reason]

    def _skip_release(self, context: Any) -> None:
        self.skip(context["ti"], context["task"].get_direct_relatives(upstream=False))


class PromotionGate(DecisionOperator):
    """Waits if a backfill asks for it: shows how the version built by the run differs from the live one."""

    template_fields = (*HITLOperator.template_fields, "chosen")

    def __init__(self, *, chosen: Any, **options: Any) -> None:
        super().__init__(answers=(PROMOTE, KEEP), **options)
        self.chosen = chosen

    def execute(self, context: Any) -> None:
        from tidemark.commands.alerts.messages import NamedRun, promotion

        if context["params"]["promote"] == WHEN_APPROVED:
            message = promotion(NamedRun(context["params"]["pipeline"], context["run_id"]), built_by(self.chosen))
            self.log.info("%s", message.text())
            self.ask(context, message)


def built_by(chosen: Mapping[str, Any]) -> VersionRecord:
    """Return the version that this run's backfill built. Raises AirflowFailException if there is none."""
    found = aws.load(chosen["config"]).versions().record["versions"]
    built = [each for each in found if each["label"] == chosen["label"] and each["difference"] is not None]
    if not built:
        raise AirflowFailException(
            f"no version has the label {chosen['label']!r}: `build` has made none that is kept"
        )
    return built[-1]
