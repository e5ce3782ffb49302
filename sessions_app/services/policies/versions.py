"""Versions of a workspace's rules: saved as drafts, put in force, run in shadow, taken back. None is ever changed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from sessions_app import canonical
from sessions_app.models import PolicyInForce, PolicyVersion
from sessions_app.policy.reading import read_rules

from .. import audit
from ..log.sanitise import storable, text

MAX_NOTE = 2_000


class Conflict(Exception):
    """Somebody else changed what is in force since it was read."""


@transaction.atomic
def save_draft(workspace_id: UUID, rules: Any, *, by: audit.Actor, note: str = "") -> PolicyVersion:
    """Keep rules as a new version, without any effect. The same rules as the newest version are that version.

    Raises ``policy.faults.Invalid`` with every fault.
    """
    rules = storable(rules)
    read_rules(rules, "/rules")
    _lock(workspace_id)
    newest = PolicyVersion.objects.filter(workspace_id=workspace_id).order_by("-number").first()
    digest = digest_of(rules)
    if newest and newest.digest == digest and not note:
        return newest
    version = PolicyVersion.objects.create(
        workspace_id=workspace_id, number=newest.number + 1 if newest else 1, rules=rules, digest=digest,
        note=text(note)[:MAX_NOTE], made_by=by.name, made_at=timezone.now(),
    )  # fmt: skip
    audit.record(
        workspace_id, by, "policy.saved", subject=("policy", version.pk), number=version.number, digest=digest,
        rules=len(rules), note=version.note,
    )  # fmt: skip
    return version


@transaction.atomic
def publish(version: PolicyVersion, *, by: audit.Actor, seen: int | None = None, reason: str = "") -> PolicyInForce:
    """Put a version in force; it leaves the shadow, if it was there. One that is in force already stays.

    ``seen`` is the number of the live version that the caller knows of (0: none). Raises ``Conflict`` when it is
    another one by now.
    """
    _lock(version.workspace_id)
    state, _ = PolicyInForce.objects.select_related("live").get_or_create(workspace_id=version.workspace_id)
    before = state.live.number if state.live else 0
    if seen is not None and seen != before:
        raise Conflict(f"policy {before} is in force by now, not {seen}; look at what changed and publish again")
    if state.live_id == version.pk:
        return state
    state.live, state.changed_by = version, by.name
    if state.shadow_id == version.pk:
        state.shadow = None
    state.save()
    audit.record(
        version.workspace_id, by, "policy.published", subject=("policy", version.pk), number=version.number,
        digest=version.digest, before=before, note=version.note, reason=text(reason),
    )  # fmt: skip
    return state


@transaction.atomic
def put_in_shadow(workspace_id: UUID, version: PolicyVersion | None, *, by: audit.Actor) -> PolicyInForce:
    """Have a version say beside the live one what it would do; None ends that."""
    _lock(workspace_id)
    state, _ = PolicyInForce.objects.get_or_create(workspace_id=workspace_id)
    if state.shadow_id == (version.pk if version else None):
        return state
    subject = ("policy", version.pk if version else state.shadow_id)
    state.shadow, state.changed_by = version, by.name
    state.save()
    action = "policy.shadowed" if version else "policy.shadow_ended"
    audit.record(workspace_id, by, action, subject=subject, number=version.number if version else None)
    return state


@transaction.atomic
def put_in_force(
    workspace_id: UUID, rules: Any, *, by: audit.Actor, note: str = "", seen: int | None = None
) -> PolicyVersion:  # fmt: skip
    """Save rules and publish them, or neither. Raises as ``save_draft`` and ``publish``."""
    version = save_draft(workspace_id, rules, by=by, note=note)
    publish(version, by=by, seen=seen, reason=note)
    return version


def roll_back(
    version: PolicyVersion, *, by: audit.Actor, seen: int | None = None, reason: str = ""
) -> PolicyVersion:  # fmt: skip
    """Put the rules of an older version in force again, as a new version. Raises ``Conflict``."""
    note = f"as version {version.number}" + (f": {reason}" if reason else "")
    return put_in_force(version.workspace_id, version.rules, by=by, note=note, seen=seen)


def digest_of(rules: Any) -> str:
    """SHA-256, in hex, of the canonical JSON (RFC 8785) of rules."""
    return canonical.digest(rules)


def _lock(workspace_id: UUID) -> None:
    with connection.cursor() as cursor:  # numbers have no gaps, and two who publish at once do it one after the other
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"policy:{workspace_id}"])
