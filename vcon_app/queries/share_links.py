"""Share links: whether a workspace has them on, lists of them, and in which state each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from sessions_app.models import ApiKey, Member, Role
from vcon_app.models import Export, ShareLink, Sharing

SHOWN = 50
OPEN = "open"
MAY_SHARE = (Role.REVIEWER, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class Shown:
    """A link with its state: open, writing, failed, held, expired, withdrawn, off or orphaned.

    ``held``: words that were left out still stand on its page, and nobody has accepted that. ``off``: the workspace has
    links turned off. ``orphaned``: who made it may not share any more. Nobody opens it in any state but ``open``.
    """

    row: ShareLink
    state: str

    @property
    def is_in_force(self) -> bool:
        """Whether there is something to withdraw."""
        return self.state in (OPEN, "writing", "held")


def is_on(workspace_id: UUID) -> bool:
    """Whether sessions of a workspace may be shared by links: they may not until an admin says so."""
    return Sharing.objects.filter(workspace_id=workspace_id, is_on=True).exists()


def of_session(session_id: UUID) -> QuerySet[ShareLink]:
    """Links of a session, the newest first."""
    return ShareLink.objects.filter(session_id=session_id).select_related("export").order_by("-id")


def of_workspace(workspace_id: UUID) -> QuerySet[ShareLink]:
    """Links of a workspace with their sessions, the newest first."""
    found = ShareLink.objects.filter(workspace_id=workspace_id).select_related("export", "session__agent")
    return found.order_by("-id")


def in_force(workspace_id: UUID) -> QuerySet[ShareLink]:
    """Links that were not withdrawn and have not expired."""
    return ShareLink.objects.filter(workspace_id=workspace_id, withdrawn_at=None, expires_at__gt=timezone.now())


def files() -> set[str]:
    """Names of the stored pages that links of all workspaces show."""
    working = ShareLink.objects.filter(withdrawn_at=None, expires_at__gt=timezone.now(), export__isnull=False)
    return {str(pk) for pk in working.values_list("export_id", flat=True)}


def shown(links: Sequence[ShareLink]) -> list[Shown]:
    """The links with their states: three queries for any number of one workspace."""
    if not links:
        return []
    allowed, on = _may_share(links), is_on(links[0].workspace_id)
    return [Shown(link, _state(link, on, (link.actor_kind, link.actor_id) in allowed)) for link in links]


def state_of(link: ShareLink) -> str:
    """The state of one link; see ``Shown``."""
    return shown([link])[0].state


def _state(link: ShareLink, on: bool, may_share: bool) -> str:
    if link.withdrawn_at:
        return "withdrawn"
    if link.expires_at <= timezone.now():
        return "expired"
    if not on:
        return "off"
    if not may_share:
        return "orphaned"
    if link.export is None or link.export.status in (Export.Status.QUEUED, Export.Status.RUNNING):
        return "writing"
    if link.export.status == Export.Status.FAILED:
        return "failed"
    return "held" if (link.leak_count or link.unchecked) and not link.accepted_by else OPEN


def _may_share(links: Sequence[ShareLink]) -> set[tuple[str, str]]:
    """Makers of links who could still make them: their role may have changed, or they may be gone."""
    ids = {kind: {link.actor_id for link in links if link.actor_kind == kind} for kind in ("member", "api_key")}
    found: set[tuple[str, str]] = set()
    if ids["member"]:
        members = Member.objects.filter(pk__in=ids["member"], role__in=MAY_SHARE, user__is_active=True)
        found |= {("member", str(pk)) for pk in members.values_list("pk", flat=True)}
    if ids["api_key"]:
        unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        keys = ApiKey.objects.filter(unexpired, pk__in=ids["api_key"], role__in=MAY_SHARE, revoked_at=None)
        found |= {("api_key", str(pk)) for pk in keys.values_list("pk", flat=True)}
    return found
