"""Kiro: ``~/.kiro/sessions/cli/UUID.jsonl``, conversations of the older CLI, and the IDE's. None states tokens.

The IDE keeps what it answers apart from the session: in a file an execution, of which older ones (``.chat``) are the
messages that went to the model and newer ones the actions that were taken.

Of the older CLI (Amazon Q's heritage) this is its store ``data.sqlite3`` or one value of it: ``conversation_id`` with a
history of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from ...drafts import Draft
from ..common.agents.chat import ChatReading
from ..common.agents.pieces import Piece, pieces_of, readable, with_context
from ..common.agents.reading import unfolded
from ..common.calls import id_of
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.lines import Line
from ..common.records import records
from ..common.sqlite.opening import Store, is_sqlite
from ..common.sqlite.rows import json_of, line_of, read_store
from ..common.times import moment_of
from ..common.values import dict_of, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "kiro"
SPEC = Spec(name=NAME, title="Kiro", grows="lines")
KINDS = frozenset({"Prompt", "AssistantMessage", "ToolResults", "Clear", "Compaction"})
TABLES = ("conversations_v2", "conversations")
LISTS = ("history", "chat", "actions")
"""Names under which a file has its records."""
SPEAKERS = {"human": "user", "bot": "assistant", "tool": "tool"}
PUT_BEFORE = ("# System Prompt", "# Identity", "<identity>", "## Included Rules", "You are operating in a workspace")
"""How the texts begin that the IDE puts into the person's place."""
WRAPPED = ("<kiro-ide-message>", "</kiro-ide-message>")
ENDS: dict[str, Any] = {
    "succeed": "completed", "success": "completed", "failed": "crashed", "error": "crashed", "aborted": "cancelled",
    "cancelled": "cancelled", "canceled": "cancelled",
}  # fmt: skip
"""Ends of an execution."""
ACTIONS = {"success": "ok", "accepted": "ok", "error": "error", "failed": "error", "rejected": "denied",
           "aborted": "cancelled"}  # fmt: skip
STATUSES = {"success": "ok", "error": "error", "cancelled": "cancelled"}


def detect(head: Head) -> bool:
    """By lines of a kind, by a history of pairs, by one beside a workspace's path, or by a table of conversations."""
    if any(head.has_table(table, "value") for table in TABLES):
        return True
    if any(text_of(line.get("kind")) in KINDS and isinstance(line.get("data"), dict) for line in head.records[:20]):
        return True
    shape = head.shape
    if shape.get("history") == "[" and isinstance(shape.get("conversation_id"), str):
        return True
    if isinstance(shape.get("executionId"), str):
        return shape.get("chat") == "[" or (shape.get("actions") == "[" and "actions.item.actionType" in shape)
    ours = bool({"workspacePath", "selectedModel"} & head.keys) or "history.item.message.id" in shape
    ide = ours and ("workspaceDirectory" not in head.keys or is_ide(shape))
    return shape.get("history") == "[" and isinstance(shape.get("sessionId"), str) and ide


