"""The transcript of a run as events of its session at the desk, so that a card has behind it what led to the call.

Lines become the same events each time, with ids of their own: what is sent again is found to be there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..asking import Request
from ..holding import Desk
from . import runs

Json = dict[str, Any]
AT_ONCE = 500
"""Events of one request; the desk takes 1,000."""
LONGEST = 100_000
"""Characters of one text."""
MOST = 4 << 20
"""Bytes of one request."""
PATIENCE = 20.0
TOKENS = {
    "input_tokens": "input_tokens", "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens", "output_tokens": "output_tokens",
}  # fmt: skip


class NotTaken(Exception):
    """The desk did not take the events; the message says why."""


def send(desk: Desk, session: str, path: str, run: str, *, whole: bool) -> None:
    """Send what the desk has not got. ``whole``: the turn is over, so that the tokens of its requests stand.

    Raises ``OSError`` or ``NotTaken``.
    """
    known = runs.recall(run) or {}
    before = known if known.get("session") == session else {}
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()  # it is being written
    parsed = [_parsed(line) for line in lines]
    sent, counted = int(before.get("lines", 0)), int(before.get("requests", 0))
    events = [event for line in parsed[sent:] for event in events_of(line)]
    if whole:
        events += requests_of(parsed[counted:])
    for batch in _batches(events):
        _post(desk, f"/api/v1/sessions/{session}/events", batch)
    _report_executions(desk, events, runs.calls_of(run))
    runs.remember(run, session, len(parsed), len(parsed) if whole else counted)


def events_of(line: Json) -> Iterator[Json]:
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


def requests_of(lines: list[Json]) -> list[Json]:
    """One event per response of the model, with the tokens that its last line says: each of its lines repeats them."""
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


def _event(line: Json, block: Json) -> Json | None:
    kind, by_model = block.get("type"), line["type"] == "assistant"
    model = {"model": str(line["message"]["model"])[:200]} if by_model and line["message"].get("model") else {}
    if kind == "text" and block.get("text"):
        said = "agent_message" if by_model else "injected_context" if line.get("isMeta") else "user_message"
        return {"kind": said, "text": _cut(str(block["text"])), **model}
    if kind == "thinking" and block.get("thinking"):
        return {"kind": "reasoning", "text": _cut(str(block["thinking"])), **model}
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
        return _cut(content)
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") or f"({block.get('type')})" for block in blocks if isinstance(block, dict)]
    return _cut("\n".join(map(str, texts)))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n({len(text) - LONGEST} more characters)"


def _parsed(line: str) -> Json:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _batches(events: list[Json]) -> Iterator[bytes]:
    """Bodies of requests."""
    pieces: list[str] = []
    for event in events:
        piece = json.dumps(event, ensure_ascii=True)
        if pieces and (len(pieces) >= AT_ONCE or sum(map(len, pieces)) + len(piece) > MOST):
            yield _body(pieces)
            pieces = []
        pieces.append(piece)
    if pieces:
        yield _body(pieces)


def _body(pieces: list[str]) -> bytes:
    return f'{{"events": [{", ".join(pieces)}]}}'.encode()


def _report_executions(desk: Desk, events: list[Json], calls: dict[str, tuple[str, str]]) -> None:
    """What came of the calls that the desk had allowed. Raises ``NotTaken``."""
    for event in events:
        call = calls.get(str(event["tool"]["call_id"])) if event["kind"] == "tool_result" else None
        if call:
            status = "errored" if event["tool"]["status"] == "error" else "succeeded"
            body = json.dumps({"digest": call[1], "status": status}).encode()
            _post(desk, f"/api/v1/approvals/{quote(call[0], safe='')}/execution", body)


def _post(desk: Desk, path: str, body: bytes) -> None:
    came = desk.send(Request("POST", path, body, PATIENCE))
    if not isinstance(came, tuple):
        raise NotTaken(str(came))
    if came[0] not in (200, 201):
        raise NotTaken(f"{came[0]} {came[1][:300].decode(errors='replace')}")
