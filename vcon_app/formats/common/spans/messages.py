"""Messages that went to a model and came back, out of whatever an instrumentation kept of them.

OpenTelemetry's parts, OpenAI's chats and response items, Anthropic's blocks, Gemini's contents, LangChain's
constructors, the AI SDK's prompts, or plain text: some of each stand in most traces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..jsonio import dumps
from ..lines import digest
from ..values import dict_of, list_of, text_of
from .parts import CALLS, RESULTS, THOUGHTS, Part, call_of, identity_bytes, parsed_if_json, parts_of, result_of

ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "model": "assistant", "ai": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
CONSTRUCTORS = {"SystemMessage": "system", "HumanMessage": "user", "AIMessage": "assistant", "ToolMessage": "tool"}
WRAPPERS = ("messages", "contents", "choices", "candidates", "message", "new_message", "prompt", "input", "output")
"""Keys under which requests and responses hold messages, in the order in which they are looked for."""
INSTRUCTIONS = ("system", "instructions", "system_instruction", "systemInstruction")
DEEPEST = 6
"""Wrappers inside of wrappers that are opened."""
_PRINTED = re.compile(r"role='(\w+)' content=(?:None|(['\"])(.*?)\2) (?:name|tool_call_id)=", re.S)
"""A message as Python prints it: Agno's instrumentation keeps nothing else."""


@dataclass(frozen=True)
class Message:
    """Who speaks (system, user, assistant, tool or "" when that is not known) and what in how many parts."""

    role: str
    parts: tuple[Part, ...]

    @cached_property
    def print(self) -> str:
        """The same for a message that is sent again; histories leave thoughts out."""
        prints = [identity_bytes(part) for part in self.parts if part.kind != "reasoning"]
        return digest(dumps(self.role) + b"".join(prints))


def messages_of(value: Any, role: str, level: int = 0) -> list[Message]:
    """The messages in ``value``; what names no role is of ``role``."""
    value = parsed_if_json(value)
    if level > DEEPEST or value in (None, "", [], {}):
        return []
    if isinstance(value, list):
        return _listed([parsed_if_json(item) for item in value], role, level)
    if isinstance(value, dict):
        return _object(value, role, level)
    return [_printed(value if isinstance(value, str) else dumps(value).decode(), role)]


def _listed(values: list[Any], role: str, level: int) -> list[Message]:
    """Messages one after the other, or the parts of a single one where none says who speaks."""
    if any(_names_role(value) for value in values):
        return [message for value in values for message in messages_of(value, role, level + 1)]
    parts = tuple(parts_of(values))
    if parts and all(part.kind == "result" for part in parts):
        role = "tool"
    elif any(part.kind in ("call", "reasoning") for part in parts):
        role = "assistant"
    return [Message(role, parts)] if parts else []


def _names_role(value: Any) -> bool:
    if isinstance(value, str):
        return _PRINTED.match(value) is not None
    return isinstance(value, dict) and (
        not value.keys().isdisjoint({"role", "kwargs", "parts", "message", "event.name"})
        or isinstance(value.get("content"), dict)
    )


def _object(value: dict[str, Any], role: str, level: int) -> list[Message]:
    if isinstance(value.get("kwargs"), dict):  # LangChain
        name = str((list_of(value.get("id")) or [""])[-1]).removesuffix("Chunk")
        return [_message({"role": CONSTRUCTORS.get(name, role), **value["kwargs"]}, role)]
    if isinstance(inner := parsed_if_json(value.get("message")), (dict, list)):
        return messages_of(inner, role, level + 1)
    if not value.keys().isdisjoint({"role", "event.name"}) or isinstance(value.get("parts"), list):
        return [_message(value, role)]
    if value.get("type") in CALLS + RESULTS + THOUGHTS:
        return _listed([value], role, level)
    return _unwrapped(value, role, level)


def _unwrapped(value: dict[str, Any], role: str, level: int) -> list[Message]:
    found = _instructions(value, level) if role == "user" else []
    for name in (*WRAPPERS, "content"):
        if value.get(name) not in (None, "", [], {}):
            return found + messages_of(value[name], role, level + 1)
    if parts := parts_of([value] if "text" in value else []):
        return [*found, Message(role, tuple(parts))]
    return found or [Message(role, (Part("text", dumps(value).decode()),))]


def _instructions(value: dict[str, Any], level: int) -> list[Message]:
    told = next(
        (told for name in INSTRUCTIONS if (told := value.get(name) or dict_of(value.get("config")).get(name))), ""
    )
    return [Message("system", message.parts) for message in messages_of(told, "system", level + 1)]


def _message(value: dict[str, Any], role: str) -> Message:
    role = _role(value, role)
    thought = text_of(value.get("reasoning_content")) or text_of(value.get("thinking"))
    calls = value.get("tool_calls") or dict_of(value.get("additional_kwargs")).get("tool_calls")
    said = [Part("reasoning", thought)] if thought else []
    parts = (*said, *_content(value, role), *(call_of(item) for item in list_of(calls) if isinstance(item, dict)))
    if role in ("user", "tool") and parts and len({part.kind for part in parts}) == 1:
        role = {"result": "tool", "call": "assistant"}.get(parts[0].kind, role)
    return Message(role, parts)


def _content(value: dict[str, Any], role: str) -> list[Part]:
    if isinstance(value.get("parts"), list):
        return parts_of(value["parts"])
    content = value.get("content", value.get("contents"))
    listed = parsed_if_json(content)
    if isinstance(listed, list) and listed and all(_is_function(item) for item in listed):
        return [call_of(item) for item in listed]  # Koog puts the calls where the text would be
    if _acts(listed, role):
        return parts_of(listed)
    return [result_of(value)] if role == "tool" else parts_of(content)


def _role(value: dict[str, Any], role: str) -> str:
    """The role that a message names; span events name it in theirs: ``gen_ai.user.message``."""
    event = text_of(value.get("event.name")).split(".")
    name = text_of(value.get("role")) or (event[1] if len(event) == 3 else "")
    return ROLES.get(name.lower(), "") if name else role


def _acts(parts: Any, role: str) -> bool:
    """Whether these are results, or an assistant's calls: OpenLLMetry up to 0.33 has Anthropic's blocks as a text."""
    acts = ("result", "call") if role == "assistant" else ("result",)
    return any(part.kind in acts for part in parts_of(list_of(parts)))


def _is_function(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type", "function") == "function" and "function" in item


def _printed(text: str, role: str) -> Message:
    if found := _PRINTED.match(text):
        role, text = ROLES.get(found[1], role), found[3] or ""
    return Message(role, (Part("text", text),) if text else ())
