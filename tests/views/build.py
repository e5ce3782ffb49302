"""Rows for the lists of the desk."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from html import unescape
from typing import Any

from django.http import HttpResponse
from django.utils import timezone

from sessions_app.drafts import EventDraft, Usage
from sessions_app.models import Agent, Approval, Session
from sessions_app.services import audit
from sessions_app.services import sessions as session_services
from sessions_app.services.approvals import requests
from sessions_app.services.log import events, links

ASKER = audit.Actor("api_key", name="Refund agent")
TRANSCRIPT = b"""{"feed_type": "session", "metadata": {"origin": "https://example.org", "title": "Restock the shelf",
 "generated_at": "2026-05-20T12:00:00Z"}, "context": {"user_input": "What is missing on shelf 7?",
 "agent_profile": "stock clerk"}, "decisions": [{"intent": "count_shelf", "used_prompt": "Count", "resolved": true}],
 "outputs": [{"type": "text/markdown", "value": "Two boxes of **screws**."}]}"""


def session_of(
    agent: Agent, title: str = "Order 4711", cost: str | None = "0.25", errors: int = 0, **changes: Any
) -> Session:
    """A session with one turn that began a minute ago, cost this much and went wrong so often."""
    at = timezone.now() - timedelta(minutes=1)
    session = session_services.create(agent, by=ASKER, title=title)
    usage = Usage(input_tokens=1_000, output_tokens=200)
    events.append(session.pk, [
        EventDraft(kind="user_message", key="u", at=at, text="The parcel never came"),
        EventDraft(kind="agent_message", key="a", at=at, text="I look it up", usage=usage, cost=cost and Decimal(cost)),
        *(EventDraft(kind="error", key=f"e{number}", at=at, text="Timed out") for number in range(errors)),
    ], origin=links.RUNTIME)  # fmt: skip
    Session.objects.filter(pk=session.pk).update(started_at=at, **changes)
    session.refresh_from_db()
    return session


def asks(session: Session, tool: str = "issue_refund", arguments: Any = None, **fields: Any) -> Approval:
    return requests.request(
        session, requests.Question(tool, arguments or {"order": "4711", "amount": "420.00"}, **fields), by=ASKER
    )


def words(response: HttpResponse) -> str:
    """What a person reads of a page, on one line."""
    body = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", response.content.decode(), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())
