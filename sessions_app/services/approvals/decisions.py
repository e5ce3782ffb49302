"""Approvals: an agent asks, a person decides, once.

A decision moves one row by compare-and-set on ``(status, version)`` and is bound to the digest of what was shown.
Nothing here approves by itself: a deadline denies, a broken connection changes nothing, and the one call that nobody
is asked about is the one that a person wrote (``allow_as_changed``).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.ids import uuid7
from sessions_app.models import Approval, Role, Session, Vote

from .. import audit, notify, task_queue, wakes
from ..log import events
from ..log.sanitise import identifier, storable, text
from ..sessions import append_to_open
from .digests import digest_of

VERDICTS = ("approve", "deny", "answer")
DEFAULT_DENIAL = "A reviewer denied this call. Do not repeat it; ask or choose another way."
EXPIRED = "No reviewer answered in time, so this call is denied. Do not repeat it."


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides: a member or an API key, with the role they have in the workspace."""

    actor: audit.Actor
    role: Role
    channel: str
    member_id: UUID | None = None
    api_key_id: UUID | None = None


class NotAllowed(PermissionError):
    """A viewer tried to decide."""


class Invalid(ValueError):
    """The decision lacks something or has too much; ``field`` says where."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Conflict(Exception):
    """The decision came too late or was about something else; ``approval`` is how things stand."""

    def __init__(self, approval: Approval, message: str) -> None:
        super().__init__(message)
        self.approval = approval


@transaction.atomic
def request(
    session: Session,
    tool: str,
    arguments: Any,
    *,
    by: audit.Actor,
    server: str | None = None,
    context: str = "",
    risk: str = "",
    expires_in: int | None = None,
    client_id: str = "",
) -> Approval:
    """Ask for a decision. The same ``client_id`` again is the same approval.

    Raises ``sessions.Archived``, or ``Conflict`` when the client id was used for another question.
    """
    Session.objects.select_for_update().only("id").get(pk=session.pk)  # the same question twice at once waits here
    tool, server, context, arguments = text(tool), text(server), text(context), storable(arguments)
    client_id = identifier(client_id)
    if client_id and (asked := Approval.objects.filter(session=session, client_id=client_id).first()):
        if (asked.tool_name, asked.tool_server, asked.arguments) != (tool, server, arguments):
            raise Conflict(asked, f'client_id "{client_id}" was used to ask for another call in this session')
        return asked
    now, id_ = timezone.now(), uuid7()
    approval = Approval(
        id=id_,
        workspace_id=session.workspace_id,
        session=session,
        client_id=client_id,
        tool_name=tool,
        tool_server=server,
        arguments=arguments,
        context=context,
        risk=risk,
        requested_by=by.name,
        requested_at=now,
        expires_at=now + timedelta(seconds=expires_in) if expires_in else None,
        digest=digest_of(session.id, id_, tool, server, arguments),
    )
    approval.event_seq = _log(approval, by, f"{by.name} asks to run {tool}", actor_kind="agent")
    approval.save(force_insert=True)
    audit.record(
        session.workspace_id, by, "approval.requested", subject=("approval", id_),
        session=str(session.id), tool=tool, digest=approval.digest,
    )  # fmt: skip
    _settle(approval)
    return approval


def decide(
    approval: Approval,
    decider: Decider,
    verdict: str,
    *,
    version: int,
    digest: str,
    arguments: Any = None,
    answer: str = "",
    reason: str = "",
) -> Approval:
    """Decide a pending approval, and return it as decided.

    Approving with other ``arguments`` than were asked for is ``approved_edited``. The same decision by the same
    decider again is a no-op. Raises ``NotAllowed``, ``Invalid``, ``Conflict``.
    """
    if not decider.role.covers(Role.REVIEWER):
        raise NotAllowed("a viewer may read approvals but not decide them; ask an admin for the role reviewer")
    _check(verdict, arguments, answer)
    arguments, answer, reason = storable(arguments), text(answer), text(reason)
    edited = arguments if verdict == "approve" and arguments is not None and arguments != approval.arguments else None
    with transaction.atomic():
        _lock_session(approval.pk)
        expire_due(approval_id=approval.pk)
        decided = _compare_and_set(approval.pk, decider, verdict, version, digest, edited, answer, reason)
    if decided:
        return decided
    current = Approval.objects.get(pk=approval.pk)
    if _same(current, decider, verdict, digest, edited, answer):
        return current
    raise Conflict(current, _why_not(current, version, digest))


def _check(verdict: str, arguments: Any, answer: str) -> None:
    if verdict not in VERDICTS:
        raise Invalid("verdict", f'"{verdict}" is no verdict; use approve, deny or answer')
    if verdict == "answer" and not answer.strip():
        raise Invalid("answer", "an answer needs its text")
    if verdict != "approve" and arguments is not None:
        raise Invalid("arguments", "only an approval can change the arguments")


def _compare_and_set(
    pk: UUID, decider: Decider, verdict: str, version: int, digest: str, edited: Any, answer: str, reason: str
) -> Approval | None:
    now = timezone.now()
    status = {
        "approve": Approval.Status.APPROVED if edited is None else Approval.Status.APPROVED_EDITED,
        "deny": Approval.Status.DENIED,
        "answer": Approval.Status.ANSWERED,
    }[verdict]
    decision = {
        "verdict": verdict, "by": decider.actor.name, "by_kind": decider.actor.kind, "by_id": decider.actor.id,
        "at": now.isoformat(), "reason": reason or (DEFAULT_DENIAL if verdict == "deny" else ""),
        "answer": answer, "arguments": edited, "channel": decider.channel,
    }  # fmt: skip
    waiting = Approval.objects.filter(pk=pk, status=Approval.Status.PENDING, version=version, digest=digest)
    if waiting.update(status=status, version=version + 1, decided_at=now, decision=decision, delivery="queued") != 1:
        return None
    approval = Approval.objects.select_related("session").get(pk=pk)
    Vote.objects.create(
        approval=approval, member_id=decider.member_id, api_key_id=decider.api_key_id, by=decider.actor.name,
        verdict=verdict, arguments=edited, answer=answer, reason=reason, channel=decider.channel, at=now,
    )  # fmt: skip
    _record_end(approval, decider.actor, "approval.decided", reason=decision["reason"])
    return approval


def _same(current: Approval, decider: Decider, verdict: str, digest: str, edited: Any, answer: str) -> bool:
    made = current.decision or {}
    return (
        current.digest == digest
        and made.get("by_id") == decider.actor.id
        and (made.get("verdict"), made.get("arguments"), made.get("answer")) == (verdict, edited, answer)
    )


def _why_not(current: Approval, version: int, digest: str) -> str:
    if current.status == Approval.Status.PENDING:
        what = "arguments" if current.digest != digest else "approval"
        return f"the {what} changed since you looked (it is version {current.version} now, you answered {version})"
    made = current.decision or {}
    if made.get("verdict") in VERDICTS:
        return f"{made['by']} decided this already: {current.get_status_display().lower()}"
    return f"this no longer waits, it is {current.get_status_display().lower()}: {made.get('reason', '')}"


def expire_due(*, approval_id: UUID | None = None) -> int:
    """Deny what nobody decided in time; the number of approvals that expired."""
    now = timezone.now()
    due = Approval.objects.filter(status=Approval.Status.PENDING, expires_at__lte=now)
    if approval_id:
        due = due.filter(pk=approval_id)
    return sum(
        _end_undecided(approval, Approval.Status.EXPIRED, EXPIRED, audit.SYSTEM, "approval.expired")
        for approval in due.select_related("session")
    )


def cancel_all(session_id: UUID, *, reason: str, by: audit.Actor) -> int:
    """Withdraw everything a session still asks; the number of approvals that were cancelled."""
    waiting = Approval.objects.filter(session_id=session_id, status=Approval.Status.PENDING)
    return sum(
        _end_undecided(approval, Approval.Status.CANCELLED, reason, by, "approval.cancelled")
        for approval in waiting.select_related("session")
    )


@transaction.atomic
def _end_undecided(approval: Approval, status: str, reason: str, by: audit.Actor, action: str) -> bool:
    """Move a pending approval to a final state that no person chose. False when somebody was faster."""
    _lock_session(approval.pk)
    waiting = Approval.objects.filter(pk=approval.pk, status=Approval.Status.PENDING, version=approval.version)
    decision = {"verdict": status, "by": by.name, "by_kind": by.kind, "reason": reason}
    changed = waiting.update(
        status=status, version=approval.version + 1, decided_at=timezone.now(), decision=decision, delivery="queued"
    )
    if changed:
        approval.refresh_from_db()
        _record_end(approval, by, action, reason=reason)
    return bool(changed)


@transaction.atomic
def allow_as_changed(approval: Approval, changed: Approval) -> None:
    """Allow a call that a person wrote: they approved ``changed`` with other arguments, and here it is made with them.

    Whoever calls this has compared both. See ``is_used``: it holds once.
    """
    Approval.objects.filter(pk=approval.pk).update(rule=_as_changed(changed))
    by = (changed.decision or {}).get("by") or "a reviewer"
    _end_undecided(
        approval, Approval.Status.AUTO_ALLOWED, f"{by} approved the call with exactly these arguments", audit.SYSTEM,
        "approval.allowed",
    )  # fmt: skip


def is_used(changed: Approval) -> bool:
    """Whether a call was allowed because of this changed approval already."""
    return Approval.objects.filter(session_id=changed.session_id, rule=_as_changed(changed)).exists()


def _as_changed(changed: Approval) -> str:
    return f"as changed in approval {changed.pk}"


def settle_elsewhere(approval: Approval, how: str) -> bool:
    """Somebody answered the asker elsewhere. False when a person here was faster."""
    settled = _end_undecided(approval, Approval.Status.SETTLED_ELSEWHERE, how, audit.SYSTEM, "approval.settled")
    if settled:
        mark_delivered(approval)
    return settled


def mark_delivered(approval: Approval, *, elsewhere: bool = False) -> None:
    """The asker has been given the answer; or, ``elsewhere``, another one than was decided here."""
    delivery = "elsewhere" if elsewhere else "delivered"
    if Approval.objects.filter(pk=approval.pk, delivery="queued").update(delivery=delivery):
        approval.delivery = delivery
        notify.approval_changed(approval.pk, approval.session_id)


def _lock_session(approval_id: UUID) -> None:
    """Sessions are locked before their approvals everywhere, so that archiving and deciding cannot deadlock."""
    Session.objects.select_for_update(of=("self",)).only("id").get(approvals=approval_id)


def _record_end(approval: Approval, by: audit.Actor, action: str, reason: str) -> None:
    said = f"{by.name}: {approval.get_status_display().lower()}"
    _log(approval, by, said, actor_kind="system" if by.kind == "system" else "person")
    audit.record(
        approval.workspace_id, by, action, subject=("approval", approval.pk), session=str(approval.session_id),
        tool=approval.tool_name, status=approval.status, digest=approval.digest, reason=reason,
    )  # fmt: skip
    _settle(approval)
    wakes.wake(approval.session_id)


def _log(approval: Approval, by: audit.Actor, text: str, actor_kind: str) -> int:
    """The step as an event of the session; its seq. Archiving cancels once the session is closed, so that is let in."""
    event = events.NewEvent(
        kind="approval",
        key=f"approval:{approval.pk}:{approval.status}",
        at=timezone.now(),
        actor_kind=actor_kind,
        actor_name=by.name,
        text=text,
        tool=events.Tool(
            call_id=approval.client_id or None,
            name=approval.tool_name,
            server=approval.tool_server,
            arguments=approval.arguments,
        ),
        data={"approval": str(approval.pk), "status": approval.status, "decision": approval.decision},
    )
    if approval.status == Approval.Status.PENDING:
        return append_to_open(approval.session, [event]).last_seq
    return events.append(approval.session_id, [event]).last_seq


def _settle(approval: Approval) -> None:
    waiting = Approval.objects.filter(session_id=approval.session_id, status=Approval.Status.PENDING).count()
    Session.objects.filter(pk=approval.session_id).update(pending_approvals=waiting)
    notify.approval_changed(approval.pk, approval.session_id)
    task_queue.enqueue(task_queue.TELL_OF_APPROVAL, approval.pk)
