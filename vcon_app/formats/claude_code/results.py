"""Tool results: the text the model saw, the outcome, and what the structured copy adds to them.

``toolUseResult`` repeats the text and the arguments, and carries the whole file before an edit; only
what stands nowhere else is kept.
"""

from __future__ import annotations

import re
from typing import Any

from ...drafts import EventDraft, ToolDraft
from ..common.apis.anthropic import readable
from ..common.calls import server_of
from ..common.lines import Line
from ..common.values import bounded, dict_of, scalars_of, text_of
from .reading import Reading

REPEATED = frozenset({
    "stdout", "content", "result", "oldString", "newString", "edits", "prompt", "oldTodos", "originalFile",
    "originalFileContents", "original_file", "updated_file", "base64",
})  # fmt: skip
"""Keys of ``toolUseResult`` whose value stands in the text of the result or in the arguments of the call."""

REFUSED = ("The user doesn't want to proceed with this tool use", "The user doesn't want to take this action right now")
"""How Claude Code words a refusal in its dialog; there is nothing else in the file that tells of it."""
NOT_ALLOWED = re.compile(
    r"(Claude requested permissions? to .*haven't granted it yet|Permission to use .* has been denied)", re.S
)
NOT_RUN = ("[Request interrupted by user", "Sibling tool call errored", "<tool_use_error>Cancelled")
ENCRYPTED = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout"})
EXIT_CODE = re.compile(r"Exit code (\d{1,5})\b")
_REASON = re.compile(r"the user said:\s*(.+)", re.S)


def tool_result(
    reading: Reading, line: Line, block: dict[str, Any], part: str, path: str, *, alone: bool
) -> EventDraft:
    """The event of a ``tool_result`` block; ``alone`` when ``toolUseResult`` can only belong to this one."""
    call_id = text_of(block.get("tool_use_id"))[:200] or None
    call = reading.links.get(call_id)
    content, structured = block.get("content"), line.value.get("toolUseResult") if alone else None
    if isinstance(content, dict):
        content, structured = _of_iflow(content, dict_of(structured))
    text, attachments = readable(content)
    status = status_of(block, text, structured)
    name = call.name if call else None
    tool = ToolDraft(call_id, name, server_of(name), None, _useful(structured, text, len(line.raw)), status)
    data = _facts(reading, text, status, structured, call_id)
    return line.event(
        "tool_result", text, part=part, at_path=path, actor=("tool", name or ""), parent=call.key if call else None,
        tool=tool, data=data | {"attachments": attachments} if attachments else data,
    )  # fmt: skip


def server_result(
    reading: Reading,
    line: Line,
    block: dict[str, Any],
    part: str,
    path: str,
    data: dict[str, Any],
    billing: dict[str, Any],
) -> EventDraft:
    """A result inside a response, of a tool that ran at the API (``web_search_tool_result``)."""
    call_id = text_of(block.get("tool_use_id"))[:200] or None
    call = reading.links.get(call_id)
    content = block.get("content")
    text, _ = readable(content)
    found = (
        [scalars_of(dict_of(item), ENCRYPTED) for item in content]
        if isinstance(content, list)
        else scalars_of(dict_of(content), ENCRYPTED)
    )
    failed = block.get("is_error") is True or text_of(dict_of(content).get("type")).endswith("_error")
    name = call.name if call else None
    tool = ToolDraft(call_id, name, server_of(name), None, bounded(found, len(line.raw)), "error" if failed else "ok")
    return line.event(
        "tool_result", text, part=part, at_path=path, actor=("tool", name or ""), parent=call.key if call else None,
        tool=tool, data=data, **billing,
    )  # fmt: skip


def status_of(block: dict[str, Any], text: str, structured: Any) -> str:
    """ok, error, denied or cancelled. A refusal is known by its text alone."""
    if text.startswith(NOT_RUN) or dict_of(structured).get("interrupted") is True:
        return "cancelled"
    if not block.get("is_error") and dict_of(structured).get("status") != "error":
        return "ok"
    return "denied" if text.startswith(REFUSED) or NOT_ALLOWED.match(text) else "error"


def _of_iflow(content: dict[str, Any], structured: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Content and structured copy of iFlow, which keeps results in the shape of the Gemini API."""
    parts = content.get("responseParts")
    told = [dict_of(dict_of(part).get("functionResponse")) for part in (parts if isinstance(parts, list) else [parts])]
    answers = [dict_of(one.get("response")) for one in told]
    texts = [said for one in answers if (said := text_of(one.get("output")) or text_of(one.get("error")))]
    failed = {"status": "error"} if any("error" in one for one in answers) else {}
    shown = content.get("resultDisplay")
    shown = scalars_of(shown, frozenset({"originalContent", "newContent"})) if isinstance(shown, dict) else shown
    return "\n".join(texts) or text_of(shown), structured | failed | ({"display": shown} if shown else {})


def _useful(structured: Any, text: str, size: int) -> Any:
    """The part of ``toolUseResult`` that stands nowhere else, or ``None``."""
    if not isinstance(structured, dict):
        if code := EXIT_CODE.match(text):
            return {"exitCode": int(code[1])}
        return None if text or not structured else bounded(structured, size)
    repeated = REPEATED if text else frozenset({"originalFile", "originalFileContents", "original_file", "base64"})
    kept = {
        key: value
        for key, value in structured.items()
        if key not in repeated and value is not None and value != "" and value != []
    }
    if isinstance(file := kept.get("file"), dict):
        kept["file"] = scalars_of(file, repeated)
    return bounded(kept, size) or None


def _facts(reading: Reading, text: str, status: str, structured: Any, call_id: str | None) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if status == "denied":
        data["approval_inferred"] = "denied"
        if reason := _REASON.search(text):
            data["reason"] = reason[1].strip()[:2000]
    if not isinstance(structured, dict):
        return data
    if structured.get("userModified") is True:
        data["user_modified"] = True
    if agent_id := text_of(structured.get("agentId"))[:200]:
        reading.links.agent(agent_id, call_id)
        data["child_session"] = f"{reading.facts.session}/agent-{agent_id}"
    return data
