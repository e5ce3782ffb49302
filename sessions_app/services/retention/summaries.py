"""What stands in place of messages that are out of sight: told by the rules of the overview card, without a model."""

from __future__ import annotations

from sessions_app.models import Session
from sessions_app.queries.log import summary_events
from sessions_app.summary.card import Ending, lines_of
from sessions_app.summary.state import Summary

LEFT_OUT = ("Ended",)
"""The session goes on."""


def by_rules(session: Session, through: int, messages: int) -> str:
    """Summary of a session up to an event, ``messages`` of which are out of sight: the lines of its card."""
    summary = Summary()
    for seq, parent_seq, event in summary_events.read(session.pk, 0, through):
        summary.take(seq, parent_seq, event)
    lines = [line.plain for line in lines_of(summary, Ending(goes_on=True)) if line.label not in LEFT_OUT]
    return "\n".join([f"{messages} earlier messages are left out here; counted from them:", *lines])
