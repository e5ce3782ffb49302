"""A turn as its runtime sees it: the agent's definition, the log, and the ways to add to it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from typing import Any
from uuid import UUID

from django.db import connections
from django.utils import timezone

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Agent, Approval, Event, Session, TurnInFlight
from sessions_app.queries import stops as queries
from sessions_app.services import agents, audit, notify
from sessions_app.services.approvals import requests
from sessions_app.services.log import events, links
from sessions_app.services.money import budgets
from sessions_app.services.policies import gate
from sessions_app.services.stops import doors
from sessions_app.services.turns import in_flight
from sessions_app.services.turns.in_flight import LeaseLost

PAGE = 500
CHARACTERS_PER_NOTICE = 2_000
"""Characters in one notice of streamed text: NOTIFY takes 8,000 bytes, and JSON escapes make up to six of one."""


class TurnRun:
    """The turn that a runtime is given. Every write checks that this worker still owns the turn."""

    def __init__(self, flight: TurnInFlight) -> None:
        self.flight = flight
        self.session: Session = flight.session
        self.agent: Agent = agents.as_of(flight.session.agent, flight.session.agent_version)
        """With the definition that the session began with. For reading: saved, it would undo later versions."""
        self.turn: int = flight.turn
        self.state: dict[str, Any] = flight.state
        """Notes of the runtime; ``save_state`` keeps them for the next worker."""
        self._stopped = threading.Event()
        self._lost = threading.Event()
        if flight.interrupted_at:
            self._stopped.set()

    @property
    def session_id(self) -> UUID:
        return self.flight.session_id

    @property
    def interrupted(self) -> bool:
        """Whether a person wants the turn to stop. Raises ``LeaseLost``."""
        if self._lost.is_set():
            raise LeaseLost
        return self._stopped.is_set()

    def pause(self, seconds: float) -> bool:
        """Sleep, holding no connection; True at once when the turn is interrupted. Raises ``LeaseLost``."""
        connections.close_all()
        self._stopped.wait(seconds)
        return self.interrupted

    def note_beat(self, interrupted: bool | None) -> None:
        """Note what the heartbeat found: whether a person interrupted; None when another worker has the turn."""
        if interrupted is None:
            self._lost.set()
        if interrupted is not False:
            self._stopped.set()

    # --- the log ---

    def events(self, *, after: int = 0, kinds: Collection[str] = ()) -> Iterator[Event]:
        """The session's log in order, a page at a time."""
        rows = Event.objects.filter(session_id=self.session_id).order_by("seq")
        rows = rows.filter(kind__in=kinds) if kinds else rows
        while page := list(rows.filter(seq__gt=after)[:PAGE]):
            yield from page
            after = page[-1].seq

    def events_of_turn(self, *kinds: str) -> list[Event]:
        """The events of this turn so far."""
        rows = Event.objects.filter(session_id=self.session_id, turn=self.turn).order_by("seq")
        return list(rows.filter(kind__in=kinds) if kinds else rows)

    def append(self, *new: EventDraft) -> events.Appended:
        """Add to the log; what it holds already is left out. Raises ``LeaseLost``."""
        with in_flight.owned(self.flight):
            appended = events.append(self.session_id, new, origin=links.RUNTIME)
            if self.flight.said and any(event.kind == "agent_message" and not event.depth for event in new):
                self._clear_written()
            return appended

    def save_state(self, **notes: Any) -> None:
        """Keep notes for whoever goes on with this turn. Raises ``LeaseLost``."""
        self.state |= notes
        with in_flight.owned(self.flight):
            in_flight.still_owned(self.flight).update(state=self.state)

    def begin_execution(self, call: Event) -> str:
        """Note that a call is under way, for whoever goes on with this turn; or why a stop forbids it, else empty.

        Raises ``LeaseLost``.
        """
        with in_flight.owned(self.flight):
            if stop := doors.stop_of(self.session.agent):
                return queries.sentence(stop)
            self.save_state(executing=call.call_id)
        return ""

    def allows(self, call: Event, *, for_person: bool = False) -> bool:
        """Whether a call may be made without any record of an answer: the agent's own rules allow it, and nobody asks.

        False for a call that was asked about before: its answer counts, whatever the rules say by now.
        """
        asked = gate.Asked(
            call.tool_name or "", call.arguments, call.tool_server, sub_agent=call.depth > 0, for_person=for_person
        )
        if Approval.objects.filter(session_id=self.session_id, client_id=call.call_id, recorded=False).exists():
            return False
        return gate.needs_no_record(self.session, asked, agent=self.agent)

    def request_approval(
        self, call: Event, *, context: str = "", risk: str = "", for_person: bool = False
    ) -> Approval:  # fmt: skip
        """The approval of a tool call: the one that exists, or a new one, answered by the rules or by a person."""
        question = requests.Question(
            call.tool_name or "", call.arguments, server=call.tool_server, context=context, risk=risk,
            expires_in=self.agent.policy.get("expires_in"), client_id=call.call_id,
            sub_agent=call.depth > 0, for_person=for_person,
            fingerprint=str(call.data.get("tool_fingerprint") or ""),
        )  # fmt: skip
        by = audit.Actor("agent", str(self.agent.pk), self.agent.name)
        with in_flight.owned(self.flight):
            return requests.request(self.session, question, by=by, agent=self.agent)

    def check_money(self) -> None:
        """Check the budgets before another model request. Raises ``budgets.Spent``; the cost of this turn counts."""
        budgets.check(self.session, running=self.turn)

    # --- text as it is written ---

    def stream_text(self, text: str, request: str) -> None:
        """Show a piece of the message that the model is writing. It is not in the log before it is whole."""
        if not text:
            return
        flight = self.flight
        before = flight.said if flight.said_request == request else ""
        flight.said, flight.said_request = before + text, request
        # Saved as well as sent: a page that is opened now shows the text from its beginning.
        if not in_flight.still_owned(flight).update(said=flight.said, said_request=request):
            raise LeaseLost
        for start in range(0, len(text), CHARACTERS_PER_NOTICE):
            notify.text_written(
                self.session_id, request, len(before) + start, text[start : start + CHARACTERS_PER_NOTICE]
            )

    def _clear_written(self) -> None:
        """Forget the text that was being written: the log has it now, and a page must not show it twice."""
        self.flight.said = self.flight.said_request = ""
        in_flight.still_owned(self.flight).update(said="", said_request="")

    # --- words for what happens ---

    def event(self, kind: str, key: str, text: str = "", **fields: Any) -> EventDraft:
        """An event of the agent, now."""
        return EventDraft(
            kind,
            key,
            at=timezone.now(),
            **{"actor_kind": "agent", "actor_name": self.agent.name, "text": text} | fields,
        )

    def result(self, call: Event, text: str, status: str, **data: Any) -> EventDraft:
        """The result of a call. One call has one: a second is left out by its key."""
        tool = ToolDraft(call_id=call.call_id, name=call.tool_name, server=call.tool_server, status=status)
        return EventDraft(
            "tool_result", f"result:{call.call_id}", at=timezone.now(), actor_kind="tool",
            actor_name=call.tool_name or "", text=text, tool=tool, parent=call.client_key, data=data,
        )  # fmt: skip
