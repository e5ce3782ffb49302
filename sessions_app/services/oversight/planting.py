"""Planted calls: an admin places a call that should be stopped, and sees whether people stop it.

To who decides it is a call like any other until it is decided. It is in a session of its own, which no runtime and no
key of an agent has; what it allows is nothing, whatever is decided.
"""

from __future__ import annotations

from django.db import transaction

from sessions_app.models import Agent, Approval, Member, Role, Session

from .. import audit, sessions
from ..approvals import requests
from ..approvals.decisions import NotAllowed
from ..log.sanitise import text
from ..stops import doors

PLANTED = "approval.planted"
SUBJECT = "planted_call"
"""Subject of the audit entry of the placing: not ``approval``, which is handed over with the session before it ends."""


@transaction.atomic
def plant(agent: Agent, question: requests.Question, *, by: Member) -> Approval:
    """Place a planted call in a new session of an agent. Raises ``NotAllowed`` and ``doors.Stopped``."""
    if not Role(by.role).covers(Role.ADMIN):
        raise NotAllowed("only an admin can place a test call")
    doors.refuse_where_stopped(agent)
    asker = audit.Actor("agent", str(agent.pk), agent.name)
    title = text(requests.own_title(agent, question))
    session = sessions.create(agent, by=asker, origin=Session.Origin.API, title=title, for_question=True)
    approval = requests.request(session, question, by=asker, planted_by=by)
    actor = audit.Actor("member", str(by.pk), str(by))
    audit.record(
        agent.workspace_id, actor, PLANTED, subject=(SUBJECT, approval.pk), planted=True, agent=agent.name,
        tool=approval.tool_name, digest=approval.digest,
    )  # fmt: skip
    return approval
