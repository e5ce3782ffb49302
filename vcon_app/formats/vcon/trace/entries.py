"""One entry of a trace: its members under the names of VAC, its text, and the blocks inside its content."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....drafts import Json
from ...common.jsonio import Unreadable, loads
from ...common.values import text_of
from ..file import Elided

TYPES = frozenset({"user", "assistant", "tool-call", "tool-result", "reasoning", "system-event"})
"""The discriminators of VAC s3.8; anything else is an unknown entry."""
NEEDED = {
    **dict.fromkeys(TYPES, "type"), "tool-call": "input", "tool-result": "output", "system-event": "event-type"
}  # fmt: skip
"""A member that an entry of each type has when its members have VAC's names."""
COMMON = frozenset({"type", "id", "timestamp", "parent-id", "children", "token-usage", "model-id", "agent-id"})
MEMBERS = {
    "user": COMMON | {"content"},
    "assistant": COMMON | {"content"},
    "tool-call": COMMON | {"name", "input", "call-id"},
    "tool-result": COMMON | {"name", "output", "call-id", "status", "is-error"},
    "reasoning": COMMON | {"content", "encrypted", "subject"},
    "system-event": COMMON | {"event-type", "data"},
}
ALL_MEMBERS = frozenset().union(*MEMBERS.values())
SYNONYMS = {
    "entry-id": "id",
    "kind": "type",
    "tool-use-id": "call-id",
    "tool-call-id": "call-id",
    "tool-name": "name",
    "arguments": "input",
    "tool-input": "input",
    "result": "output",
    "tool-output": "output",
    "text": "content",
    "time": "timestamp",
    "usage": "token-usage",
}
KINDS = {
    "event": "system-event",
    "thinking": "reasoning",
    "tool-use": "tool-call",
    "function-call": "tool-call",
    "function-call-output": "tool-result",
    "human": "user",
}
ROLES = {"user": "user", "human": "user", "assistant": "assistant", "agent": "assistant", "model": "assistant"}
TEXTS = frozenset({"text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"})
CALLS = frozenset({"tool_use", "tool_call", "server_tool_use", "mcp_tool_use"})
RESULTS = frozenset({"tool_result", "mcp_tool_result"})
THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})

OUTCOMES = {
    **dict.fromkeys(("error", "failed", "failure"), "error"),
    **dict.fromkeys(("denied", "rejected"), "denied"),
    **dict.fromkeys(("cancelled", "canceled", "aborted", "timeout", "interrupted"), "cancelled"),
    **dict.fromkeys(("success", "ok", "completed"), "ok"),
}
"""What a ``status`` says."""


class Block(NamedTuple):
    """A native content block that is an event of its own unless ``children`` hold it already."""

    entry: dict[str, Any]
    place: int


def fold(raw: dict[str, Any]) -> dict[str, Any]:
    """The entry with VAC's member names; the same object when it has them already."""
    kind = raw.get("type")
    if type(kind) is str and NEEDED.get(kind) in raw:
        return raw
    folded: dict[str, Any] = {}
    for key, value in raw.items():
        name = key.lower().replace("_", "-")
        name = SYNONYMS.get(name, name)
        folded.setdefault(name if name in ALL_MEMBERS else key, value)
    kind = text_of(folded.get("type")).lower().replace("_", "-")
    kind = ROLES.get(text_of(folded.pop("role", "")), kind) if kind == "message" else KINDS.get(kind, kind)
    if kind not in TYPES:
        return raw if "type" in raw else {**raw, "type": raw.get("kind")}
    folded["type"] = kind
    if kind == "tool-result" and "output" not in folded and "content" in folded:
        folded["output"] = folded.pop("content")
    return folded


def unknown_members(entry: dict[str, Any]) -> dict[str, Any]:
    """Members VAC does not name: kept, never interpreted beyond a few known ones."""
    known = MEMBERS.get(text_of(entry["type"]), COMMON)
    return {} if known.issuperset(entry) else {key: value for key, value in entry.items() if key not in known}


