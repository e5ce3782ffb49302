"""Sessions that ran here: their turns are paid from the AI wallet, their calls from the data wallet."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.utils import timezone

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import Agent, Event, Session
from sessions_app.services import sessions as session_services
from sessions_app.services.log import events, links
from sessions_app.services.money import usage

from ..build import ASKER


def ran(
    agent: Agent, cost: str | None = "0.50", *, at: datetime | None = None, tool: str = "", price: str | None = None,
    status: str = "ok", title: str = "Order 4711", model: str | None = None, here: bool = True, **changes: str,
) -> Session:  # fmt: skip
    """One turn of 1,200 tokens that cost this much, with a call of ``tool`` for ``price`` in it."""
    at = at or timezone.now()
    session = session_services.create(agent, by=ASKER, title=title)
    said = EventDraft(
        kind="agent_message", key="a", at=at, text="Done", model=model, request="r", cost=cost and Decimal(cost),
        usage=Usage(input_tokens=1_000, output_tokens=200),
    )  # fmt: skip
    called = EventDraft(
        kind="tool_call", key="c", at=at, request="r", tool=ToolDraft(call_id="c", name=tool, arguments={})
    )
    begun = EventDraft(kind="user_message", key="u", at=at, text="Where is it?", actor_kind="person")
    events.append(session.pk, [begun, said, *([called] if tool else [])], origin=links.RUNTIME)
    if here:
        usage.book_turn(session.pk, 1, 1_500)
    if here and tool:
        call = Event.objects.get(session=session, kind="tool_call")
        usage.book_call(call, provider="shop", status=status, latency_ms=80, cost=price and Decimal(price))
    Session.objects.filter(pk=session.pk).update(started_at=at, **changes)
    session.refresh_from_db()
    return session
