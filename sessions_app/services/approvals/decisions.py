"""Decisions of people on approvals: each approval is decided once.

A decision moves one row by compare-and-set on ``(status, version)`` and is bound to the digest of what was shown.
Nothing here approves by itself: a deadline denies, a broken connection changes nothing, and the one call that nobody
is asked about is the one that a person wrote (``endings.allow_as_changed``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import ApiKey, Approval, PasswordOrigin, Role, Vote

from .. import actors, audit
from ..log.sanitise import storable, text
from .endings import deny_where_stopped, expire_due
from .record import lock_session_of, record_ending

VERDICTS = ("approve", "deny", "answer")
DEFAULT_DENIAL = "A reviewer denied this call. Do not repeat it; ask or choose another way."


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides: a member or an API key, with the role they have in the workspace."""

    actor: audit.Actor
    role: Role
    channel: str
    member_id: UUID | None = None
    api_key_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and the ``version`` and ``digest`` of the approval as it was shown to who decides."""

    verdict: str
    """approve, deny or answer."""
    version: int
    digest: str
    arguments: Any = None
    """Of an approval: the arguments to run the call with in place of those asked for; None keeps them."""
    answer: str = ""
    reason: str = ""


class NotAllowed(PermissionError):
    """Who tried to decide may not: a viewer, an agent, or whoever asked."""


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


def decide(approval: Approval, decider: Decider, decision: Decision) -> Approval:
    """Decide a pending approval, and return it as decided.

    Approving with other ``arguments`` than were asked for is ``approved_edited``. The same decision by the same
    decider again is a no-op. Raises ``NotAllowed``, ``Invalid``, ``Conflict``.
    """
    if not decider.role.covers(Role.REVIEWER):
        raise NotAllowed(f"the role {decider.role} may not decide approvals; ask an admin for the role reviewer")
    if refused := why_not_yours(approval, decider):
        raise NotAllowed(refused)
    _check(decision)
    decision = _normalised(decision, approval)
    with transaction.atomic():
        lock_session_of(approval.pk)
        expire_due(approval_id=approval.pk)
        deny_where_stopped(approval)
        decided = _compare_and_set(approval.pk, decider, decision)
    if decided:
        return decided
    current = Approval.objects.get(pk=approval.pk)
    if _is_repeated(decision, current, decider):
        return current
    raise Conflict(current, _why_not(current, decision))


def why_not_yours(approval: Approval, decider: Decider) -> str:
    """Why somebody who may decide may not decide this: they asked it themselves. Empty where they may."""
    if decider.api_key_id and decider.api_key_id == approval.asked_by_key_id:
        return "this key asked for this itself, so a person or another key has to decide it"
    if approval.asked_by_user_id is None:
        return ""
    if actors.user_id_of(decider.actor) == approval.asked_by_user_id:
        return "you asked for this yourself, so somebody else has to decide it"
    key_id = decider.api_key_id
    if key_id and ApiKey.objects.filter(pk=key_id, made_by=approval.asked_by_user_id).exists():
        return "who made this key asked for this themselves, so somebody else has to decide it"
    return ""


def _check(decision: Decision) -> None:
    if decision.verdict not in VERDICTS:
        raise Invalid("verdict", f'"{decision.verdict}" is no verdict; use approve, deny or answer')
    if decision.verdict == "answer" and not decision.answer.strip():
        raise Invalid("answer", "an answer needs its text")
    if decision.verdict != "approve" and decision.arguments is not None:
        raise Invalid("arguments", "only an approval can change the arguments")


def _normalised(decision: Decision, approval: Approval) -> Decision:
    """The decision as PostgreSQL can keep it; ``arguments`` stay only where they differ from those asked for."""
    arguments = storable(decision.arguments)
    if arguments == approval.arguments:
        arguments = None
    return replace(decision, arguments=arguments, answer=text(decision.answer), reason=text(decision.reason))


def _compare_and_set(pk: UUID, decider: Decider, decision: Decision) -> Approval | None:
    """The approval as decided; None when it is not pending any more, or not what was shown."""
    now, verdict, edited = timezone.now(), decision.verdict, decision.arguments
    status = {
        "approve": Approval.Status.APPROVED if edited is None else Approval.Status.APPROVED_EDITED,
        "deny": Approval.Status.DENIED,
        "answer": Approval.Status.ANSWERED,
    }[verdict]
    reason = decision.reason or (DEFAULT_DENIAL if verdict == "deny" else "")
    kept = {
        "verdict": verdict, "by": decider.actor.name, "by_kind": decider.actor.kind, "by_id": decider.actor.id,
        "by_role": str(decider.role), "at": now.isoformat(), "reason": reason, "answer": decision.answer,
        "arguments": edited, "channel": decider.channel,
    }  # fmt: skip
    if link_of := _link_maker(decider):
        kept["signed_in_by_link_of"] = link_of
    shown = {"version": decision.version, "digest": decision.digest}
    waiting = Approval.objects.filter(pk=pk, status=Approval.Status.PENDING, **shown)
    changes = {"status": status, "version": decision.version + 1, "decided_at": now, "decision": kept}
    if waiting.update(**changes, delivery="queued") != 1:
        return None
    approval = Approval.objects.select_related("session").get(pk=pk)
    Vote.objects.create(
        approval=approval, member_id=decider.member_id, api_key_id=decider.api_key_id, by=decider.actor.name,
        role=decider.role, verdict=verdict, arguments=edited, answer=decision.answer, reason=decision.reason,
        channel=decider.channel, at=now,
    )  # fmt: skip
    link = {"signed_in_by_link_of": link_of} if link_of else {}
    record_ending(approval, decider.actor, "approval.decided", reason=reason, **link)
    return approval


def _link_maker(decider: Decider) -> str:
    """Name of the admin by whose link the member is signed in, and who so may be the one that decides; else empty.

    Slack has its own word for who clicked.
    """
    if decider.member_id is None or decider.channel == "slack":
        return ""
    origin = PasswordOrigin.objects.filter(user__memberships=decider.member_id)
    return origin.values_list("made_by", flat=True).first() or ""


def _is_repeated(decision: Decision, current: Approval, decider: Decider) -> bool:
    """Whether this decider decided exactly this before: a request that is sent again must not be a conflict."""
    made = current.decision or {}
    return (
        current.digest == decision.digest
        and made.get("by_id") == decider.actor.id
        and made.get("verdict") == decision.verdict
        and made.get("arguments") == decision.arguments
        and made.get("answer") == decision.answer
    )


def _why_not(current: Approval, decision: Decision) -> str:
    if current.status == Approval.Status.PENDING:
        what = "arguments" if current.digest != decision.digest else "approval"
        versions = f"it is version {current.version} now, you answered {decision.version}"
        return f"the {what} changed since you looked ({versions})"
    made = current.decision or {}
    if made.get("verdict") in VERDICTS:
        return f"{made['by']} decided this already: {current.get_status_display().lower()}"
    return f"this no longer waits, it is {current.get_status_display().lower()}: {made.get('reason', '')}"
