"""Approvals whose conversation moved on under them: a person said something else, or the call has its result already.

What people say after a call was asked about may be about that call, so it is asked again, never run on the word of
before. It is void while it waits, while its decision can be taken back, and while no agent was told of it.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from sessions_app.models import Approval, Event

from . import endings

MOVED_ON = "superseded: somebody wrote to the agent after it asked. Ask again if the call is still wanted."
HAS_RESULT = "superseded: the call has its result already"


def end_superseded(session_id: UUID, since: int) -> int:
    """Cancel what the events after ``since`` made void; how many. In the transaction that appends them."""
    if since == 0:  # nothing has been asked in a log that was empty
        return 0
    open_ones = Approval.objects.filter(endings.not_told(), session_id=session_id, event_seq__isnull=False)
    found = list(open_ones.select_related("session"))
    if not found:
        return 0
    new = Event.objects.filter(session_id=session_id, seq__gt=since)
    said = list(new.filter(kind="user_message", depth=0).values_list("seq", "at"))
    ended = 0
    for approval in found:
        if any(_is_later(approval, seq, at) for seq, at in said):
            ended += endings.cancel(approval, MOVED_ON)
        elif _has_result(approval, new):
            ended += endings.cancel(approval, HAS_RESULT)
    return ended


def _is_later(approval: Approval, seq: int, at: datetime | None) -> bool:
    """Whether a message was said after the call was asked about.

    Programs send what happened late and in one batch: what was said before the question, by its time, or stands before
    the call in the log, led to the question.
    """
    if seq < (approval.event_seq or 0) or (at is not None and at <= approval.requested_at):
        return False
    calls = Event.objects.filter(session_id=approval.session_id, kind="tool_call", call_id=approval.client_id)
    return not (approval.client_id and calls.filter(seq__gt=seq).exists())


def _has_result(approval: Approval, new: QuerySet[Event]) -> bool:
    """Whether the call that a program elsewhere asks about was made, or refused, without us."""
    if not approval.client_id or (approval.asked_by_key_id is None and approval.asked_by_user_id is None):
        return False  # the runtimes here see to their own calls
    if approval.status != Approval.Status.PENDING:
        return False  # made after a decision, by somebody who was told of it in a way that we do not see
    return new.filter(kind="tool_result", call_id=approval.client_id).exists()
