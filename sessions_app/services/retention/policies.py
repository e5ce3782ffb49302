"""The retention policy of a session: said when it is opened, changed later; a legal hold is set and lifted."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Session, SessionRetention
from sessions_app.prepared import Statement, fetch
from sessions_app.queries.retention import strategies

from .. import audit
from ..log.sanitise import text

RULES = ("ttl_days", "auto_prune", "prune_strategy", "max_messages")
"""What a workspace says, too, for its sessions that say none of it."""
FIELDS = (*RULES, "immutable", "hold_reason")
HELD = "this session is on hold (immutable): nothing of it is pruned or deleted until an admin lifts the hold"
KEPT = Statement("SELECT workspace_id FROM sessions_app_session WHERE id = %s FOR KEY SHARE")
EMPTY = {"auto_prune": False, "prune_strategy": "", "immutable": False, "hold_reason": ""}
MOST_REASON = 500
"""Characters of the reason of a hold."""


class Held(ValueError):
    """The session is immutable."""

    def __init__(self) -> None:
        super().__init__(HELD)


class NotAllowed(ValueError):
    """Only an admin makes a session go earlier than was said, or lifts its hold."""


@transaction.atomic
def set_policy(session_id: UUID, said: dict[str, Any], *, by: audit.Actor, is_admin: bool = False) -> SessionRetention:
    """Say some or all of ``FIELDS`` of a session; None takes a member back. Who takes all of ``RULES`` back has the
    session follow its workspace again.

    Raises ``strategies.BadStrategy``, ``NotAllowed`` and ``Session.DoesNotExist``.
    """
    row = lock(session_id)
    before = row.policy()
    for name in FIELDS:
        if name in said:
            setattr(row, name, EMPTY.get(name) if said[name] is None else said[name])
    if said.get("hold_reason") and not row.immutable:
        raise strategies.BadStrategy(
            "retention/hold_reason", "there is no hold that this is the reason of: say immutable, too"
        )
    row.hold_reason = text(row.hold_reason) if row.immutable else ""
    strategies.of_policy(row.prune_strategy, row.max_messages)
    row.is_own = _is_own(row, said)
    after = row.policy()
    if any(before[name] != after[name] for name in RULES):
        row.shown_through = 0
    if not is_admin:
        _refuse_shortening(before, after, was_said=row.is_set)
    row.is_set, row.set_by, row.set_at, row.looked_seq = True, by.name, timezone.now(), -1
    row.save()
    if after != before:
        subject = ("session", session_id)
        audit.record(row.workspace_id, by, _action(before, after), subject=subject, before=before, after=after)
    return row


def lock(session_id: UUID) -> SessionRetention:
    """The row of a session, made if need be and locked: of two that prune one waits. Raises ``Session.DoesNotExist``.

    The session cannot be deleted until the transaction ends, and takes events meanwhile; who has begun to delete it
    is waited for. So a hold is either there before a deletion or comes too late for it.
    """
    found = fetch(KEPT, [session_id])
    if not found:
        raise Session.DoesNotExist
    first = SessionRetention(session_id=session_id, workspace_id=found[0][0])
    SessionRetention.objects.bulk_create([first], ignore_conflicts=True)
    return SessionRetention.objects.select_for_update().get(pk=session_id)


def held_of(session_ids: Collection[UUID]) -> UUID | None:
    """One of these sessions that is immutable, if any is."""
    held = SessionRetention.objects.filter(pk__in=session_ids, immutable=True).order_by("pk")
    return held.values_list("pk", flat=True).first()


def of_session(session_id: UUID) -> SessionRetention:
    """The policy of a session; where nobody has said any, one that says nothing, which is not stored."""
    return SessionRetention.objects.filter(pk=session_id).first() or SessionRetention(session_id=session_id)


def in_force(row: SessionRetention) -> strategies.Policy:
    """What holds for a session, whose row comes with it: its own retention, else that of its workspace."""
    if row.is_own:
        return strategies.Policy(row.ttl_days, row.auto_prune, row.prune_strategy, row.max_messages, "session")
    said = row.session.workspace.retention
    if not said:
        return strategies.NO_POLICY
    return strategies.Policy(
        said.get("ttl_days"), said.get("auto_prune", False), said.get("prune_strategy") or "",
        said.get("max_messages"), "workspace",
    )  # fmt: skip


def _is_own(row: SessionRetention, said: dict[str, Any]) -> bool:
    given = [said[name] for name in RULES if name in said]
    if any(value is not None for value in given):
        return True
    has_some = row.ttl_days is not None or row.max_messages is not None or row.prune_strategy or row.auto_prune
    return row.is_own and not (given and not has_some)


def _refuse_shortening(before: dict[str, Any], after: dict[str, Any], *, was_said: bool) -> None:
    """Days that were taken back are days without an end: who may not shorten them does not say shorter ones then."""
    if before["immutable"] and after != before:
        raise NotAllowed("this session is on hold (immutable): only an admin lifts the hold or changes its retention")
    old, new = before["ttl_days"], after["ttl_days"]
    if old is not None and new is not None and new < old:
        raise NotAllowed(f"this session was to be kept for {old} days: only an admin makes that {new}")
    if was_said and old is None and new is not None:
        raise NotAllowed(f"this session was to be kept without an end: only an admin makes that {new} days")


def _action(before: dict[str, Any], after: dict[str, Any]) -> str:
    if before["immutable"] != after["immutable"]:
        return "session.held" if after["immutable"] else "session.hold_lifted"
    return "session.retention_set"
