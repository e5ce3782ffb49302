"""Tools whose result is a person's answer: the question that every agent can ask, and those of the definition."""

from __future__ import annotations

from typing import Any

from sessions_app.queries import escalations
from sessions_app.runtimes.calls import Result
from sessions_app.runtimes.tool_rules import ESCALATE

from .entries import CustomEntry
from .offers import Offer, schema_of

QUESTION = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "what the person has to answer, complete in itself"},
        "context": {"type": "object", "description": "facts that help to answer"},
    },
    "required": ["question"],
}
DESCRIPTION = "Ask a person a question and wait for the answer. Use it when you are not sure that you may go on."


def _approved(arguments: Any) -> Result:
    """Result of a question that a person approved instead of answering."""
    return Result(escalations.READ)


def escalation() -> Offer:
    """Offer of the question that every agent can ask a person."""
    return Offer(ESCALATE, None, DESCRIPTION, QUESTION, _approved, by_person=True)


def offer(entry: CustomEntry) -> Offer:
    """A tool of the definition. Raises ``offers.Unusable``."""
    return Offer(entry.name, None, entry.description, schema_of(entry.input_schema), _approved, by_person=True)
