"""pi, oh-my-pi and OpenClaw: ``~/.pi/agent/sessions/--cwd--/TIME_UUID.jsonl`` and ``~/.openclaw/agents/A/sessions/``.

A header, then entries that form a tree by ``parentId``: what was abandoned has happened and was paid for, so it stays,
with a mark where the person went back. Versions 1 to 3; OpenClaw adds entries of its own and metadata before prompts.
``pi --mode json`` prints the header and what happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ....drafts import Draft
from ...common.head import Head
from ...common.records import lines_or_list
from ...common.values import dict_of, text_of
from ...contract import Spec
from .reading import NAME, PiReading, usage_of
from .stream import is_streamed, without_repeats

__all__ = ["SPEC", "detect", "read", "usage_of"]

SPEC = Spec(name=NAME, title="pi, oh-my-pi, OpenClaw", grows="lines", global_response_ids=True)
ENTRY_ID = re.compile(r"[0-9a-f]{8}")
OF_OTHERS = frozenset({"sessionId", "sessionID", "projectHash", "uuid", "data", "environment_id"})
"""Members that lines of those types have in other agents' files."""


def detect(head: Head) -> bool:
    """By the header, which is no Claude Code line, by that of some, which is held in ``payload``, or by an entry that
    only pi writes, where the file begins in the middle. oh-my-pi has a title before the header."""
    lines = head.records
    first: dict[str, Any] = next((line for line in lines if line.get("type") != "title"), {})
    if first.get("type") == "header":
        return "sessionId" in dict_of(first.get("payload"))
    if first.get("type") == "session" and {"cwd", "timestamp", "version"} & first.keys():
        return not OF_OTHERS & first.keys()
    return any(map(_is_entry, lines)) or any(map(is_streamed, lines))


def _is_entry(line: dict[str, Any]) -> bool:
    if OF_OTHERS & line.keys():
        return False
    kind, message = line.get("type"), dict_of(line.get("message"))
    told = message.get("role") in ("toolResult", "bashExecution") or "stopReason" in message
    ours = "parentId" in line and ENTRY_ID.fullmatch(text_of(line.get("id"))) is not None
    return (kind == "message" and (told or ours)) or (kind in ("model_change", "thinking_level_change") and ours)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session, a line in memory at a time. Raises ``FormatError``."""
    return PiReading().run(without_repeats(lines_or_list(source, NAME)))
