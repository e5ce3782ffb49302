"""The text of a message, whatever its type of content, and what in it is no text."""

from __future__ import annotations

import re
from typing import Any

import orjson

from ..common.values import dict_of, list_of, scalars_of, text_of

MARK = re.compile("\ue200([^\ue200\ue201]{0,2000})\ue201")
"""What ChatGPT puts where a reference is shown: a kind and its arguments, parted by U+E202."""
LEFT = re.compile("[\ue200-\ue202]")
LISTED = 100
KNOWN = (
    None, "text", "code", "multimodal_text", "execution_output", "thoughts", "reasoning_recap", "user_editable_context",
    "model_editable_context", "tether_browsing_display", "tether_browsing_code", "tether_quote", "system_error",
    "sonic_webpage", "citable_code_output", "app_pairing_content", "computer_output", "super_widget",
)  # fmt: skip
"""Types of content that were met in exports; of any other the text is taken where one is found."""
TEXTS = ("text", "result", "content", "summary", "output_str", "user_profile", "user_instructions", "model_set_context")


def readable(content: dict[str, Any]) -> str:
    """The text of a message's content, parts and thoughts one below the other."""
    pieces = [text_of(content.get("title")), text_of(content.get("url"))] if _is_page(content) else []
    pieces += [_part(part) for part in list_of(content.get("parts"))]
    pieces += [_thought(thought) for thought in list_of(content.get("thoughts"))]
    pieces += [text_of(content.get(name)) for name in TEXTS]
    return "\n".join(filter(None, pieces))


def plain(text: str) -> tuple[str, int]:
    """A text without the marks of references, and how many there were. Names and link texts in them stay."""
    if "\ue200" not in text and "\ue201" not in text and "\ue202" not in text:
        return text, 0
    text, count = MARK.subn(_shown, text)
    return LEFT.sub("", text), count


def attachments(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Pictures, sounds and files of a message, without payloads."""
    parts = [dict_of(part) for part in list_of(dict_of(message.get("content")).get("parts"))]
    media = [
        {"type": part.get("content_type")} | scalars_of(part, frozenset({"content_type", "text"})) for part in parts
    ]
    files = [dict_of(held) for held in list_of(dict_of(message.get("metadata")).get("attachments"))]
    found = [held for held, part in zip(media, parts, strict=True) if part and not _is_spoken(part)]
    return (found + [{"type": "file"} | scalars_of(held) for held in files if held])[:LISTED]


def _is_spoken(part: dict[str, Any]) -> bool:
    return isinstance(part.get("text"), str)


def _part(part: Any) -> str:
    return part if isinstance(part, str) else text_of(dict_of(part).get("text")) or text_of(dict_of(part).get("result"))


def _thought(thought: Any) -> str:
    if isinstance(thought, str):
        return thought
    told = (text_of(dict_of(thought).get("summary")), text_of(dict_of(thought).get("content")))
    return "\n".join(filter(None, told))


def _is_page(content: dict[str, Any]) -> bool:
    return content.get("content_type") in ("tether_quote", "sonic_webpage")


def _shown(mark: re.Match[str]) -> str:
    kind, *arguments = mark[1].split("\ue202")
    if kind == "url" and arguments:
        return arguments[0]
    if kind == "entity" and arguments:
        try:
            told = orjson.loads(arguments[0])
        except orjson.JSONDecodeError:
            return ""
        return text_of(told[1]) if isinstance(told, list) and len(told) > 1 else ""
    return ""
