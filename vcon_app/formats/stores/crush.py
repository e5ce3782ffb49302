"""Crush (Charm): ``.crush/crush.db`` of a project, or what ``crush session show --json`` prints of one of its sessions.
The first OpenCode, which it came from, has the same tables.

Tokens of a session are those of its last response, so they are shown and never counted; its cost is a sum, in which
that of its sub-agents is once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, BinaryIO

from ...drafts import Draft, Usage
from ..common.agents.pieces import Piece, piece_of
from ..common.agents.reading import PERSON, AgentReading
from ..common.apis.openai import arguments_of
from ..common.calls import id_of
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.jsonio import dumps
from ..common.lines import Item, Line
from ..common.records import part_of, records
from ..common.sqlite.opening import Store, is_sqlite
from ..common.sqlite.rows import json_of, line_of, read_store, session_of
from ..common.times import moment_of
from ..common.values import dict_of, list_of, money_of, scalars_of, text_of
from ..contract import Spec

NAME = "crush"
SPEC = Spec(name=NAME, title="Crush", grows="lines")
LAST = {"prompt_tokens": "last_prompt_tokens", "completion_tokens": "last_completion_tokens"}
SUB_AGENT = "$$"
"""In the id of a sub-agent's session: the message and the call that it was started by."""
CONTENT = frozenset({"content"})


