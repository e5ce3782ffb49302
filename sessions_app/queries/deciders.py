"""Who of a workspace may decide what a rule asks: for warnings, and for finding what nobody can decide.

Whether somebody may decide a given approval is settled by ``services.approvals.authority`` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sessions_app.models import ApiKey, Member, Role

ROLES = (Role.REVIEWER, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member, or any key of a role, who may decide where a rule names nobody."""

    role: Role
    member: Member | None = None
    made_by: int | None = None
    """Of a key: the user who made it."""

    @property
    def names(self) -> set[str]:
        """Words by which a rule can name them. A key has none: people who are named decide themselves."""
        if self.member is None:
            return set()
        user = self.member.user
        return {str(self.member.pk), user.email.casefold(), user.get_username().casefold()} - {""}


def candidates(workspace_id: UUID) -> list[Candidate]:
    """Members and keys of a workspace that may decide."""
    members = Member.objects.filter(workspace_id=workspace_id, role__in=ROLES).select_related("user").order_by("id")
    keys = ApiKey.objects.filter(workspace_id=workspace_id, role__in=ROLES, revoked_at=None)
    return [
        *(Candidate(Role(one.role), one) for one in members),
        *(Candidate(Role(role), made_by=made_by) for role, made_by in keys.values_list("role", "made_by").distinct()),
    ]


def fits(candidate: Candidate, terms: dict[str, Any]) -> bool:
    """Whether somebody is among those whom the rules name (``terms.eligible``); each rule that names people counts."""
    stated = terms.get("eligible") or {}
    return all(_is_among(candidate, one) for one in (stated, *stated.get("and", ())))


def _is_among(candidate: Candidate, eligible: dict[str, Any]) -> bool:
    roles, people = eligible.get("roles") or (), eligible.get("members") or ()
    if not roles and not people:
        return True
    if any(role in Role.values and candidate.role.covers(Role(role)) for role in roles):
        return True
    return bool(candidate.names & {str(person).casefold() for person in people})
