"""Lines as Codex writes them, in short, and what comes of them."""

from __future__ import annotations

from typing import Any

from vcon_app.drafts import Draft
from vcon_app.formats import codex

from ..checks import drafts_of, jsonl

SESSION = "0199b2a0-0000-7000-8000-00000000000a"


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-10-05T08:00:00Z", "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> dict[str, Any]:
    return line("response_item", **{"type": kind}, **payload)


def event(kind: str, **payload: Any) -> dict[str, Any]:
    return line("event_msg", **{"type": kind}, **payload)


def said(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


def tokens(total: int | None, last: int | None, cached: int = 0) -> dict[str, Any]:
    """A count whose output is a tenth of its input."""

    def counts(given: int) -> dict[str, int]:
        return {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": given // 10}

    info = {"total_token_usage": total and counts(total), "last_token_usage": last and counts(last)}
    return event("token_count", info=info)


META = line("session_meta", id=SESSION, cwd="/srv/orchard", cli_version="0.169.0", source="cli")


def drafts(*values: dict[str, Any]) -> list[Draft]:
    """Of a session that begins with ``META``, whose own event comes first."""
    return drafts_of(codex, jsonl(META, *values))
