"""Continue: ``~/.continue/sessions/UUID.json``, which its CLI writes in the same shape.

``promptLogs`` repeat the whole conversation at each turn; they are counted and not told again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import unquote

from ...drafts import Draft, Usage
from ..common.agents.chat import ChatReading
from ..common.agents.pieces import Piece, openai_pieces, pieces_of, readable
from ..common.agents.reading import unfolded
from ..common.calls import id_of
from ..common.documents import dollars
from ..common.head import Head
from ..common.lines import Line
from ..common.records import records
from ..common.values import count_of, dict_of, list_of, scalars_of, text_of
from ..contract import Spec
from .kiro import is_ide as is_kiro

NAME = "continue"
SPEC = Spec(name=NAME, title="Continue")
STATUSES = {"done": "ok", "errored": "error", "canceled": "cancelled"}
ITEM = ("contextItems", "editorState", "promptLogs", "toolCallStates")


def detect(head: Head) -> bool:
    """By a history of items around messages, under a session id, as only Continue keeps them."""
    shape = head.shape
    told = shape.get("history") == "[" and isinstance(shape.get("sessionId"), str)
    ours = "workspaceDirectory" in head.keys or any(f"history.item.{name}" in shape for name in ITEM)
    return told and ours and not is_kiro(shape)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session. Raises ``FormatError``."""
    return ContinueReading().run(unfolded(records(source, NAME), NAME, "history"))


def usage_of(stated: dict[str, Any]) -> Usage | None:
    """Tokens of the whole session; the cache is counted apart."""
    given, output = count_of(stated.get("promptTokens")), count_of(stated.get("completionTokens"))
    details = dict_of(stated.get("promptTokensDetails"))
    if given is None and output is None:
        return None
    read, written = count_of(details.get("cachedTokens")), count_of(details.get("cacheWriteTokens"))
    return Usage(given, read, written, output, quality="aggregate")


class ContinueReading(ChatReading):
    """The state of one session while it is read."""

    name = NAME
    title = "Continue"
    stamps = ("timestamp",)
    ids = ()
    repeated = frozenset({"/promptLogs", "/editorState"})

    def __init__(self) -> None:
        super().__init__()
        self._answered: set[str] = set()

    def note(self, line: Line) -> None:
        value = line.value
        if line.pointer:
            log = dict_of(next(iter(list_of(value.get("promptLogs"))), None))
            self.facts.model = text_of(log.get("modelTitle"))[:200] or self.facts.model
            return
        self.claim(value.get("sessionId"))
        self.facts.title = text_of(value.get("title")) or self.facts.title
        self.facts.model = text_of(value.get("chatModelTitle"))[:200] or self.facts.model
        self.facts.set_environment(cwd=unquote(text_of(value.get("workspaceDirectory")).removeprefix("file://")))
        self.facts.more |= scalars_of({"mode": value.get("mode")})

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if not line.pointer:
            stated = dict_of(value.get("usage"))
            if usage := usage_of(stated):
                yield line.event(
                    "model_request", actor=line.agent, model=self.facts.model, usage=usage, request="session",
                    cost=dollars(stated.get("totalCost")), data={"type": "session_total"},
                )  # fmt: skip
            return
        message = dict_of(value.get("message"))
        if message.get("role") == "assistant":
            thought = dict_of(value.get("reasoning")) or {"text": value.get("reasoning")}
            said = text_of(thought.get("text"))
            pieces = [Piece("reasoning", said, "/reasoning")] if said else []
            yield from self.message(line, "assistant", [*pieces, *openai_pieces(message)], model=self.facts.model)
        elif message.get("role") == "thinking":
            pieces = pieces_of(message.get("content"))
            yield from self.message(line, "assistant", [Piece("reasoning", p.text, p.path) for p in pieces])
        elif message.get("role") == "tool":
            yield from self._told(line, message)
        else:
            yield from self.chat(line, message, data=_context(value))
        yield from self._results(line, value)

    def _told(self, line: Line, message: dict[str, Any]) -> Iterator[Draft]:
        """A result as a message; where the state of its call had it already, it is said so."""
        call_id = id_of(message.get("toolCallId")) or id_of(message.get("tool_call_id"))
        if call_id in self._answered:
            yield line.event("system", data={"type": "tool", "repeats": call_id})
            return
        text, rest = readable(message.get("content"))
        yield from self.message(line, "tool", [Piece("result", text, "/message/content", call_id, None, rest)])

    def _results(self, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
        for index, state in enumerate(map(dict_of, list_of(value.get("toolCallStates")))):
            call_id, status = id_of(state.get("toolCallId")), text_of(state.get("status"))
            output = [dict_of(item) for item in list_of(state.get("output"))]
            if not output and status not in STATUSES:
                continue
            text = "\n".join(text_of(item.get("content")) for item in output)
            path = f"/toolCallStates/{index}"
            piece = Piece("result", text, path, call_id, None, None, STATUSES.get(status))
            if call_id:
                self._answered.add(call_id)
            yield self.returned(line, piece, {}, {"part": f":r{index}", "at_path": path})


def _context(value: dict[str, Any]) -> dict[str, Any]:
    """Names of what a person put beside the prompt."""
    items = [dict_of(item) for item in list_of(value.get("contextItems"))[:50]]
    names = [name[:500] for item in items if (name := text_of(item.get("name")))]
    return {"context": names} if names else {}
