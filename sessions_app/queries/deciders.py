"""Who of a workspace may decide what a rule asks: for warnings, and for finding what nobody can decide.

Whether somebody may decide a given approval is settled by ``services.approvals.authority`` alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from sessions_app.models import ApiKey, Approval, Member, Role
from sessions_app.policy.reading import compile_rules

ROLES = (Role.REVIEWER, Role.ADMIN)
NOBODY = "nobody in this workspace may decide it"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member, or a key, who may decide where a rule names nobody."""

    role: Role
    member: Member | None = None
    made_by: int | None = None
    """Of a key: the user who made it."""
    key_id: UUID | None = None

    @property
    def user_id(self) -> int | None:
        """The user behind it; None for a key that nobody made."""
        return self.member.user_id if self.member else self.made_by

    @property
    def person(self) -> str:
        """Who it counts as: a member and the keys that they made are one."""
        return f"user {self.user_id}" if self.user_id else f"key {self.key_id}"

    @property
    def names(self) -> set[str]:
        """Words by which a rule can name them. A key has none: people who are named decide themselves."""
        if self.member is None:
            return set()
        user = self.member.user
        return {str(self.member.pk), user.email.casefold(), user.get_username().casefold()} - {""}


def candidates(workspace_id: UUID) -> list[Candidate]:
    """Members who can sign in, and keys that hold, of a workspace, that may decide. Two queries."""
    members = Member.objects.filter(workspace_id=workspace_id, role__in=ROLES, user__is_active=True)
    holds = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    keys = ApiKey.objects.filter(holds, workspace_id=workspace_id, role__in=ROLES, revoked_at=None)
    return [
        *(Candidate(Role(one.role), one) for one in members.select_related("user").order_by("id")),
        *(
            Candidate(Role(role), made_by=made_by, key_id=key_id)
            for role, made_by, key_id in keys.values_list("role", "made_by", "id")
        ),
    ]


def fits(candidate: Candidate, terms: dict[str, Any]) -> bool:
    """Whether somebody is among those whom the rules name (``terms.eligible``); each rule that names people counts."""
    if "eligible" not in terms:
        return True
    stated = terms["eligible"] or {}
    return all(_is_among(candidate, one) for one in (stated, *stated.get("and", ())))


def why_undecidable(terms: dict[str, Any], people: Sequence[Candidate], but: Collection[int | None] = ()) -> str:
    """Why what is asked on these terms cannot be approved by who is here; empty where it can.

    ``but``: users who may not.
    """
    may = {one.person for one in people if fits(one, terms) and (one.user_id is None or one.user_id not in but)}
    needed = terms.get("approvals", 1)
    if not may:
        return NOBODY
    return f"{needed} people have to approve it, and {len(may)} here may" if len(may) < needed else ""


def why_stuck(approval: Approval, people: Sequence[Candidate]) -> str:
    """The same of an approval that waits: without who asked, and without who began it where the rules say so."""
    but = {approval.asked_by_user_id}
    if approval.terms.get("not_initiator"):
        but.add(approval.initiated_by_id)
    return why_undecidable({"approvals": approval.votes_needed} | approval.terms, people, but)


def is_narrow(approval: Approval) -> bool:
    """Whether it is worth looking who may decide: not where any one reviewer may."""
    names_people = bool({"eligible", "not_initiator"} & approval.terms.keys())
    return names_people or approval.votes_needed > 1 or approval.asked_by_user_id is not None


def warnings(workspace_id: UUID, rules: Any) -> list[str]:
    """What whoever writes rules should know: those whose calls nobody could approve, as people and keys are now."""
    people = candidates(workspace_id)
    if not people:
        return ["Nobody in this workspace may decide anything: add a reviewer, or what asks waits for ever."]
    found = []
    for one in compile_rules(rules):
        if one.rule.effect == "ask" and (why := why_undecidable(one.rule.ask, people)):
            found.append(f"Rule “{one.rule.name}”: {why}. Its calls would wait until they expire.")
    return found


def _is_among(candidate: Candidate, eligible: dict[str, Any]) -> bool:
    roles, people = eligible.get("roles") or (), eligible.get("members") or ()
    if any(role in Role.values and candidate.role.covers(Role(role)) for role in roles):
        return True
    return bool(candidate.names & {str(person).casefold() for person in people})
