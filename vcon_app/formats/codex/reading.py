"""One pass over a rollout: each line is an envelope ``{timestamp, type, payload}``, or in old files a bare item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...drafts import EventDraft, Finding, SessionDraft
from ..common.calls import Calls
from ..common.facts import Facts
from ..common.lines import Actor, Line
from ..common.reading import Keys, Reading, unknown_type
from ..common.times import parse
from ..common.values import bounded, dict_of, light, list_of, text_of
from . import items
from .events import HANDLERS as EVENTS
from .replay import Replay
from .texts import Said, text_in
from .tokens import Totals

TEXT_LIMIT = 64 * 1024
"""Characters kept of instructions."""

Handler = Callable[["RolloutReading", Line, dict[str, Any]], Iterable[EventDraft]]


class RolloutReading(Reading):
    """The state of one rollout while it is read."""

    name = "codex"
    title = "Codex"

    def __init__(self) -> None:
        super().__init__()
        self.facts = Facts(self.name, self.title)
        self.calls = Calls()
        self.said = Said()
        self.totals = Totals()
        self.agent: Actor = ("agent", self.title)
        self.asks: Actor = ("person", "")
        """Who the user's place belongs to: in a sub-agent's file it is the agent that started it."""
        self.outcomes: dict[str, dict[str, Any]] = {}
        """What an event told of a call before its output came; taken out by the output."""
        self.decided: str | None = None
        """The call that an approval was recorded for last; its output need not be read for one."""
        self.replay = Replay()
        self._keys = Keys()
        self._settled = False

    def see(self, line: Line) -> bool:
        self.facts.see(line)
        kind, payload = split(line.value)
        if kind == "session_meta" and not self.facts.session:
            self._claim(payload)
        elif kind == "turn_context":
            self.facts.where(cwd=payload.get("cwd"))
        return bool(self.facts.session)

    def settle(self) -> None:
        self._settled = True

    def place(self, line: Line) -> Iterable[Finding]:
        if line.at is None:  # some exporters keep the time in the payload only
            line.at, _ = parse(split(line.value)[1].get("timestamp"))
        line.key = self._keys.of(text_of(line.value.get("type")) or "line", line)
        self.see(line)
        return ()

    def events(self, line: Line) -> Iterator[EventDraft]:
        kind, payload = split(line.value)
        handler = HANDLERS.get(kind)
        if self.replay.covers(kind, payload):
            yield self._replayed(line, kind, payload)
        elif handler:
            yield from handler(self, line, payload)
        else:
            yield self.unknown(line, unknown_type(line.value.get("type")))

    def closing(self) -> Iterator[Finding]:
        if self.replay.lines:
            yield Finding(
                "codex.replayed", "info", "",
                f"{self.replay.lines} lines repeat the session {self.replay.parent} that this one was forked from; "
                "shown as context, their calls and tokens are not counted again",
            )  # fmt: skip
        elif difference := self.totals.difference():
            yield Finding("codex.total", "info", "", difference)

    def session(self, *, complete: bool) -> SessionDraft:
        if self.totals.last:
            self.facts.more["final_total"] = self.totals.last
        return self.facts.draft(complete=complete)

    def _claim(self, meta: dict[str, Any]) -> None:
        """The first ``session_meta`` is the file's own; a fork repeats those of its parents below it."""
        facts = self.facts
        if self._settled or not (own := text_of(meta.get("id") or meta.get("session_id"))):
            return
        facts.session, facts.version = own, text_of(meta.get("cli_version"))
        git = dict_of(meta.get("git"))
        facts.where(
            cwd=meta.get("cwd"), git_branch=git.get("branch"), commit=git.get("commit_hash"),
            repository=git.get("repository_url"),
        )  # fmt: skip
        facts.more |= light({key: meta.get(key) for key in ("originator", "model_provider", "source", "agent_role")})
        self._parentage(meta)

    def _parentage(self, meta: dict[str, Any]) -> None:
        source = dict_of(meta.get("source"))
        spawned = dict_of(dict_of(source.get("subagent")).get("thread_spawn"))
        parent = text_of(spawned.get("parent_thread_id") or meta.get("parent_thread_id"))
        forked = text_of(meta.get("forked_from_id"))
        if source.get("subagent") or parent:
            nickname = text_of(meta.get("agent_nickname") or spawned.get("agent_nickname"))[:100]
            self.agent, self.asks = ("subagent", nickname or self.title), ("agent", "")
            self.facts.parent = parent or None
        if forked:
            self.facts.more["forked_from"] = forked[:200]
        if forked or spawned:
            self.replay.begin(self.facts.session, meta.get("timestamp"), forked or parent)

    def _replayed(self, line: Line, kind: str, payload: dict[str, Any]) -> EventDraft:
        if kind == "event_msg" and payload.get("type") == "token_count":
            self.totals.skip(payload)
        data = {"type": "replayed", "of": self.replay.parent, "line_type": text_of(payload.get("type"))[:100] or kind}
        return line.event("injected_context", text_in(payload)[:TEXT_LIMIT], data=data)


