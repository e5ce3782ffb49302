"""One pass over a rollout: each line is an envelope ``{timestamp, type, payload}``, or in old files a bare item."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from ...drafts import EventDraft, Finding, SessionDraft
from ..common.lines import Actor, Line
from ..common.reading import FactsReading, unknown_type
from ..common.times import parse
from ..common.values import dict_of, scalars_of, text_of
from .replay import Replay
from .texts import Said, text_in
from .tokens import Totals

TEXT_LIMIT = 64 * 1024
"""Characters kept of instructions."""

Handler = Callable[["RolloutReading", Line, dict[str, Any]], Iterable[EventDraft]]


class RolloutReading(FactsReading):
    """The state of one rollout while it is read."""

    name = "codex"
    title = "Codex"

    def __init__(self, handlers: Mapping[str, Handler], bare: Container[str]) -> None:
        """``handlers`` by type of line; ``bare`` are the types of items that old files write without an envelope."""
        super().__init__()
        self._handlers = handlers
        self._bare = bare
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
        self._id_is_fixed = False

    def note_session(self, line: Line) -> bool:
        self.facts.note_line(line)
        kind, payload = self._split(line.value)
        if kind == "session_meta" and not self.facts.session:
            self._claim(payload, line.at)
        elif kind == "turn_context":
            self.facts.set_environment(cwd=payload.get("cwd"))
        return bool(self.facts.session)

    def fix_session_id(self) -> None:
        self._id_is_fixed = True

    def assign_key(self, line: Line) -> Iterable[Finding]:
        if line.at is None:  # some exporters keep the time in the payload only
            line.at, _ = parse(self._split(line.value)[1].get("timestamp"))
        line.key = self._keys.derived(text_of(line.value.get("type")) or "line", line)
        self.note_session(line)
        return ()

    def events(self, line: Line) -> Iterator[EventDraft]:
        kind, payload = self._split(line.value)
        handler = self._handlers.get(kind)
        if self.replay.is_copied(kind, payload, line.at):
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

    def _claim(self, meta: dict[str, Any], at: datetime | None) -> None:
        """The first ``session_meta`` is the file's own; a fork repeats those of its parents below it."""
        facts = self.facts
        if self._id_is_fixed or not (own := text_of(meta.get("id") or meta.get("session_id"))):
            return
        facts.session, facts.version = own, text_of(meta.get("cli_version"))
        git = dict_of(meta.get("git"))
        facts.set_environment(
            cwd=meta.get("cwd"), git_branch=git.get("branch"), commit=git.get("commit_hash"),
            repository=git.get("repository_url"),
        )  # fmt: skip
        facts.more |= scalars_of(
            {key: meta.get(key) for key in ("originator", "model_provider", "source", "agent_role")}
        )
        self.replay.note_session(own)
        self._parentage(meta, at)

    def _parentage(self, meta: dict[str, Any], at: datetime | None) -> None:
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
            self.replay.begin(meta.get("timestamp"), forked or parent, at, whole=bool(forked))

    def _split(self, value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The envelope's type and its payload; a bare item of an old file is its own payload."""
        kind, payload = value.get("type"), value.get("payload")
        if isinstance(kind, str) and isinstance(payload, dict):
            return kind, payload
        if kind == "message" and isinstance(value.get("message"), dict):
            return "response_item", {**value["message"], "type": "message"}
        if kind == "message" or (isinstance(kind, str) and kind in self._bare):
            return "response_item", value
        if kind is None and ("id" in value or "session_id" in value) and "timestamp" in value:
            return "session_meta", value
        return ("state" if "record_type" in value else text_of(kind)), {}

    def _replayed(self, line: Line, kind: str, payload: dict[str, Any]) -> EventDraft:
        if kind == "event_msg" and payload.get("type") == "token_count":
            self.totals.note_copied_total(payload)
        data = {"type": "replayed", "of": self.replay.parent, "line_type": text_of(payload.get("type"))[:100] or kind}
        return line.event("injected_context", text_in(payload)[:TEXT_LIMIT], data=data)
