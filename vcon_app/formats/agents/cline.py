"""Cline's SDK and CLI of 2026: ``~/.cline/data/sessions/ID/ID.messages.json``, written anew at each change.

The record ``ID.json`` beside it holds no message. A file ``*.compaction.json`` has the same session id and what the
messages were replaced by: it is told as a session of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from ...drafts import Draft, FormatError, Usage
from ..common.agents.pieces import Piece, pieces_of, with_context
from ..common.agents.reading import AgentReading, unfolded
from ..common.documents import dollars
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.lines import Line
from ..common.records import records
from ..common.spans.parts import parsed_if_json
from ..common.usage import uncached
from ..common.values import count_of, dict_of, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "cline"
SPEC = Spec(name=NAME, title="Cline", global_response_ids=True)
NOTICE = "<SYSTEM_NOTICE>"
MESSAGE = ("modelInfo", "metrics.inputTokens")
"""Members of a message that no other agent has in a list of this name."""
RECORD = frozenset({"session_id", "started_at", "provider", "workspace_root"})


def detect(head: Head) -> bool:
    """By messages under a session id that one agent of a team has, by what stands beside a message alone, or by the
    record of such a session."""
    shape = head.shape
    told = shape.get("messages") == "[" and isinstance(shape.get("sessionId"), str)
    ours = bool({"updated_at", "system_prompt"} & head.keys) or {"version", "agent"} <= head.keys
    beside = shape.get("messages") == "[" and any(f"messages.item.{name}" in shape for name in MESSAGE)
    return (told and ours) or beside or head.keys >= RECORD


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session. Raises ``FormatError``, also for the record of a session, which holds no message."""
    return ClineReading().run(unfolded(records(source, NAME), NAME, "messages"))


def usage_of(stated: dict[str, Any]) -> Usage | None:
    """Tokens of a response; ``inputTokens`` has the cache in it."""
    given, output = count_of(stated.get("inputTokens")), count_of(stated.get("outputTokens"))
    read, written = count_of(stated.get("cacheReadTokens")), count_of(stated.get("cacheWriteTokens"))
    if given is None and output is None:
        return None
    return Usage(uncached(given, read, written), read, written, output)


class ClineReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Cline"
    stamps = ("ts",)

    def __init__(self) -> None:
        super().__init__()
        self._session = ""

    def note(self, line: Line) -> None:
        value = line.value
        if line.pointer:
            compacted = _is_compacted(value)
            self.claim(self._session and self._session + (".compaction" if compacted else ""))
            if compacted:
                self.facts.more["compaction_of"] = self._session
            return
        if value.keys() >= RECORD:
            raise FormatError(
                f"it is the record of the Cline session {text_of(value.get('session_id'))[:60]} and holds no message; "
                "the session is in the file beside it whose name ends with .messages.json"
            )
        self._session = text_of(value.get("sessionId"))[: ID_LIMIT - 20]
        if (agent := text_of(value.get("agent"))) not in ("", "lead"):
            self.facts.more["agent"] = agent[:ID_LIMIT]

    def tells_apart(self, line: Line) -> bool:
        return line.value.get("role") == "assistant"

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if not line.pointer:
            if prompt := text_of(value.get("system_prompt")):
                yield line.event("system", prompt, at_path="/system_prompt")
            return
        if dict_of(value.get("metadata")).get("kind") == "compaction_summary":
            text = "\n".join(piece.text for piece in pieces_of(value.get("content")))
            yield line.event("compaction", text, at_path="/content")
            return
        pieces = [_own(piece, value) for piece in pieces_of(value.get("content"))]
        more = dict_of(value.get("metadata"))
        data = {"metadata": scalars_of(more)} if scalars_of(more) else {}
        if value.get("role") == "assistant":
            stated, model = dict_of(value.get("metrics")), dict_of(value.get("modelInfo"))
            usage = usage_of(stated)
            yield from self.message(
                line, "assistant", pieces, model=model.get("id"), usage=usage, cost=dollars(stated.get("cost")),
                request=text_of(value.get("id"))[:ID_LIMIT] or None,
                data=data | scalars_of({"provider": model.get("provider")}),
            )  # fmt: skip
        elif value.get("role") == "user":
            yield from self.message(line, "user", with_context(pieces, (NOTICE,)), data=data)
        else:
            yield self.unknown(line, f"role {str(value.get('role'))[:100]!r}")


def _is_compacted(value: dict[str, Any]) -> bool:
    texts = (text_of(dict_of(block).get("text")) for block in list_of(value.get("content")))
    told = dict_of(value.get("metadata")).get("kind") in ("compaction", "compaction_summary")
    return told or any(text.startswith(NOTICE) for text in texts)


def _own(piece: Piece, message: dict[str, Any]) -> Piece:
    """A file that was put beside the prompt, and results that are lists of answers."""
    if piece.kind == "media" and piece.data.get("type") == "file":
        place = piece.path.rpartition("/")[2]
        content = message.get("content")
        block = dict_of(content[int(place)] if isinstance(content, list) else content)
        return replace(piece, kind="context", text=text_of(block.get("content")))
    brought = piece.value if piece.value is not None else parsed_if_json(piece.text)
    answers = [dict_of(item) for item in list_of(brought)] if piece.kind == "result" else []
    if not answers or not all("result" in item for item in answers):
        return piece
    failed = [item.get("success") is False for item in answers]
    text = "\n".join(filter(None, (text_of(item.get("result")) for item in answers)))
    return replace(piece, text=text or piece.text, value=answers, status="error" if all(failed) else piece.status)
