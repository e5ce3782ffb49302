"""Items of the Responses API, in the input of a request and in the output of a response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import ToolDraft
from ..common.apis.openai import LISTED, readable
from ..common.calls import id_of
from ..common.values import dict_of, list_of, scalars_of, text_of
from .pieces import (
    Piece,
    call,
    message_piece,
    refusal_of,
    result,
    texts_of,
    thought,
    unknown_piece,
)

HOSTED = {
    "web_search_call": "action", "file_search_call": "queries", "code_interpreter_call": "code",
    "image_generation_call": "revised_prompt", "computer_call": "action", "local_shell_call": "action",
    "shell_call": "action", "apply_patch_call": "operation", "tool_search_call": "arguments",
    "program": "code",
}  # fmt: skip
"""Tools of the server, each with the key that holds what they were asked."""
OUTPUTS = (
    "function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output",
    "shell_call_output", "apply_patch_call_output", "tool_search_output",
    "program_output",
)  # fmt: skip
ROLES = ("user", "assistant", "system", "developer")
TYPES = frozenset({
    "message", "reasoning", "function_call", "custom_tool_call", "mcp_call", "mcp_list_tools", "mcp_approval_request",
    "mcp_approval_response", "compaction", "item_reference", *HOSTED, *OUTPUTS,
})  # fmt: skip
ENDED = {"completed": "ok", "failed": "error", "incomplete": "error"}
BODIES = frozenset({"id", "type", "status", "call_id", "name", "encrypted_content"})


def item_pieces(item: dict[str, Any], path: str) -> Iterator[Piece]:
    """Pieces of an item. A hosted tool's item is the call and, where it ended, the result."""
    kind, own = item.get("type"), text_of(item.get("id"))
    if kind in (None, "message") and item.get("role") in ROLES:
        yield from _message(item, path, own)
    elif kind == "reasoning":
        text = texts_of(item.get("summary")) or texts_of(item.get("content"))
        yield thought(text, path, own=own, encrypted=bool(item.get("encrypted_content")))
    elif kind == "function_call":
        server = item.get("namespace")
        yield call(item.get("call_id") or own, item.get("name"), item.get("arguments"), path, own=own, server=server)
    elif kind == "custom_tool_call":
        yield call(item.get("call_id") or own, item.get("name"), item.get("input"), path, own=own, parse=False)
    elif kind in OUTPUTS:
        yield result(item.get("call_id"), item.get("output", item.get("result")), path, own=own)
    elif kind == "mcp_call":
        yield from _mcp_call(item, path, own)
    elif isinstance(kind, str) and kind in HOSTED:
        yield from _hosted(item, kind, path, own)
    else:
        yield from _other_item(item, kind, path, own)


def _message(item: dict[str, Any], path: str, own: str) -> Iterator[Piece]:
    text, held = readable(item.get("content"))
    refusal = refusal_of(item.get("content"))
    role = text_of(item.get("role"))
    if text or held or not refusal:
        status = item.get("status")
        state = None if status == "completed" else status
        piece = message_piece(role, text, path, held, own=own, phase=item.get("phase"), status=state)
        if cited := _citations(item):
            piece.data["citations"] = cited
        yield piece
    if refusal:
        yield message_piece(role, refusal, path, [], own=own, refusal=True)


def _citations(item: dict[str, Any]) -> list[dict[str, Any]]:
    parts = map(dict_of, list_of(item.get("content")))
    return [scalars_of(dict_of(note)) for part in parts for note in list_of(part.get("annotations"))][:LISTED]


def _mcp_call(item: dict[str, Any], path: str, own: str) -> Iterator[Piece]:
    """A call that the API made itself, with its output."""
    request = item.get("approval_request_id")
    server = item.get("server_label")
    yield call(own, item.get("name"), item.get("arguments"), path, own=own, server=server, approval_request_id=request)
    error, output = item.get("error"), item.get("output")
    if error or output is not None or text_of(item.get("status")) in ENDED:
        text = text_of(output) or text_of(error) or text_of(dict_of(error).get("message"))
        yield _outcome(own, item.get("name"), path, text, "error" if error else ENDED.get(text_of(item.get("status"))))


def _hosted(item: dict[str, Any], kind: str, path: str, own: str) -> Iterator[Piece]:
    asked = item.get(HOSTED[kind])
    call_id = item.get("call_id") or own
    yield call(call_id, kind.removesuffix("_call"), asked, path, own=own, parse=False, status=item.get("status"))
    found = item.get("results") or item.get("outputs") or item.get("tools")
    if found or ("call_id" not in item and text_of(item.get("status")) in ENDED):
        outcome = _outcome(call_id, kind.removesuffix("_call"), path, "", ENDED.get(text_of(item.get("status"))))
        if found and outcome.tool:
            outcome.tool = ToolDraft(outcome.tool.call_id, outcome.tool.name, None, None, found, outcome.tool.status)
        yield outcome


def _outcome(call_id: Any, name: Any, path: str, text: str, status: str | None) -> Piece:
    """The result that stands in the item of the call: the model's side of the conversation tells it."""
    tool = ToolDraft(id_of(call_id), id_of(name), status=status)
    return Piece("tool_result", "output", text, path, "", tool, {}, ("tool", tool.name or ""))


def _other_item(item: dict[str, Any], kind: Any, path: str, own: str) -> Iterator[Piece]:
    if kind == "mcp_approval_request":
        asked = call(own, item.get("name"), item.get("arguments"), path, server=item.get("server_label"))
        yield Piece("approval", "output", "", path, own, asked.tool, {"type": kind, "decision": "pending"})
    elif kind == "mcp_approval_response":
        approve = item.get("approve")
        decision = "approved" if approve is True else "denied" if approve is False else None
        tool = ToolDraft(id_of(item.get("approval_request_id")), status="denied" if decision == "denied" else None)
        data = {"type": kind, "decision": decision, "by": "user"}
        yield Piece("approval", "input", text_of(item.get("reason")), path, own, tool, data, ("person", ""))
    elif kind == "mcp_list_tools":
        names = [text_of(dict_of(tool).get("name")) for tool in list_of(item.get("tools"))][:LISTED]
        yield Piece("system", "output", "", path, own, None, {"type": kind, "tools": names} | scalars_of(item, BODIES))
    elif kind == "compaction":
        yield Piece(
            "compaction", "output", "", path, own, None, {"type": kind, "encrypted": "encrypted_content" in item}
        )
    elif kind == "item_reference":
        yield Piece("system", "setting", "", path, "", None, {"type": kind, "id": own})
    else:
        yield unknown_piece(item, f"item type {text_of(kind)[:100]!r}", path)
