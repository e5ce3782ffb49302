"""An agent that has no session here asks: one is made for the question, and found again when it asks again."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection, transaction

from sessions_app.models import Agent, Approval, Session

from .. import agents, audit, sessions
from ..log.sanitise import identifier
from . import decisions


@transaction.atomic
def request_for(
    workspace_id: UUID,
    agent_name: str,
    tool: str,
    arguments: Any,
    *,
    by: audit.Actor,
    client_id: str = "",
    **about: Any,
) -> Approval:
    """``approvals.request`` in a session of its own. The same agent and ``client_id`` again is the same approval.

    Raises ``approvals.Conflict`` when the client id was used for another question.
    """
    agent = agents.named(workspace_id, agent_name)
    session = _asked_in(agent, client_id) if client_id else None
    if session is None:
        session = sessions.create(agent, by=by, origin=Session.Origin.API, title=f"May it run {tool}?")
    return decisions.request(session, tool, arguments, by=by, client_id=client_id, **about)


def _asked_in(agent: Agent, client_id: str) -> Session | None:
    with connection.cursor() as cursor:  # two first questions at once must not make two sessions
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"ask:{agent.id}:{client_id}"])
    asked = Approval.objects.filter(session__agent=agent, client_id=identifier(client_id)).order_by("requested_at")
    before = asked.select_related("session").first()
    return before.session if before else None