def split(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The envelope's type and its payload; a bare item of an old file is its own payload."""
    kind, payload = value.get("type"), value.get("payload")
    if isinstance(kind, str) and isinstance(payload, dict):
        return kind, payload
    if kind == "message" or (isinstance(kind, str) and kind in items.HANDLERS):
        return "response_item", value
    if kind is None and "id" in value and "timestamp" in value:
        return "session_meta", value
    return ("state" if "record_type" in value else text_of(kind)), {}


def session_meta(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Who runs where; the instructions the model was given come as an event of their own."""
    data = {"type": "session_meta"} | light(payload, frozenset({"instructions", "base_instructions"}))
    git = light(dict_of(payload.get("git")))
    yield line.event("system", data=data | ({"git": git} if git else {}))
    told = payload.get("base_instructions") or payload.get("instructions")
    if text := text_of(told) or text_of(dict_of(told).get("text")):
        yield line.event("injected_context", text[:TEXT_LIMIT], part=":instructions", data={"type": "instructions"})


def turn_context(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The settings of what follows; the model stands nowhere else."""
    payload = dict_of(payload.get("turn_context")) or payload
    if model := text_of(payload.get("model"))[:200]:
        reading.facts.model = model
    data = {"type": "turn_context"} | light(payload, frozenset({"base_instructions", "user_instructions"}))
    for key in ("sandbox_policy", "permission_profile", "collaboration_mode"):
        if mode := light(dict_of(payload.get(key)), frozenset({"developer_instructions"})):
            data[key] = mode
    yield line.event("system", data=data)


def response_item(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterable[EventDraft]:
    """What went to the model or came from it."""
    kind = payload.get("type")
    handler = items.HANDLERS.get(kind) if isinstance(kind, str) else None
    if kind is None and isinstance(payload.get("role"), str):
        handler = items.message
    return handler(reading, line, payload) if handler else [reading.unknown(line, f"response item {str(kind)[:100]!r}")]


def event_msg(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterable[EventDraft]:
    """What Codex told its own screen: outcomes, tokens, and copies of what the items say."""
    kind = payload.get("type")
    handler = EVENTS.get(kind) if isinstance(kind, str) else None
    return handler(reading, line, payload) if handler else [reading.unknown(line, f"event {str(kind)[:100]!r}")]


def compacted(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The history was replaced by a summary; the replaced lines still stand above."""
    history = list_of(payload.get("replacement_history"))
    data = {"type": "compacted"} | light(payload, frozenset({"message"})) | {"replacement_history": len(history)}
    yield line.event("compaction", text_of(payload.get("message")), data=data)


def inter_agent(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A message from one agent to another."""
    kind = line.value["type"]
    text = text_in(payload)
    data = {"type": kind} | light(payload, frozenset({"content"}))
    yield line.event("handoff" if text else "system", text, data=data)


def world_state(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """What the model was told of its surroundings, as Codex keeps it to tell only changes."""
    yield line.event("system", data={"type": "world_state", "state": bounded(payload.get("state"), len(line.raw))})


def state(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """``{"record_type": "state"}`` of old files."""
    yield line.event("system", data={"type": "state"} | light(line.value))


HANDLERS: dict[str, Handler] = {
    "session_meta": session_meta,
    "turn_context": turn_context,
    "response_item": response_item,
    "event_msg": event_msg,
    "compacted": compacted,
    "inter_agent_communication": inter_agent,
    "inter_agent_communication_metadata": inter_agent,
    "world_state": world_state,
    "state": state,
}
