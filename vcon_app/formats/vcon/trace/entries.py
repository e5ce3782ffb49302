"""One entry of a trace: its text, its outcome, and the blocks inside its content."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....drafts import Json
from ...common.jsonio import Unreadable, loads
from ...common.values import dict_of, scalars_of, text_of
from ..file import Elided
from .names import COMMON, INNER_CALLS, MEMBERS

CALLS = frozenset({"tool_use", "tool_call", "server_tool_use", "mcp_tool_use", "function_call", "function"})
RESULTS = frozenset({"tool_result", "mcp_tool_result", "function_call_output"})
THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
NOT_WORDS = CALLS | RESULTS | THOUGHTS
"""Blocks that are events of their own."""
OWN_RESULT = ("output", "result", "tool-output", "tool_output", "toolOutput", "response")
"""Where a call holds what it gave."""
OWN_FAULT = ("error", "error_message")
HOLDING = INNER_CALLS.union(OWN_RESULT, OWN_FAULT)
"""Members of a message or a call that are events of their own."""

OUTCOMES = {
    **dict.fromkeys(("error", "failed", "failure"), "error"),
    **dict.fromkeys(("denied", "rejected"), "denied"),
    **dict.fromkeys(("cancelled", "canceled", "aborted", "timeout", "interrupted"), "cancelled"),
    **dict.fromkeys(("success", "ok", "completed"), "ok"),
}
"""What a ``status`` says."""


class Block(NamedTuple):
    """What stands inside an entry and is an event of its own, unless ``children`` hold it already."""

    entry: dict[str, Any]
    place: str
    """A JSON pointer from the entry."""


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
    """Words of a block, whatever it calls itself: a refusal, a citation, a paragraph of a dialect not met yet."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict) or text_of(block.get("type")) in NOT_WORDS:
        return ""
    for name in ("text", "refusal", "content", "value"):
        value = block.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, dict) and isinstance(inner := value.get("value") or value.get("text"), str):
            return inner
        if name == "content" and isinstance(value, list):
            return visible_text(value)
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


MEDIA = ("image", "input_image", "document", "file", "input_file", "audio", "input_audio", "image_url")
PAYLOADS = frozenset({"data", "base64", "body", "content", "blob", "file_data", "image_url", "url", "text"})


def has_media(content: Json) -> bool:
    """Does the message carry an image or a file?"""
    return isinstance(content, list) and any(map(_is_media, content))


def media_in(content: list[Json]) -> list[dict[str, Any]]:
    """The images and files of a message, each called by what is said of it, without its bytes."""
    blocks = [block for block in content if isinstance(block, dict) and _is_media(block)]
    return [scalars_of(block, PAYLOADS) | scalars_of(dict_of(block.get("source")), PAYLOADS) for block in blocks[:50]]


def _is_media(block: Json) -> bool:
    return isinstance(block, dict) and text_of(block.get("type")) in MEDIA


def blocks_of(content: Json) -> list[Block]:
    """Calls, results and thoughts that stand as blocks in native content, as entries."""
    if not isinstance(content, list):
        return []
    entries = [(place, _block_entry(block)) for place, block in enumerate(content) if isinstance(block, dict)]
    return [Block(entry, f"content/{place}") for place, entry in entries if entry]


def inner_blocks(entry: dict[str, Any]) -> list[Block]:
    """Those of its content; the calls that a message lists beside its words, the result that a call holds."""
    if not _is_call(entry):
        listed = [
            Block(_listed_call(call), f"{name}/{place}")
            for name in INNER_CALLS.intersection(entry)
            if isinstance(calls := entry[name], list)
            for place, call in enumerate(calls)
            if isinstance(call, dict)
        ]
        return blocks_of(entry.get("content")) + listed
    name = next((name for name in OWN_RESULT if entry.get(name) is not None), None)
    fault = next((name for name in OWN_FAULT if entry.get(name)), None)
    if name is None and fault is None:
        return []
    told = {key: entry[key] for key in ("status", "is-error", "is_error") if key in entry}
    if name is None:
        told, name = {"is-error": True, **told}, fault
    return [Block({"type": "tool-result", "call-id": entry.get("call-id"), "output": entry[name], **told}, name)]


def _is_call(entry: dict[str, Any]) -> bool:
    return entry["type"] == "tool-call"


def _listed_call(call: dict[str, Any]) -> dict[str, Any]:
    """An item of ``tool_calls``, with its function inside or flat."""
    function = dict_of(call.get("function")) or call
    given = next((function[name] for name in ("arguments", "args", "input") if name in function), None)
    return {
        "type": "tool-call", "name": function.get("name"), "input": given,
        "call-id": call.get("id") or call.get("call_id"),
    }  # fmt: skip


def _block_entry(block: dict[str, Any]) -> dict[str, Any] | None:
    kind = text_of(block.get("type"))
    if kind in CALLS:
        return _listed_call(block)
    if kind in RESULTS:
        return {
            "type": "tool-result",
            "call-id": block.get("tool_use_id") or block.get("call_id"),
            "output": block.get("content") if "content" in block else block.get("output"),
            **({"is-error": True} if block.get("is_error") is True else {}),
        }
    if kind in THOUGHTS:
        secret = block.get("signature") if not block.get("thinking") else block.get("data")
        words = next((block[name] for name in ("thinking", "text", "reasoning", "content") if block.get(name)), "")
        return {
            "type": "reasoning",
            "content": words or visible_text(block.get("summary")),
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
