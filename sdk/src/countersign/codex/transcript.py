"""Rollout files of Codex, as 0.169 writes them: one line for each item of the conversation and each response.

Most is told twice, as an item for the model and as an event for the screen; here the items count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ..transcripts import Json, cut

INJECTED = re.compile(r"\s*(<[a-z_ ]+>|# AGENTS\.md)")
"""How what Codex puts into its user's place begins, where the item does not say what it is."""
FAILED = re.compile(r"^(?:Process exited with code|Exit code:) (?!0\b)\d+", re.M)
CALLS, RESULTS = ("function_call", "custom_tool_call"), ("function_call_output", "custom_tool_call_output")


class CodexReader:
    def events_of(self, lines: list[Json], first: int) -> Iterator[Json]:
        """The events of the lines from ``first`` on. A file only grows, so that the number of a line is its name."""
        model = ""
        for number, line in enumerate(lines):
            payload = line.get("payload")
            if not isinstance(payload, dict):
                continue
            if line.get("type") == "turn_context" and isinstance(payload.get("model"), str):
                model = payload["model"][:200]
            if number >= first and (event := _event(line, payload, model)):
                at = {"at": line["timestamp"]} if isinstance(line.get("timestamp"), str) else {}
                yield {"client_id": f"line:{number}", **at, **event}

    def requests_of(self, lines: list[Json]) -> list[Json]:
        """None: the tokens of a response are in a line of their own, and stand."""
        return []


def _event(line: Json, payload: Json, model: str) -> Json | None:
    by_model = {"model": model} if model else {}
    if line.get("type") == "token_usage_record" and isinstance(payload.get("usage"), dict):
        return {"kind": "model_request", "usage": _usage(payload["usage"]), **by_model}
    kind = payload.get("type") if line.get("type") == "response_item" else None
    if kind == "message":
        return _message(payload, by_model)
    if kind == "reasoning" and (thought := _text(payload.get("summary")) or _text(payload.get("content"))):
        return {"kind": "reasoning", "text": thought, **by_model}
    if kind in CALLS:
        tool = {"call_id": payload.get("call_id"), "name": payload.get("name"), "arguments": _arguments(payload)}
        return {"kind": "tool_call", "tool": tool, **by_model}
    if kind in RESULTS:
        return {"kind": "tool_result", "tool": {"call_id": payload.get("call_id")} | _result(payload.get("output"))}
    return None


def _message(payload: Json, by_model: Json) -> Json | None:
    text, role = _text(payload.get("content")), payload.get("role")
    if not text:
        return None
    if role == "assistant":
        return {"kind": "agent_message", "text": text, **by_model}
    is_theirs = role == "user" and _is_of_a_person(payload, text)
    return {"kind": "user_message" if is_theirs else "injected_context", "text": text}


def _is_of_a_person(payload: Json, text: str) -> bool:
    known = payload.get("internal_chat_message_metadata_passthrough")
    kinds = known.get("content_item_kinds") if isinstance(known, dict) else None
    if isinstance(kinds, list) and kinds:
        return any(str(kind).startswith("user.") for kind in kinds)
    return not INJECTED.match(text)


def _arguments(payload: Json) -> Any:
    """Those of a function are JSON in a text; those of a custom tool are a text."""
    given = payload.get("arguments")
    if not isinstance(given, str):
        return {"input": payload.get("input")} if given is None else given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return {"input": given}


def _result(output: Any) -> Json:
    failed = isinstance(output, dict) and output.get("success") is False
    text = _text(output.get("content") if isinstance(output, dict) else output)
    return {"result": text, "status": "error" if failed or FAILED.search(text[:2000]) else "ok"}


def _text(content: Any) -> str:
    """The texts of a list of blocks, or a text itself; what is no text is named."""
    if isinstance(content, str):
        return cut(content)
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") or f"({block.get('type')})" for block in blocks if isinstance(block, dict)]
    return cut("\n".join(map(str, texts)))


def _usage(counts: Json) -> Json:
    """Codex counts both caches inside ``input_tokens``."""
    given, cached, written = (
        counts.get(name) for name in ("input_tokens", "cached_input_tokens", "cache_write_input_tokens")
    )
    fresh = given - (cached or 0) - (written or 0) if isinstance(given, int) else None
    return {
        "input_tokens": max(fresh, 0) if fresh is not None else None, "cache_read_tokens": cached,
        "cache_write_tokens": written, "output_tokens": counts.get("output_tokens"),
        "reasoning_tokens": counts.get("reasoning_output_tokens"),
    }  # fmt: skip
