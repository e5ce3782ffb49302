"""Grok Build (xAI): ``~/.grok/sessions/CWD/UUID/chat_history.jsonl``, of both ages. No line has a time or tokens.

``summary.json`` and ``signals.json`` beside it hold no message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, FormatError
from ..common.agents.chat import ChatReading
from ..common.agents.pieces import Piece, openai_pieces, pieces_of, thought_of
from ..common.agents.places import session_of
from ..common.calls import id_of
from ..common.head import Head
from ..common.lines import Line
from ..common.records import records
from ..common.values import dict_of, scalars_of, text_of
from ..contract import Spec

NAME = "grok"
SPEC = Spec(name=NAME, title="Grok Build", grows="lines")
PLACE = re.compile(r"([0-9A-Za-z-]{30,})/chat_history\.jsonl$")
MARKS = frozenset({"synthetic_reason", "prompt_index", "model_id", "model_fingerprint", "encrypted_content"})
TYPES = frozenset({"system", "user", "assistant", "reasoning", "tool_result", "backend_tool_call"})
PLAIN = MARKS | {"type", "content", "tool_calls", "tool_call_id", "summary", "kind", "id", "status", "images"}
STATUSES = {"completed": "ok", "failed": "error", "cancelled": "cancelled"}
SUMMARY = frozenset({"info", "session_summary", "num_messages"})
SIGNALS = frozenset({"turnCount", "contextTokensUsed", "primaryModelId"})


def detect(head: Head) -> bool:
    """By what only Grok keeps beside a message, and by the two files that tell about a session."""
    if head.keys >= SUMMARY or head.keys >= SIGNALS:
        return True
    lines = head.records
    if not all("uuid" not in line and "sessionId" not in line and "timestamp" not in line for line in lines):
        return False
    if any(text_of(line.get("type")) in ("message", "function_call", "function_call_output") for line in lines):
        return False  # items of the Responses API, as old files of Codex have them
    if lines and all(map(_is_plain, lines)) and any(map(_is_of_an_agent, lines)):
        return True
    said = ("type" in line and "content" in line or "role" in line for line in lines)
    return any(said) and any(
        (MARKS & line.keys() and ("content" in line or "summary" in line)) or line.get("type") == "backend_tool_call"
        for line in lines
    )


def _is_plain(line: dict[str, Any]) -> bool:
    """A line of the newer kind with nothing beside its words: a type, and what it says on the same level."""
    return (
        text_of(line.get("type")) in TYPES
        and line.keys() <= PLAIN
        and bool({"content", "summary", "kind"} & line.keys())
    )


def _is_of_an_agent(line: dict[str, Any]) -> bool:
    """A call, a result or a thought as Grok writes them: who only asks and answers may be any program."""
    return (
        "tool_calls" in line or ("tool_call_id" in line and "content" in line) or isinstance(line.get("summary"), list)
    )


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session, a line in memory at a time. Raises ``FormatError``, also for what holds no message."""
    return GrokReading().run(records(source, NAME))


class GrokReading(ChatReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Grok Build"
    ids = ("id",)

    def note(self, line: Line) -> None:
        value = line.value
        if value.keys() >= SUMMARY:
            session = text_of(dict_of(value.get("info")).get("id"))[:60]
            raise FormatError(
                f"it is the summary of the Grok session {session} and holds no message; the session is in "
                "chat_history.jsonl beside it"
            )
        if value.keys() >= SIGNALS:
            raise FormatError(
                "it holds counts about a Grok session and no message; the session is in chat_history.jsonl beside it"
            )
        if model := text_of(value.get("model_id")):
            self.facts.model = model[:200]

    def tells_apart(self, line: Line) -> bool:
        return "assistant" in (line.value.get("type"), line.value.get("role"))

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        kind = value.get("type") or value.get("role")
        pieces = pieces_of(value.get("content"))
        if kind == "user":
            reason = text_of(value.get("synthetic_reason"))
            typed = not reason or reason == "interjection"  # said while the agent was at work
            data = scalars_of({"reason": reason, "interrupted": value.get("prior_turn_interrupt")})
            yield from self.message(line, "user" if typed else "context", pieces, data=data)
        elif kind == "assistant":
            data = scalars_of({"reasoning_effort": value.get("reasoning_effort")})
            yield from self.message(line, "assistant", openai_pieces(value), model=value.get("model_id"), data=data)
        elif kind == "reasoning":
            yield from self.message(line, "assistant", [thought_of(value, "/summary")])
        elif kind == "backend_tool_call":
            yield from self._backend(line, dict_of(value.get("kind")))
        elif kind in ("tool_result", "system", "tool"):
            role = "tool" if kind == "tool_result" else kind
            yield from self.chat(line, {**value, "role": role})
        else:
            yield self.unknown(line, f"line type {str(kind)[:100]!r}")

    def _backend(self, line: Line, told: dict[str, Any]) -> Iterator[Draft]:
        """A call that xAI's side made and answered: what came of it stands beside it."""
        call_id, action = id_of(told.get("id")), dict_of(told.get("action"))
        arguments = {key: item for key, item in action.items() if key not in ("sources", "results")}
        name = id_of(told.get("tool_type"))
        yield from self.message(line, "assistant", [Piece("call", "", "/kind", call_id, name, arguments)])
        if status := STATUSES.get(text_of(told.get("status"))):
            found = action.get("sources", action.get("results"))
            piece = Piece("result", "", "/kind/action", call_id, name, found or None, status)
            yield self.returned(line, piece, {}, {"part": ":r", "at_path": "/kind/action"})
