"""Who may decide an approval, and what a decision has to have: one function for pages, Slack, the API and batches.

Nobody is above it, superusers included: a role, the rules' terms (frozen when it was asked) and who asked decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app.models import ApiKey, Approval, Member, Role
from sessions_app.policy import terms as policy_terms
from sessions_app.queries import votes

from .. import actors, audit
from ..policies.wishes import Wish
from . import second_step

VERDICTS = ("approve", "deny", "answer")


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides: a member or an API key, with the role they have in the workspace."""

    actor: audit.Actor
    role: Role
    channel: str
    member_id: UUID | None = None
    api_key_id: UUID | None = None
    member: Member | None = None
    """The same with its user, where it is at hand: then nothing is looked up."""

    @property
    def user_id(self) -> int | None:
        return self.member.user_id if self.member else actors.user_id_of(self.actor)


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and the ``version`` and ``digest`` of the approval as it was shown to who decides."""

    verdict: str
    """approve, deny or answer."""
    version: int
    digest: str
    """Of the call that it is about: ``Approval.digest``, or where a vote changed the arguments that of the changed call
    (``queries.votes.Tally.digest``)."""
    arguments: Any = None
    """Of an approval: the arguments to run the call with in place of those asked for; None keeps them."""
    answer: str = ""
    reason: str = ""
    confirmation: str = ""
    """The name of the tool as the person typed it, where a rule wants that."""
    grant: Wish | None = None
    """Of an approval of the call as it was asked: what is allowed from then on without a decision."""
    sure: bool = False
    """Whether it was said twice, where ``second_step`` wants that. A program says by the digest what it approves."""


class NotAllowed(PermissionError):
    """Who tried to decide may not: a viewer, an agent, whoever asked, or somebody whom the rule does not name."""


class Invalid(ValueError):
    """The decision lacks something or has too much; ``field`` says where."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def check(approval: Approval, decider: Decider, decision: Decision) -> None:
    """Raises ``NotAllowed`` where this person or key may not decide this, ``Invalid`` where not in this way."""
    if refused := why_not(approval, decider):
        raise NotAllowed(refused)
    _check_form(decision)
    _check_terms(approval, decision)
    _check_sure(approval, decision)


def why_not(approval: Approval, decider: Decider) -> str:
    """Why somebody may not decide this, whatever the decision, and what now. Empty where they may."""
    if not decider.role.covers(Role.REVIEWER):
        return f"the role {decider.role} may not decide approvals; ask an admin for the role reviewer"
    return why_not_yours(approval, decider) or _why_not_eligible(approval, decider)


def why_not_yours(approval: Approval, decider: Decider) -> str:
    """Why somebody who may decide may not decide this: they asked it themselves, or began what asks. Else empty."""
    if decider.api_key_id and decider.api_key_id == approval.asked_by_key_id:
        return "this key asked for this itself, so a person or another key has to decide it"
    asked, began = approval.asked_by_user_id, approval.initiated_by_id
    if asked is None and began is None:
        return ""
    acts, made_key = decider.user_id, _maker_of(decider.api_key_id)
    if asked is not None and acts == asked:
        return "you asked for this yourself, so somebody else has to decide it"
    if asked is not None and made_key == asked:
        return "who made this key asked for this themselves, so somebody else has to decide it"
    if began is not None and approval.terms.get("not_initiator") and began in (acts, made_key):
        whose = "your message" if acts == began else "a message of who made this key"
        return f"{whose} led to this call, and the rule wants somebody else to decide it"
    return ""


def _maker_of(api_key_id: UUID | None) -> int | None:
    if api_key_id is None:
        return None
    return ApiKey.objects.filter(pk=api_key_id).values_list("made_by_id", flat=True).first()


def _why_not_eligible(approval: Approval, decider: Decider) -> str:
    """Why the rules do not let this person or key decide; empty where they do. Each rule that names people counts."""
    return _why_not_eligible_by(approval.terms, decider)


