"""A session as a conversation: ``AsyncSession`` that takes and gives messages as dicts of role and content."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

from ..session import ACTORS, KINDS, LAST, AsyncSession

Json = dict[str, Any]
MOST = 2**31
"""More than any session has."""
OWN = ("role", "content", "tool_calls", "timestamp", "idempotency_key")
"""Members of a message that have a place of their own."""
FORMATS = {"jsonl": "agnt5-jsonl", "md": "markdown"}


class Session(AsyncSession):
    """The session that the app ``app_name`` knows as ``id``, of a user. Further options are those of ``AsyncSession``.

    Nothing is sent before the first call. ``app_name`` is the name of the agent at the desk.
    """

    def __init__(
        self, id: str, app_name: str | None = None, user_id: str | None = None, metadata: Json | None = None,
        retention: Json | None = None, **more: Any,
    ) -> None:  # fmt: skip
        super().__init__(id, app_name or "agent", user_id, metadata, retention, **more)

    async def send_message(self, message: Json) -> str:
        """Append ``{"role", "content"}``; what else it holds is kept with it. Answers its client id.

        ``role``: user, assistant, system, tool (a result, with ``tool_call_id``) or a word of your own. Of
        ``tool_calls`` each is recorded as a call, too. ``timestamp`` (RFC 3339, a datetime) is when it was said; the
        same ``idempotency_key`` again is the same message, which is in the log once. Raises ``ValueError`` for a
        message without a role, and for a time that is none.
        """
        role, content = message.get("role"), message.get("content", "")
        if not isinstance(role, str) or not role.strip():
            raise ValueError('a message needs a "role", such as user or assistant')
        more = {name: value for name, value in message.items() if name not in OWN}
        how: Json = {"client_id": message.get("idempotency_key")}
        if message.get("timestamp") is not None:
            how["at"] = _moment(message["timestamp"]).isoformat()
        if role == "tool":
            tool = {"call_id": message.get("tool_call_id"), "name": message.get("name"), "result": content}
            kept = self.record("tool_result", tool=tool | {"status": "ok"}, data={"message": more}, **how)
        elif role in KINDS:
            if not isinstance(content, str):
                more["content"] = content
            if name := message.get("name") or message.get("agent"):
                how["actor"] = {"kind": ACTORS[role], "name": name}
            kept = self.record(KINDS[role], text=_text(content), data={"message": more} if more else None, **how)
        else:
            kept = self.record("note", text=_text(content), data={"message": {"role": role, **more}}, **how)
        for call in message.get("tool_calls") or ():
            self.record("tool_call", tool=_called(call), parent_client_id=kept or None)
        return kept

    async def history(
        self, limit: int | None = None, role: str | None = None, *, include_pruned: bool = False
    ) -> list[Json]:
        """The last ``limit`` messages in sight (all: ``None``) of users, agents and the system, oldest first.

        In place of what ``summarize_old`` took stands its summary, as a message of the system.
        ``{role, content, timestamp, name, seq}`` and what else was sent with it. Raises ``ValueError``, ``DeskError``.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit is {limit}: it is at least 0, or None for all")
        return await asyncio.to_thread(self._history, MOST if limit is None else limit, role, include_pruned)

    async def events(self, since: int | str | datetime = 0, limit: int = 100, kind: str | None = None) -> list[Json]:
        """Events in their order: behind a ``seq``, or from the first at a time (``2024-01-31``, RFC 3339, a datetime).

        A time is found by halving: where a program recorded with a clock that was set back, some earlier ones may be
        among them. Raises ``ValueError`` and ``DeskError``.
        """
        return await asyncio.to_thread(self._since, since, limit, kind)

    async def export(self, format: str = "jsonl") -> str:  # type: ignore[override]
        """A file of the session as text; for keys of viewers. Raises ``DeskError``.

        ``jsonl``: a message a line, with timestamp, role, message, metadata, tool_calls; ``md``: Markdown; others by
        their names.
        """
        return (await asyncio.to_thread(self._export, FORMATS.get(format, format))).decode()

    def _since(self, since: int | str | datetime, limit: int, kind: str | None) -> list[Json]:
        if isinstance(since, int):
            return self._events(since, limit, kind)
        moment = _moment(since)
        self._settle()
        low, high = 0, int(self._page(LAST, 1)["last_seq"])
        while low < high:
            middle = (low + high) // 2
            found = self._page(middle, 1)["items"]
            if not found or (found[0]["at"] and _moment(found[0]["at"]) >= moment):
                high = middle
            else:
                low = int(found[0]["seq"])
        return self._events(low, limit, kind)

    def _said(self, event: Json, role: str) -> Json:
        more = event["data"].get("message")
        said: Json = more if isinstance(more, dict) else {}
        return {"content": event["text"]} | said | {
            "role": role, "timestamp": event["at"], "name": event["actor"]["name"], "seq": event["seq"],
        }  # fmt: skip


def _text(content: Any) -> str:
    """What a content says: of blocks their texts, where they have any."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "\n".join(texts) or json.dumps(content, ensure_ascii=False)


def _called(call: Json) -> Json:
    """A tool call as OpenAI or Anthropic writes it."""
    function = call.get("function") or call
    given = function.get("arguments", call.get("input"))
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = {"arguments": given}
    return {"call_id": call.get("id"), "name": function.get("name"), "arguments": given}


def _moment(given: str | datetime) -> datetime:
    """Without a time zone: UTC. Raises ``ValueError``."""
    if not isinstance(given, datetime):
        try:
            given = datetime.fromisoformat(given)
        except (ValueError, TypeError):
            raise ValueError(f'"{given}" is no time: write 2024-01-31 or 2024-01-31T09:30:00Z') from None
    return given if given.tzinfo else given.replace(tzinfo=UTC)
