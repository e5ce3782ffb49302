"""Threads in Slack: what is said in one goes to its session, which the first message begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction

from sessions_app.models import Agent, Session, SlackEvent, SlackInstallation
from sessions_app.rendering.text import first_line

from .. import audit, sessions, task_queue
from ..fair_queue import Line
from ..log.sanitise import storable
from ..turns import messages

TITLE = 80
"""Characters of the first message that are the session's title."""


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """A message in a thread. ``source`` says where it stands: user, channel, ts, thread_ts."""

    installation: SlackInstallation
    conversation_key: str
    text: str
    earlier: str
    """What was said in the thread before; the agent is given it with the message that begins a session."""
    by: audit.Actor
    source: dict[str, Any]


@transaction.atomic
def keep_event(
    installation: SlackInstallation, message: str, conversation_key: str, event_id: str, payload: dict[str, Any]
) -> None:
    """Keep what Slack sent, and enqueue it. What is kept already stays as it is: Slack sends some events twice."""
    kept, is_new = SlackEvent.objects.get_or_create(
        installation=installation,
        message=message,
        defaults={"conversation_key": conversation_key, "event_id": event_id, "payload": storable(payload)},
    )
    if is_new:
        task_queue.enqueue(task_queue.READ_SLACK, kept.pk, Line(installation.workspace_id))


def session_of(installation: SlackInstallation, conversation_key: str) -> Session | None:
    """The session of a thread, whoever its agent is: a thread keeps the agent that it began with."""
    found = Session.objects.filter(workspace_id=installation.workspace_id, slack_conversation_key=conversation_key)
    return found.select_related("agent").defer("source_record").order_by("created_at").first()


@transaction.atomic
def submit(message: ThreadMessage, agent: Agent, session: Session | None) -> tuple[Session, bool]:
    """Submit a message to the thread's ``session``, or to a new one of ``agent``; and whether that is new.

    Raises like ``turns.messages.submit``.
    """
    is_new = False
    if session is None:
        session, is_new = _session_begun(message, agent)
    text = f"{message.text}\n\n{message.earlier}" if is_new and message.earlier else message.text
    messages.submit(session.pk, text, by=message.by, data={"slack": message.source})
    return session, is_new


def _session_begun(message: ThreadMessage, agent: Agent) -> tuple[Session, bool]:
    """A new session of the thread; or the one that another worker made meanwhile."""
    if agent.status != Agent.Status.ACTIVE:
        raise messages.NotActive(f"{agent.name} is {agent.status}: it begins no sessions until an admin resumes it")
    place = {"team": message.installation.team_id, "channel": message.source["channel"]}
    try:
        with transaction.atomic():
            made = sessions.create(
                agent, by=message.by, origin=Session.Origin.SLACK, title=first_line(message.text, TITLE),
                user_id=message.by.id, slack_conversation_key=message.conversation_key, metadata={"slack": place},
            )  # fmt: skip
            return made, True
    except IntegrityError:
        session = session_of(message.installation, message.conversation_key)
        if session is None:
            raise
        return session, False