def is_ide(shape: dict[str, Any]) -> bool:
    """Whether a session in the shape of Continue, which the IDE's comes from, has what only the IDE's has."""
    return bool({"history.item.executionId", "selectedModel", "workspacePath"} & shape.keys())


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session, or of all that a store holds. Raises ``FormatError``."""
    if is_sqlite(source):
        return read_store(source, SPEC.title, _conversations)
    return KiroReading().run(unfolded(records(source, NAME), NAME, *LISTS))


def _conversations(store: Store) -> Iterator[Iterator[Draft]]:
    """The conversations of the older CLI; the newer of its two tables also has times. Its key is the folder."""
    for table in TABLES:
        for number in store.all_numbers(table, "created_at") if "value" in store.tables.get(table, ()) else ():
            row = store.row(table, number)
            value = dict_of(json_of(row.get("value")))
            if list_of(value.get("history")):
                told = {"conversation_id": row.get("conversation_id"), "workspacePath": row.get("key")} | value
                yield KiroReading().run(unfolded(line_of(told, f"/{table}/{number}"), NAME, "history"))


class KiroReading(ChatReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Kiro"
    ids = ()
    repeated = frozenset({"/transcript"})

    def note(self, line: Line) -> None:
        value = line.value
        if "role" in value or "actionType" in value:
            return
        if "user" in value or "message" in value or "kind" in value:
            place = dict_of(dict_of(dict_of(value.get("user")).get("env_context")).get("env_state"))
            self.facts.set_environment(cwd=place.get("current_working_directory"))
            return
        self.claim(value.get("sessionId") or value.get("conversation_id") or value.get("executionId"))
        self.facts.title = text_of(value.get("title")) or self.facts.title
        self.facts.model = text_of(value.get("selectedModel"))[:ID_LIMIT] or self.facts.model
        self.facts.set_environment(cwd=value.get("workspacePath") or value.get("workspaceDirectory"))
        if "executionId" in value:
            about = dict_of(value.get("metadata"))
            self.facts.parent = text_of(value.get("chatSessionId"))[:ID_LIMIT] or None
            self.facts.model = text_of(about.get("modelId"))[:ID_LIMIT] or self.facts.model
            for holder in (value, about):
                self.facts.at(moment_of(holder.get("startTime")).at)
                self.facts.at(moment_of(holder.get("endTime")).at)
            self.facts.phase = ENDS.get(text_of(value.get("status")))

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if text_of(value.get("kind")) in KINDS:
            yield from self._line(line, text_of(value["kind"]), dict_of(value.get("data")))
        elif isinstance(value.get("message"), dict):
            yield from self.chat(line, value["message"], model=self.facts.model)
        elif text_of(value.get("role")) in SPEAKERS:
            yield from self._spoken(line, SPEAKERS[value["role"]])
        elif "actionType" in value:
            yield from self._action(line, text_of(value["actionType"]))
        elif "executionId" in value:
            asked = list_of(dict_of(dict_of(value.get("input")).get("data")).get("messages"))
            for index, message in enumerate(map(dict_of, asked)):
                pieces = pieces_of(message.get("content"), f"/input/data/messages/{index}/content")
                role: Any = "assistant" if message.get("role") in ("assistant", "bot") else "user"
                yield from self.message(line, role, pieces, part=f":{index}")
        elif isinstance(value.get("user"), dict) or isinstance(value.get("assistant"), dict):
            yield from self._pair(line, dict_of(value.get("user")), dict_of(value.get("assistant")))
        elif line.pointer.startswith(("/history", "L")):
            yield self.unknown(line, f"kind {str(value.get('kind'))[:100]!r}")

    # --- executions of the IDE ---

    def _spoken(self, line: Line, role: Any) -> Iterator[Draft]:
        """A message of the older kind, whose calls are words of the answer."""
        pieces = pieces_of(line.value.get("content"))
        if role == "user":
            pieces = [replace(piece, text=_unwrapped(piece.text)) for piece in with_context(pieces, PUT_BEFORE)]
        yield from self.message(line, role, pieces, model=self.facts.model)

    def _action(self, line: Line, kind: str) -> Iterator[Draft]:
        """What was said, or a call of a tool with what it brought."""
        value = line.value
        line.at = moment_of(value.get("emittedAt")).at or line.at
        output = dict_of(value.get("output"))
        if kind == "say" and (text := text_of(output.get("message"))):
            yield from self.message(line, "assistant", [Piece("text", text, "/output/message")], model=self.facts.model)
            return
        call_id = id_of(value.get("actionId"))
        call = Piece("call", "", "/input", call_id, kind[:ID_LIMIT], value.get("input"))
        yield from self.message(line, "assistant", [call], model=self.facts.model)
        if output or value.get("actionState") or value.get("error"):
            text = text_of(output.get("message")) or text_of(output.get("output")) or text_of(value.get("error"))
            status = ACTIONS.get(text_of(value.get("actionState")).lower(), "error" if value.get("error") else None)
            result = Piece("result", text, "/output", call_id, kind[:ID_LIMIT], output or None, status)
            yield self.returned(line, result, {}, {"part": ":r", "at_path": "/output"})

    # --- the CLI of today ---

    def _line(self, line: Line, kind: str, data: dict[str, Any]) -> Iterator[Draft]:
        line.at = moment_of(dict_of(data.get("meta")).get("timestamp")).at or line.at
        self.facts.at(line.at)
        pieces = [_piece(dict_of(item), f"/data/content/{i}") for i, item in enumerate(list_of(data.get("content")))]
        if kind == "Prompt":
            yield from self.message(line, "user", pieces)
        elif kind == "AssistantMessage":
            yield from self.message(line, "assistant", pieces, model=self._model(data))
        elif kind == "ToolResults":
            yield from self.message(line, "tool", pieces)
        else:
            told: Any = "compaction" if kind == "Compaction" else "status"
            skip = frozenset({"summary"})
            yield line.event(told, text_of(data.get("summary")), data={"type": kind} | scalars_of(data, skip))

    def _model(self, data: dict[str, Any]) -> str | None:
        blocks = (dict_of(dict_of(item).get("data")) for item in list_of(data.get("content")))
        return next((name for block in blocks if (name := text_of(block.get("modelId")))), self.facts.model)

    # --- the CLI before ---

    def _pair(self, line: Line, user: dict[str, Any], assistant: dict[str, Any]) -> Iterator[Draft]:
        about = dict_of(line.value.get("request_metadata"))
        asked = moment_of(user.get("timestamp")).at
        ended = moment_of(about.get("stream_end_timestamp_ms")).at
        line.at = asked or ended
        content = dict_of(user.get("content"))
        prompt = dict_of(content.get("Prompt")) or dict_of(content.get("CancelledToolUses"))
        if text := text_of(prompt.get("prompt")):
            yield from self.message(line, "user", [Piece("text", text, "/user/content")], part=":u")
        for name in ("ToolUseResults", "CancelledToolUses"):
            found = list_of(dict_of(content.get(name)).get("tool_use_results"))
            results = [_old_result(dict_of(item), f"/user/content/{name}/{i}") for i, item in enumerate(found)]
            if name == "CancelledToolUses":
                results = [replace(result, status="cancelled") for result in results]
            if results:
                yield from self.message(line, "tool", results, part=":r")
        line.at = ended or asked
        self.facts.at(asked)
        self.facts.at(ended)
        answer = dict_of(assistant.get("Response")) or dict_of(assistant.get("ToolUse"))
        uses = [dict_of(item) for item in list_of(answer.get("tool_uses"))]
        calls = [
            Piece(
                "call",
                "",
                f"/assistant/ToolUse/tool_uses/{i}",
                id_of(use.get("id")),
                id_of(use.get("name")),
                use.get("args"),
            )
            for i, use in enumerate(uses)
        ]
        pieces = [*pieces_of(answer.get("content"), "/assistant"), *calls]
        if assistant:
            yield from self.message(line, "assistant", pieces, model=about.get("model_id"), part=":a")


def _unwrapped(text: str) -> str:
    """The words of the person without the tags that the IDE puts around them."""
    told = text.strip()
    return told.removeprefix(WRAPPED[0]).removesuffix(WRAPPED[1]).strip() if told.startswith(WRAPPED[0]) else text


def _piece(item: dict[str, Any], path: str) -> Piece:
    """A block of today's CLI: a kind, and its data."""
    kind, data = item.get("kind"), item.get("data")
    inner = dict_of(data)
    if kind == "text":
        return Piece("text", text_of(data) or text_of(inner.get("text")), path)
    if kind == "thinking":
        text = text_of(inner.get("text"))
        return Piece("reasoning", text, path, data={} if text.strip() else {"withheld": True})
    if kind == "toolUse":
        return Piece("call", "", path, id_of(inner.get("toolUseId")), id_of(inner.get("name")), inner.get("input"))
    if kind == "toolResult":
        blocks = list_of(inner.get("content"))
        texts = [text_of(dict_of(block).get("data")) for block in blocks]
        rest = [dict_of(block).get("data") for block in blocks if isinstance(dict_of(block).get("data"), (dict, list))]
        status = STATUSES.get(text_of(inner.get("status")).lower())
        call_id = id_of(inner.get("toolUseId"))
        return Piece("result", "\n".join(filter(None, texts)), path, call_id, None, rest or None, status)
    if kind == "image":
        return Piece("media", path=path, data={"type": "image"})
    return Piece("unknown", path=path, value=item, data={"what": f"block {str(kind)[:100]!r}"})


def _old_result(item: dict[str, Any], path: str) -> Piece:
    blocks = [dict_of(block) for block in list_of(item.get("content"))]
    texts = [text_of(block.get("Text")) for block in blocks]
    values = [block["Json"] for block in blocks if "Json" in block]
    text, rest = readable(values[0]) if len(values) == 1 else ("", values or None)
    status = STATUSES.get(text_of(item.get("status")).lower())
    return Piece(
        "result", "\n".join(filter(None, [*texts, text])), path, id_of(item.get("tool_use_id")), None, rest, status
    )