def is_eligible(terms: dict[str, Any], decider: Decider) -> bool:
    """Whether the rules that these are the terms of let this person or key decide."""
    return not _why_not_eligible_by(terms, decider)


def _why_not_eligible_by(terms: dict[str, Any], decider: Decider) -> str:
    if "eligible" not in terms:
        return ""
    stated = terms["eligible"] or {}
    return next(filter(None, (_why_not_among(one, decider) for one in (stated, *stated.get("and", ())))), "")


def _why_not_among(eligible: dict[str, Any], decider: Decider) -> str:
    """The same for the people whom one rule names."""
    roles = [str(role) for role in eligible.get("roles") or ()]
    people = [str(person) for person in eligible.get("members") or ()]
    if not roles and not people:
        return "the rule says who decides this and names nobody; an admin has to change the rule"
    if any(role in Role.values and decider.role.covers(Role(role)) for role in roles):
        return ""
    if people and _is_named(decider, people):
        return ""
    whom = [*(f"the role {role}" for role in roles), *people]
    return f"the rule lets only {' or '.join(whom)} decide this; ask one of them"


def _is_named(decider: Decider, people: list[str]) -> bool:
    """Whether a member is named by id, e-mail or sign-in name. A key is not: people who are named decide themselves."""
    member = decider.member
    if member is None and decider.member_id:
        member = Member.objects.select_related("user").filter(pk=decider.member_id).first()
    if member is None:
        return False
    names = {str(member.pk), member.user.email.casefold(), member.user.get_username().casefold()} - {""}
    return any(person.casefold() in names for person in people)


def _check_form(decision: Decision) -> None:
    if decision.verdict not in VERDICTS:
        raise Invalid("verdict", f'"{decision.verdict}" is no verdict; use approve, deny or answer')
    if decision.verdict == "answer" and not decision.answer.strip():
        raise Invalid("answer", "an answer needs its text")
    if decision.verdict != "approve" and decision.arguments is not None:
        raise Invalid("arguments", "only an approval can change the arguments")


def _check_terms(approval: Approval, decision: Decision) -> None:
    """What the rule wants of a decision. A denial is always possible: nothing may take it away."""
    terms, verdict = approval.terms, decision.verdict
    allowed = policy_terms.decisions_allowed(terms, approval.risk)
    kind = "edit" if verdict == "approve" and decision.arguments is not None else verdict
    if kind not in allowed:
        field = "arguments" if kind == "edit" else "verdict"
        words = "change the arguments" if kind == "edit" else kind
        raise Invalid(field, f"the rule lets nobody {words} here; it allows {', '.join(sorted(allowed))}")
    if verdict in (terms.get("comment") or ()) and not decision.reason.strip():
        raise Invalid("reason", f"the rule wants a reason for this; say why you {verdict}")
    if verdict == "approve" and terms.get("typed_confirmation") and decision.confirmation.strip() != approval.tool_name:
        raise Invalid("confirmation", f'the rule wants the name of the tool typed: "{approval.tool_name}"')


def _check_sure(approval: Approval, decision: Decision) -> None:
    """Approving what destroys takes two steps, whoever sends the form: the page alone cannot see to it."""
    if decision.verdict != "approve" or decision.sure or approval.status != Approval.Status.PENDING:
        return  # who comes too late is told what was decided
    standing = votes.tally(approval, None if approval.version > 1 else ()).arguments
    arguments = next((one for one in (decision.arguments, standing) if one is not None), approval.arguments)
    if why := second_step.why(approval, arguments):
        raise Invalid("sure", f"it takes a second step to approve this: {why[0]}")


def is_asker(approval: Approval, by: audit.Actor) -> bool:
    """Whether this is the key, or the person, that asked."""
    key, user = approval.asked_by_key_id, approval.asked_by_user_id
    if key is not None and key == actors.api_key_id_of(by):
        return True
    return user is not None and user == actors.user_id_of(by)
