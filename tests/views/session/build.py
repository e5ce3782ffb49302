"""Sessions to read: events put together in a line each."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import Agent, Session
from sessions_app.services import audit
from sessions_app.services import sessions as session_services
from sessions_app.services.log import events, links

START = datetime(2026, 3, 2, 9, 12, tzinfo=UTC)
BOT = audit.Actor("api_key", "k", "refund-bot")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def asked(key: str, text: str, seconds: float = 0, **more: Any) -> EventDraft:
    return EventDraft(kind="user_message", key=key, at=at(seconds), actor_kind="person", text=text, **more)


def said(key: str, text: str, seconds: float = 1, **more: Any) -> EventDraft:
    return EventDraft(kind="agent_message", key=key, at=at(seconds), actor_kind="agent", text=text, **more)


def call(key: str, name: str, arguments: Any, seconds: float = 2, **more: Any) -> EventDraft:
    tool = ToolDraft(call_id=key, name=name, arguments=arguments)
    return EventDraft(kind="tool_call", key=key, at=at(seconds), actor_kind="agent", tool=tool, **more)


def result(
    of: str, text: str = "", status: str | None = "ok", seconds: float = 3, value: Any = None, **more: Any
) -> EventDraft:
    tool = ToolDraft(call_id=of, result=value, status=status)
    more = {"key": f"{of}:result", "parent": of} | more
    return EventDraft(kind="tool_result", at=at(seconds), actor_kind="tool", text=text, tool=tool, **more)


def other(key: str, kind: str, text: str = "", **more: Any) -> EventDraft:
    return EventDraft(kind=kind, key=key, at=at(4), actor_kind="system", text=text, **more)


def priced(cost: str | None = None, request: str | None = None, **tokens: Any) -> dict[str, Any]:
    """Usage of a response, for any event."""
    return {"usage": Usage(**tokens), "request": request, "cost": Decimal(cost) if cost else None}


def session_with(agent: Agent, new: Iterable[EventDraft], **fields: Any) -> Session:
    session = session_services.create(agent, by=BOT, **{"title": "Order 4711"} | fields)
    events.append(session.pk, list(new), origin=links.RUNTIME)
    session.refresh_from_db()
    return session


def path_of(session: Session) -> str:
    return f"/dashboard/sub-agents/{session.agent_id}/chat/{session.pk}"


class Page(HTMLParser):
    """What a browser would find in a page: its tags with their attributes, and its text."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(content.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        wanted = attributes.items()
        return [found for name, found in self.tags if name == tag and wanted <= found.items()]

    @property
    def seqs(self) -> list[int]:
        """Numbers of the events that have a row, in order."""
        return [int(found["data-seq"]) for _, found in self.tags if "data-seq" in found]
