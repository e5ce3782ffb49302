"""Droid (Factory): ``~/.factory/sessions/UUID.jsonl``, and what ``droid exec`` prints as ``stream-json`` or ``json``.

Tokens stand only in ``UUID.settings.json`` beside a session, for the whole of it: its name says of which.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, EventDraft, Usage
from ..common.agents.pieces import Piece, pieces_of, readable, with_context
from ..common.agents.places import session_of
from ..common.agents.reading import AgentReading
from ..common.calls import id_of
from ..common.head import Head
from ..common.lines import Line
from ..common.reading import unknown_type
from ..common.records import records
from ..common.usage import first_count
from ..common.values import dict_of, scalars_of, text_of
from ..contract import Spec

NAME = "droid"
SPEC = Spec(name=NAME, title="Droid", grows="lines")
PLACE = re.compile(r"([^/]+)\.settings\.json$")
ADDED = ("<system-reminder>", "Contents of ")
"""Texts that begin so were put beside a prompt by the program."""
END = "</system-reminder>"
SETTINGS = frozenset({"model", "tokenUsage", "autonomyMode"})
UUID = re.compile(r"[0-9a-f-]{36}")
PRINTED = frozenset({"result", "is_error", "num_turns", "duration_ms", "session_id"})
"""Members of what ``droid exec -o json`` prints at its end."""
OTHERS = frozenset({"duration_api_ms", "total_cost_usd", "uuid", "request_id", "modelUsage"})
"""Members of the same line of Claude Code and of Cursor."""
SETTINGS_OWN = frozenset({"assistantActiveTimeMs", "providerLock", "providerLockTimestamp"})


def detect(head: Head) -> bool:
    """By the line that begins a session, by lines that only the stream has, or by the settings beside a session."""
    if is_settings(head.keys) or _is_result({name: head.shape.get(name) for name in head.keys}):
        return True
    lines = head.records
    started = any(line.get("type") == "session_start" for line in lines)
    said = any(_is_said(line) and (started or UUID.fullmatch(text_of(line.get("id")))) for line in lines)
    return said or any((line.get("type") == "session_start" and "id" in line) or _is_streamed(line) for line in lines)


def is_settings(keys: Collection[str]) -> bool:
    """Whether these are members of the settings beside a session: what it used, or two of the facts they state."""
    told = SETTINGS & set(keys)
    return (len(told) > 1 and "autonomyMode" in told) or bool(told and SETTINGS_OWN & set(keys))


def _is_result(value: dict[str, Any]) -> bool:
    return value.get("type") == "result" and value.keys() >= PRINTED and OTHERS.isdisjoint(value)


def _is_said(line: dict[str, Any]) -> bool:
    told = line.get("type") == "message" and "role" in dict_of(line.get("message"))
    return told and not {"uuid", "sessionId", "data"} & line.keys()


def _is_streamed(line: dict[str, Any]) -> bool:
    kind = line.get("type")
    if kind == "system":
        return line.get("subtype") == "init" and "sessionId" in line and "reasoning_effort" in line
    if kind == "tool_call":
        return "toolName" in line and "parameters" in line
    return (kind == "completion" and "finalText" in line) or (
        kind == "message" and "text" in line and "role" in line and bool({"session_id", "sessionId"} & line.keys())
    )


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session, a line in memory at a time. Raises ``FormatError``."""
    return DroidReading().run(records(source, NAME))


def usage_of(stated: dict[str, Any], quality: str = "aggregate") -> Usage | None:
    """Tokens of a whole session; the cache is counted apart, thoughts are inside of the output."""
    pairs = (
        ("inputTokens", "input_tokens"), ("cacheReadTokens", "cache_read_input_tokens"),
        ("cacheCreationTokens", "cache_creation_input_tokens"), ("outputTokens", "output_tokens"),
        ("thinkingTokens", "reasoning_tokens"),
    )  # fmt: skip
    counts = [first_count(stated, *names) for names in pairs]
    return Usage(*counts, quality=quality) if any(count is not None for count in counts) else None


class DroidReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Droid"
    repeated = frozenset({"/owner"})  # the name of an account

    def note(self, line: Line) -> None:
        value = line.value
        kind = value.get("type")
        if is_settings(value.keys()):
            self.facts.model = text_of(value.get("model"))[:200] or self.facts.model
            told = {"autonomy": value.get("autonomyMode"), "reasoning_effort": value.get("reasoningEffort")}
            self.facts.more |= scalars_of(told)
        elif kind == "session_start":
            self.claim(value.get("id"))
            self.facts.title = text_of(value.get("title")) or text_of(value.get("sessionTitle"))
            self.facts.version = str(value.get("version", ""))[:50]
            self.facts.set_environment(cwd=value.get("cwd"))
            self.facts.parent = text_of(value.get("parentSessionId"))[:200] or self.facts.parent
        else:
            self.claim(value.get("session_id") or value.get("sessionId"))
        if kind == "system":
            self.facts.model = text_of(value.get("model"))[:200] or self.facts.model
            self.facts.set_environment(cwd=value.get("cwd"))

    def events(self, line: Line) -> Iterator[Draft]:
        value, kind = line.value, line.value.get("type")
        if is_settings(value.keys()):
            yield self._totals(line)
        elif kind == "message":
            message = dict_of(value.get("message")) or {"role": value.get("role"), "content": value.get("text")}
            yield from self._message(line, message)
        elif kind == "reasoning":
            piece = Piece("reasoning", text_of(value.get("text")), "/text")
            yield from self.message(line, "assistant", [piece], model=self.facts.model)
        elif kind == "tool_call":
            piece = Piece(
                "call", "", "/parameters", _call_id(value), id_of(value.get("toolName")), value.get("parameters")
            )
            yield from self.message(line, "assistant", [piece], model=self.facts.model)
        elif kind == "tool_result":
            yield from self.message(line, "tool", [_result(value)])
        elif kind in ("completion", "result"):
            yield from self._ended(line, "finalText" if kind == "completion" else "result")
        elif kind == "error":
            yield line.event("error", text_of(value.get("message")), data=scalars_of({"source": value.get("source")}))
        elif kind == "compaction_state":
            text, skip = text_of(value.get("summaryText")), frozenset({"id", "timestamp", "summaryText"})
            yield line.event("compaction", text, at_path="/summaryText", data=scalars_of(value, skip))
        elif kind in ("session_start", "system", "todo_state", "session_end"):
            todos = text_of(dict_of(value.get("todos")).get("todos"))
            skip = frozenset({"id", "timestamp", "owner"})  # the owner is the name of an account
            yield line.event("system", todos, data=scalars_of(value, skip))
        else:
            yield self.unknown(line, unknown_type(kind))

    def _ended(self, line: Line, name: str) -> Iterator[Draft]:
        """The last words of a run that was printed, with what the whole of it used."""
        value = line.value
        usage = usage_of(dict_of(value.get("usage")))
        data = {"type": value["type"]} | scalars_of(value, frozenset({"type", "id", "timestamp", "session_id", name}))
        self.facts.phase = "crashed" if value.get("is_error") is True else "completed"
        pieces = [Piece("text", text_of(value.get(name)), f"/{name}")]
        yield from self.message(line, "assistant", pieces, model=self.facts.model, usage=usage, data=data)

    def _totals(self, line: Line) -> EventDraft:
        """What the whole session used, as its settings say; each later version of them replaces the one before."""
        skip = frozenset({"providerLockTimestamp"})
        usage = usage_of(dict_of(line.value.get("tokenUsage")))
        return line.event(
            "model_request", actor=line.agent, model=self.facts.model, usage=usage, request="session",
            data={"type": "session_total"} | scalars_of(line.value, skip),
        )  # fmt: skip

    def _message(self, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
        pieces = pieces_of(message.get("content"), "/message/content" if "message" in line.value else "/text")
        role = message.get("role")
        if role == "assistant":
            yield from self.message(line, "assistant", pieces, model=message.get("model") or self.facts.model)
        elif role == "user":
            split = [part for piece in pieces for part in _without_reminder(piece)]
            yield from self.message(line, "user", with_context(split, ADDED))
        elif role == "system":
            yield from self.message(line, "system", pieces)
        else:
            yield self.unknown(line, f"role {str(role)[:100]!r}")


def _without_reminder(piece: Piece) -> Iterator[Piece]:
    """A prompt's first text begins with a reminder of the program in tags; the words of the person follow it."""
    text = piece.text
    if piece.kind == "text" and text.startswith(ADDED[0]) and END in text:
        before, _, behind = text.rpartition(END)
        yield Piece("context", before + END, piece.path, data={"type": "system-reminder"})
        text = behind.strip()
        if not text:
            return
        yield Piece("text", text, piece.path)
    else:
        yield piece


def _call_id(value: dict[str, Any]) -> str | None:
    return id_of(value.get("toolCallId")) or id_of(value.get("id"))


def _result(value: dict[str, Any]) -> Piece:
    error, failed = value.get("error"), value.get("isError")
    text, rest = readable(value.get("value", value.get("result")))
    message = text_of(error) or text_of(dict_of(error).get("message"))
    code = dict_of(value.get("value")).get("exitCode")
    told = {"exit_code": code} if isinstance(code, int) and not isinstance(code, bool) else {}
    bad = failed is True or error is not None or bool(told and code)
    status = "error" if bad else "ok" if failed is False or told else None
    rest = rest if not isinstance(rest, dict) else rest | told
    return Piece("result", text or message, "/value", _call_id(value), id_of(value.get("toolName")), rest, status)
