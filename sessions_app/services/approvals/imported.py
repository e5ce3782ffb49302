"""Approvals from the decisions in a file. Nobody can decide them here: they were decided where it came from."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from sessions_app.models import Approval, Event, Session, ToolCall

from .. import notify
from ..log.sanitise import storable

BATCH = 1_000
Status = Approval.Status
BY_PERSON = {
    "approved": Status.APPROVED,
    "denied": Status.DENIED,
    "answered": Status.ANSWERED,
    "cancelled": Status.CANCELLED,
}
BY_RULE = {"approved": Status.AUTO_ALLOWED, "denied": Status.AUTO_DENIED}
RULES = frozenset({"policy", "auto", "guardian"})
"""Who decides without a person, as the readers name them in ``data.by``."""
WORDS = {"approved": "approve", "denied": "deny", "answered": "answer"}
CHANGES = ("status", "decision", "decided_at")
EXECUTED = """
UPDATE sessions_app_approval a
SET executed_at = now(), execution = CASE coalesce(e.tool_status, 'ok')
    WHEN 'ok' THEN 'succeeded' WHEN 'error' THEN 'errored' ELSE 'refused' END
FROM sessions_app_event e
WHERE a.session_id = %(session)s AND a.execution IN ('none', 'running') AND a.client_id <> ''
  AND e.session_id = a.session_id AND e.seq > %(since)s AND e.kind = 'tool_result' AND e.call_id = a.client_id
  AND CASE coalesce(e.tool_status, 'ok')
      WHEN 'ok' THEN true
      WHEN 'error' THEN a.status IN ('pending', 'approved', 'approved_edited', 'auto_allowed')
      WHEN 'denied' THEN a.status IN ('approved', 'approved_edited', 'auto_allowed') AND NOT a.recorded
      ELSE false END
RETURNING a.id, a.workspace_id
"""


def project(session_id: UUID, since: int) -> None:
    """Approval records for the ``approval`` events after ``since`` that came from a file.

    A question and its answer are one record, joined by the id of the call, else by the question that the answer names
    as its parent. What was asked here, live, stays as it is: a transcript tells of it again. Run again it changes
    nothing, so that a rebuild keeps the ids.
    """
    decisions = Event.objects.filter(session_id=session_id, seq__gt=since, kind="approval", document__isnull=False)
    stream = decisions.order_by("seq").iterator(BATCH)
    first = next(stream, None)
    if first is None:
        return
    session = Session.objects.only("id", "workspace_id", "started_at", "created_at").get(pk=session_id)
    batch = [first, *islice(stream, BATCH - 1)]
    while batch:
        _Records(session, batch).write()
        batch = list(islice(stream, BATCH))


def note_executions(session_id: UUID, since: int) -> None:
    """What the results after ``since`` show of the calls that were asked about, here or elsewhere.

    It is a fact of its own: a call that succeeded was executed whatever was decided. Where it was refused, recorders
    write the refusal as a failed result.
    """
    with connection.cursor() as cursor:
        cursor.execute(EXECUTED, {"session": session_id, "since": since})
        for approval_id, workspace_id in cursor.fetchall():
            notify.approval_changed(approval_id, session_id, workspace_id)


class _Records:
    """The records that a batch of events makes or adds to."""

    def __init__(self, session: Session, batch: list[Event]) -> None:
        self.session = session
        self.batch = batch
        self.calls = _calls(session.id, batch)
        parents = [event.parent_seq for event in batch if event.parent_seq]
        known = Approval.objects.filter(session=session)
        found = [*known.filter(client_id__in={self._name(e) for e in batch}), *known.filter(event_seq__in=parents)]
        self.by_name = {approval.client_id: approval for approval in found}
        self.by_seq = {approval.event_seq: approval for approval in found}
        self.new: list[Approval] = []
        self.changed: dict[UUID, Approval] = {}

    def write(self) -> None:
        for event in self.batch:
            self._take(event)
        Approval.objects.bulk_create(self.new)
        Approval.objects.bulk_update([one for one in self.changed.values() if one not in self.new], CHANGES)

    def _take(self, event: Event) -> None:
        approval = self.by_seq.get(event.parent_seq) or self.by_name.get(self._name(event))
        if approval is None:
            approval = self._asked(event)
            self.new.append(approval)
            self.by_name[approval.client_id] = self.by_seq[approval.event_seq] = approval
        if approval.recorded:
            self._decide(approval, event)
            self.changed[approval.pk] = approval

    def _name(self, event: Event) -> str:
        call = self.calls.get(event.call_id) or self.calls.get(event.parent_seq)
        return event.call_id or (call and call.call_id) or f"event {event.seq}"

    def _asked(self, event: Event) -> Approval:
        call = self.calls.get(event.call_id) or self.calls.get(event.parent_seq)
        arguments = event.arguments if event.arguments is not None or call is None else call.arguments
        name, server = (event.tool_name or (call and call.tool_name) or ""), event.tool_server
        approval = Approval(
            recorded=True,
            workspace_id=self.session.workspace_id,
            session=self.session,
            event_seq=event.seq,
            client_id=self._name(event),
            tool_name=name,
            tool_server=server,
            arguments=storable(arguments),
            context=event.text if event.data.get("decision") == "pending" else "",
            status=Status.SETTLED_ELSEWHERE,
            risk=str(event.data.get("risk_level") or "")[:40],
            requested_at=event.at or self.session.started_at or self.session.created_at or timezone.now(),
        )
        approval.digest = approval.digest_of_question()
        return approval

    def _decide(self, approval: Approval, event: Event) -> None:
        told, by = event.data.get("decision"), str(event.data.get("by") or event.actor_name or "")
        status = (BY_RULE if by in RULES else BY_PERSON).get(told) if isinstance(told, str) else None
        if status is None:  # a question, or an answer in words of its own: what came of it is not known here
            return
        approval.status, approval.decided_at = status, event.at
        approval.decision = _decision(event, WORDS.get(told, told), by)


def _decision(event: Event, verdict: str, by: str) -> dict[str, Any]:
    return {
        "verdict": verdict, "by": by, "by_kind": "file", "reason": event.text, "seq": event.seq,
        "inferred": event.data.get("inferred") is True, "channel": "file",
    }  # fmt: skip


def _calls(session_id: UUID, batch: Iterable[Event]) -> dict[Any, Event]:
    """Calls of the batch by call id and by ``seq``."""
    ids = {event.call_id for event in batch if event.call_id}
    seqs = {event.parent_seq for event in batch if event.parent_seq}
    calls = ToolCall.objects.filter(session_id=session_id)
    found = {
        *calls.filter(call_id__in=ids).values_list("seq", flat=True),
        *calls.filter(seq__in=seqs).values_list("seq", flat=True),
    }
    events = Event.objects.filter(session_id=session_id, seq__in=found).order_by("seq")
    return {name: event for event in events for name in (event.seq, event.call_id) if name is not None}
