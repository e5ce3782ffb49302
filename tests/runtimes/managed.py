"""What the tests of the managed runtime share: a desk with a key, the fake it talks to, and a session."""

from __future__ import annotations

from typing import Any

from sessions_app.models import Approval, Event, Role, Session
from sessions_app.services.approvals import decisions
from tests.fakes.managed_agents_session import FakeSession

from .conftest import BY

DECIDER = decisions.Decider(BY, Role.REVIEWER, "desk")


def decide(session: Session, verdict: str, *, tool: str = "", **more: Any) -> Approval:
    waiting = session.approvals.filter(status="pending")
    one = waiting.get(tool_name=tool) if tool else waiting.get()
    return decisions.decide(one, DECIDER, decisions.Decision(verdict, one.version, one.digest, sure=True, **more))


def of_kind(session: Session, *kinds: str) -> list[Event]:
    return list(Event.objects.filter(session=session, kind__in=kinds).order_by("seq"))


def messages(session: Session) -> list[str]:
    return [event.text for event in of_kind(session, "user_message", "agent_message") if not event.depth]


def keys(session: Session) -> list[str]:
    """Ids of the runtime's events that the log holds."""
    told = Event.objects.filter(session=session, client_key__startswith="managed:sevt").order_by("seq")
    return [key.removeprefix("managed:") for key in told.values_list("client_key", flat=True)]


def is_whole(session: Session, there: FakeSession) -> bool:
    """Every event of the runtime is in the log once; in its order, but for what was noted as it was sent from here."""
    logged, sent = keys(session), {event["id"] for event in there.events if event["type"].startswith("user.")}
    ids = [event["id"] for event in there.events]
    return sorted(logged) == sorted(ids) and [i for i in logged if i not in sent] == [i for i in ids if i not in sent]
