"""One pass over the events of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from ...drafts import EventDraft, Finding, SessionDraft, Usage
from ..common import reading
from ..common.calls import ID_LIMIT, Calls
from ..common.facts import Facts
from ..common.lines import Line
from ..common.reading import Keys, unknown_type
from ..common.times import parse
from ..common.values import bounded, count_of, dict_of, scalars_of, text_of

Handler = Callable[["Reading", Line], Iterator[EventDraft]]
TOTALS = ("input_tokens", "output_tokens", "cache_read_input_tokens")
CENTS = Decimal(100)


class Reading(reading.Reading):
    """The state of one session while its events are read."""

    name = "managed-agents"
    title = "Managed Agents"

    def __init__(self, handlers: dict[str, Handler]) -> None:
        super().__init__()
        self.facts = Facts(self.name, "Managed Agents")
        self.calls = Calls()
        self.denied: set[str] = set()
        """Calls that a person refused and whose results are still to come."""
        self.threads: dict[str, tuple[str, str]] = {}
        """Thread of a sub-agent -> key of the event that started it, and the sub-agent's name."""
        self.snapshot: dict[str, Any] = {}
        """The latest ``session.usage``: totals of the whole session."""
        self._added = dict.fromkeys(TOTALS, 0)
        self._primary = ""
        self._keys = Keys()
        self._handlers = handlers
        self._known = False

    def note_session(self, line: Line) -> bool:
        line.at = parse(line.value.get("processed_at"))[0]
        self.facts.note_line(line)
        self._describe(line.value)
        if self.facts.agent == self.title and line.value.get("type") == "session.thread_status_running":
            self.facts.agent = text_of(line.value.get("agent_name"))[:ID_LIMIT] or self.title
        return bool(self.facts.session)

    def fix_session_id(self) -> None:
        self._known = True

    def assign_key(self, line: Line) -> Iterator[Finding]:
        value = line.value
        self.facts.at(line.at)
        id = text_of(value.get("id"))
        line.key = id if 0 < len(id) <= ID_LIMIT else self._keys.derived(text_of(value.get("type")), line)
        line.agent = "agent", self.facts.agent
        thread = text_of(value.get("session_thread_id"))
        if text_of(value.get("type")).removeprefix("session.").startswith("thread_status_"):
            self._primary = self._primary or ("" if thread in self.threads else thread)
        if thread and thread != self._primary and value.get("type") != "session.thread_created":
            parent, agent = self.threads.get(thread, (None, ""))
            line.depth, line.parent, line.agent = 1, parent, ("subagent", agent)
            line.data = {"session_thread_id": thread[:ID_LIMIT]}
        yield from ()

    def events(self, line: Line) -> Iterator[EventDraft]:
        kind = line.value.get("type")
        if kind in ("session", "agent"):
            self._describe(line.value)
            return
        known = kind if isinstance(kind, str) else ""
        handler = self._handlers.get(known) or self._handlers.get(f"session.{known}")  # the documentation leaves it out
        yield from handler(self, line) if handler else [self.unknown(line, unknown_type(kind))]

    def closing(self) -> Iterator[Finding]:
        """Totals that the file states beside those that its requests add up to."""
        for name, added in self._added.items():
            stated = count_of(self.snapshot.get(name))
            if stated is not None and stated != added:
                yield Finding(
                    f"{self.name}.totals", "info", "",
                    f"the session states {stated} {name}, the requests in this file add up to {added}",
                )  # fmt: skip

    def session(self, *, complete: bool) -> SessionDraft:
        return self.facts.draft(complete=complete)

    def usage(self, stated: dict[str, Any]) -> Usage:
        """Tokens of one request; both cache counts stand beside ``input_tokens``."""
        for name in TOTALS:
            self._added[name] += count_of(stated.get(name)) or 0
        return Usage(
            input_tokens=count_of(stated.get("input_tokens")),
            cache_read_tokens=count_of(stated.get("cache_read_input_tokens")),
            cache_write_tokens=count_of(stated.get("cache_creation_input_tokens")),
            output_tokens=count_of(stated.get("output_tokens")),
        )

    def set_usage(self, usage: dict[str, Any]) -> None:
        """A cumulative snapshot: the last one holds. Its cost is text, in whole cents."""
        self.snapshot = usage
        try:
            cents = Decimal(text_of(dict_of(usage.get("list_cost")).get("amount")))
        except InvalidOperation:
            return
        if cents.is_finite():
            self.facts.more["total_cost_usd"] = str(cents / CENTS)

    def _describe(self, value: dict[str, Any]) -> None:
        """Take from a session or agent object what it says; an id that comes after the first events is too late."""
        if value.get("type") == "agent":
            self._agent(value)
        if value.get("type") != "session":
            return
        if not self._known:
            self.facts.session = text_of(value.get("id"))[:ID_LIMIT]
        self.facts.title = text_of(value.get("title")) or self.facts.title
        self.facts.at(parse(value.get("created_at"))[0])
        self._agent(dict_of(value.get("agent")))
        self.facts.more |= scalars_of({name: value.get(name) for name in ("status", "environment_id", "deployment_id")})
        if isinstance(told := value.get("metadata"), dict) and told:
            self.facts.more["metadata"] = bounded(told, 0)
        if isinstance(usage := value.get("usage"), dict):
            self.set_usage(usage)

    def _agent(self, agent: dict[str, Any]) -> None:
        model = agent.get("model")
        self.facts.agent = text_of(agent.get("name"))[:ID_LIMIT] or self.facts.agent
        self.facts.model = (text_of(dict_of(model).get("id")) or text_of(model))[:ID_LIMIT] or self.facts.model
        self.facts.more |= {
            f"agent_{key}": item for key, item in scalars_of({k: agent.get(k) for k in ("id", "version")}).items()
        }

    def timed(self, line: Line) -> Iterator[Finding]:
        if stamp := line.value.get("processed_at"):
            line.at, doubt = parse(stamp)
            if doubt:
                yield from self.findings.limit(Finding(f"{self.name}.time", "info", line.pointer, doubt))
