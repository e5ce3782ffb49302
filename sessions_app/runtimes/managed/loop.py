"""Turns of agents on Anthropic's Managed Agents: model, tools and history are there, and the log here follows.

Every step may be the last of this process: what is sent is noted before, what comes is appended under its own id,
and the worker that goes on asks the runtime first how things stand.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

from django.conf import settings
from django.db import connections
from django.utils import timezone

from sessions_app.drafts import EventDraft
from sessions_app.models import Approval, Event, Session
from sessions_app.services.approvals import endings
from sessions_app.services.log import events, links
from sessions_app.services.money import budgets

from .. import Ended, Failed, Outcome, Retry, Waits, calls
from ..provider import key_of
from ..run import TurnRun
from . import answers
from .client import AuthFailed, Json, NotFound, Port, Rejected, Unavailable, Waiting
from .events import sent_note
from .follow import Follower, model_of, unanswered
from .remote_ids import Gone, session_of
from .upkeep import ARCHIVED_KEY

LISTEN_SECONDS = 0.25
"""How soon a person who interrupts is heard."""
SILENCE_SECONDS = 300.0
"""After so long without an event the stream is opened again and the history listed."""
LONGEST_SECONDS = 4 * 3600.0
"""Of one turn without a person: pings keep a stream alive for ever, so something has to end it."""
INTERRUPT_SECONDS = 30.0
RETRY_SECONDS = 10.0
UNPARK_SECONDS = (0.2, 0.4, 0.8, 1.6)
"""After the last answer messages are still refused for a moment: waits between tries."""
ARCHIVE_SECONDS = 4.0
"""An interrupt takes up to 2.5 s, and the row says "running" up to 2 s after the event that it is idle."""
ENDED_FOR_GOOD = "The runtime has ended this session for good. Continue it as a new session."


def advance(turn: TurnRun) -> Outcome:
    """Go on with a turn from wherever the runtime is with it."""
    with _port(turn.session.workspace_id) as port:
        try:
            return _Turn(turn, port).advance()
        except Unavailable as later:
            return Retry(RETRY_SECONDS if later.retry_after is None else later.retry_after, f"Anthropic: {later}")
        except Gone:
            answers.withdraw(turn)
            raise
        except AuthFailed as refused:
            raise Failed(f"Anthropic refuses the key ({refused}): an admin has to check ANTHROPIC_API_KEY") from None
        except NotFound as missing:
            raise Failed(
                f"Anthropic does not find it ({missing}): the key's workspace may lack access to Managed Agents"
            ) from None
        except Rejected as refused:
            raise Failed(f"Anthropic refuses it: {refused}") from None


@contextmanager
def _port(workspace_id: UUID) -> Iterator[Port]:
    port = Port(key_of(workspace_id), settings.ANTHROPIC_BASE_URL, connections.close_all)
    try:
        yield port
    finally:
        port.close()


class _Turn:
    """One call of ``advance``."""

    def __init__(self, turn: TurnRun, port: Port) -> None:
        self.turn, self.port = turn, port
        self.prompt = next(event for event in turn.events_of_turn("user_message") if not event.depth)
        self._until = time.monotonic() + LONGEST_SECONDS
        self._heard = time.monotonic()

    def advance(self) -> Outcome:
        if self.turn.interrupted and not self.turn.session.runtime_id:
            return Ended()
        told = session_of(self.turn, self.port)
        if told.get("archived_at"):
            raise Gone(ENDED_FOR_GOOD)
        with Follower(self.turn, self.port, str(told["id"]), model_of(told.get("agent") or {})) as self.follower:
            self.remote = self.follower.remote
            self._catch_up()
            while True:
                outcome = self._interrupt() if self.turn.interrupted else self._step()
                if outcome:
                    return outcome
                self._check_money()

    def _step(self) -> Outcome | None:
        """One thing that can be done now; None to look again."""
        if self.remote.status == "terminated":
            raise Gone(ENDED_FOR_GOOD)
        if self.remote.status == "waiting":
            if answers.send_decisions(self.follower):
                return Waits()
        elif not self.remote.message:
            self._send_message()
            return None
        elif self.remote.done:
            answers.withdraw(self.turn)
            return Ended(calls.cancelled(self.turn))
        self._listen()
        return None

    # --- the message ---

    def _catch_up(self) -> None:
        """Read the state of the session, and whether the message of this turn is there already."""
        sent, asked_again = self._sent()
        if sent:
            self.remote.sent(sent.client_key.removeprefix("managed:"))
        if self.turn.state.get("sending") and (asked_again or not sent):
            self._adopt()
        new = self.follower.connect()
        if asked_again and self.remote.done and not new and sent and self.remote.message == sent.client_key[8:]:
            self.remote.sent("")  # it rests after the last try, and a person wants another

    def _sent(self) -> tuple[Event | None, bool]:
        """The note of the last time the message was sent, and whether a person asked to try again since."""
        notes = self.turn.events_of_turn("system", "status")
        sent = next((e for e in reversed(notes) if e.data.get("message") == self.prompt.client_key), None)
        again = next((e for e in reversed(notes) if e.data.get("status") == "retry"), None)
        return sent, bool(sent and again and again.seq > sent.seq)

    def _adopt(self) -> None:
        """A worker died, or had no answer, between sending the message and noting it: look before sending it again."""
        if wire := self.follower.message_sent_before(self.prompt.text):
            self._note_sent(wire)

    def _send_message(self) -> None:
        """Send the message once. While the session waits for answers it takes none: people have to give those first."""
        content = [{"type": "text", "text": text} for text in (*self._context(), self.prompt.text)]
        self.turn.save_state(sending=True)
        for seconds in (*UNPARK_SECONDS, None):
            try:
                wire = self.port.send(self.follower.id, {"type": "user.message", "content": content})
                break
            except Waiting as waiting:
                if seconds is None:
                    self.remote.status, self.remote.waits_for = "waiting", waiting.event_ids
                    return
                self.turn.pause(seconds)
        self._note_sent(wire)
        self.follower.append_wire_events([wire])

    def _note_sent(self, wire: Json) -> None:
        id_ = str(wire["id"])
        self.follower.mapping.mine[id_] = self.prompt.client_key
        self.turn.append(replace(sent_note(wire, self.prompt.client_key), at=timezone.now()))
        self.remote.sent(id_)

    def _context(self) -> list[str]:
        """Context that was put into the log for the agent (an earlier transcript) since the last message to it."""
        rows = Event.objects.filter(session_id=self.turn.session_id, seq__lt=self.prompt.seq)
        last = rows.filter(kind="system", data__type="user.message").order_by("-seq").first()
        given = rows.filter(kind="injected_context", seq__gt=last.seq if last else 0, depth=0).order_by("seq")
        return [event.text for event in given if event.text and not event.client_key.startswith("managed:")]

    # --- waiting ---

    def _listen(self) -> None:
        """The next event. Raises ``Failed`` when the turn takes longer than any should."""
        now = time.monotonic()
        if now > self._until:
            self._say_interrupt()
            raise Failed(f"the turn was stopped after {LONGEST_SECONDS / 3600:.0f} hours without an end or a question")
        if self.follower.listen(LISTEN_SECONDS):
            self._heard = now
        elif now - self._heard > SILENCE_SECONDS:
            self._heard = now
            self.follower.connect()
            self._must_know_what_for()

    def _must_know_what_for(self) -> None:
        """A session that waits and names no call, of which none is open here either, would wait for ever."""
        waits = self.remote.status == "waiting" and not self.remote.waits_for
        if waits and not any(unanswered(self.turn)):
            raise Failed("the runtime waits for an answer and does not say to what; interrupt it, or begin a new one")

    # --- stopping ---

    def _check_money(self) -> None:
        """Check the budgets as the agent begins another request. Stops the runtime, then raises ``budgets.Spent``."""
        if not self.follower.asks_model:
            return
        self.follower.asks_model = False
        try:
            self.turn.check_money()
        except budgets.Spent:
            answers.withdraw(self.turn)
            self.turn.append(*self._interrupt().last)
            raise

    def _interrupt(self) -> Ended:
        """Stop the runtime, and wait until it says so: the next message must not meet this interrupt."""
        if self._busy():
            until = time.monotonic() + INTERRUPT_SECONDS
            self._say_interrupt()
            while self._stops() and time.monotonic() < until:
                self.follower.listen(LISTEN_SECONDS)
        withdrawn = Approval.objects.filter(session_id=self.turn.session_id, status="cancelled", delivery="queued")
        for approval in withdrawn:
            endings.mark_delivered(approval)
        return Ended(calls.cancelled(self.turn))

    def _busy(self) -> bool:
        """Whether there is something to stop: also a message that it has not taken up yet."""
        under_way = bool(self.remote.message) and not self.remote.done
        return self.remote.status in ("running", "rescheduling", "waiting") or under_way

    def _stops(self) -> bool:
        rests = self.remote.status in ("idle", "terminated")
        return not (rests and self.remote.interrupted)

    def _say_interrupt(self) -> None:
        wire = self.port.send(self.follower.id, {"type": "user.interrupt"})
        self.remote.interrupt = str(wire.get("id"))
        self.follower.append_wire_events([wire])


# --- sessions that are archived here ---


def close(session: Session) -> bool:
    """Archive the session at the runtime, too; stopped first if it runs. False when it has to be tried again.

    Raises ``Failed`` without a key.
    """
    if not session.runtime_id:
        return True
    with _port(session.workspace_id) as port:
        try:
            _archive(port, session.runtime_id)
        except NotFound:
            pass  # deleted there, or made with another key: nothing that could be archived
        except (Unavailable, Rejected, AuthFailed):
            return False
    events.append(session.pk, [_closed(session)], origin=links.RUNTIME)
    return True


def _archive(port: Port, runtime_id: str) -> None:
    """An interrupt takes effect later, and the row lags behind the events: try until it is let be archived."""
    until = time.monotonic() + ARCHIVE_SECONDS
    remote = port.session(runtime_id)
    if remote.get("archived_at"):
        return
    if remote.get("status") in ("running", "rescheduling"):
        port.send(runtime_id, {"type": "user.interrupt"})
    while True:
        try:
            port.archive(runtime_id)
            return
        except Rejected:
            if time.monotonic() > until:
                raise
            time.sleep(LISTEN_SECONDS)


def _closed(session: Session) -> EventDraft:
    return EventDraft(
        "status", ARCHIVED_KEY, at=timezone.now(), actor_kind="system", actor_name="Countersign",
        text="archived at the runtime", data={"status": "archived_at_runtime"},
    )  # fmt: skip
