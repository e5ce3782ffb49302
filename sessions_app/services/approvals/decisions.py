"""Decisions of people on approvals: each approval is decided once, by as many people as its rule wants.

A vote moves one row by compare-and-set on ``(status, version)`` and is bound to the digest of the call that it is
about. Nothing here approves by itself: a deadline denies, a broken connection changes nothing, and the one call that
nobody is asked about is the one that a person wrote (``endings.allow_as_changed``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.utils import timezone

from sessions_app import canonical
from sessions_app.models import Approval, Vote
from sessions_app.policy import faults
from sessions_app.queries import votes

from ..log.sanitise import storable, text
from ..policies import gate, grants
from . import authority, contention, effects
from .authority import VERDICTS as VERDICTS
from .authority import Decider as Decider
from .authority import Decision as Decision
from .authority import Invalid as Invalid
from .authority import NotAllowed as NotAllowed
from .authority import why_not_yours as why_not_yours
from .effects import DEFAULT_DENIAL as DEFAULT_DENIAL
from .endings import deny_where_stopped, expire_due
from .record import lock_session_of


class Conflict(Exception):
    """The decision came too late or was about something else; ``approval`` is how things stand."""

    def __init__(self, approval: Approval, message: str) -> None:
        super().__init__(message)
        self.approval = approval


def decide(approval: Approval, decider: Decider, decision: Decision) -> Approval:
    """Vote on a pending approval, and return it: decided, or pending still where the rule wants more people, or where
    the decision can be taken back for some seconds (``Approval.takes_effect_at``).

    One denial or answer decides it. Approving with other ``arguments`` than were asked for is ``approved_edited``, and
    voids the votes before. The same decision by the same decider again is a no-op: the first stands, and ``not_kept``
    says so where another reason came with it. Raises ``NotAllowed``, ``Invalid``,
    ``Conflict``.
    """
    authority.check(approval, decider, decision)
    decision = _storable(decision)
    _check_edit(approval, decision)
    _check_grant(approval, decider, decision)
    voted = contention.attempt(
        approval.pk, lambda: _is_open(approval.pk, decision.version), lambda: _vote_first(approval, decider, decision)
    )
    if voted:
        return voted
    current = Approval.objects.get(pk=approval.pk)
    if mine := _made_before(decision, current, decider):
        if decision.reason not in ("", mine.reason):
            current.not_kept = "you decided this already, and that stands: the reason that you gave now was not kept"
        return current
    raise Conflict(current, _why_not(current, decision))


def _is_open(pk: UUID, version: int) -> bool:
    """Whether a decision on this version may still count, read without a lock: nearly all who lose a race lose here."""
    return Approval.objects.filter(pk=pk, status=Approval.Status.PENDING, version=version, deliver_at=None).exists()


def _vote_first(approval: Approval, decider: Decider, decision: Decision) -> Approval | None:
    lock_session_of(approval.pk)
    expire_due(approval_id=approval.pk)
    deny_where_stopped(approval)
    return _vote(approval.pk, decider, decision)


def _check_edit(approval: Approval, decision: Decision) -> None:
    """An edit is a call of its own: what a rule denies, nobody can make of one that it lets people decide."""
    if decision.arguments is None or approval.status != Approval.Status.PENDING:
        return
    asked = gate.Asked(approval.tool_name, decision.arguments, approval.tool_server)
    if refused := gate.why_denied(approval.session, asked):
        raise Invalid("arguments", refused)


def _check_grant(approval: Approval, decider: Decider, decision: Decision) -> None:
    if decision.grant is None or approval.status != Approval.Status.PENDING:
        return
    if decision.verdict != "approve" or decision.arguments is not None:
        raise Invalid("grant", "only who approves a call as it was asked can allow calls like it")
    try:
        grants.check(approval, decision.grant, decider)
    except (grants.NotOffered, faults.Invalid) as refused:
        raise Invalid("grant", str(refused)) from None


def _storable(decision: Decision) -> Decision:
    """The decision as PostgreSQL can keep it."""
    grant = decision.grant
    return replace(
        decision, arguments=storable(decision.arguments), answer=text(decision.answer), reason=text(decision.reason),
        grant=replace(grant, reason=text(grant.reason), arguments=storable(grant.arguments)) if grant else None,
    )  # fmt: skip


def _vote(pk: UUID, decider: Decider, decision: Decision) -> Approval | None:
    """The approval with this vote; None when it is not pending any more, or not what was shown."""
    approval = Approval.objects.select_related("session").get(pk=pk)
    counted = votes.tally(approval)
    shown = approval.version == decision.version and counted.digest == decision.digest
    if approval.status != Approval.Status.PENDING or approval.deliver_at or not shown:
        return None
    digest, arguments = votes.call_after(approval, counted, decision.arguments)
    approval.version += 1
    vote = Vote.objects.create(
        approval=approval, version=approval.version, member_id=decider.member_id, api_key_id=decider.api_key_id,
        by=decider.actor.name, role=decider.role, verdict=decision.verdict, digest=digest, answer=decision.answer,
        reason=decision.reason,
        arguments=arguments if decision.verdict == "approve" else None, channel=decider.channel, at=timezone.now(),
        grant_wish=_kept(decision, approval),
    )  # fmt: skip
    effects.take_vote(approval, vote, decider.actor)
    return approval


def _kept(decision: Decision, approval: Approval) -> dict[str, Any] | None:
    """The grant that a vote asks for, with the version of the agent that its voter could know of."""
    if decision.grant is None:
        return None
    return {"wish": decision.grant.as_json(), "agent_version": approval.session.agent.version}


def _made_before(decision: Decision, current: Approval, decider: Decider) -> Vote | None:
    """The vote by which this decider decided the same before: a request that is sent again must not be a conflict.

    Why is not what: another reason does not make it another decision.
    """
    if current.status != Approval.Status.PENDING and (current.decision or {}).get("verdict") not in VERDICTS:
        return None
    counted = votes.tally(current)
    stands = [counted.ending] if counted.ending else counted.approvals
    mine = next((vote for vote in stands if _is_mine(vote, decider)), None)
    if mine is None or (mine.verdict, mine.answer) != (decision.verdict, decision.answer):
        return None
    wish = decision.grant.as_json() if decision.grant else None
    if not canonical.same((mine.grant_wish or {}).get("wish"), wish):
        return None
    if decision.arguments is None:
        return mine if decision.digest == (mine.digest or current.digest) else None
    arguments = current.arguments if mine.arguments is None else mine.arguments
    return mine if canonical.same(decision.arguments, arguments) else None


def _is_mine(vote: Vote, decider: Decider) -> bool:
    if decider.member_id or decider.api_key_id:
        return (vote.member_id, vote.api_key_id) == (decider.member_id, decider.api_key_id)
    return vote.by == decider.actor.name


def _why_not(current: Approval, decision: Decision) -> str:
    counted = votes.tally(current)
    if current.takes_effect_at and counted.last:
        until = f"{current.takes_effect_at:%H:%M:%S} UTC"
        return f"{counted.last.by} decided this already: {counted.last.verdict}, and may take it back until {until}"
    if current.status == Approval.Status.PENDING:
        what = "approval" if counted.digest == decision.digest else "arguments"
        versions = f"it is version {current.version} now, you answered {decision.version}"
        return f"the {what} changed since you looked ({versions})"
    made = current.decision or {}
    if made.get("verdict") in VERDICTS:
        return f"{made['by']} decided this already: {current.get_status_display().lower()}"
    # Whoever withdrew it wrote the reason: it is quoted, with who says so, in a sentence that is the desk's.
    why = f" ({made.get('by', '')}: “{made['reason']}”)" if made.get("reason") else ""
    return f"this no longer waits, it is {current.get_status_display().lower()}{why}"
