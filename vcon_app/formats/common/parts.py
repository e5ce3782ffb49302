"""Content in the parts of the Gemini API, as Gemini CLI and Qwen Code write it."""

from __future__ import annotations

import re
from typing import Any

from .jsonio import dumps
from .values import dict_of, scalars_of, text_of

Part = dict[str, Any]
STATUSES = {"success": "ok", "error": "error", "cancelled": "cancelled"}
"""Outcomes of a tool call; the other states of the scheduler (scheduled, executing) are none."""
REFUSED = re.compile(r"User (?:denied execution|did not allow tool call)")
EXIT = re.compile(r"^Exit Code: (-?\d{1,6})$", re.MULTILINE)


def parts_of(content: Any) -> list[Part]:
    """The parts of a message; a plain string is one."""
    if isinstance(content, str):
        return [{"text": content}] if content else []
    if isinstance(content, dict):
        return [content]
    items = content if isinstance(content, list) else []
    return [{"text": item} if isinstance(item, str) else dict_of(item) for item in items]


def text_in(content: Any, joint: str = "") -> str:
    """Text of the parts, without thoughts."""
    return joint.join(text_of(part.get("text")) for part in parts_of(content) if part.get("thought") is not True)


def attachments_in(content: Any) -> list[Part]:
    """Pictures and files among the parts, without their payload."""
    found = []
    for part in parts_of(content):
        for name in ("inlineData", "fileData"):
            if data := dict_of(part.get(name)):
                payload = text_of(data.get("data"))
                size = {"bytes": len(payload) * 3 // 4 - payload[-2:].count("=")} if payload else {}
                found.append(
                    {"type": name, "media_type": text_of(data.get("mimeType"))[:100] or None}
                    | size
                    | scalars_of({"url": data.get("fileUri"), "title": data.get("displayName")})
                )
    return found


def answer_in(response: Any) -> tuple[str, str | None]:
    """Text of a ``functionResponse`` and, where it says so, that it is an error."""
    response = dict_of(response)
    for name, status in (("output", None), ("error", "error"), ("content", None)):
        value = response.get(name)
        if text := text_of(value) or text_in(value, "\n"):
            return text, status
    return (dumps(response).decode() if response else ""), None


def exit_code_in(text: str) -> dict[str, int]:
    """The exit code that a shell's output ends with, as a fact of the result."""
    found = EXIT.search(text[-2_000:])
    return {"exit_code": int(found[1])} if found else {}
