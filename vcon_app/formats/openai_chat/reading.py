"""One pass over the records of a file: which conversation each belongs to, and what it adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from ...drafts import Draft, EventDraft, Finding
from ..common.apis.openai import cost_of, doubt_of, readable, usage_of
from ..common.calls import ID_LIMIT
from ..common.jsonio import dumps
from ..common.lines import Item, Line
from ..common.reading import Findings
from ..common.records import part_of
from ..common.session_ids import SessionIds
from ..common.times import from_epoch, parse
from ..common.values import dict_of, list_of, scalars_of, text_of
from .chat import completion_pieces, message_pieces, stop_reason
from .items import item_pieces
from .meai import Updates, usages
from .pieces import Piece, message_piece, unknown_piece
from .run_state import read_state
from .session import START, Billing, Session, positions
from .shapes import body_of, is_anthropics, kind_of
from .streams import CUT, Chunks, Events

HELD = 200_000
"""Events kept until the end of the file, in which a conversation may go on between others."""
CHECKED = 1_000
"""Records between two looks at how many events are held."""
USUAL = ("default", "auto", "standard")
STAMPS = ("timestamp", "created_at", "time", "start_time")
LISTED = 100


class Reading:
    """The state of one file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.findings = Findings(name)
        self._ids = SessionIds(name)
        self._sessions: list[Session] = []
        self._current: Session | None = None
        self._pending: Session | None = None
        """The conversation whose request waits for its response."""
        self._at: dict[str, Session] = {}
        """Position, response or conversation -> the conversation it is in."""
        self._responses: set[str] = set()
        self._doubts: list[Finding] = []
        self._stream: Line | None = None
        self._chunks, self._events, self._updates = Chunks(), Events(), Updates()

    def run(self, items: Iterable[Item]) -> Iterator[Draft]:
        """The drafts of the file: each session with its events."""
        for count, item in enumerate(items, 1):
            if isinstance(item, Finding):
                yield from self.findings.limit(item)
            elif isinstance(item, EventDraft):
                self._current_session().drafts.append(item)
            else:
                self._record(item)
            yield from self._pending_findings()
            if count % CHECKED == 0 and sum(len(session.drafts) for session in self._sessions) > HELD:
                yield from self._finished_sessions(keep=self._current)
        self._end_streams()
        yield from self._pending_findings()
        yield from self._finished_sessions(keep=None)
        yield from self.findings.close()

    def session(self, id: str) -> Session:
        """A new conversation, the current one from here on."""
        session = self._current = Session(self.name, id, self.findings)
        self._sessions.append(session)
        return session

    def _current_session(self) -> Session:
        return self._current or self.session("")

    def _finished_sessions(self, keep: Session | None) -> Iterator[Draft]:
        for session in self._sessions:
            if session is not keep and (session.drafts or session.facts.session):
                yield from self._ids.begin(session.external_id, "")
                yield from session.complete(self._ids.current)
        self._sessions = [keep] if keep else []
        self._at = {place: session for place, session in self._at.items() if session is keep}

    def _pending_findings(self) -> Iterator[Finding]:
        for doubt in self._doubts:
            yield from self.findings.limit(doubt)
        self._doubts.clear()

    def _record(self, line: Line) -> None:
        kind = kind_of(line.value)
        line.at = _time(line.value)
        if kind not in ("chunk", "event", "update", "updates"):
            self._end_streams()
        handler = HANDLERS.get(kind)
        if handler:
            handler(self, line)
        else:
            session = self._current_session()
            session.facts.note_line(line)
            session.tell_messages(line, [unknown_piece(line.value, "record of no kind that the API has", "")])

    def _end_streams(self) -> None:
        begun, self._stream = self._stream, None
        if begun is None:
            return
        for whole in (self._chunks.end(), self._events.end()):
            self._add_response(begun, whole)
        for place, piece in self._updates.end():
            self._current_session().tell_messages(place, [piece])

    def _add_response(self, begun: Line, whole: dict[str, Any] | None) -> None:
        """A response out of a stream; several of one stream are one conversation."""
        if whole is not None:
            self._pending = self._pending or self._current
            self.handle_response(replace(begun, value=whole, raw=dumps(whole), offset=None))

    def handle_stream_piece(self, line: Line) -> None:
        """A piece of a response."""
        begun = self._stream = self._stream or line
        whole = (self._chunks if kind_of(line.value) == "chunk" else self._events).add(line.value)
        if whole is not None:
            self._add_response(begun, whole)
            self._stream = line

    def handle_request(self, line: Line) -> None:
        """A request, of the chat or the Responses API."""
        value = line.value
        pieces = _request_pieces(value)
        conversation = value.get("conversation")
        known = text_of(conversation) or text_of(dict_of(conversation).get("id"))
        session = self._at.get(f"id {known or text_of(value.get('previous_response_id'))}")
        start = session.position if session else START
        if session is None:
            session = None if known else self._conversation_of(pieces)
        if session is None:
            session = self.session(known)
        self._current = self._pending = session
        session.facts.note_line(line)
        session.facts.model = text_of(value.get("model"))[:ID_LIMIT] or session.facts.model
        if tools := [name for tool in list_of(value.get("tools")) if (name := _tool_name(tool))]:
            session.facts.more["tools"] = tools[:LISTED]
        session.request(line, pieces, start)
        self._at |= dict.fromkeys(positions(pieces, start), session)
        if known:
            self._at[f"id {known}"] = session

    def _conversation_of(self, pieces: list[Piece]) -> Session | None:
        """The conversation that a request goes on with, or repeats; one that left it earlier is another."""
        passed = positions(pieces)
        for position in reversed(passed):
            if session := self._at.get(position):
                return session if position in (session.position, passed[-1]) else None
        return None

    def handle_response(self, line: Line) -> None:
        """A whole response, of the chat or the Responses API."""
        value = line.value
        id = text_of(value.get("id"))[:ID_LIMIT]
        if id and id in self._responses:
            message = f"response {id[:60]} stands in the file again; told once"
            self._doubts.append(Finding(f"{self.name}.repeated-response", "info", line.pointer, message))
            return
        before = self._at.get(f"id {text_of(value.get('previous_response_id'))}")
        session = self._pending or before or self.session(id)
        self._current, self._pending = session, None
        session.facts.note_line(line)
        pieces = _response_pieces(value)
        if given := value.get("instructions"):
            session.request(line, _instructions(given), session.position)
        session.response(line, pieces, self._billing(line, id))
        if id:
            self._responses.add(id)
            self._at[f"id {id}"] = session

    def _billing(self, line: Line, id: str) -> Billing:
        value = line.value
        if doubt := doubt_of(value.get("usage")):
            self._doubts.append(Finding(f"{self.name}.tokens", "warning", f"{line.pointer}/usage", doubt))
        tier = value.get("service_tier")
        reason = dict_of(value.get("incomplete_details")).get("reason")
        data = scalars_of({
            "stop_reason": stop_reason(value) or reason,
            "provider": value.get("provider"),
            "service_tier": tier if tier not in USUAL else None,
            "status": value.get("status") if value.get("status") != "completed" else None,
            "cut_off": value.get(CUT),
        })  # fmt: skip
        at = from_epoch(value.get("created"), 1) or from_epoch(value.get("created_at"), 1) or line.at
        model = text_of(value.get("model"))[:ID_LIMIT] or None
        return Billing(id or None, model, usage_of(value.get("usage")), cost_of(value.get("usage")), at, data)

    def handle_message(self, line: Line) -> None:
        """A message or an item of a list that is one conversation."""
        session = self._current_session()
        session.facts.note_line(line)
        pieces = message_pieces if kind_of(line.value) == "message" else item_pieces
        session.tell_messages(line, pieces(line.value, ""))

    def handle_update(self, line: Line) -> None:
        """A .NET message or update."""
        session = self._current_session()
        value = line.value
        more = dict_of(value.get("additionalProperties"))
        session.facts.session = (
            session.facts.session or text_of(more.get("agui_thread_id")) or text_of(value.get("conversationId"))
        )
        session.facts.note_line(line)
        self._stream = line
        line.at = line.at or parse(value.get("createdAt"))[0]
        for place, piece in self._updates.add(line, value, ""):
            session.tell_messages(place, [piece])
        model = text_of(value.get("modelId"))[:ID_LIMIT] or None
        for stated in usages(value):
            for place, piece in self._updates.end():
                session.tell_messages(place, [piece])
            session.response(
                line,
                [],
                Billing(None, model, usage_of(stated), data=scalars_of({"response_id": value.get("responseId")})),
            )

    def handle_updates(self, line: Line) -> None:
        """.NET messages in an object."""
        for index, message in enumerate(list_of(line.value.get("messages"))):
            if isinstance(message, dict):
                self.handle_update(part_of(line, message, f"/messages/{index}"))

    def handle_log_entry(self, line: Line) -> None:
        """A log entry: the request and its response, or the body of one of them."""
        for key in ("request", "body", "response"):
            if isinstance(line.value.get(key), dict):
                part = part_of(line, body_of(line.value[key]), f"/{key}")
                handler = HANDLERS.get("response" if is_anthropics(part.value) else kind_of(part.value))
                if handler:
                    handler(self, part)

    def handle_page(self, line: Line) -> None:
        """A page of items or responses."""
        for index, item in enumerate(list_of(line.value.get("data"))):
            if isinstance(item, dict):
                self._record(part_of(line, item, f"/data/{index}"))

    def handle_error(self, line: Line) -> None:
        """An error, which the API answers in the place of a response."""
        session = self._pending or self._current_session()
        session.facts.note_line(line)
        session.tell_messages(line, [_error(line.value["error"])])

    def handle_saved_run(self, line: Line) -> None:
        """A saved run of the Agents SDK."""
        read_state(self.session, line)
        self._current = None


