"""Absences: a member says when they are away and who stands in; admins say it for others."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Absence, Member, Role

from .. import audit
from ..log.sanitise import text

LONGEST = timedelta(days=366)
MOST_NOTE = 500


class Refused(ValueError):
    """A field is wrong; ``field`` names it, the message says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class NotAllowed(PermissionError):
    """Somebody who is no admin tried to set the absence of somebody else."""


@transaction.atomic
def make(
    member: Member, *, by: audit.Actor, role: Role, ends_at: datetime, begins_at: datetime | None = None,
    stand_in: Member | None = None, note: str = "",
) -> Absence:  # fmt: skip
    """A member is away from now, or ``begins_at``, to ``ends_at``. Raises ``NotAllowed`` and ``Refused``."""
    _check_allowed(member, by, role)
    now = timezone.now()
    begins_at, note = begins_at or now, text(note).strip()
    if ends_at <= begins_at or ends_at <= now:
        raise Refused("ends_at", "the end is not after the beginning, or is over; choose a later one")
    if ends_at - begins_at > LONGEST or begins_at - now > LONGEST:
        raise Refused("ends_at", f"is more than {LONGEST.days} days away; choose an earlier one")
    if stand_in and (stand_in.pk == member.pk or stand_in.workspace_id != member.workspace_id):
        raise Refused("stand_in", "choose another member of this workspace")
    if stand_in and not Role(stand_in.role).covers(Role.REVIEWER):
        raise Refused("stand_in", f"{stand_in} is a viewer and decides nothing; choose a reviewer or an admin")
    if len(note) > MOST_NOTE:
        raise Refused("note", f"has {len(note):,} characters; use at most {MOST_NOTE}")
    absence = Absence.objects.create(
        workspace_id=member.workspace_id, member=member, stand_in=stand_in, begins_at=begins_at, ends_at=ends_at,
        note=note, made_by=text(by.name),
    )  # fmt: skip
    audit.record(
        member.workspace_id, by, "absence.made", subject=("absence", absence.pk), member=str(member),
        stand_in=str(stand_in) if stand_in else None, begins_at=begins_at.isoformat(), ends_at=ends_at.isoformat(),
    )  # fmt: skip
    return absence


@transaction.atomic
def remove(absence: Absence, *, by: audit.Actor, role: Role) -> None:
    """End an absence, or take back one that has not begun. A second time changes nothing. Raises ``NotAllowed``."""
    _check_allowed(absence.member, by, role)
    if Absence.objects.filter(pk=absence.pk).delete()[0]:
        audit.record(
            absence.workspace_id, by, "absence.removed", subject=("absence", absence.pk), member=str(absence.member)
        )


def _check_allowed(member: Member, by: audit.Actor, role: Role) -> None:
    own = (by.kind, by.id) == ("member", str(member.pk))
    if not own and not role.covers(Role.ADMIN):
        raise NotAllowed(f"only an admin, or {member} themselves, says when {member} is away")
