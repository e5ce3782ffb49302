"""Transcripts as text, which older versions wrote: sections headed ``user:`` and ``assistant:``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ..common.lines import Item, Line

HEADS = {b"user:": "user", b"assistant:": "assistant"}
MARK = re.compile(r"\[(Thinking|Tool call|Tool result)\] ?(.*)")
ARGUMENT = re.compile(r"\s+([\w.-]{1,100}): (.*)")
MAX_SECTION = 16 * 1024 * 1024
"""Bytes of one section; a longer one is told as several."""


def is_text(data: bytes) -> bool:
    """Whether a file begins with a prompt and an answer in this form."""
    data = data.replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf").lstrip()
    return data.startswith(b"user:\n") and b"\nassistant:\n" in data


def text_lines(source: BinaryIO, *, packed: bool) -> Iterator[Item]:
    """The sections as the lines of a newer transcript; pointers name the line that a section begins on."""
    role, section, begin, first, offset = "", bytearray(), 0, 0, 0
    for number, raw in enumerate(iter(lambda: source.readline(MAX_SECTION), b""), 1):
        found = HEADS.get(raw.removeprefix(b"\xef\xbb\xbf").strip())
        if found or len(section) > MAX_SECTION:
            yield from _section(role, bytes(section), first, None if packed else begin)
            role, begin, first = found or role, offset, number
            section.clear()
        section += raw
        offset += len(raw)
    yield from _section(role, bytes(section), first, None if packed else begin)


def _section(role: str, raw: bytes, number: int, offset: int | None) -> Iterator[Line]:
    text = raw.decode(errors="replace").replace("\r\n", "\n").replace("\0", "\ufffd").partition(":")[2]
    if role and text.strip():
        blocks = [{"type": "text", "text": text.strip()}] if role == "user" else list(_blocks(text))
        value = {"role": role, "message": {"content": blocks}}
        yield Line(value, f"L{number}", raw, offset)


def _blocks(text: str) -> Iterator[dict[str, Any]]:
    """Text, thoughts and calls of an answer. A result holds only the name of its tool."""
    kind, name, lines = "text", "", list[str]()
    for line in text.split("\n"):
        if mark := MARK.match(line):
            yield from _block(kind, name, lines)
            kind, name, lines = mark[1], mark[2].strip(), [mark[2]] if mark[1] == "Thinking" else []
        elif not line.strip() and kind != "text":
            yield from _block(kind, name, lines)
            kind, name, lines = "text", "", []
        else:
            lines.append(line)
    yield from _block(kind, name, lines)


def _block(kind: str, name: str, lines: list[str]) -> Iterator[dict[str, Any]]:
    text = "\n".join(lines).strip()
    if kind == "Tool call":
        pairs = [found.groups() for line in lines if (found := ARGUMENT.match(line))]
        yield {"type": "tool_use", "name": name, "input": {key: _value(value) for key, value in pairs}}
    elif kind == "Thinking":
        yield {"type": "thinking", "thinking": text}
    elif kind == "text" and text:
        yield {"type": "text", "text": text}


def _value(text: str) -> Any:
    try:
        return json.loads(text) if text[:1] in "{[" else text
    except (ValueError, RecursionError):
        return text
