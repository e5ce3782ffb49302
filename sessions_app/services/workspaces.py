"""Workspaces: the one that is there from the start, and those that an operator adds with ``manage.py workspace``."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db import transaction

from sessions_app.models import Member, Role, Workspace
from sessions_app.summary.findings import NAMES

from . import audit

DEFAULT = "default"


class Refused(ValueError):
    """A workspace cannot be created; the message says why and what to do."""


def default_workspace() -> Workspace:
    """The workspace that is there from the start."""
    return Workspace.objects.get_or_create(slug=DEFAULT, defaults={"name": "Default"})[0]


@transaction.atomic
def create_workspace(slug: str, name: str = "", *, by: audit.Actor = audit.COMMAND) -> Workspace:
    """Another workspace; existing admins of the default one become its admins. Raises ``Refused``."""
    if Workspace.objects.filter(slug=slug).exists():
        raise Refused(f'there is a workspace "{slug}" already; choose another slug')
    workspace = Workspace.objects.create(slug=slug, name=name or slug)
    for member in Member.objects.filter(workspace__slug=DEFAULT, role=Role.ADMIN):
        Member.objects.create(workspace=workspace, user_id=member.user_id, role=Role.ADMIN)
    audit.record(workspace.id, by, "workspace.created", subject=("workspace", workspace.id), slug=slug)
    return workspace


@transaction.atomic
def rename_workspace(workspace: Workspace, name: str, *, by: audit.Actor) -> None:
    before, workspace.name = workspace.name, name
    workspace.save(update_fields=["name"])
    audit.record(workspace.id, by, "workspace.renamed", subject=("workspace", workspace.id), before=before, after=name)


@transaction.atomic
def turn_rules_off(workspace_id: UUID, off: Collection[str], *, by: audit.Actor) -> list[str]:
    """Show findings of no other rules than these from now on; those that are off. They go on looking: turned on again,
    a rule tells of the time between as well. The same ones once more change nothing. Raises ``Refused``."""
    if unknown := sorted(set(off) - set(NAMES)):
        raise Refused(f'there is no rule "{unknown[0][:40]}"; there are {", ".join(NAMES)}')
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)
    before, after = workspace.rules_off, [name for name in NAMES if name in off]
    if before != after:
        workspace.rules_off = after
        workspace.save(update_fields=["rules_off"])
        subject = ("workspace", workspace.id)
        audit.record(workspace.id, by, "workspace.finding_rules", subject=subject, before=before, after=after)
    return after
