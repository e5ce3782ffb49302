"""Antigravity (Google): ``~/.gemini/antigravity[-cli]/brain/UUID/.system_generated/logs/transcript[_full].jsonl``.

Steps. What a planner's step asks for is done by the steps behind it, which name no call: they are paired in order.
No line states a model or tokens, and ``transcript.jsonl`` has long texts cut.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft
from ..common.agents.pieces import Piece
from ..common.agents.places import session_of
from ..common.agents.reading import AgentReading
from ..common.calls import id_of
from ..common.head import Head
from ..common.lines import Line
from ..common.records import lines_or_list
from ..common.spans.parts import parsed_if_json
from ..common.values import dict_of, list_of, text_of
from ..contract import Spec

NAME = "antigravity"
SPEC = Spec(name=NAME, title="Antigravity", grows="lines")
STEP = frozenset({"step_index", "source", "type"})
SOURCES = ("USER_EXPLICIT", "USER_IMPLICIT", "MODEL", "SYSTEM")
PLACE = re.compile(r"brain/([^/]+)/\.system_generated/logs/transcript(?:_full)?\.jsonl$")
REQUEST = re.compile(r"<USER_REQUEST>\s*(.*?)\s*</USER_REQUEST>", re.DOTALL)
MODEL = re.compile(r"`Model Selection` from .{1,100}? to (.{1,100}?)\.?(?:\n|$)")
NOTES = frozenset({"CONVERSATION_HISTORY", "CHECKPOINT", "SYSTEM_MESSAGE", "EPHEMERAL_MESSAGE", "TASK_BOUNDARY"})
WAITING = 64


def detect(head: Head) -> bool:
    """By steps with an index, a source and a type, or two of these where the source is one that only it names."""
    return any(map(_is_step, head.records[:10]))


def _is_step(line: dict[str, Any]) -> bool:
    told = STEP & line.keys()
    return len(told) == 3 or (len(told) == 2 and (text_of(line.get("source")) in SOURCES or "step_index" in told))


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one conversation, a line in memory at a time. Raises ``FormatError``."""
    return AntigravityReading().run(lines_or_list(source, NAME))


class AntigravityReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Antigravity"
    stamps = ("created_at",)
    ids = ()

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[tuple[str, str | None]] = deque(maxlen=WAITING)
        """Calls that nothing has answered yet: id made up here, and name."""
        self._count = 0

    def tells_apart(self, line: Line) -> bool:
        return line.value.get("source") == "MODEL"

    def note(self, line: Line) -> None:
        if found := MODEL.search(text_of(line.value.get("content"))[:20_000]):
            self.facts.model = found[1]

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        kind, text = text_of(value.get("type")), text_of(value.get("content"))
        cut = [name[:100] for name in list_of(value.get("truncated_fields"))[:10] if isinstance(name, str)]
        data: dict[str, Any] = {"truncated": cut} if cut else {}
        if kind == "USER_INPUT":
            yield from self._asked(line, text, data)
        elif kind == "PLANNER_RESPONSE":
            yield from self._planned(line, text, data)
        elif kind in NOTES or value.get("source") == "SYSTEM":
            event = "compaction" if kind == "CHECKPOINT" else "system"
            yield line.event(event, text, data=data | {"type": kind[:100]})
        elif kind:
            yield from self._done(line, kind, text, data)
        else:
            yield self.unknown(line, "step without a type")

    def _asked(self, line: Line, text: str, data: dict[str, Any]) -> Iterator[Draft]:
        """The words of the person stand in tags; what else is there was added by the program."""
        found = REQUEST.search(text)
        said = found[1] if found else text
        yield from self.message(line, "user", [Piece("text", said, "/content")], data=data)
        rest = (text[: found.start()] + text[found.end() :]).strip() if found else ""
        if rest:
            yield line.event("injected_context", rest, part=":added", at_path="/content", data={"type": "added"})

    def _planned(self, line: Line, text: str, data: dict[str, Any]) -> Iterator[Draft]:
        pieces = [Piece("reasoning", text_of(line.value.get("thinking")), "/thinking"), Piece("text", text, "/content")]
        for index, call in enumerate(map(dict_of, list_of(line.value.get("tool_calls"))[:1000])):
            self._count += 1
            call_id, name = f"call-{self._count}", id_of(call.get("name"))
            self._waiting.append((call_id, name))
            arguments = {key: parsed_if_json(item) for key, item in dict_of(call.get("args")).items()}
            pieces.append(Piece("call", "", f"/tool_calls/{index}", call_id, name, arguments))
        yield from self.message(line, "assistant", pieces, model=self.facts.model, data=data)

    def _done(self, line: Line, kind: str, text: str, data: dict[str, Any]) -> Iterator[Draft]:
        """What a step did. One that no call waits for is a result without its call."""
        call_id, name = self._waiting.popleft() if self._waiting else (None, kind.lower()[:100])
        status = {"DONE": "ok", "ERROR": "error", "CANCELED": "cancelled"}.get(text_of(line.value.get("status")))
        piece = Piece("result", text, "/content", call_id, name, None, status, data | {"type": kind[:100]})
        yield from self.message(line, "tool", [piece])
