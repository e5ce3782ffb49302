"""Small files of our own making, as tools would write them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
OWNER = "0b54a6f0-3b1d-4a57-9d3e-0c6a4f1b2c3d"


def transcript(lines: int, session: str = OWNER, **more: Any) -> bytes:
    """A Claude Code session of so many lines: a prompt, an answer, a prompt, an answer, ..."""
    return b"".join(json.dumps(_line(number, session) | more).encode() + b"\n" for number in range(lines))


def _line(number: int, session: str) -> dict[str, Any]:
    common = {
        "uuid": str(UUID(int=number + 1)), "parentUuid": str(UUID(int=number)) if number else None,
        "sessionId": session,
        "timestamp": (START + timedelta(seconds=number)).isoformat().replace("+00:00", "Z"), "cwd": "/home/dev/clock",
        "version": "2.1.100", "isSidechain": False,
    }  # fmt: skip
    if number % 2 == 0:
        return common | {"type": "user", "message": {"role": "user", "content": f"Please mend part{number}"}}
    usage = {"input_tokens": 2, "output_tokens": 30, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10}
    message = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-5",
        "usage": usage,
    }
    content = [{"type": "text", "text": f"Mended part{number - 1}, and oiled it."}]
    return common | {"type": "assistant", "requestId": f"req_{number}", "message": message | {"content": content}}


def vcon(*texts: str, uuid: str = "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44", **more: Any) -> bytes:
    """A vCon of a chat between a customer and a bot, one dialog for each text."""
    dialog = [
        {
            "type": "text", "start": (START + timedelta(seconds=number)).isoformat(), "parties": [number % 2],
            "mediatype": "text/plain", "body": body, "encoding": "none",
        }
        for number, body in enumerate(texts)
    ]  # fmt: skip
    parties = [{"name": "Ana", "role": "customer"}, {"name": "Clerk", "role": "agent"}]
    return json.dumps(
        {
            "vcon": "0.4.0",
            "uuid": uuid,
            "created_at": START.isoformat(),
            "subject": "A clock",
            "parties": parties,
            "dialog": dialog,
        }
        | more
    ).encode()
