"""What the log of a desk says of a recorded program."""

from __future__ import annotations

from sessions_app.models import Event, Session

ASKED = ("user_message", "Where is 4711?")
CALL, RESULT, USED = ("tool_call", "find"), ("tool_result", ""), ("model_request", "")
SAID, PART = ("agent_message", "At sea."), ("agent_message", "At ")
USED_TOOL = [ASKED, CALL, USED, RESULT, SAID, USED]


def log(external_id: str) -> list[tuple[str, str]]:
    found = Event.objects.filter(session=Session.objects.get(external_id=external_id)).order_by("seq")
    return [(event.kind, event.text or event.tool_name or "") for event in found]


def counted(external_id: str) -> tuple[int, int, int]:
    session = Session.objects.get(external_id=external_id)
    return session.input_tokens, session.cache_read_tokens, session.output_tokens


def is_broken_off(external_id: str) -> bool:
    said = Event.objects.filter(session__external_id=external_id, kind="agent_message")
    return [event.data for event in said] == [{"broken_off": True}]