def visible_text(content: Json) -> str:
    """The text of a message: a string, or its text blocks joined; ``""`` for everything else."""
    if isinstance(content, str):
        return content
    if isinstance(content, Elided):
        return ""
    if isinstance(content, dict):
        return (
            visible_text(content.get("text") or content.get("content") or content.get("parts"))
            if not (set(content) & {"body", "data"})
            else ""
        )
    if not isinstance(content, list):
        return ""
    return "\n".join(filter(None, map(_block_text, content)))


def _block_text(block: Json) -> str:
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and (text_of(block.get("type")) in TEXTS or "type" not in block):
        value = block.get("text")
        return value if isinstance(value, str) else ""
    return ""


def output_text(output: Json) -> str:
    """The plain text of a tool's output: a string, text blocks, or Gemini's functionResponse."""
    if isinstance(output, list):
        return "\n".join(filter(None, (_response_text(block) or _block_text(block) for block in output)))
    if isinstance(output, dict) and not isinstance(output, Elided):
        return _response_text(output) or (visible_text(output["content"]) if "content" in output else "")
    return output if isinstance(output, str) else ""


def _response_text(block: Json) -> str:
    inner = block.get("functionResponse") if isinstance(block, dict) else None
    response = inner.get("response") if isinstance(inner, dict) else None
    if not isinstance(response, dict):
        return ""
    return next((value for key in ("output", "error", "content") if isinstance(value := response.get(key), str)), "")


def arguments(value: Json) -> tuple[Json, bool]:
    """Tool arguments; Codex writes them as JSON text, which is parsed. The flag says that was done."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            parsed = loads(value.encode("utf-8", "replace"))[0]
        except Unreadable:
            return value, False
        return parsed, isinstance(parsed, (dict, list))
    return value, False


def has_media(content: Json) -> bool:
    """Does the message carry an image or a file?"""
    return isinstance(content, list) and any(
        isinstance(block, dict)
        and block.get("type") in ("image", "input_image", "document", "file", "input_file", "audio")
        for block in content
    )


def blocks_of(content: Json) -> list[Block]:
    """Calls, results and thoughts that stand as blocks in native content, as entries."""
    if not isinstance(content, list):
        return []
    entries = [(place, _block_entry(block)) for place, block in enumerate(content) if isinstance(block, dict)]
    return [Block(entry, place) for place, entry in entries if entry]


def _block_entry(block: dict[str, Any]) -> dict[str, Any] | None:
    kind = text_of(block.get("type"))
    if kind in CALLS:
        return {"type": "tool-call", "name": block.get("name"), "input": block.get("input"), "call-id": block.get("id")}
    if kind in RESULTS:
        return {
            "type": "tool-result",
            "call-id": block.get("tool_use_id"),
            "output": block.get("content"),
            **({"is-error": True} if block.get("is_error") is True else {}),
        }
    if kind in THOUGHTS:
        secret = block.get("signature") if not block.get("thinking") else block.get("data")
        return {
            "type": "reasoning",
            "content": block.get("thinking") or block.get("text") or "",
            **({"encrypted": secret} if isinstance(secret, str) else {}),
        }
    for name, made in (("functionCall", "tool-call"), ("functionResponse", "tool-result")):
        inner = block.get(name)
        if isinstance(inner, dict):
            return {
                "type": made,
                "name": inner.get("name"),
                "call-id": inner.get("id"),
                **({"input": inner.get("args")} if made == "tool-call" else {"output": [block]}),
            }
    return None


def outcome(entry: dict[str, Any]) -> str | None:
    """ok, error, cancelled, denied, or ``None`` when nothing is stated (which is not success)."""
    if "is-error" in entry and entry["is-error"] is True:
        return "error"
    status = text_of(entry.get("status"))
    return OUTCOMES.get(status) or OUTCOMES.get(status.lower())
