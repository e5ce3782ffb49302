"""Telemetry of OpenClaw's plug-in: messages, runs of agents, and their tool calls, of all of a gateway's sessions.

Calls have no ids: the end belongs to the oldest call of that tool under the same session key that has not ended.
``agent.start`` and ``agent.end`` repeat the messages so far, with what each response cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, Kind
from ..common.agents.pieces import Piece, pieces_of, readable
from ..common.agents.reading import AgentReading
from ..common.calls import id_of
from ..common.documents import dollars
from ..common.head import Head
from ..common.lines import Line, fingerprint
from ..common.reading import REMEMBERED, unknown_type
from ..common.records import lines_or_list
from ..common.values import bounded, dict_of, forget_oldest, list_of, number_of, scalars_of, text_of
from ..contract import Spec
from .pi import usage_of

NAME = "openclaw-telemetry"
SPEC = Spec(name=NAME, title="OpenClaw telemetry", grows="lines")
TYPES = frozenset(
    {"message.in", "message.out", "message.sending", "agent.start", "agent.end", "tool.start", "tool.end"}
)
MESSAGES = 2000
"""Of one run; each run repeats those before it."""


def detect(head: Head) -> bool:
    """By lines whose types are the plug-in's."""
    return any(
        text_of(line.get("type")) in TYPES and bool({"sessionKey", "channel"} & line.keys())
        for line in head.records[:10]
    )


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of what one file tells, as one session. Raises ``FormatError``."""
    return TelemetryReading().run(lines_or_list(source, NAME))


class TelemetryReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "OpenClaw"
    stamps = ("ts", "timestamp")
    ids = ()
    repeated = frozenset({"/messages", "/prompt", "/content"})

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[tuple[str, str], deque[str]] = {}
        self._count = 0
        self._said: dict[str, None] = {}
        """Prompts and answers that were told already."""
        self._billed: dict[str, None] = {}
        self._started: dict[str, None] = {}
        """Calls that began on a line of their own."""

    def events(self, line: Line) -> Iterator[Draft]:
        value, kind = line.value, text_of(line.value.get("type"))
        key = text_of(value.get("sessionKey"))[:300]
        line.depth = int(":subagent:" in key)
        line.data = {"session_key": key} if key else None
        if kind in ("message.in", "agent.start"):
            yield from self._history(line)
            yield from self._asked(line, kind, text_of(value.get("content")) or text_of(value.get("prompt")))
        elif kind == "tool.start":
            yield from self._called(line, key, text_of(value.get("toolName"))[:200], value.get("params"))
        elif kind == "tool.end":
            yield from self._returned(line, key, text_of(value.get("toolName"))[:200])
        elif kind == "agent.end":
            yield from self._ended(line)
        elif kind in ("message.sending", "message.out"):
            yield from self._sent(line, kind, text_of(value.get("content")))
        else:
            yield self.unknown(line, unknown_type(value.get("type")))

    def _first_time(self, text: str) -> bool:
        print_ = fingerprint(text.strip())
        known = print_ in self._said
        self._said[print_] = None
        forget_oldest(self._said, REMEMBERED)
        return not known

    def _asked(self, line: Line, kind: str, text: str) -> Iterator[Draft]:
        """A prompt comes in, and begins a run, which is told twice."""
        data = {"type": kind} | scalars_of({"channel": line.value.get("channel"), "agent": line.value.get("agentId")})
        if text and self._first_time(text):
            actor = ("agent", "") if line.depth else ("person", "")
            yield from self.message(line, "user", [Piece("text", text, "/content")], actor=actor, data=data)  # type: ignore[arg-type]
        else:
            yield line.event("system", data=data | {"repeats": "prompt"})

    def _called(self, line: Line, key: str, name: str, params: Any) -> Iterator[Draft]:
        self._count += 1
        call_id = f"call-{self._count}"
        self._open.setdefault((key, name), deque(maxlen=64)).append(call_id)
        self._started[fingerprint([name, params])] = None
        for held in (self._open, self._started):
            forget_oldest(held, REMEMBERED)
        yield from self.message(line, "assistant", [Piece("call", "", "/params", call_id, name or None, params)])

    def _returned(self, line: Line, key: str, name: str) -> Iterator[Draft]:
        waiting = self._open.get((key, name))
        call_id = waiting.popleft() if waiting else None
        value = line.value
        success, took = value.get("success"), number_of(value.get("durationMs"), 10**10)
        status = ("ok" if success else "error") if isinstance(success, bool) else None
        data = {"duration_ms": took} if took is not None else {}
        text = text_of(value.get("error")) or text_of(value.get("result"))
        yield from self.message(line, "tool", [Piece("result", text, "", call_id, name or None, None, status, data)])

    def _ended(self, line: Line) -> Iterator[Draft]:
        data = scalars_of(line.value, frozenset({"markdown", "sessionKey", "ts", "seq", "messages"}))
        yield line.event("status", data=data)
        yield from self._history(line)

    def _history(self, line: Line) -> Iterator[Draft]:
        """What was said before, as a run's beginning and its end repeat it: told where no line has told it yet."""
        answers = [dict_of(item) for item in list_of(line.value.get("messages"))[-MESSAGES:]]
        for index, message in enumerate(answers):
            if message.get("role") == "assistant":
                yield from self._answer(line, message, index)
            else:
                yield from self._beside_answers(line, message, index)

    def _answer(self, line: Line, message: dict[str, Any], index: int) -> Iterator[Draft]:
        """A response that no run before this one repeated: its words, and what it cost."""
        print_ = fingerprint([message.get("timestamp"), message.get("content"), message.get("usage")])
        if print_ in self._billed:
            return
        self._billed[print_] = None
        forget_oldest(self._billed, REMEMBERED)
        stated = dict_of(message.get("usage"))
        usage = usage_of(stated)
        found = pieces_of(message.get("content"), f"/messages/{index}/content")
        calls = [
            {"name": piece.name, "arguments": bounded(piece.value, len(line.raw))} for piece in found
            if piece.kind == "call" and fingerprint([piece.name, piece.value]) not in self._started
        ]  # fmt: skip
        pieces = [
            piece for piece in found
            if piece.kind == "reasoning" or (piece.kind == "text" and self._first_time(piece.text))
        ]  # fmt: skip
        if not pieces and not usage and not calls:
            return
        yield from self.message(
            line, "assistant", pieces, model=id_of(message.get("model")), usage=usage, part=f":m{index}",
            cost=(dollars(dict_of(stated.get("cost")).get("total")) or None) if usage else None, request=print_,
            data={"calls": calls} if calls else None,
        )  # fmt: skip

    def _beside_answers(self, line: Line, message: dict[str, Any], index: int) -> Iterator[Draft]:
        """What a tool brought, which its end does not say, and what extensions put into the conversation."""
        text, rest = readable(message.get("content"))
        place = f"{message.get('toolCallId')} {message.get('timestamp')} " if message.get("role") != "user" else ""
        if not text.strip() or not self._first_time(place + text):
            return
        kind = text_of(message.get("role"))[:100] or "message"
        told = {"type": kind} | scalars_of({key: message.get(key) for key in ("toolName", "customType", "isError")})
        data = told | {key: item for key, item in (("content", rest), ("details", message.get("details"))) if item}
        event: Kind = "system" if kind == "toolResult" else "injected_context"
        yield line.event(
            event, text, part=f":m{index}", at_path=f"/messages/{index}", data=bounded(data, len(line.raw))
        )  # fmt: skip

    def _sent(self, line: Line, kind: str, text: str) -> Iterator[Draft]:
        data = {"type": kind} | scalars_of({"channel": line.value.get("channel"), "success": line.value.get("success")})
        if text and self._first_time(text):
            yield from self.message(line, "assistant", [Piece("text", text, "/content")], data=data)
        else:
            yield line.event("status", data=data)
