"""Transcripts of Claude Code: one line for each block of a message, as 2.1.330 writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..transcripts import Json, cut

TOKENS = {
    "input_tokens": "input_tokens", "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens", "output_tokens": "output_tokens",
}  # fmt: skip


class ClaudeCodeReader:
    def events_of(self, lines: list[Json], first: int) -> Iterator[Json]:
        """The events of the lines from ``first`` on."""
        return (event for line in lines[first:] for event in _events_of(line))

    def requests_of(self, lines: list[Json]) -> list[Json]:
        """One event per response, with the tokens that its last line says: each of its lines repeats them."""
        last: dict[str, Json] = {}
        for line in lines:
            message = line.get("message")
            if line.get("type") == "assistant" and isinstance(message, dict) and isinstance(message.get("usage"), dict):
                last[str(message.get("id"))] = line
        return [
            {
                "client_id": f"request:{id_}",
                "kind": "model_request",
                "model": str(line["message"].get("model"))[:200],
                "usage": {name: line["message"]["usage"].get(given) for name, given in TOKENS.items()},
                **({"at": line["timestamp"]} if isinstance(line.get("timestamp"), str) else {}),
            }
            for id_, line in last.items()
        ]


def _events_of(line: Json) -> Iterator[Json]:
    """The events of one line of a transcript."""
    message, id_ = line.get("message"), line.get("uuid")
    if line.get("type") not in ("user", "assistant") or not isinstance(message, dict) or not isinstance(id_, str):
        return
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for number, block in enumerate(blocks if isinstance(blocks, list) else []):
        event = _event(line, block) if isinstance(block, dict) else None
        if event:
            at = {"at": line["timestamp"]} if isinstance(line.get("timestamp"), str) else {}
            yield {"client_id": f"{id_}:{number}", **at, **event}


def _event(line: Json, block: Json) -> Json | None:
    kind, by_model = block.get("type"), line["type"] == "assistant"
    model = {"model": str(line["message"]["model"])[:200]} if by_model and line["message"].get("model") else {}
    if kind == "text" and block.get("text"):
        said = "agent_message" if by_model else "injected_context" if line.get("isMeta") else "user_message"
        return {"kind": said, "text": cut(str(block["text"])), **model}
    if kind == "thinking" and block.get("thinking"):
        return {"kind": "reasoning", "text": cut(str(block["thinking"])), **model}
    if kind == "tool_use":
        tool = {"call_id": block.get("id"), "name": block.get("name"), "arguments": block.get("input")}
        return {"kind": "tool_call", "tool": tool, **model}
    if kind == "tool_result":
        status = "error" if block.get("is_error") else "ok"
        tool = {"call_id": block.get("tool_use_id"), "result": _result(block.get("content")), "status": status}
        return {"kind": "tool_result", "tool": tool}
    return None


def _result(content: Any) -> str:
    """As text; what is no text is named."""
    if isinstance(content, str):
        return cut(content)
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") or f"({block.get('type')})" for block in blocks if isinstance(block, dict)]
    return cut("\n".join(map(str, texts)))
