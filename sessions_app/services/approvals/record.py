"""Records of a request or an end of an approval: log, audit log, the session's count, notices to readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils import timezone

from sessions_app import counts
from sessions_app.drafts import ActorKind, EventDraft, ToolDraft
from sessions_app.models import Approval, Session, Vote
from sessions_app.queries import chains

from .. import audit, notify, task_queue
from ..fair_queue import Line
from ..log import events, links
from ..notices import announcing
from ..policies import grants
from ..slack import installations
from ..turns.resume import resume
from . import authority

COUNTED = {"approval.decided": "decisions", "approval.expired": "expiries"}
"""Audited action -> counter."""
NOT_PEOPLE = ("system", "stop", "trigger", "policy", "grant")
"""Kinds of actors that end an approval by a rule, at that moment without a person."""


def lock_session_of(approval_id: UUID) -> None:
    """Sessions are locked before their approvals everywhere, so that archiving and deciding cannot deadlock."""
    Session.objects.select_for_update(of=("self",)).only("id").get(approvals=approval_id)


def event_of(approval: Approval, by: audit.Actor, text: str, actor_kind: ActorKind) -> EventDraft:
    """The step of an approval as an event of its session."""
    return EventDraft(
        kind="escalation" if approval.is_escalation else "approval",
        key=f"approval:{approval.pk}:{approval.status}",
        at=timezone.now(),
        actor_kind=actor_kind,
        actor_name=by.name,
        text=text,
        tool=ToolDraft(
            call_id=approval.client_id or None,
            name=approval.tool_name,
            server=approval.tool_server,
            arguments=approval.arguments,
        ),
        data={"approval": str(approval.pk), "status": approval.status, "decision": approval.decision}
        | ({"planted": True} if approval.planted and approval.status != Approval.Status.PENDING else {}),
    )


def record_ending(approval: Approval, by: audit.Actor, action: str, reason: str, **more: Any) -> None:
    """Write down that an approval waits no more, and resume the turn that waited for it."""
    if approval.planted:
        _keep_from_executors(approval)
        more = more | {"planted": True}
    # Archiving cancels what waits after it closed the session, so the event goes into a closed log, too.
    events.append(approval.session_id, [ending_event(approval, by)], origin=links.desk_for(by))
    votes = list(approval.votes.order_by("id"))
    audit.record_each(approval.workspace_id, [said_of_ending(approval, by, action, reason, votes, **more)])
    if action in COUNTED:
        counts.add(COUNTED[action])
    announce(approval)
    announcing.ended(approval)
    resume(approval.session_id)


def ending_event(approval: Approval, by: audit.Actor) -> EventDraft:
    """The end of an approval as an event of its session."""
    actor_kind: ActorKind = "system" if by.kind in NOT_PEOPLE else "person"
    if authority.is_asker(approval, by):
        actor_kind = "agent"
    return event_of(approval, by, f"{by.name}: {approval.get_status_display().lower()}", actor_kind)


def said_of_ending(
    approval: Approval, by: audit.Actor, action: str, reason: str, votes: Sequence[Vote], **more: Any
) -> audit.Said:  # fmt: skip
    """The end of an approval as an entry of the audit log."""
    details = {
        "session": str(approval.session_id), "tool": approval.tool_name, "status": approval.status,
        "digest": approval.digest, "reason": reason, **more, "outcome": chains.outcome_of(approval, votes),
    }  # fmt: skip
    return audit.Said(by, action, ("approval", approval.pk), details)


def _keep_from_executors(approval: Approval) -> None:
    """Nothing of a planted call is delivered, executed or granted, whatever was decided."""
    grants.void_of_test(approval)
    nothing = {"delivery": "none", "deliver_at": None, "execution": "none", "executable_digest": ""}
    Approval.objects.filter(pk=approval.pk).update(**nothing)
    for name, value in nothing.items():
        setattr(approval, name, value)


def announce(approval: Approval) -> None:
    """Count what the session still asks people, and tell open pages and Slack of the change."""
    asked = Approval.objects.filter(session_id=approval.session_id, status=Approval.Status.PENDING, deliver_at=None)
    waiting = asked.count()
    Session.objects.filter(pk=approval.session_id).update(pending_approvals=waiting)
    tell_readers(approval)


def tell_readers(approval: Approval) -> None:
    """Tell open pages and Slack of a change."""
    notify.approval_changed(approval.pk, approval.session_id, approval.workspace_id)
    if installations.of_workspace(approval.workspace_id).exists():  # one connected just now is told by the next sweep
        task_queue.enqueue(task_queue.TELL_OF_APPROVAL, approval.pk, Line(approval.workspace_id))
