"""What the page shows of a session and of an event, as plain values: what was removed is looked for in these."""

from __future__ import annotations

from ...drafts import EventDraft, Json, SessionDraft
from ..common import origins

WHOLE_DATA = ("approval", "escalation", "unknown")
"""Kinds whose data stand on the page as they are."""
NAMED = ("name", "path", "mediatype")
"""What stands there of the data of any other kind."""
REDACTED = "redacted"
"""In the data of an event: the parts that were removed, see ``formats.vcon.redacting``."""


def shown_of_session(session: SessionDraft) -> dict[str, Json]:
    """The head of the page."""
    environment = session.metadata.get("environment")
    return {
        "title": session.title, "agent": session.agent_name, "summary": session.summary, "user": session.user_id,
        "tags": list(session.tags), "id": session.external_id, "model": session.model,
        "cwd": environment.get("cwd") if isinstance(environment, dict) else None,
    }  # fmt: skip


def shown_of_event(event: EventDraft) -> dict[str, Json]:
    """One event. The outline, the turns' heads and "What happened" repeat what events say."""
    tool = event.tool
    return {
        "said": event.text, "actor": event.actor_name, "by": origins.words(event), "model": event.model,
        "place": event.pointer,
        "tool": [tool.name, tool.server, tool.arguments, tool.result] if tool else None,
        "data": shown_data(event) if event.kind in WHOLE_DATA else {name: event.data.get(name) for name in NAMED},
    }  # fmt: skip


def shown_data(event: EventDraft) -> dict[str, Json]:
    """The data of an event of ``WHOLE_DATA``; of one that lost a part nothing is left but marks for writers."""
    return {} if removed_parts(event) else event.data


def removed_parts(event: EventDraft) -> list[str]:
    """Parts that were removed of an event before it came here; of any other event none."""
    parts = event.data.get(REDACTED)
    return [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []
