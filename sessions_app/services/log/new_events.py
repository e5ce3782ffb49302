"""What is among new events, so that a projection that none of them can change is left alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from sessions_app.drafts import EventDraft
from sessions_app.rendering.titles import begins_wrapped

from .sanitise import text

TELLS = {"note": "decision", "artifact": "evidence"}
"""Kinds of events that may tell what a session led to, and under which name in their data."""


@dataclass(slots=True)
class NewEvents:
    """Whether there is any of each; ``note`` is told of one event after the other."""

    calls: bool = False
    results: bool = False
    responses: bool = False
    """Tokens or a cost."""
    statements: bool = False
    """A cost that covers responses before it."""
    approvals: bool = False
    """Read from a file."""
    messages: bool = False
    """To the agent."""
    wrapped: bool = False
    """A message among them may begin with what a program put before it, see ``titles.begins_wrapped``."""
    nodes: bool = False
    """Decisions, or evidence."""
    models: set[str] | None = field(default_factory=set)
    """Models of the responses; None: nobody knows."""

    def note(self, event: EventDraft, *, from_file: bool) -> None:
        """Take in an event as it is written."""
        self.calls |= event.kind == "tool_call"
        self.results |= event.kind == "tool_result"
        if event.usage is not None or event.cost is not None:
            self.responses = True
            if event.model and self.models is not None:
                self.models.add(text(event.model))
        self.statements |= event.cost is not None and "cost_covers" in event.data
        self.approvals |= from_file and event.kind == "approval"
        if event.kind == "user_message" and event.depth == 0:
            self.messages = True
            self.wrapped |= begins_wrapped(event.text)
        self.nodes |= event.kind in TELLS and isinstance(event.data.get(TELLS[event.kind]), dict)


ANYTHING = NewEvents(True, True, True, True, True, True, True, True, None)
"""Of a log that was not looked through."""
