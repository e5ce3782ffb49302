"""Template context of every page beside its own content."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from sessions_app.models import Member
from sessions_app.queries import approvals, members, stops
from sessions_app.services.approvals import reasons

from . import access, zones


def desk(request: HttpRequest) -> dict[str, Any]:
    """Context processor: the member, their workspace, how many approvals wait; no member before the sign-in."""
    member = getattr(request, "member", None) or _behind_no_door(request)
    if member is None:
        return {"member": None, "zone_name": zones.name}
    # A function: the template calls it, so that a fragment without the number costs no query. A SimpleLazyObject is no
    # int, and `pluralize` said "1 wait" of it.
    waiting = cache(lambda: approvals.waiting_shown(member.workspace_id))
    held = cache(lambda: stops.strips(member.workspace_id))
    deciders = cache(lambda: list(members.deciders(member.workspace_id)))
    store = cache(lambda: reasons.store(member))
    elsewhere = cache(lambda: [one for one in members.workspaces(member.user) if one.pk != member.workspace_id])
    here = {
        "member": member, "workspace": member.workspace, "zone_name": zones.name, "other_workspaces": elsewhere,
        "import_limit": settings.MAX_UPLOAD_BYTES,  # a file can be dropped on any page
    }  # fmt: skip
    if member.numbers_only:  # why agents were stopped, and what waits, are no numbers of theirs
        return here
    return here | {
        "waiting_count": waiting,
        "stops": held,
        "reasons_in_store": store,
        "deciders_here": deciders,
    }


def _behind_no_door(request: HttpRequest) -> Member | None:
    """Pages that need no door (an address that is not there) still have the way back for who is signed in."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return None
    try:
        return access.member_of(request)
    except PermissionDenied:
        return None