def detect(head: Head) -> bool:
    """By its table of messages and the two kinds of tokens of a session."""
    if "meta.completion_tokens" in head.shape and head.shape.get("messages") == "[":
        return True
    sessions = head.has_table("sessions", "id", "prompt_tokens", "completion_tokens", "cost")
    return sessions and head.has_table("messages", "session_id", "role", "parts", "model")


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all sessions of a store, a row in memory at a time, or of one. Raises ``FormatError``."""
    if not is_sqlite(source):
        return CrushReading(Decimal(0)).run(_shown(records(source, NAME)))
    return read_store(source, SPEC.title, _sessions)


def _shown(items: Iterable[Item]) -> Iterator[Item]:
    """A session that was printed, as the rows that it was in the store."""
    for item in items:
        about = dict_of(item.value.get("meta")) if isinstance(item, Line) else {}
        if not isinstance(item, Line) or not about:
            yield item
            continue
        times = {"created_at": about.get("created"), "updated_at": about.get("modified")}
        row = {**about, **times, "id": about.get("uuid") or about.get("id")}
        yield Line(row, f"{item.pointer}/meta", dumps(row), None, about_session=True)
        for index, message in enumerate(map(dict_of, list_of(item.value.get("messages")))):
            parts = [{"type": part.get("type"), "data": part} for part in map(dict_of, list_of(message.get("parts")))]
            told = {**message, "created_at": message.get("created"), "parts": parts}
            yield part_of(item, told, f"/messages/{index}")


def _sessions(store: Store) -> Iterator[Iterator[Draft]]:
    messages = store.numbers("messages", "session_id", "created_at")
    files = store.numbers("files", "session_id", "created_at", "version")
    passed_on = _passed_on(store, messages)
    for number, row in store.rows("sessions", store.all_numbers("sessions", "created_at")):
        own = text_of(row.get("id"))[:ID_LIMIT]
        if own in messages:
            reading = CrushReading(passed_on.get(own, Decimal(0)))
            yield reading.run(_items(store, number, row, messages.pop(own), files.get(own, [])))


def _passed_on(store: Store, messages: dict[str, list[int]]) -> dict[str, Decimal]:
    """What sub-agents added to the cost of the sessions that they worked for: they do when they end well."""
    added: dict[str, Decimal] = {}
    for _, row in store.rows("sessions", store.all_numbers("sessions")):
        own, parent = text_of(row.get("id"))[:ID_LIMIT], text_of(row.get("parent_session_id"))[:ID_LIMIT]
        cost, said = money_of(row.get("cost")), messages.get(own)
        if not (SUB_AGENT in own and parent and cost and said):
            continue
        (_, last), *_ = store.rows("messages", said[-1:])
        ends = [dict_of(dict_of(part).get("data")) for part in list_of(json_of(last.get("parts")))]
        if not any(end.get("reason") in ("error", "canceled") for end in ends):
            added[parent] = added.get(parent, Decimal(0)) + cost
    return added


def _items(store: Store, number: int, row: dict[str, Any], messages: list[int], files: list[int]) -> Iterator[Item]:
    yield from session_of(row, f"/sessions/{number}", "todos")
    for at, message in store.rows("messages", messages):
        yield from line_of(message, f"/messages/{at}", "parts")
    for at, file in store.rows("files", files, CONTENT):
        yield from line_of(file, f"/files/{at}")


class CrushReading(AgentReading):
    """The state of one session while it is read."""

    name = NAME
    title = "Crush"
    stamps = ("created_at",)

    def __init__(self, passed_on: Decimal) -> None:
        """``passed_on``: US dollars of the session's cost that stand with its sub-agents, too."""
        super().__init__()
        self._passed_on = passed_on

    def note(self, line: Line) -> None:
        if not line.about_session:
            return
        value, facts = line.value, self.facts
        self.claim(value.get("id"))
        facts.title = text_of(value.get("title")) or facts.title
        facts.parent = text_of(value.get("parent_session_id"))[:ID_LIMIT] or None
        facts.at(moment_of(value.get("updated_at")).at)

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if line.about_session:
            yield from self._session(line, value)
        elif line.pointer.startswith("/files/"):
            data = {"path": text_of(value.get("path"))[:1000]} | scalars_of({"version": value.get("version")})
            yield line.event("file_change", actor=line.agent, data=data)
        elif (role := text_of(value.get("role"))) in ("user", "assistant", "tool", "system"):
            yield from self._message(line, role)
        else:
            yield self.unknown(line, f"role {role[:100]!r}")

    def _session(self, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
        data = {"type": "session"} | {LAST.get(key, key): item for key, item in scalars_of(value).items()}
        if todos := [scalars_of(dict_of(todo)) for todo in list_of(value.get("todos"))[:100]]:
            data["todos"] = todos
        cost = money_of(value.get("cost"))
        if cost:
            data |= {"of_sub_agents": str(self._passed_on)} if self._passed_on else {}
            cost = max(cost - self._passed_on, Decimal(0))
            usage = Usage(quality="aggregate")
            yield line.event("model_request", actor=line.agent, usage=usage, cost=cost, request="session", data=data)
        else:
            yield line.event("system", data=data)

    def _message(self, line: Line, role: Any) -> Iterator[Draft]:
        value = line.value
        parts = [dict_of(part) for part in list_of(value.get("parts"))]
        told = scalars_of({"provider": value.get("provider")})
        if value.get("is_summary_message"):
            yield line.event("compaction", part=":summary", data={"type": "summary"})
        apart = ("finish", "shell_command")
        pieces = [_piece(part, f"/parts/{index}") for index, part in enumerate(parts) if part.get("type") not in apart]
        ends = [(index, dict_of(part.get("data"))) for index, part in enumerate(parts) if part.get("type") == "finish"]
        told |= scalars_of({"finish_reason": ends[-1][1].get("reason") if ends else None})
        typed = [(index, dict_of(part.get("data"))) for index, part in enumerate(parts)
                 if part.get("type") == "shell_command"]  # fmt: skip
        for index, command in typed:
            yield from self._typed(line, command, index)
        if pieces or not (ends or typed):
            yield from self.message(line, role, pieces, model=value.get("model") or None, data=told)
        for index, end in ends:
            yield from self._end(line, end, index)

    def _typed(self, line: Line, command: dict[str, Any], index: int) -> Iterator[Draft]:
        """A command that the person ran themselves."""
        path, call_id, code = f"/parts/{index}", f"shell:{line.key}:{index}"[:200], command.get("exit_code")
        call = Piece("call", "", path, call_id, "shell", {"command": command.get("command")})
        yield from self.message(line, "user", [call], actor=PERSON, part=f":shell{index}")
        status = "error" if code else "ok" if code == 0 else None
        brought = scalars_of({"exit_code": code}) or None
        result = Piece("result", text_of(command.get("output")), path, call_id, "shell", brought, status)
        yield self.returned(line, result, {}, {"part": f":shell{index}:out", "at_path": path})

    def _end(self, line: Line, end: dict[str, Any], index: int) -> Iterator[Draft]:
        reason = text_of(end.get("reason"))
        place = {"part": f":finish{index}", "at_path": f"/parts/{index}"}
        said = "\n".join(filter(None, (text_of(end.get("message")), text_of(end.get("details")))))
        line.at = moment_of(end.get("time")).at or line.at
        if reason == "canceled":
            yield line.event("status", said, actor=("person", ""), data={"type": "interrupted"}, **place)
        elif reason in ("error", "permission_denied") or said:
            kind: Any = "error" if reason == "error" else "status"
            yield line.event(kind, said, data={"type": "finish", "reason": reason[:100]}, **place)


def _piece(part: dict[str, Any], path: str) -> Piece:
    """A part: its type, and its data."""
    kind, data = part.get("type"), dict_of(part.get("data"))
    if kind == "text":
        return Piece("text", text_of(data.get("text")), path)
    if kind == "reasoning":
        text = text_of(data.get("thinking"))
        return Piece("reasoning", text, path, data={} if text.strip() else {"withheld": True})
    call = id_of(data.get("id")) or id_of(data.get("tool_call_id"))
    if kind == "tool_call":
        return Piece("call", "", path, call, id_of(data.get("name")), arguments_of(data.get("input")))
    if kind == "tool_result":
        failed = data.get("is_error")
        status = ("error" if failed else "ok") if isinstance(failed, bool) else None
        told: dict[str, Any] = scalars_of({"metadata": data.get("metadata")})
        if picture := text_of(data.get("data")):
            told["attachments"] = [{"type": "image", "bytes": len(picture) * 3 // 4 - picture[-2:].count("="),
                                    "media_type": text_of(data.get("mime_type"))[:100]}]  # fmt: skip
        return Piece(
            "result", text_of(data.get("content")), path, id_of(data.get("tool_call_id")), id_of(data.get("name")),
            None, status, told,
        )  # fmt: skip
    if kind in ("image_url", "binary"):
        place = data.get("Path") or (None if text_of(data.get("url")).startswith("data:") else data.get("url"))
        return piece_of(
            {"type": "image", **scalars_of({"mime": data.get("MIMEType", data.get("mime_type")), "path": place})}, path
        )
    return Piece("unknown", path=path, value=part, data={"what": f"part {str(kind)[:100]!r}"})
