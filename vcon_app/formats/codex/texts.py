"""Texts of messages: where they stand, who put them there, and whether they were told before."""

from __future__ import annotations

import re
from typing import Any

from ..common.lines import digest
from ..common.values import dict_of, forget_oldest, list_of, scalars_of, text_of

INJECTED = re.compile(
    r"\s*(?:<(environment_context|user_instructions|permissions instructions|collaboration_mode|model_switch|"
    r"personality_spec|turn_aborted|user_shell_command|subagent_notification|skills?_instructions|skill|"
    r"apps_instructions|plugins_instructions|recommended_plugins|goal_context|hook_prompt|user_action|"
    r"realtime_conversation|INSTRUCTIONS)\b[^>\n]{0,200}>"
    r"|# (AGENTS\.md) instructions\b)"
)
"""How the texts begin that Codex puts into the user's place (``codex-rs/core/src/contextual_user_message.rs``)."""
TEXTS = frozenset({"input_text", "output_text", "text", "Text", "summary_text", "reasoning_text", "inputText"})
RECENT = 256


def injection_kind(text: str) -> str:
    """Name of the mechanism that wrote a text as the user, ``""`` for a person."""
    found = INJECTED.match(text)
    return (found[1] or found[2]) if found else ""


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message; a plain string is one."""
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}] if content else []
    if isinstance(content, dict):
        return [content]
    return [{"type": "text", "text": item} if isinstance(item, str) else dict_of(item) for item in list_of(content)]


def block_text(block: dict[str, Any]) -> str | None:
    """The text of a block, ``None`` when it is no text."""
    text = block.get("text")
    return text if isinstance(text, str) and text_of(block.get("type", "text")) in TEXTS else None


def attachment(block: dict[str, Any]) -> dict[str, Any]:
    """Facts of a block that holds no text, without its payload."""
    url = text_of(block.get("image_url") or block.get("url") or block.get("data"))
    found: dict[str, Any] = {"type": text_of(block.get("type"))[:50]}
    if url.startswith("data:"):
        head, _, data = url.partition(",")
        found |= {"media_type": head[5:].partition(";")[0][:100], "bytes": len(data) * 3 // 4 - data[-2:].count("=")}
    elif url and not block.get("data"):
        found["url"] = url[:500]
    elif url:
        found |= {"media_type": text_of(block.get("mimeType"))[:100] or None, "bytes": len(url) * 3 // 4}
    return found | scalars_of({"detail": block.get("detail"), "encrypted": "encrypted_content" in block or None})


def text_in(payload: dict[str, Any]) -> str:
    """All text of a line, wherever it stands."""
    for key in ("content", "message", "text", "summary"):
        parts = [text for block in blocks_of(payload.get(key)) if (text := block_text(block))]
        if parts:
            return "\n".join(parts)
    return ""


class Said:
    """Recognizes repeated texts: Codex writes most as an item for the model and as an event for the screen.

    Whichever comes first is told. The same words from the same side again are said again.
    """

    def __init__(self) -> None:
        self._sides: dict[str, set[str]] = {}

    def repeats_other_side(self, side: str, kind: str, text: str) -> bool:
        """Whether this text was told by another ``side`` since this one told it last."""
        name = f"{kind}:{digest(text.strip().encode(errors='replace'))}"
        sides = self._sides.pop(name, set())
        repeats = bool(sides) and side not in sides
        self._sides[name] = sides | {side} if repeats else {side}
        forget_oldest(self._sides, RECENT)
        return repeats
