"""The retention of a workspace: it holds for the sessions of it that have none of their own."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import SessionRetention, Workspace
from sessions_app.queries.retention import strategies

from .. import audit
from . import keeping
from .policies import RULES


@transaction.atomic
def change(workspace_id: UUID, said: dict[str, Any], *, by: audit.Actor) -> Workspace:
    """Say some or all of ``RULES``, and ``keep_days``: both or, where one is refused, neither."""
    if "keep_days" in said:
        keeping.set_days(workspace_id, said["keep_days"], by=by)
    set_policy(workspace_id, said, by=by)
    return Workspace.objects.get(pk=workspace_id)


@transaction.atomic
def set_policy(workspace_id: UUID, said: dict[str, Any], *, by: audit.Actor) -> dict[str, Any]:
    """Say some or all of ``RULES``; None takes a member back, and without any there is no retention.

    Answers what is kept: ``RULES`` with ``set_by`` and ``set_at``, or nothing. Raises ``strategies.BadStrategy``.
    """
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
    before = _policy(workspace.retention)
    after = _policy(before | {name: said[name] for name in RULES if name in said})
    strategies.of_policy(after["prune_strategy"] or "", after["max_messages"])
    if after == before:
        return workspace.retention
    says_something = any(after[name] for name in RULES)
    told = {"set_by": by.name, "set_at": timezone.now().isoformat()}
    workspace.retention = after | told if says_something else {}
    workspace.save(update_fields=["retention"])
    looked_at = SessionRetention.objects.filter(workspace=workspace, is_own=False)
    looked_at.exclude(looked_seq=-1).update(looked_seq=-1)
    subject = ("workspace", workspace.id)
    audit.record(workspace.id, by, "workspace.retention_set", subject=subject, before=before, after=after)
    return workspace.retention


def _policy(kept: dict[str, Any]) -> dict[str, Any]:
    return {name: kept.get(name) for name in RULES} | {"auto_prune": bool(kept.get("auto_prune"))}
