"""Trigger runs: a trigger fires, and in one transaction the run is kept and its session begins."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import Error, transaction

from sessions_app.models import Agent, Schedule, Session, TriggerRun, WebhookDelivery
from sessions_app.models.triggers import WhenAsking
from sessions_app.queries import stops as queries
from sessions_app.services import audit, sessions
from sessions_app.services.log.sanitise import text as storable_text
from sessions_app.services.money import budgets
from sessions_app.services.stops import doors
from sessions_app.services.turns import messages

from . import unattended

KEPT_INPUT = 10_000
"""Characters of the first message in the run's own row."""
log = logging.getLogger(__name__)


class Skipped(ValueError):
    """Somebody wants that nothing starts: the agent is paused, the session of the last fire still runs."""


REFUSALS = (Skipped, messages.NotActive, messages.TooLong, budgets.Spent)
Status = TriggerRun.Status


@dataclass(frozen=True, slots=True)
class Fire:
    """One time that a trigger fires."""

    kind: str
    """``TriggerRun.Kind``."""
    key: str
    """The same key in a workspace is the same run."""
    trigger_name: str
    input_text: str
    """The first message of the session."""
    title: str = ""
    """Of the session; the trigger's name when empty."""
    cause: str = ""
    due_at: datetime | None = None
    schedule: Schedule | None = None
    delivery: WebhookDelivery | None = None
    when_asking: str = WhenAsking.WAIT
    skip_reason: str = ""
    """Why it must start nothing; empty when it may."""


@transaction.atomic
def fire(agent: Agent, firing: Fire) -> TriggerRun:
    """The run of a fire; the same ``key`` in a workspace is the same run, and starts nothing again.

    A new session of the agent begins with ``input_text`` as said by the trigger. Where it may not begin (there is a
    ``skip_reason``, or the agent, a budget or the length of the text forbids it) the run says so, without a session.
    """
    input_text = storable_text(firing.input_text)
    run, is_new = TriggerRun.objects.get_or_create(
        workspace_id=agent.workspace_id,
        fire_key=firing.key,
        defaults={
            "agent": agent, "kind": firing.kind, "name": firing.trigger_name, "cause": firing.cause,
            "due_at": firing.due_at, "schedule": firing.schedule, "delivery": firing.delivery,
            "input_text": input_text[:KEPT_INPUT], "status": Status.STARTED,
        },
    )  # fmt: skip
    if is_new:
        _begin(run, agent, replace(firing, input_text=input_text))
    return run


def _begin(run: TriggerRun, agent: Agent, firing: Fire) -> None:
    try:
        with transaction.atomic():
            run.session = _start(run, agent, firing)
    except REFUSALS as refused:
        run.status = Status.SKIPPED if isinstance(refused, Skipped) else Status.FAILED
        run.error = str(refused)
    except Error:
        raise  # the database is away, or the transaction is lost: nothing is written, and it comes again
    except Exception as fault:  # one trigger's fault must not keep the others from firing
        log.exception("trigger run %s of %s failed", run.pk, run.name)
        run.status, run.error = Status.FAILED, f"a fault of ours: {type(fault).__name__}; it is in the server's log"
    run.save(update_fields=["session", "status", "error"])


def _start(run: TriggerRun, agent: Agent, firing: Fire) -> Session:
    """External agents take no turns here, so their status is asked for before ``messages.submit`` does."""
    if firing.skip_reason:
        raise Skipped(firing.skip_reason)
    if agent.status == Agent.Status.PAUSED:
        raise Skipped(f"{agent.name} is paused; an admin can resume it")
    if agent.status == Agent.Status.ARCHIVED:
        raise messages.NotActive(f"{agent.name} is archived: it begins no sessions; choose another agent")
    if stop := doors.stop_of(agent):
        raise Skipped(queries.sentence(stop))
    if why := unattended.Rules(agent.workspace_id).why_not_begun(agent, firing.kind, firing.when_asking):
        raise Skipped(why)
    actor = audit.Actor("trigger", str(run.pk), run.name)
    session = sessions.create(agent, by=actor, origin=run.kind, title=firing.title or firing.trigger_name)
    messages.submit(session.pk, firing.input_text, by=actor)
    return session


def record_without_session(schedule: Schedule, fire_key: str, due_at: datetime, status: str, why: str) -> TriggerRun:
    """A run that starts nothing, so that what did not happen is seen."""
    run, _ = TriggerRun.objects.get_or_create(
        workspace_id=schedule.workspace_id,
        fire_key=fire_key,
        defaults={
            "agent_id": schedule.agent_id, "kind": TriggerRun.Kind.SCHEDULE, "name": schedule.name,
            "schedule": schedule, "due_at": due_at, "status": status, "error": why,
        },
    )  # fmt: skip
    return run
