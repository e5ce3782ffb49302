"""What ``POST /v1/messages`` refuses, in its words where they are known; and how its prompt cache counts."""

from __future__ import annotations

import json
import re
from typing import Any

from .managed_agents_errors import ApiError, bad

Json = dict[str, Any]
FIELDS = {
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "metadata",
    "stop_sequences", "stream", "service_tier", "cache_control", "container", "speed", "inference_geo", "diagnostics",
}  # fmt: skip
BLOCKS = {
    "text": {"text", "citations"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
    "tool_use": {"id", "name", "input"},
    "tool_result": {"tool_use_id", "content", "is_error"},
    "image": {"source"},
}
ID, NAME, PROPERTY = r"[a-zA-Z0-9_-]+", r"[a-zA-Z0-9_-]{1,64}", r"[a-zA-Z0-9_.-]{1,64}"
LOOKBACK = 20
"""Blocks before a breakpoint at which an older cache entry is looked for."""


def check(body: Any, signed: dict[str, str], *, paused: bool) -> None:
    """Raises ``ApiError``. ``signed`` are the thinking blocks that were given out; ``paused`` allows a last word of
    the assistant's."""
    if not isinstance(body, dict):
        raise bad("Input should be a valid dictionary or object to extract fields from")
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            raise bad(f"{name}: Field required")
    if unknown := set(body) - FIELDS:
        raise bad(f"{sorted(unknown)[0]}: Extra inputs are not permitted")
    if not isinstance(body["max_tokens"], int) or body["max_tokens"] < 1:
        raise bad("max_tokens: Input should be greater than or equal to 1")
    if not body.get("stream"):
        raise bad("this server only streams")
    _tools(body.get("tools", []))
    _system(body.get("system", []))
    _messages(body["messages"], signed, paused)
    marked = sum(part[1] for part in flat(body))
    if marked > 4:
        raise bad(f"A maximum of 4 blocks with cache_control may be provided. Found {marked}.")
    uses = any(kind["type"].startswith("tool_") for message in body["messages"] for kind in _blocks(message))
    if uses and not body.get("tools"):
        raise bad("Requests which include `tool_use` or `tool_result` blocks must define tools")


def check_size(body: Json, window: int) -> None:
    """Whether it fits into the context window of the model; a token for four characters. Raises ``ApiError``."""
    size = _tokens(flat(body))
    if window and size > window:
        raise bad(f"prompt is too long: {size} tokens > {window} maximum")


def _tools(tools: list[Json]) -> None:
    for number, tool in enumerate(tools):
        at = f"tools.{number}.custom"
        if unknown := set(tool) - {"name", "description", "input_schema", "cache_control", "type", "strict"}:
            raise bad(f"{at}.{sorted(unknown)[0]}: Extra inputs are not permitted")
        if not re.fullmatch(NAME, tool.get("name", "")):
            raise bad(f"{at}.name: String should match pattern '^{NAME}$'")
        schema = tool.get("input_schema", {})
        if schema.get("type") != "object":
            raise bad(f"{at}.input_schema.type: Input should be 'object'")
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            raise bad(f"{at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level")
        for name in schema.get("properties") or {}:
            if not re.fullmatch(PROPERTY, name):
                raise bad(f"{at}.input_schema.properties: Property keys should match pattern '^{PROPERTY}$'")
    names = [tool["name"] for tool in tools]
    if len(names) != len(set(names)):
        raise bad("tools: Tool names must be unique.")


def _system(system: Any) -> None:
    for number, block in enumerate(system if isinstance(system, list) else []):
        if not block.get("text"):
            raise bad(f"system.{number}: text content blocks must be non-empty")


def _messages(messages: list[Json], signed: dict[str, str], paused: bool) -> None:
    if not messages:
        raise bad("messages: at least one message is required")
    before: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] != ("assistant" if number % 2 else "user"):
            raise bad(f"messages.{number}: roles must alternate between user and assistant, beginning with user")
        if not message["content"]:
            raise bad(f"messages.{number}: all messages must have non-empty content")
        for index, block in enumerate(_blocks(message)):
            _block(f"messages.{number}.content.{index}", block, message["role"], signed)
        _answers(number, message, before)
        before = [block["id"] for block in _blocks(message) if block["type"] == "tool_use"]
    if before:
        raise _unanswered(len(messages) - 1, before)
    if messages[-1]["role"] == "assistant" and not paused:
        raise bad(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def _answers(number: int, message: Json, calls: list[str]) -> None:
    """Results stand first in their message, one for each call of the message before."""
    kinds = [block["type"] for block in _blocks(message)]
    given = [block["tool_use_id"] for block in _blocks(message) if block["type"] == "tool_result"]
    for id_ in given:
        if id_ not in calls:
            raise bad(
                f"messages.{number}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {id_}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
    if left := [id_ for id_ in calls if given.count(id_) != 1]:
        raise _unanswered(number - 1, left)
    if "tool_result" in kinds[kinds.count("tool_result") :]:
        raise bad(f"messages.{number}: tool_result blocks must come first in the content")


def _unanswered(number: int, ids: list[str]) -> ApiError:
    return bad(
        f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _block(at: str, block: Json, role: str, signed: dict[str, str]) -> None:
    kind = block.get("type")
    if kind not in BLOCKS:
        raise bad(f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags")
    if unknown := set(block) - BLOCKS[kind] - {"type", "cache_control"}:
        raise bad(f"{at}.{kind}.{sorted(unknown)[0]}: Extra inputs are not permitted")
    if (kind in ("thinking", "redacted_thinking", "tool_use")) != (role == "assistant") and kind != "text":
        raise bad(f"{at}: `{kind}` blocks can not be in `{role}` messages")
    if kind == "text" and not block["text"].strip():
        raise bad("messages: text content blocks must contain non-whitespace text")
    if kind == "tool_use" and not (re.fullmatch(ID, block["id"]) and re.fullmatch(NAME, block["name"])):
        raise bad(f"{at}.tool_use.id: String should match pattern '^{ID}$'")
    if kind == "tool_use" and not isinstance(block["input"], dict):
        raise bad(f"{at}.tool_use.input: Input should be a valid dictionary")
    if kind == "thinking" and signed.get(block["signature"]) != block["thinking"]:
        raise bad(f"{at}: Invalid `signature` in `thinking` block")
    if "thinking" in kind and "cache_control" in block:
        raise bad(f"{at}.{kind}.cache_control: Extra inputs are not permitted")
    for inner in block.get("content", []) if kind == "tool_result" and isinstance(block.get("content"), list) else []:
        if inner.get("type") == "text" and not inner["text"].strip():
            raise bad("messages: text content blocks must contain non-whitespace text")


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def flat(body: Json) -> list[tuple[str, bool]]:
    """What is cached, in order: each tool, system block and content block as text, and whether it is a breakpoint."""
    system = body.get("system", [])
    system = [{"type": "text", "text": system}] if isinstance(system, str) else system
    parts = [("", block) for block in (*body.get("tools", []), *system)]
    parts += [(message["role"], block) for message in body["messages"] for block in _blocks(message)]
    return [
        (role + json.dumps({k: v for k, v in block.items() if k != "cache_control"}), "cache_control" in block)
        for role, block in parts
    ]


class Cache:
    """Prefixes that were written, as the real one keeps them; without its five minutes and its least length."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def used(self, body: Json) -> Json:
        """The input side of a response's usage: a token for four characters."""
        parts = flat(body)
        ends = [index + 1 for index, (_, marked) in enumerate(parts) if marked]
        seen = [
            length
            for end in ends
            for length in range(max(end - LOOKBACK, 0), end + 1)
            if self._prefix(parts, length) in self._written
        ]
        self._written |= {self._prefix(parts, end) for end in ends}
        read, last = max(seen, default=0), max(ends, default=0)
        counts = [_tokens(parts[:read]), _tokens(parts[read:last]), _tokens(parts[last:])]
        return {
            "cache_read_input_tokens": counts[0],
            "cache_creation_input_tokens": counts[1],
            "cache_creation": {"ephemeral_5m_input_tokens": counts[1], "ephemeral_1h_input_tokens": 0},
            "input_tokens": counts[2],
        }

    def _prefix(self, parts: list[tuple[str, bool]], length: int) -> str:
        return "\n".join(text for text, _ in parts[:length])


def _tokens(parts: list[tuple[str, bool]]) -> int:
    return sum(len(text) // 4 for text, _ in parts)
