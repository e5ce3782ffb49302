"""Execution as its executor reports it: which call was made, checked against the one that was approved."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Approval
from sessions_app.queries import stops as queries

from .. import audit, notify
from ..log.sanitise import text
from ..notices import announcing
from ..stops import doors
from .authority import NotAllowed, is_asker
from .decisions import Conflict
from .record import lock_session_of

STATES = ("running", "succeeded", "errored")
MAX_DETAIL = 2_000
EXECUTABLE = (Approval.Status.APPROVED, Approval.Status.APPROVED_EDITED, Approval.Status.AUTO_ALLOWED)


def report(approval: Approval, *, by: audit.Actor, digest: str, state: str, detail: str = "") -> Approval:
    """Note that the asker makes the call, or has made it. The same report again is a no-op.

    Raises ``NotAllowed`` for anybody but the asker, and ``Conflict``, audited, where the call is not the one that may
    be made (its ``digest`` is not ``executable_digest``), or where nothing may be.
    """
    if not is_asker(approval, by):
        raise NotAllowed("only who asked for this call can report what came of it")
    with transaction.atomic():
        lock_session_of(approval.pk)
        current = Approval.objects.select_related("session").get(pk=approval.pk)
        if refused := _why_not(current, digest) or _why_stopped(current, state):
            audit.record(
                current.workspace_id, by, "approval.execution_refused", subject=("approval", current.pk),
                session=str(current.session_id), tool=current.tool_name, state=state, digest=digest,
                executable_digest=current.executable_digest, reason=refused,
            )  # fmt: skip
        elif not _note(current, by, digest, state, detail):
            refused = f"this call was made already, and {current.execution}: one approval is for one call"
    if refused:
        raise Conflict(current, refused)
    return current


def _why_not(approval: Approval, digest: str) -> str:
    """Why this call may not be made; empty where it may."""
    if approval.planted:
        return "this call may not be made: it was placed as a test of the reviewers"
    if approval.status not in EXECUTABLE or not approval.executable_digest:
        return f"this call may not be made: it is {approval.get_status_display().lower()}"
    if digest != approval.executable_digest:
        return "this is not the call that was approved: its digest is another one; do not make it"
    return ""


def _why_stopped(approval: Approval, state: str) -> str:
    """Why a call may not begin now. What has begun before a stop is told apart, and its end may be reported."""
    if state != "running" or approval.execution != "none":
        return ""
    stop = doors.stop_in(approval.workspace_id, approval.session.agent_id)
    return f"this call may not be made: {queries.sentence(stop)}" if stop else ""


def _note(approval: Approval, by: audit.Actor, digest: str, state: str, detail: str) -> bool:
    """Move the execution on. False where it has ended: a program that is answered 200 begins the call."""
    if approval.execution == state:
        return True
    if approval.execution not in ("none", "running"):
        return False
    approval.execution = state
    approval.executed_at = timezone.now() if state != "running" else approval.executed_at
    approval.save(update_fields=["execution", "executed_at"])
    audit.record(
        approval.workspace_id, by, "approval.executed", subject=("approval", approval.pk),
        session=str(approval.session_id), tool=approval.tool_name, state=state, digest=digest,
        detail=text(detail)[:MAX_DETAIL],
    )  # fmt: skip
    notify.approval_changed(approval.pk, approval.session_id, approval.workspace_id)
    if state != "running":
        announcing.of_approval(approval, "approval.executed")
    return True
