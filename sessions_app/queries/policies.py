"""Policies of a workspace: versions, what is in force, how two versions differ, what the shadow would have changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.models import Approval, Grant, PolicyInForce, PolicyVersion

SHADOWED = 1_000
"""Calls, the newest first, among which those are looked for that the shadow would have answered otherwise."""
EFFECT_OF = {"auto_allowed": "allow", "auto_denied": "deny"}


@dataclass(frozen=True, slots=True)
class State:
    """What a workspace lives by."""

    live: PolicyVersion | None
    shadow: PolicyVersion | None
    newest: PolicyVersion | None


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one rule between two versions; None is no rule."""

    kind: Literal["added", "removed", "changed"]
    name: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Shadowed:
    """How often the shadow was asked, and the calls that it would have answered otherwise."""

    calls: int
    differing: list[Approval]


def state_of(workspace_id: UUID) -> State:
    """What is in force, in shadow, and written last."""
    found = PolicyInForce.objects.select_related("live", "shadow").filter(workspace_id=workspace_id).first()
    newest = versions_of(workspace_id).order_by("-number").first()
    return State(found.live if found else None, found.shadow if found else None, newest)


def versions_of(workspace_id: UUID) -> QuerySet[PolicyVersion]:
    return PolicyVersion.objects.filter(workspace_id=workspace_id)


def changes(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> list[Change]:
    """What became of each rule, by its name. Their order means nothing, so that it is no change."""
    old, new = ({str(rule.get("name")): rule for rule in rules} for rules in (before, after))
    gone = [Change("removed", name, rule, None) for name, rule in old.items() if name not in new]
    differing = [(name, rule) for name, rule in new.items() if old.get(name) != rule]
    return [Change("changed" if name in old else "added", name, old.get(name), rule) for name, rule in differing] + gone


def effect_of(approval: Approval) -> str:
    """What the rules in force made of a call: allow, ask or deny."""
    if approval.decides_by == Approval.DecidesBy.GRANT:
        return "ask"
    return EFFECT_OF.get(approval.status, "ask")


def shadowed(workspace_id: UUID, version: PolicyVersion) -> Shadowed:
    """What the version in shadow would have changed, among the last calls that it was asked about."""
    asked = Approval.objects.filter(workspace_id=workspace_id, shadow__policy_version=str(version.pk))
    recent = list(asked.select_related("session__agent").order_by("-id")[:SHADOWED])
    return Shadowed(len(recent), [one for one in recent if (one.shadow or {}).get("effect") != effect_of(one)])


def grants_of(workspace_id: UUID) -> QuerySet[Grant]:
    """Grants of a workspace with what their state depends on."""
    return Grant.objects.filter(workspace_id=workspace_id).select_related("agent", "session")


def state_of_grant(grant: Grant) -> str:
    """in force, used up, expired, void or revoked; for the latter two ``end_reason`` says why."""
    if grant.ended_at is not None:
        return "used up" if grant.uses_left == 0 else "ended"
    if grant.expires_at <= timezone.now():
        return "expired"
    return "in force" if grant.agent_version == grant.agent.version else "void"
