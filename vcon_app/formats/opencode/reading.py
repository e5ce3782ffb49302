"""Two readings of a file: what sessions and messages say of their parts, then the events in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...drafts import Draft, EventDraft, FormatError, SessionDraft
from ..common.calls import id_of
from ..common.facts import ID_LIMIT, Facts
from ..common.lines import Actor, Item, Line
from ..common.reading import Reading
from ..common.times import from_epoch
from ..common.values import dict_of, scalars_of, text_of
from .documents import NOBODY, Found, Message, found_in

MOST_WAITING = 10_000
"""Documents that may wait for a session that they belong to."""
ANSWERS = frozenset({"step-start", "step-finish", "reasoning", "tool", "patch", "snapshot"})
"""Types of parts that only an answer has."""

Handler = Callable[["OpenCodeReading", Line, dict[str, Any], str], Iterable[EventDraft]]


class OpenCodeReading(Reading):
    """The state of one file while it is read. It grows by a few words for each message."""

    name = "opencode"
    title = "OpenCode"

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        """``handlers`` by kind of what a document holds (``documents.found_in``)."""
        super().__init__()
        self._handlers = handlers
        self.messages: dict[str, Message] = {}
        self.sessions: dict[str, Facts] = {}
        self.current = ""
        self.asked = ""
        """The message whose prompt was told last; more text of it begins no turn."""
        self._waiting: list[tuple[Line, Found]] = []
        self._strays: list[EventDraft] = []
        """Broken documents before the first session."""

    def read_facts(self, value: dict[str, Any]) -> None:
        """First reading of the file: the owners of parts and the titles of sessions."""
        for kind, told, _ in found_in(value):
            if kind == "session":
                self._session(text_of(told.get("id")), told)
            elif kind == "message":
                self._message(told)
            elif kind == "part":
                self._part(told)

    def run(self, items: Iterable[Item]) -> Iterator[Draft]:
        """The second reading. What belongs to no session waits for the next, or goes to the one before."""
        for item in items:
            if isinstance(item, Line):
                for found in found_in(item.value):
                    yield from self._place_in_session(item, found)
            elif isinstance(item, EventDraft):
                if self.current:
                    yield item
                else:
                    self._strays.append(item)
            else:
                yield from self.findings.limit(item)
        if not self.current:
            raise FormatError("it is an OpenCode file, but no session, message or part is in it")
        for line, found in self._waiting:
            yield from self._events(line, found)
        yield from self.findings.close()
        yield self._draft()

    def _place_in_session(self, line: Line, found: Found) -> Iterator[Draft]:
        kind, told, _ = found
        session = text_of(told.get("id" if kind == "session" else "sessionID"))[:ID_LIMIT]
        if not session and (kind in ("project", "share") or not self.current):
            self._waiting.append((line, found))
            if len(self._waiting) > MOST_WAITING:
                raise FormatError(f"it is no OpenCode file: {MOST_WAITING:,} documents together belong to no session")
            return
        if session and session != self.current:
            if self.current:
                yield self._draft()
            self.current = session
            yield self._draft()
        yield from self._strays
        waiting, self._waiting, self._strays = self._waiting, [], []
        for held in (*waiting, (line, found)):
            yield from self._events(*held)

    def _draft(self) -> SessionDraft:
        return self._session(self.current).draft(complete=True)

    def _events(self, line: Line, found: Found) -> Iterator[EventDraft]:
        kind, told, path = found
        yield from self._handlers[kind](self, replace(line, key=_key(kind, told)), told, path)

    def _session(self, session: str, value: dict[str, Any] | None = None) -> Facts:
        facts = self.sessions.setdefault(session[:ID_LIMIT], Facts(self.name, self.title, session=session))
        if value is not None:
            times = dict_of(value.get("time"))
            facts.at(from_epoch(times.get("created"), 1000))
            facts.at(from_epoch(times.get("updated"), 1000))
            facts.title, facts.version = text_of(value.get("title")), text_of(value.get("version"))
            facts.parent = text_of(value.get("parentID"))[:ID_LIMIT] or None
            facts.set_environment(cwd=value.get("directory"))
            if summary := scalars_of(dict_of(value.get("summary"))):
                facts.more["changes"] = summary
        return facts

    def _message(self, value: dict[str, Any]) -> None:
        message = self.messages.setdefault(text_of(value.get("id"))[:ID_LIMIT], Message())
        times, chosen = dict_of(value.get("time")), dict_of(value.get("model"))
        message.role = text_of(value.get("role"))
        message.model = text_of(value.get("modelID") or chosen.get("modelID"))[:200] or None
        message.created, message.completed = times.get("created"), times.get("completed")
        facts = self._session(text_of(value.get("sessionID")))
        facts.at(from_epoch(message.created, 1000))
        facts.at(from_epoch(message.completed, 1000))
        facts.set_environment(cwd=dict_of(value.get("path")).get("cwd"))
        if message.role == "assistant":
            facts.model = message.model or facts.model

    def _part(self, value: dict[str, Any]) -> None:
        """Parts that only an answer has tell the role of a message that is not in the file."""
        message = self.messages.setdefault(text_of(value.get("messageID"))[:ID_LIMIT], Message())
        kind = text_of(value.get("type"))
        message.stepped = message.stepped or (kind == "step-finish" and isinstance(value.get("tokens"), dict))
        if not message.role and (kind in ANSWERS or (kind == "text" and "time" in value)):
            message.role = "assistant"

    @property
    def agent(self) -> Actor:
        """Actor of the answers in the current session."""
        return "subagent" if self._session(self.current).parent else "agent", self.title

    def message_of(self, value: dict[str, Any]) -> Message:
        """Facts of the message that a part belongs to."""
        return self.messages.get(text_of(value.get("messageID"))[:ID_LIMIT], NOBODY)


def _key(kind: str, value: dict[str, Any]) -> str:
    """Key of a record: its id. A project comes again with each of its sessions, so its content is part of the key."""
    own = id_of(value.get("id"))
    return own if own and kind in ("part", "message", "session") else f"{kind}:{own or ''}"
