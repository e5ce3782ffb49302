"""What workers do with the tasks of Slack."""

from __future__ import annotations

from sessions_app.channels.slack import escalation, messages, replies
from sessions_app.models import Approval, Event, Session, SlackEvent, TurnInFlight
from sessions_app.runtimes import worker


def read() -> None:
    """Read what Slack sent."""
    for event_id in SlackEvent.objects.filter(done_at=None).order_by("id").values_list("id", flat=True):
        messages.read(event_id)


def work() -> None:
    """Take turns until all are over or wait for a person."""
    while ready := list(TurnInFlight.objects.exclude(rung_at=None).values_list("session_id", flat=True)):
        for session_id in ready:
            worker.run(session_id, beside=replies.following)


def tell() -> None:
    """Tell the escalation channel of everything that was asked or decided."""
    for approval_id in Approval.objects.values_list("id", flat=True):
        escalation.tell_of_approval(approval_id)


def said(session: Session) -> list[str]:
    """What people said to a session."""
    found = Event.objects.filter(session=session, kind="user_message").order_by("seq")
    return list(found.values_list("text", flat=True))
