"""The follower of a session at the provider: appends its events to the log, whatever happens to the connection.

The stream has no replay, so it is opened first and the history is listed then; each event is appended under its own
id, which makes all of this repeatable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import islice
from typing import Any

from django.db import connections

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Approval, Event
from sessions_app.services.approvals import delivery, endings
from sessions_app.services.money import usage

from ..run import TurnRun
from ..tool_rules import price_of
from .client import Json, Port, Stream, Unavailable
from .events import ANSWERS, CALLS, Mapping, Thread, cents_of, id_of, is_queued, key_of, text_of
from .state import STATUSES, Remote

RUN_THERE = {"agent.tool_result": "tool_use_id", "agent.mcp_tool_result": "mcp_tool_use_id"}
OVERLAP = timedelta(minutes=1)
"""Listed again from before this turn: sub-agents and clocks do not keep to the order of turns."""
RECENT_CALLS = 200
BATCH = 200
"""Events of one append, when many have come."""
MOST_CUTS = 5
"""Streams in a row that end without having brought anything."""


class Follower:
    """One session at the runtime during one turn. Use it as a context: it holds the stream."""

    def __init__(self, turn: TurnRun, port: Port, session_id: str, model: str | None) -> None:
        self.turn, self.port, self.id = turn, port, session_id
        self.remote = Remote()
        self.mapping = _mapping_of(turn, model)
        self.answered: set[str] = set()
        """Calls that have an answer at the runtime."""
        self._stack = ExitStack()
        self._stream: Stream | None = None
        self._listed: set[tuple[Any, bool]] = set()
        self._threads: set[str] = set()
        """Sub-agents that did something in this turn."""
        self._written: list[tuple[str, str]] = []
        self._previews: set[str] = set()
        """Messages whose beginning this stream has shown: what follows can be shown, too."""
        self._cuts = 0
        self._booked: set[str] = set()
        self.asks_model = False
        """Whether a request to the model has begun since the budgets were checked."""

    def __enter__(self) -> Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # --- the connection ---

    def connect(self) -> int:
        """Open the stream, then list and catch up. How many events of this turn were new."""
        self._stack.close()
        self._previews.clear()
        self._written.clear()
        self._stream = self._stack.enter_context(self.port.stream(self.id))
        since = _listed_from(self.turn)
        filters = {"created_at_gte": since.isoformat()} if since else {}
        history = list(self.port.events(self.id, **filters))
        self._listed = {(id_of(wire), is_queued(wire)) for wire in history if id_of(wire)}
        self.remote.forget()
        new = self.append_wire_events(history)
        if self.remote.status == "unknown":
            for wire in islice(self.port.events(self.id, types=STATUSES, order="desc"), 1):
                self.remote.feed(wire)
        return new

    def listen(self, seconds: float) -> bool:
        """Take what has come, or wait so long for it. A stream that broke is opened again. Raises ``Unavailable``."""
        if self._stream is None:
            self.connect()
        batch: list[Json] = []
        try:
            while len(batch) < BATCH and (wire := self._next(0 if batch else seconds)):
                batch.append(wire)
        except Unavailable as broken:  # what came before it broke is in the list, too
            self._cuts = 0 if batch else self._cuts
            self._reconnect(broken)
            return True
        self._cuts = 0 if batch else self._cuts
        self._live([wire for wire in batch if (id_of(wire), is_queued(wire)) not in self._listed])
        return bool(batch)

    def _next(self, seconds: float) -> Json | None:
        assert self._stream is not None
        wire = self._stream.next(0)
        if wire or not seconds:
            return wire
        self._show_written()
        connections.close_all()  # the next event may be an hour away
        return self._stream.next(seconds)

    def _reconnect(self, broken: Unavailable) -> None:
        self._stream = None
        self._cuts += 1
        if self._cuts > MOST_CUTS:
            raise broken
        # 0.2 s after the first cut, 3.2 s after the fifth.
        if not self.turn.pause(0.1 * 2**self._cuts):
            self.connect()

    # --- events ---

    def append_wire_events(self, wires: Iterable[Json]) -> int:
        """Feed events to the state in their order, and append the new ones to the log; the number of those."""
        wires = list(wires)
        new: list[EventDraft] = []
        accepted = 0
        for wire in wires:
            self.remote.feed(wire)
            self._note_thread(wire)
            self.asks_model |= wire.get("type") == "span.model_request_start"
            # The statement covers the sub-agents, too: their responses have to be in the log before their cost.
            if wire.get("type") == "session.usage" and self._threads:
                accepted += self._append(new) + self._take_threads()
                new = []
            new += self.mapping.drafts_of(wire)
        accepted += self._append(new)
        for wire in wires:
            if wire.get("type") in ANSWERS:
                self.note_answer(wire)
            id_ = wire.get(RUN_THERE.get(str(wire.get("type")), ""))
            if isinstance(id_, str) and id_ not in self._booked:
                self._book(id_)
        return accepted

    def _append(self, new: list[EventDraft]) -> int:
        return self.turn.append(*new).accepted if new else 0

    def _book(self, id_: str) -> None:
        """The log row of a call that the runtime made. It cannot tell how long the tool itself took: a person's time
        before the call is left out.
        """
        self._booked.add(id_)
        call, result = self.call(id_), self.result(id_)
        if call is None or result is None or result.tool_status == "denied":
            return
        decided = Approval.objects.filter(session_id=call.session_id, client_id=id_).first()
        begun = max((at for at in (call.at, decided and decided.decided_at) if at), default=None)
        latency = (result.at - begun).total_seconds() * 1000 if begun and result.at else None
        usage.book_call(
            call, provider=call.tool_server or "builtin", status=result.tool_status or "",
            latency_ms=None if latency is None else max(round(latency), 0),
            cost=price_of(self.turn.agent.tools, call.tool_name or "", call.tool_server),
        )  # fmt: skip

    def _live(self, batch: list[Json]) -> None:
        """Handle events of the stream: pieces of a message are shown as they come; the whole message replaces them."""
        for wire in batch:
            if wire.get("type") == "event_start":
                self._previews.add(str(_dict(wire.get("event")).get("id")))
            elif wire.get("type") == "event_delta" and (id_ := str(wire.get("event_id"))) in self._previews:
                piece = _dict(_dict(wire.get("delta")).get("content"))
                self._written.append((id_, str(piece.get("text") or "")))
        whole = [wire for wire in batch if wire.get("type") not in ("event_start", "event_delta")]
        ids = {id_of(wire) for wire in whole}
        self._written = [piece for piece in self._written if piece[0] not in ids]
        self.append_wire_events(whole)

    def _show_written(self) -> None:
        """Show what was written since the last time, a message at a time."""
        pieces, self._written = self._written, []
        for id_ in dict.fromkeys(id_ for id_, _ in pieces):
            self.turn.stream_text("".join(text for other, text in pieces if other == id_), id_)

    # --- sub-agents ---

    def _note_thread(self, wire: Json) -> None:
        named = [wire.get(f"{way}session_thread_id") for way in ("", "to_", "from_")]
        created = wire.get("type") == "session.thread_created"
        self._threads |= {id_ for id_ in named if isinstance(id_, str) and (created or id_ in self.mapping.threads)}

    def _take_threads(self) -> int:
        """Append events of sub-agents, which have lists of their own, before the statement of cost that covers them."""
        for row in self.port.threads(self.id):
            thread = self.mapping.threads.get(str(row.get("id")))
            if thread:
                thread.model = model_of(_dict(row.get("agent")))
        lists = ((id_, self.port.thread_events(self.id, id_)) for id_ in sorted(self._threads))
        new = [event for id_, wires in lists for wire in wires for event in self.mapping.drafts_of(wire, id_)]
        return self._append(new)

    # --- calls and their answers ---

    def call(self, id_: str) -> Event | None:
        """The call with this id, from the log."""
        found = Event.objects.filter(session_id=self.turn.session_id, kind="tool_call", call_id=id_)
        return found.order_by("seq").last()

    def result(self, id_: str) -> Event | None:
        """The result of a call, from the log."""
        found = Event.objects.filter(session_id=self.turn.session_id, kind="tool_result", call_id=id_)
        return found.order_by("seq").first()

    def look_for_calls(self) -> None:
        """The latest calls, for one that the server waits for and that has not come on the stream."""
        recent = list(islice(self.port.events(self.id, types=CALLS, order="desc"), RECENT_CALLS))
        self._append([event for wire in reversed(recent) for event in self.mapping.drafts_of(wire)])

    def look_for_answers(self) -> None:
        """All answers that the runtime has; for when it is not known whether one of ours arrived."""
        for wire in self.port.events(self.id, types=list(ANSWERS)):
            self.note_answer(wire)

    def note_answer(self, wire: Json) -> None:
        """An answer that the runtime has: ours, then it is delivered; or somebody gave it elsewhere."""
        id_ = str(wire.get(ANSWERS[str(wire.get("type"))]))
        if id_ in self.answered:
            return
        self.answered.add(id_)
        approval = Approval.objects.filter(session_id=self.turn.session_id, client_id=id_, recorded=False).first()
        if approval is None:
            return
        if approval.status == Approval.Status.PENDING:
            endings.end_answered_elsewhere(approval, f"answered at the runtime: {answer_line(wire)}")
        elif approval.delivery in delivery.OWED:
            endings.mark_delivered(
                approval, elsewhere=self.turn.state.get("answering", {}).get(id_) != answer_line(wire)
            )

    def message_sent_before(self, text: str) -> Json | None:
        """A message of ours that arrived although its response was lost: not in the log, and ending with this text."""
        for wire in self.port.events(self.id, types=["user.message"]):
            known = Event.objects.filter(session_id=self.turn.session_id, client_key=key_of(wire))
            if text_of(wire.get("content"))[0].endswith(text) and not known.exists():
                return wire
        return None


def answer_line(wire: Json) -> str:
    """An answer as one line: the same for what was sent and for what the API lists."""
    if wire.get("type") == "user.tool_confirmation":
        return f"{wire.get('result')} {wire.get('deny_message') or ''}".strip()
    return f"{'error' if wire.get('is_error') is True else 'result'} {text_of(wire.get('content'))[0]}"


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def model_of(agent: Json) -> str | None:
    model = agent.get("model")
    name = model if isinstance(model, str) else _dict(model).get("id")
    return name if isinstance(name, str) and name else None


def _mapping_of(turn: TurnRun, model: str | None) -> Mapping:
    """The state in which the events before these left the mapping, read from the log."""
    mapping = Mapping(agent=turn.agent.name, model=model, cents=_cents_so_far(turn) or Mapping("").cents)
    for event in turn.events_of_turn("tool_call", "tool_result", "system"):
        if event.kind == "tool_call" and event.call_id:
            mapping.calls[event.call_id] = ToolDraft(event.call_id, event.tool_name, event.tool_server, event.arguments)
        elif event.kind == "tool_result" and event.client_key.startswith("result:"):
            mapping.results.add(event.call_id or "")
        elif event.data.get("status") == "answer_taken" and event.data.get("result") == "deny":
            mapping.denied.add(event.data.get("tool_use_id"))
        elif event.data.get("type") == "user.message":
            mapping.mine[event.client_key.removeprefix("managed:")] = event.data.get("message", "")
    for event in turn.events(kinds=("handoff",)):
        if event.data.get("type") == "session.thread_created" and (id_ := event.data.get("session_thread_id")):
            mapping.threads[id_] = Thread(event.client_key, event.text)
    return mapping


def _cents_so_far(turn: TurnRun) -> Any:
    stated = Event.objects.filter(session_id=turn.session_id, kind="system", data__type="session.usage")
    last = stated.exclude(cost=None).order_by("-seq").first()
    return last and cents_of(last.data.get("usage"))


def _listed_from(turn: TurnRun) -> Any:
    """Time, by the server's clock, from which events have to be listed again; None: from the beginning."""
    rows = Event.objects.filter(session_id=turn.session_id, turn__lt=turn.turn, client_key__startswith="managed:")
    last = rows.exclude(at=None).order_by("-seq").values_list("at", flat=True).first()
    return last - OVERLAP if last else None


def unanswered(turn: TurnRun) -> Iterator[str]:
    """Calls of this turn that ask and have no result, for a server that does not say what it waits for."""
    both = turn.events_of_turn("tool_call", "tool_result")
    done = {event.call_id for event in both if event.kind == "tool_result"}
    for event in both:
        asks = event.data.get("type") == "agent.custom_tool_use" or event.data.get("evaluated_permission") == "ask"
        if event.kind == "tool_call" and event.call_id and event.call_id not in done and asks:
            yield event.call_id
