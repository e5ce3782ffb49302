"""gptme: ``~/.local/share/gptme/logs/NAME/conversation.jsonl``. Its calls are code blocks in its texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, Usage
from ..common.agents.chat import ChatReading
from ..common.agents.places import session_of
from ..common.documents import dollars
from ..common.head import Head
from ..common.lines import Line
from ..common.records import lines_or_list
from ..common.values import count_of, dict_of, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "gptme"
SPEC = Spec(name=NAME, title="gptme", grows="lines")
PLACE = re.compile(r"logs/([^/]+)/conversation\.jsonl$")
ROLES = frozenset({"system", "user", "assistant", "tool"})
OWN = frozenset({"pinned", "hide", "file_hashes", "ui_only", "ephemeral_ttl"})
"""Members of a message that no other tool writes beside its role."""
MORE = frozenset({"metadata", "files", "call_id"})
PYTHONS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?(?:[+-]\d\d:\d\d)?")
KEPT = OWN | {"role", "content", "timestamp", "metadata", "files", "call_id"}
OF_OTHERS = frozenset({"type", "uuid", "id", "sessionId", "session_id", "message_id", "model_id", "parts", "message"})


def detect(head: Head) -> bool:
    """By lines that have a role, a text and a time, as Python writes one; a member that is not gptme's may stand there
    where one does that is gptme's alone."""
    lines = head.records
    if not lines or not all(map(_is_message, lines)):
        return False
    is_owned = any(OWN & line.keys() for line in lines)
    if all(line.keys() <= KEPT for line in lines):
        return is_owned or any(map(_is_marked, lines))
    return is_owned and not any(OF_OTHERS & line.keys() for line in lines)


def _is_marked(line: dict[str, Any]) -> bool:
    """Who only asks and answers at a time may be any program. JavaScript's times end with a Z."""
    return bool(MORE & line.keys()) or PYTHONS.fullmatch(line["timestamp"]) is not None


def _is_message(line: dict[str, Any]) -> bool:
    said = text_of(line.get("role")) in ROLES and isinstance(line.get("content"), str)
    return said and isinstance(line.get("timestamp"), str)


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one conversation, a line in memory at a time. Raises ``FormatError``."""
    return GptmeReading().run(lines_or_list(source, NAME))


def usage_of(stated: dict[str, Any]) -> Usage | None:
    """Tokens of a response, which stood by themselves among ``metadata`` before; the cache is counted apart."""
    names = ("input_tokens", "cache_read_tokens", "cache_creation_tokens", "output_tokens")
    counts = [count_of(stated.get(name)) for name in names]
    return Usage(*counts) if any(count is not None for count in counts) else None


class GptmeReading(ChatReading):
    """The state of one file while it is read."""

    name = NAME
    title = "gptme"
    ids = ()

    def events(self, line: Line) -> Iterator[Draft]:
        value, more = line.value, dict_of(line.value.get("metadata"))
        files = [name[:1000] for name in list_of(value.get("files"))[:50] if isinstance(name, str)]
        data = scalars_of({"pinned": value.get("pinned"), "hide": value.get("hide")}) | (
            {"files": files} if files else {}
        )
        usage = usage_of(dict_of(more.get("usage")) or more)
        message = {**value, "tool_call_id": value.get("call_id")}
        yield from self.chat(
            line, message, model=more.get("model"), usage=usage, cost=dollars(more.get("cost")), data=data
        )  # fmt: skip
