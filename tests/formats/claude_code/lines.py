"""Lines as Claude Code writes them, in short, and what comes of them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

from vcon_app.drafts import Draft, EventDraft, Finding, SessionDraft
from vcon_app.formats import claude_code

SESSION = "5f0c7a52-0000-4000-8000-000000000000"


def line(type: str, uuid: str | None, **more: Any) -> dict[str, Any]:
    value = {
        "type": type,
        "uuid": uuid,
        "sessionId": SESSION,
        "cwd": "/srv/orchard",
        "timestamp": "2026-10-05T08:00:00Z",
        **more,
    }
    return {key: item for key, item in value.items() if item is not None}


def user(uuid: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return line("user", uuid, **{"message": {"role": "user", "content": content}, **more})


def assistant(
    uuid: str,
    *blocks: dict[str, Any],
    id: str | None = None,
    usage: Any = None,
    model: str = "claude-opus-4-6",
    **more: Any,
) -> dict[str, Any]:
    message = {"role": "assistant", "model": model, "content": list(blocks), "id": id, "usage": usage}
    return line("assistant", uuid, message={key: item for key, item in message.items() if item is not None}, **more)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def jsonl(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


def drafts(*values: dict[str, Any]) -> list[Draft]:
    return drafts_of(jsonl(*values))


def drafts_of(data: bytes) -> list[Draft]:
    return list(claude_code.read(io.BytesIO(data)))


def events(found: Iterable[Draft]) -> list[EventDraft]:
    return [draft for draft in found if isinstance(draft, EventDraft)]


def findings(found: Iterable[Draft]) -> dict[str, Finding]:
    """The last finding of each rule."""
    return {draft.rule: draft for draft in found if isinstance(draft, Finding)}


def last_session(found: Iterable[Draft]) -> SessionDraft:
    return [draft for draft in found if isinstance(draft, SessionDraft)][-1]
