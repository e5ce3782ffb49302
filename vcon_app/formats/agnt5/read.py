"""Lines of an agnt5 export as drafts: the text of a message, then its calls, then what came of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, EventDraft, Finding, Kind, SessionDraft, ToolDraft
from ..common import reading
from ..common.apis.openai import arguments_of, cost_of, readable, usage_of
from ..common.calls import ID_LIMIT, Call, Calls, id_of, server_of
from ..common.facts import Facts
from ..common.head import Head
from ..common.lines import Actor, Line
from ..common.reading import Keys
from ..common.records import records
from ..common.times import from_epoch, parse
from ..common.values import bounded, dict_of, list_of, text_of
from ..contract import Spec
from . import own

NAME = "agnt5-jsonl"
SPEC = Spec(
    name=NAME,
    title="agnt5 session",
    grows="lines",
    media_type="application/x-ndjson",
    suffix=".messages.jsonl",
)
REQUIRED = frozenset({"timestamp", "role", "message"})
BESIDE = frozenset({"metadata", "tool_calls"})
FOREIGN = frozenset({"type", "uuid", "sessionId", "parentUuid", "content"})
SPEAKERS: dict[str, Kind] = {
    "user": "user_message", "human": "user_message", "assistant": "agent_message", "agent": "agent_message",
    "model": "agent_message", "system": "system", "developer": "system",
}  # fmt: skip
RESULTS = ("tool", "function")
IDS = ("session_id", "sessionId", "session")
CONSUMED = frozenset({"timestamp", "role", "message", "metadata", "tool_calls", own.KEY})
TOLD = frozenset({"session_id", "agent", "model", "usage", "tool_call_id"})


def detect(head: Head) -> bool:
    """By a line with the keys of the documentation, and none that another tool's lines have."""
    return any(_is_message(line) for line in head.records)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session, a line in memory at a time. Raises ``FormatError`` for what holds no JSON object."""
    return Reading().run(records(source, NAME))


def _is_message(line: dict[str, Any]) -> bool:
    keys = line.keys()
    return keys >= REQUIRED and bool(BESIDE & keys) and not FOREIGN & keys and isinstance(line["role"], str)


class Reading(reading.Reading):
    """The state of one file while it is read."""

    name = NAME
    title = SPEC.title

    def __init__(self) -> None:
        super().__init__()
        self._facts = Facts(NAME, "")
        self._calls = Calls()
        self._keys = Keys()
        self._own: dict[str, Any] = {}
        self._seen: set[str] = set()
        """Keys of events that we wrote ourselves."""

    def note_session(self, line: Line) -> bool:
        self._facts.note_line(line)
        self._own = self._own or own.session_in(line.value)
        metadata = dict_of(line.value.get("metadata"))
        ids = (text_of(place.get(key)) for place in (metadata, line.value) for key in IDS)
        self._facts.session = self._facts.session or next(filter(None, ids), "")[:ID_LIMIT]
        self._facts.agent = self._facts.agent or _agent(line)
        return bool(self._facts.session and self._facts.agent)

    def session(self, *, complete: bool) -> SessionDraft:
        return own.restored(self._facts.draft(complete=complete), self._own)

    def timed(self, line: Line) -> Iterator[Finding]:
        stamp = line.value.get("timestamp")
        line.at, doubt = (at, "") if (at := from_epoch(stamp, 1)) else parse(stamp)
        self._facts.at(line.at)
        if doubt and stamp is not None:
            yield from self.findings.limit(Finding(f"{NAME}.time", "info", line.pointer, doubt))

    def assign_key(self, line: Line) -> Iterator[Finding]:
        self._facts.agent = self._facts.agent or _agent(line)
        line.key = self._keys.derived(text_of(line.value.get("role")) or "line", line)
        line.agent = "agent", _agent(line)
        yield from ()

    def events(self, line: Line) -> Iterator[EventDraft]:
        ours = own.events_in(line, self._seen)
        role = text_of(line.value.get("role")).lower()
        if ours:
            yield from ours
        elif role in RESULTS:
            yield self._result(line)
        elif role in SPEAKERS and not _is_strange(line.value.get("message")):
            yield from self._spoken(line, SPEAKERS[role])
        else:
            yield self.unknown(line, f"role {role[:100]!r}" if role not in SPEAKERS else "message that is no text")

    def _spoken(self, line: Line, kind: Kind) -> Iterator[EventDraft]:
        """Events of a response: its text, then its calls. Tokens and cost are on the last of them."""
        value, metadata = line.value, dict_of(line.value.get("metadata"))
        calls = [dict_of(call) for call in list_of(value.get("tool_calls"))]
        text, attachments = _text(value.get("message"))
        billing = self._billing(metadata)
        data = _data(line) | ({"attachments": attachments} if attachments else {})
        if text or attachments or not calls:
            actor: Actor = (
                line.agent if kind == "agent_message" else ("person", "") if kind == "user_message" else ("system", "")
            )
            yield line.event(kind, text, actor=actor, data=data, **({} if calls else billing))
        for index, call in enumerate(calls):
            last = index == len(calls) - 1
            more = {"data": {} if text or attachments or index else data} | (billing if last else {})
            yield from self._call(line, call, f":call-{index}", f"/tool_calls/{index}", more)

    def _call(
        self, line: Line, call: dict[str, Any], part: str, path: str, more: dict[str, Any]
    ) -> Iterator[EventDraft]:
        """A call, flat or in the shape of the OpenAI API, and its result where one stands beside it."""
        inner = dict_of(call.get("function")) or call
        call_id = id_of(call.get("id")) or id_of(call.get("tool_call_id"))
        name = id_of(inner.get("name")) or id_of(call.get("tool"))
        given = next((inner[key] for key in ("arguments", "args", "input") if key in inner), None)
        tool = ToolDraft(call_id, name, server_of(name), bounded(arguments_of(given), len(line.raw)))
        event = line.event("tool_call", part=part, at_path=path, actor=line.agent, tool=tool, **more)
        self._calls.add(call_id, Call(event.key, name or "", tool.server))
        yield event
        outcome = next((key for key in ("error", "result", "output") if call.get(key) is not None), None)
        if outcome:
            status = "error" if outcome == "error" else None
            yield self._outcome(line, call_id, Call(event.key, name or ""), call[outcome], status, part, path)

    def _result(self, line: Line) -> EventDraft:
        value, metadata = line.value, dict_of(line.value.get("metadata"))
        call_id = id_of(value.get("tool_call_id")) or id_of(metadata.get("tool_call_id"))
        name = id_of(value.get("name")) or id_of(metadata.get("name")) or id_of(metadata.get("tool"))
        call = self._calls.get(call_id) or Call("", name or "")
        failed = metadata.get("error") or metadata.get("is_error")
        return self._outcome(line, call_id, call, value.get("message"), "error" if failed else None, "", "/message")

    def _outcome(
        self, line: Line, call_id: str | None, call: Call, told: Any, status: str | None, part: str, path: str
    ) -> EventDraft:
        text, attachments = _text(told)
        structured = bounded(told, len(line.raw)) if _is_strange(told) and told is not None else None
        tool = ToolDraft(call_id, call.name or None, call.server, None, structured, status)
        data = (_data(line) if not part else {}) | ({"attachments": attachments} if attachments else {})
        return line.event(
            "tool_result", text, part=f"{part}:result" if part else "", at_path=path, actor=("tool", call.name),
            parent=call.key or None, tool=tool, data=data,
        )  # fmt: skip

    def _billing(self, metadata: dict[str, Any]) -> dict[str, Any]:
        model = text_of(metadata.get("model"))[:ID_LIMIT] or None
        self._facts.model = model or self._facts.model
        usage = usage_of(metadata.get("usage"))
        return {"model": model, "usage": usage, "cost": cost_of(metadata.get("usage")) or cost_of(metadata)}


def _agent(line: Line) -> str:
    return text_of(dict_of(line.value.get("metadata")).get("agent") or line.value.get("agent"))[:ID_LIMIT]


def _text(message: Any) -> tuple[str, list[dict[str, Any]]]:
    """The text of a message: itself, that of its parts, or what an object holds as content or text."""
    if isinstance(message, dict):
        message = next((message[key] for key in ("content", "text") if isinstance(message.get(key), (str, list))), None)
    return readable(message)


def _is_strange(message: Any) -> bool:
    """Whether a value is an object without a text in it, or no text at all."""
    if isinstance(message, dict):
        return not any(isinstance(message.get(key), (str, list)) for key in ("content", "text"))
    return message is not None and not isinstance(message, (str, list))


def _data(line: Line) -> dict[str, Any]:
    """Metadata and further keys that no field of an event holds."""
    told = {key: value for key, value in dict_of(line.value.get("metadata")).items() if key not in TOLD}
    more = {key: value for key, value in line.value.items() if key not in CONSUMED | TOLD}
    return {key: bounded(value, len(line.raw)) for key, value in {**more, **told}.items() if value is not None}
