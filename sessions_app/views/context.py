"""What every page shows beside its own content."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from sessions_app.queries import approvals


def desk(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the member, their workspace, how many approvals wait. Empty before a door was passed."""
    member = getattr(request, "member", None)
    if member is None:
        return {"member": None}
    waiting = SimpleLazyObject(lambda: approvals.waiting_count(member.workspace_id))
    return {"member": member, "workspace": member.workspace, "waiting_count": waiting}
