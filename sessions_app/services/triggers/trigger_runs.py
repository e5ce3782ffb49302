"""A trigger fires: a trigger run, and the session that it starts, in one transaction."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import Error, transaction

from sessions_app.models import Agent, Schedule, Session, TriggerRun, WebhookDelivery
from sessions_app.services import audit, sessions
from sessions_app.services.log.sanitise import text as storable_text
from sessions_app.services.money import budgets
from sessions_app.services.turns import messages

KEPT_INPUT = 10_000
"""Characters of the first message in the run's own row."""
log = logging.getLogger(__name__)


class Held(ValueError):
    """Somebody wants it so: the agent is paused, the session of the last fire still runs."""


REFUSALS = (Held, messages.NotActive, messages.TooLong, budgets.Spent)
Status = TriggerRun.Status


@transaction.atomic
def fire(
    agent: Agent,
    kind: str,
    fire_key: str,
    input_text: str,
    *,
    by: str,
    title: str = "",
    cause: str = "",
    due_at: datetime | None = None,
    schedule: Schedule | None = None,
    delivery: WebhookDelivery | None = None,
    held: str = "",
) -> TriggerRun:
    """The run of a fire; the same ``fire_key`` in a workspace is the same run, and starts nothing again.

    A new session of the agent begins with ``input_text`` as said by the trigger named ``by``. Where it may not
    begin (``held`` says why, or the agent, a budget or the length of the text does) the run says so, without a session.
    """
    input_text = storable_text(input_text)
    about = {"agent": agent, "kind": kind, "name": by, "cause": cause, "due_at": due_at}
    links = {"schedule": schedule, "delivery": delivery, "input_text": input_text[:KEPT_INPUT]}
    run, is_new = TriggerRun.objects.get_or_create(
        workspace_id=agent.workspace_id, fire_key=fire_key, defaults=about | links | {"status": Status.STARTED}
    )
    if is_new:
        _begin(run, agent, input_text, title or by, held)
    return run


def _begin(run: TriggerRun, agent: Agent, input_text: str, title: str, held: str) -> None:
    try:
        with transaction.atomic():
            run.session = _start(run, agent, input_text, title, held)
    except REFUSALS as refused:
        run.status = Status.SKIPPED if isinstance(refused, Held) else Status.FAILED
        run.error = str(refused)
    except Error:
        raise  # the database is away, or the transaction is lost: nothing is written, and it comes again
    except Exception as fault:  # one trigger's fault must not keep the others from firing
        log.exception("trigger run %s of %s failed", run.pk, run.name)
        run.status, run.error = Status.FAILED, f"a fault of ours: {type(fault).__name__}; it is in the server's log"
    run.save(update_fields=["session", "status", "error"])


def _start(run: TriggerRun, agent: Agent, input_text: str, title: str, held: str) -> Session:
    """External agents take no turns here, so their status is asked for before ``messages.submit`` does."""
    if held:
        raise Held(held)
    if agent.status == Agent.Status.PAUSED:
        raise Held(f"{agent.name} is paused; an admin can resume it")
    if agent.status == Agent.Status.ARCHIVED:
        raise messages.NotActive(f"{agent.name} is archived: it begins no sessions; choose another agent")
    actor = audit.Actor("trigger", str(run.pk), run.name)
    session = sessions.create(agent, by=actor, origin=run.kind, title=title)
    messages.submit(session.pk, input_text, by=actor)
    return session


def tell(schedule: Schedule, fire_key: str, due_at: datetime, status: str, why: str) -> TriggerRun:
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
