"""Grants: what a person allowed for more than one call. Each use is counted, and none is made beyond the last.

A grant ends by itself: used up, expired, or void, because the agent has another version or the tool another
fingerprint than when it was made. It is never used where the rules want more than one person's word.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, TextField, Value, When
from django.utils import timezone

from sessions_app.models import Agent, Approval, Grant, Member, Role, Session
from sessions_app.policy import predicates, terms
from sessions_app.policy.faults import Faults
from sessions_app.policy.matching import read_predicates
from sessions_app.rendering.arguments import secrets, shape

from .. import audit
from ..approvals import authority
from ..approvals.authority import Decider
from ..log.sanitise import storable, text
from .wishes import USUAL as USUAL
from .wishes import Wish as Wish

TRIED = 50
"""Grants of one tool that a call is compared with, the newest first."""
USED_UP = "used up"
LONGEST = timedelta(days=30)
MOST_USES = 10_000
MAX_REASON = 2_000
ESCALATE = "escalate_to_human"


class NotOffered(ValueError):
    """Calls like this are decided one by one; the message says why."""


class NotInForce(ValueError):
    """The grant has ended already."""


@dataclass(frozen=True, slots=True)
class Target:
    """Calls that a grant is for, where it comes from no approval."""

    agent: Agent
    tool: str
    server: str | None = None
    fingerprint: str = ""


def why_not_offered(approval: Approval) -> str:
    """Why calls like this one are decided one by one; empty where a grant can be made of it."""
    if approval.recorded or approval.tool_name == ESCALATE:
        return "this is no call that is made here: there is nothing to allow for the next time"
    if shape.destroys(approval.tool_name, approval.arguments):
        return "it destroys something: such calls are decided one by one"
    if "always" in terms.decisions_allowed(approval.terms, approval.risk):
        return ""
    if approval.risk in terms.DESTRUCTIVE or approval.terms.get("risk") in terms.DESTRUCTIVE:
        return f"its risk is {approval.risk or approval.terms.get('risk')}: such calls are decided one by one"
    return f"the rule {approval.rule or ''} wants such calls decided one by one".replace("  ", " ")


@transaction.atomic
def make_from(approval: Approval, wish: Wish, *, decider: Decider) -> Grant:
    """Allow calls like one that is, or was, decided. Only who may decide it may do that.

    Raises ``authority.NotAllowed``, ``NotOffered``, and ``policy.faults.Invalid`` for predicates that cannot be used.
    """
    check(approval, wish, decider)
    wanted: list[dict[str, Any]] = [{"path": "", "op": "=", "value": approval.arguments}]
    if wish.arguments is not None:
        wanted = wish.arguments
    agent = approval.session.agent
    target = Target(agent, approval.tool_name, approval.tool_server, approval.tool_fingerprint)
    session = None if wish.whole_agent else approval.session
    return _make(target, session, wanted, wish, decider, approval)


def check(approval: Approval, wish: Wish, decider: Decider) -> None:
    """Raises what ``make_from`` would raise now."""
    if refused := authority.why_not(approval, decider):
        raise authority.NotAllowed(refused)
    if refused := why_not_offered(approval):
        raise NotOffered(refused)
    _check(wish, wish.arguments or [])


@transaction.atomic
def make(target: Target, wish: Wish, *, decider: Decider) -> Grant:
    """Allow calls of a tool in every session of an agent, without one that was asked. For admins.

    Raises as ``make_from``.
    """
    if not decider.role.covers(Role.ADMIN):
        raise authority.NotAllowed("only an admin allows calls that nobody asked for; make a grant from an approval")
    if target.tool == ESCALATE:
        raise NotOffered("a question to a person is no call that could be allowed")
    if why := shape.destroys(target.tool, None):
        raise NotOffered(f"{why[0]}: such calls are decided one by one")
    return _make(target, None, wish.arguments or [], wish, decider)


@transaction.atomic
def revoke(grant: Grant, *, by: audit.Actor, reason: str = "") -> Grant:
    """End a grant at once. Raises ``NotInForce``."""
    if not _end(grant, by.name, text(reason)[:MAX_REASON] or "revoked"):
        raise NotInForce("this grant has ended already")
    audit.record(
        grant.workspace_id, by, "grant.revoked", subject=("grant", grant.pk), tool=grant.tool_name, uses=grant.uses,
        reason=grant.end_reason,
    )  # fmt: skip
    return grant


def void_of_agent(agent: Agent, *, by: audit.Actor) -> int:
    """End the grants of an agent that has another version now: who made them allowed the agent as it was."""
    old = Grant.objects.filter(agent=agent, ended_at=None).exclude(agent_version=agent.version)
    return sum(_void(grant, f"the agent has version {agent.version} now", by) for grant in old)


def end_of_member(member: Member, *, by: audit.Actor) -> int:
    """End the grants of somebody who may not decide any more."""
    theirs = Grant.objects.filter(member=member, ended_at=None)
    return sum(_void(grant, f"{grant.made_by} may not decide here any more", by) for grant in theirs)


def void_of_test(approval: Approval) -> int:
    """End the grants that were made of a planted call, which no agent ever asked for."""
    made = Grant.objects.filter(made_of=approval.pk, ended_at=None)
    return sum(_void(grant, "it was made of a test call", audit.SYSTEM) for grant in made)


def in_force(agent: Agent) -> Q:
    """Condition of the grants of an agent that hold now: none of a planted call, decided or not."""
    planted = Approval.objects.filter(pk=OuterRef("made_of"), planted=True)
    return Q(agent=agent, ended_at=None, expires_at__gt=timezone.now()) & ~Q(Exists(planted))


def use(
    session: Session, agent: Agent, tool: str, server: str | None, arguments: Any, fingerprint: str,
    asked: dict[str, Any],
) -> Grant | None:  # fmt: skip
    """A grant that lets this call through, with this use counted; None where there is none, or the call destroys.

    ``asked``: terms of the rules, which a grant cannot get around. Two calls at once cannot both have the last use:
    each takes it from the row by compare-and-set.
    """
    if agent.version != session.agent.version:
        return None  # the session runs under an older version than the one that people see and allow
    of_tool = Grant.objects.filter(in_force(agent), tool_name=tool, tool_server=server, agent_version=agent.version)
    here = of_tool.filter(Q(session=None) | Q(session=session.pk)).select_related("member").order_by("-id")
    for grant in here[:TRIED]:
        if grant.tool_fingerprint != fingerprint:
            if grant.tool_fingerprint and fingerprint:
                _void(grant, "the tool or its server is another one now", audit.SYSTEM)
        elif fits(grant, arguments) and shape.destroys(tool, arguments):
            return None  # a grant for any arguments was made of a call that destroyed nothing
        elif fits(grant, arguments) and _maker_is_eligible(grant, asked) and _count_use(grant):
            grant.refresh_from_db()
            return grant
    return None


def fits(grant: Grant, arguments: Any) -> bool:
    """Whether every condition of a grant holds for the arguments; what cannot be told does not hold."""
    faults = Faults()
    conditions = read_predicates(grant.arguments, "", "the grant", faults)
    if faults.found:
        return False
    return all(predicates.compiled(one, allows=True)(arguments) is True for one in conditions)


def _make(
    target: Target, session: Session | None, arguments: list[dict[str, Any]], wish: Wish, decider: Decider,
    approval: Approval | None = None,
) -> Grant:  # fmt: skip
    arguments = storable(arguments)
    _check(wish, arguments)
    grant = Grant.objects.create(
        workspace_id=target.agent.workspace_id, agent=target.agent, session=session, tool_name=target.tool,
        tool_server=target.server, arguments=arguments, agent_version=target.agent.version,
        tool_fingerprint=target.fingerprint, expires_at=timezone.now() + wish.lasts, uses_left=wish.uses,
        made_by=decider.actor.name, member_id=decider.member_id, reason=text(wish.reason)[:MAX_REASON],
        made_of=approval.pk if approval else None,
    )  # fmt: skip
    details = {"approval": str(approval.pk)} if approval else {}
    audit.record(
        grant.workspace_id, decider.actor, "grant.made", subject=("grant", grant.pk), agent=target.agent.name,
        tool=grant.tool_name, server=grant.tool_server, session=str(session.pk) if session else None,
        arguments=secrets.masked_conditions(arguments), expires_at=grant.expires_at.isoformat(), uses=wish.uses,
        reason=grant.reason, **details,
    )  # fmt: skip
    return grant


def _check(wish: Wish, arguments: list[dict[str, Any]]) -> None:
    """Raises ``policy.faults.Invalid`` with everything that is wrong with a wish."""
    faults = Faults()
    read_predicates(arguments, "/arguments", "the grant", faults)
    if not wish.reason.strip():
        faults.add("/reason", "the grant: say why calls like this need no decision any more")
    if not timedelta(0) < wish.lasts <= LONGEST:
        faults.add("/expires_in", f"the grant: it lasts at most {LONGEST.days} days")
    if wish.uses is not None and not 1 <= wish.uses <= MOST_USES:
        faults.add("/uses", f"the grant: uses are a number from 1 to {MOST_USES}, or none for no limit")
    faults.raise_any()


def _maker_is_eligible(grant: Grant, asked: dict[str, Any]) -> bool:
    """Whether who made a grant could decide the call that it is used for; rules may name others by now."""
    if "eligible" not in asked:
        return True
    if grant.member is None:
        return False
    maker = Decider(audit.Actor("member", str(grant.member_id)), Role(grant.member.role), "", grant.member_id)
    return authority.is_eligible(asked, maker)


def _void(grant: Grant, why: str, by: audit.Actor) -> bool:
    if not _end(grant, by.name, why):
        return False
    audit.record(grant.workspace_id, by, "grant.void", subject=("grant", grant.pk), tool=grant.tool_name, reason=why)
    return True


def _end(grant: Grant, by: str, reason: str) -> bool:
    now = timezone.now()
    ended = Grant.objects.filter(pk=grant.pk, ended_at=None).update(ended_at=now, ended_by=by, end_reason=reason)
    if ended:
        grant.refresh_from_db()
    return bool(ended)


def _count_use(grant: Grant) -> bool:
    now = timezone.now()
    usable = Grant.objects.filter(Q(uses_left=None) | Q(uses_left__gt=0), pk=grant.pk, ended_at=None)
    return bool(
        usable.filter(expires_at__gt=now).update(
            uses=F("uses") + 1,
            uses_left=F("uses_left") - 1,
            last_used_at=now,
            ended_at=Case(When(uses_left=1, then=Value(now)), default=F("ended_at")),
            end_reason=Case(When(uses_left=1, then=Value(USED_UP, TextField())), default=F("end_reason")),
        )
    )