def _request_pieces(value: dict[str, Any]) -> list[Piece]:
    pieces = _instructions(value.get("instructions"))
    if system := readable(value.get("system"))[0]:  # of Anthropic's API
        pieces.append(message_piece("system", system, "/system", []))
    for index, message in enumerate(list_of(value.get("messages"))):
        pieces += message_pieces(dict_of(message), f"/messages/{index}")
    given = value.get("input")
    if isinstance(given, str):
        pieces.append(message_piece("user", given, "/input", []))
    for index, item in enumerate(list_of(given)):
        pieces += item_pieces(dict_of(item), f"/input/{index}")
    return pieces


def _instructions(given: Any) -> list[Piece]:
    if isinstance(given, str):
        return [message_piece("system", given, "/instructions", [])] if given else []
    items = enumerate(map(dict_of, list_of(given)))
    return [replace(p, side="setting") for n, item in items for p in item_pieces(item, f"/instructions/{n}")]


def _response_pieces(value: dict[str, Any]) -> list[Piece]:
    pieces = list(message_pieces(value, "") if is_anthropics(value) else completion_pieces(value, ""))
    for index, item in enumerate(list_of(value.get("output"))):
        pieces += item_pieces(dict_of(item), f"/output/{index}")
    return pieces + ([_error(value["error"])] if value.get("error") else [])


