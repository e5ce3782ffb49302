"""What the agent of the fake does in a turn: a script is a list of these, one for each model request or event."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .managed_agents_session import FakeSession

USED = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 50}


@dataclass
class Say:
    """A message, streamed in pieces."""

    text: str
    cents: int = 1
    pieces: int = 3
    pause: float = 0.0
    """Seconds between two pieces."""

    async def play(self, session: FakeSession) -> None:
        request = session.begin_request(self.cents)
        message = session.reserve("agent.message")
        size = max(len(self.text) // self.pieces, 1)
        session.preview({"type": "event_start", "event": {"type": "agent.message", "id": message}})
        for start in range(0, len(self.text), size):
            text = {"type": "text", "text": self.text[start : start + size]}
            delta = {"type": "content_delta", "index": 0, "content": text}
            session.preview({"type": "event_delta", "event_id": message, "delta": delta})
            await asyncio.sleep(self.pause)
        session.emit("agent.message", id=message, content=[{"type": "text", "text": self.text}])
        session.end_request(request)


@dataclass
class Use:
    """One tool call. ``kind``: tool, mcp or custom; ``permission`` is what the policy of the server says."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)
    server: str | None = None
    custom: bool = False
    permission: str | None = "allow"
    evaluation: dict[str, Any] | None = None
    result: str = "done"
    thread: str | None = None
    """The thread of a sub-agent that makes the call: it is cross-posted to the stream of the session."""

    def event(self) -> tuple[str, dict[str, Any]]:
        fields: dict[str, Any] = {"name": self.name, "input": self.input}
        if self.thread:
            fields["session_thread_id"] = self.thread
        if self.custom:
            return "agent.custom_tool_use", fields
        plain = {"allow": {"type": "always_allow"}, "ask": {"type": "always_ask"}}
        fields |= {"evaluated_permission": self.permission} if self.permission else {}
        if told := self.evaluation or plain.get(self.permission or ""):
            fields["evaluation"] = told
        if self.server:
            return "agent.mcp_tool_use", fields | {"mcp_server_name": self.server}
        return "agent.tool_use", fields

    @property
    def waits(self) -> bool:
        return self.custom or self.permission == "ask"


@dataclass
class Calls:
    """A model request that makes one or more calls; the turn waits until all that ask are answered."""

    uses: list[Use]
    cents: int = 1

    async def play(self, session: FakeSession) -> None:
        request = session.begin_request(self.cents)
        made = {session.reserve("use"): use for use in self.uses}
        late = (lambda: self._emit(session, made)) if session.switches.tool_use_after_idle else None
        if late is None:
            self._emit(session, made)
        session.end_request(request)
        asks = [id_ for id_, use in made.items() if use.waits]
        answers = await session.wait_for_answers(made, asks, late) if asks else {}
        for id_, use in made.items():
            self._result(session, id_, use, answers.get(id_))

    def _emit(self, session: FakeSession, made: dict[str, Use]) -> None:
        for id_, use in made.items():
            kind, fields = use.event()
            session.emit(kind, id=id_, **fields)

    def _result(self, session: FakeSession, id_: str, use: Use, answer: dict[str, Any] | None) -> None:
        if use.custom:
            return  # the client's own event is the result
        refused = use.permission == "deny" or bool(answer and answer["result"] == "deny")
        text = use.result
        if refused:
            text = f"denied by user: {answer.get('deny_message', '')}" if answer else "denied by policy"
        fields = {"content": [{"type": "text", "text": text}], "is_error": refused}
        name = "mcp_tool_use_id" if use.server else "tool_use_id"
        session.emit("agent.mcp_tool_result" if use.server else "agent.tool_result", **{name: id_}, **fields)


@dataclass
class Emit:
    """Any event at all."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)

    async def play(self, session: FakeSession) -> None:
        session.emit(self.kind, **self.fields)


@dataclass
class Pause:
    seconds: float

    async def play(self, session: FakeSession) -> None:
        await asyncio.sleep(self.seconds)


@dataclass
class Cut:
    """The streams that are open break off; with ``half``, in the middle of the next frame."""

    half: bool = False
    wait: float = 0.0
    """Seconds until the script goes on."""

    async def play(self, session: FakeSession) -> None:
        session.cut_streams(half=self.half)
        await asyncio.sleep(self.wait)


@dataclass
class FailedRequest:
    """A model request that fails; it may carry tokens all the same."""

    async def play(self, session: FakeSession) -> None:
        session.end_request(session.begin_request(0), failed=True)


@dataclass
class Reschedule:
    """The session is put off and taken up again."""

    seconds: float = 0.05

    async def play(self, session: FakeSession) -> None:
        error = {"type": "model_overloaded_error", "message": "overloaded", "retry_status": {"type": "retrying"}}
        session.emit("session.error", error=error)
        session.status = "rescheduling"
        session.emit("session.status_rescheduled")
        await asyncio.sleep(self.seconds)
        session.status = "running"
        session.emit("session.status_running")


@dataclass
class Stop:
    """The turn ends with this reason and not with ``end_turn``; ``terminated`` ends the session."""

    reason: str
    details: dict[str, Any] | None = None

    async def play(self, session: FakeSession) -> None:
        raise Stopped(self.reason, self.details)


class Stopped(Exception):
    def __init__(self, reason: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.reason, self.details = reason, details


@dataclass
class SubAgent:
    """A thread of another agent: its own events are on its list, its asks are cross-posted."""

    name: str
    task: str
    answer: str
    asks: Use | None = None
    cents: int = 2

    async def play(self, session: FakeSession) -> None:
        thread = session.new_thread(self.name)
        session.emit("session.thread_created", session_thread_id=thread, agent_name=self.name)
        task = [{"type": "text", "text": self.task}]
        session.emit("agent.thread_message_sent", to_session_thread_id=thread, to_agent_name=self.name, content=task)
        session.thread_request(thread, self.answer, self.cents)
        if self.asks:
            self.asks.thread = thread
            await Calls([self.asks], cents=0).play(session)
        answer = [{"type": "text", "text": self.answer}]
        session.emit(
            "agent.thread_message_received", from_session_thread_id=thread, from_agent_name=self.name, content=answer
        )
