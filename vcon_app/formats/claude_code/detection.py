"""Is a file Claude Code's? Decided by its first lines, never by its name.

Several other agents write lines that look alike; each test below names the one it keeps out.
"""

from __future__ import annotations

from typing import Any

from ..common.head import Head
from ..common.values import dict_of
from .programs import CLAUDE_CODE, Program, program_of

NOTES = (
    "agent-name", "agent-color", "agent-setting", "bridge-session", "frame-link", "last-prompt", "mode",
    "permission-mode", "relocated", "result", "started", "tag", "task-summary", "worktree-state",
)  # fmt: skip
"""Line types that hold only a setting or a place."""
TYPES = frozenset({
    "user", "assistant", "system", "summary", "ai-title", "custom-title", "attachment", "progress", "queue-operation",
    "file-history-snapshot", "file-history-delta", "pr-link", *NOTES,
})  # fmt: skip
DROIDS = ("tool_call", "message", "completion")
"""Types of lines that Droid streams behind an init like ours."""
HELD = ("message", "attachment", "snapshot")
"""What lines without a session hold: words, a file beside them, the state of files."""
IDS = frozenset({"uuid", "parentUuid", "leafUuid", "isSidechain"})


def detect(head: Head) -> bool:
    """Whether a file is Claude Code's own."""
    return claims(head) and writer(head) is CLAUDE_CODE


def claims(head: Head) -> bool:
    """Whether ``read`` of this package takes the file, whichever program wrote it."""
    return is_web(head) or _is_ours(head.lines or head.objects) or bool(listed(head))


def is_of(head: Head, program: Program) -> bool:
    """Whether a file is what another program streams in the same shape."""
    return writer(head) is program and claims(head)


def writer(head: Head) -> Program:
    """Who wrote a file that ``claims`` takes."""
    return program_of(head.records)


def is_web(head: Head) -> bool:
    """A session exported from the web: one object with ``loglines``."""
    return head.shape.get("loglines") == "["


def listed(head: Head) -> list[dict[str, Any]]:
    """The first lines where all are one JSON list: ``claude -p --output-format json --verbose``, or of another program.

    As far as the shape of the file tells it where the first one is very long; empty for any other file.
    """
    first = (head.records or [_first(head)]) if head.shape.get("") == "[" else []
    if any(line.get("subtype") == "init" and "tools" not in line for line in first):  # Cursor's
        return []
    return first if _is_ours(first) else []


def _is_ours(lines: list[dict[str, Any]]) -> bool:
    return is_stream(lines) or _is_stored(lines) or any(map(is_outcome, lines))


def _first(head: Head) -> dict[str, Any]:
    shape = {path[5:]: value for path, value in head.shape.items() if path.startswith("item.")}
    top: dict[str, Any] = {key: value for key, value in shape.items() if "." not in key}
    for key in (key for key, value in top.items() if value in ("{", "[")):
        inner = {path[len(key) + 1 :]: value for path, value in shape.items() if path.startswith(f"{key}.")}
        top[key] = inner if top[key] == "{" else [inner]
    return top


def is_stream(lines: list[dict[str, Any]]) -> bool:
    """stream-json: ``system/init`` with a list of tools (Cursor's has none) and snake_case session ids."""
    if any(line.get("type") in DROIDS for line in lines):
        return False
    first = next((line for line in lines if line.get("subtype") == "init" and line.get("type") == "system"), {})
    return isinstance(first.get("tools"), list) and "session_id" in first and "sessionId" not in first


def is_outcome(line: dict[str, Any]) -> bool:
    """What a run came to: alone with ``--output-format json``, last in a stream. Others state no cost there."""
    return line.get("type") == "result" and line.keys() >= {"session_id", "num_turns", "total_cost_usd"}


def _is_stored(lines: list[dict[str, Any]]) -> bool:
    if any(_is_of_others(line) for line in lines):
        return False
    types = {line["type"] for line in lines if isinstance(line.get("type"), str)}
    if types & TYPES and any(IDS & line.keys() for line in lines):
        return True
    if types and types <= TYPES:
        return any("sessionId" in line or any(isinstance(line.get(name), dict) for name in HELD) for line in lines)
    return not types and any(_is_bare(line) for line in lines)


def _is_of_others(line: dict[str, Any]) -> bool:
    """Qwen Code (``parts``), Managed Agents, Codex, Gemini CLI, OpenCode, pi, Droid (its init of newer streams)."""
    qwen = "usageMetadata" in line or "systemPayload" in line or "parts" in dict_of(line.get("message"))
    if qwen or IDS & line.keys():  # a line of a type that is not known yet may hold whatever names others have, too
        return qwen
    if isinstance(line.get("message"), str) and "messageId" in line:  # Gemini CLI's logs.json: prompts alone
        return True
    if line.get("type") == "system" and line.get("subtype") == "init" and "sessionId" in line:
        return True
    others = {"processed_at", "projectHash", "$set", "$rewindTo", "sessionID", "payload"} & line.keys()
    return bool(others) or line.get("type") in ("session", "session_meta")


def _is_bare(line: dict[str, Any]) -> bool:
    """A line that a tool stripped of its type: Claude's usage under Claude Code's session id."""
    return "sessionId" in line and "cache_read_input_tokens" in dict_of(dict_of(line.get("message")).get("usage"))