def _error(error: Any) -> Piece:
    told = dict_of(error)
    text = text_of(told.get("message")) or text_of(error)
    return Piece("error", "output", text, "/error", "", None, scalars_of(told, frozenset({"message"})))


def _tool_name(tool: Any) -> str:
    value = dict_of(tool)
    return (
        text_of(dict_of(value.get("function")).get("name")) or text_of(value.get("name")) or text_of(value.get("type"))
    )


def _time(value: dict[str, Any]) -> datetime | None:
    """The time of a log entry or a response, as text or as seconds since 1970."""
    found = (from_epoch(value.get(key), 1) or parse(value.get(key))[0] for key in STAMPS if key in value)
    return next(found, None)


HANDLERS: dict[str, Callable[[Reading, Line], None]] = {
    "request": Reading.handle_request,
    "completion": Reading.handle_response,
    "response": Reading.handle_response,
    "chunk": Reading.handle_stream_piece,
    "event": Reading.handle_stream_piece,
    "message": Reading.handle_message,
    "item": Reading.handle_message,
    "update": Reading.handle_update,
    "updates": Reading.handle_updates,
    "entry": Reading.handle_log_entry,
    "page": Reading.handle_page,
    "error": Reading.handle_error,
    "state": Reading.handle_saved_run,
}
