"""The log of a session as messages of the Messages API: the same log gives the same messages, for the prompt cache.

The API wants roles that alternate, an answer for every ``tool_use`` in the very next message, thinking as it was
signed, and no empty text. The log may hold anything: other runtimes, imports and interrupted turns write it, too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import orjson

from sessions_app.models import Event
from sessions_app.queries.retention import hidden
from sessions_app.services.log.sanitise import storable

from ..run import TurnRun
from ..tools.offers import shown_name
from ..tools.results import limited

Json = dict[str, Any]
KINDS = (
    "user_message", "agent_message", "reasoning", "tool_call", "tool_result", "compaction", "injected_context",
)  # fmt: skip
CACHED: Json = {"type": "ephemeral"}
"""Five minutes from the last use, which costs a quarter more once and a tenth from then on."""
KEEPS_MESSAGE = "keeps_message"
"""In the data of a compaction: what its turn answers is not a part of the summary."""
GO_ON = "Go on from where you stopped."
NO_RESULT = "There is no result: the turn ended before this call was made, or its outcome was not recorded."
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Context:
    """The messages of a turn's session; each look reads only what is new in the log."""

    def __init__(self, turn: TurnRun) -> None:
        self._turn = turn
        self._hidden = hidden.of_session(turn.session_id)
        self._events: list[Event] = self._summary_of_hidden()
        self._seq = 0

    def messages(self, *, paused: bool = False) -> list[Json]:
        """Messages for the next request. ``paused``: the model asked to be called again with what it said so far."""
        for event in self._turn.events(after=self._seq, kinds=KINDS):
            self._seq = event.seq
            if event.depth or self._hidden.holds(event.seq):
                continue
            if event.kind == "compaction" and event.text.strip():
                self._events = [event, *(one for one in self._events if _is_kept(one, event))]
            else:
                self._events.append(event)
        made = conversation(self._events, self._turn.agent.model)
        if not made or (made[-1]["role"] == "assistant" and not paused):
            made.append({"role": "user", "content": [_text(GO_ON)]})
        return with_breakpoints(made)

    def _summary_of_hidden(self) -> list[Event]:
        """What stands in place of messages that were pruned, as if the session had been compacted there."""
        if not self._hidden.summary:
            return []
        return [Event(kind="compaction", seq=self._hidden.through_seq, text=self._hidden.summary, turn=0, data={})]

    @property
    def is_short(self) -> bool:
        """Whether the messages hold no more than this turn's own and a summary, so that nothing can be left out."""
        now = self._turn.turn
        return all(one.kind == "compaction" or (one.kind == "user_message" and one.turn == now) for one in self._events)


def _is_kept(event: Event, compaction: Event) -> bool:
    """What a turn answers stays as it was said, if the turn was compacted in its middle."""
    own = compaction.data.get(KEEPS_MESSAGE) and event.turn == compaction.turn
    return bool(own and event.kind == "user_message")


def with_breakpoints(messages: list[Json]) -> list[Json]:
    """Cache up to the last two user messages: the API looks back only 20 blocks for what it has cached before."""
    # The one before the last is what the previous request wrote to the cache, the last is for the next one.
    for message in [message for message in messages if message["role"] == "user"][-2:]:
        message["content"][-1]["cache_control"] = CACHED
    return messages


def conversation(events: Iterable[Event], model: str) -> list[Json]:
    """Messages of alternating roles, the first one a user's, for a model that gets back what it thought itself."""
    events = list(events)
    results: dict[str, Event] = {}
    for event in events:
        if event.kind == "tool_result":
            results.setdefault(event.call_id or f"seq:{event.parent_seq}", event)
    making = _Making(results)
    for event in events:
        if event.kind in ("agent_message", "reasoning", "tool_call"):
            making.assistant(event, _assistant_block(event, model))
        elif event.kind != "tool_result" and event.text.strip():
            making.user(_text(_SPOKEN.get(event.kind, "{}").format(event.text)))
    return making.done()


_SPOKEN = {
    "compaction": "Summary of this session up to here, in place of its messages:\n\n{}",
    "injected_context": "<context>\n{}\n</context>",
}


class _Making:
    """Messages so far, and the calls that the next user message has to answer first."""

    def __init__(self, results: dict[str, Event]) -> None:
        self._results = results
        self._messages: list[Json] = []
        self._calls: dict[str, Event] = {}
        self._request: str | None = None

    def user(self, block: Json) -> None:
        self._answer()
        self._add("user", block)

    def assistant(self, event: Event, block: Json | None) -> None:
        if block is None:
            return
        if self._calls and event.request != self._request:
            self._answer()
        if block["type"] == "tool_use":
            if block["id"] in self._calls:
                return
            self._calls[block["id"]] = event
        self._request = event.request
        self._add("assistant", block)

    def done(self) -> list[Json]:
        self._answer()
        if self._messages and self._messages[0]["role"] == "assistant":
            self._messages.insert(0, {"role": "user", "content": [_text("(This session began without a message.)")]})
        return self._messages

    def _answer(self) -> None:
        for id_, call in self._calls.items():
            self._add("user", {"type": "tool_result", "tool_use_id": id_} | _result(self._results.get(_known_as(call))))
        self._calls = {}

    def _add(self, role: str, block: Json) -> None:
        if not self._messages or self._messages[-1]["role"] != role:
            self._messages.append({"role": role, "content": []})
        self._messages[-1]["content"].append(block)


def _assistant_block(event: Event, model: str) -> Json | None:
    """A block as the model wrote it. Thinking goes back to the model that signed it and to no other."""
    match event.kind:
        case "agent_message":
            return _text(event.text) if event.text.strip() else None
        case "tool_call":
            name = event.data.get("shown_as") or shown_name(event.tool_server, event.tool_name or "unnamed")
            given = event.arguments if isinstance(event.arguments, dict) else {"input": event.arguments}
            return {"type": "tool_use", "id": _id(event), "name": name, "input": given}
    if event.data.get("asked_of") != model:
        return None
    if "redacted" in event.data:
        return {"type": "redacted_thinking", "data": event.data["redacted"]}
    if signature := event.data.get("signature"):
        return {"type": "thinking", "thinking": event.text, "signature": signature}
    return None


def _result(event: Event | None) -> Json:
    if event is None:
        return {"content": [_text(NO_RESULT)], "is_error": True}
    output = event.text if event.text or event.result is None else orjson.dumps(storable(event.result)).decode()
    parts = [_text(limited(output) if output.strip() else "(no output)")]
    if "arguments" in event.data:
        ran = orjson.dumps(event.data["arguments"], option=orjson.OPT_SORT_KEYS).decode()
        parts.append(_text(f"A person changed the arguments before it ran. It ran with: {ran}"))
    return {"content": parts, "is_error": event.tool_status in ("error", "denied", "cancelled")}


def _known_as(call: Event) -> str:
    return call.call_id or f"seq:{call.seq}"


def _id(event: Event) -> str:
    """The call's id; one of another system may have characters that the API refuses."""
    known = _known_as(event)
    if _ID.fullmatch(known):
        return known
    return f"toolu_{hashlib.sha256(known.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _text(content: str) -> Json:
    return {"type": "text", "text": content}
