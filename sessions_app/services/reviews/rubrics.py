"""Rubrics: what reviewers of a workspace score."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from sessions_app.models import Member, Role, Rubric

from .. import audit
from ..log.sanitise import text
from .problems import Refused, require

MOST = 20
"""Rubrics in use of a workspace: as many fields as a form of verdicts bears."""
MOST_NAME = 60


@transaction.atomic
def add(member: Member, name: str, kind: str, *, by: audit.Actor) -> Rubric:
    """A new rubric. Raises ``Refused`` and ``NotAllowed``."""
    require(member, Role.ADMIN)
    name = " ".join(text(name).split())
    if not 0 < len(name) <= MOST_NAME:
        raise Refused("name", f"has {len(name)} characters; use 1 to {MOST_NAME}")
    if kind not in Rubric.Kind.values:
        raise Refused("kind", f'"{kind[:40]}" is no kind; use one of {", ".join(Rubric.Kind.values)}')
    if Rubric.objects.filter(workspace_id=member.workspace_id, retired_at=None).count() >= MOST:
        raise Refused("name", f"there are {MOST} rubrics already; retire one first")
    try:
        with transaction.atomic():
            made = Rubric.objects.create(workspace_id=member.workspace_id, name=name, kind=kind, made_by=text(by.name))
    except IntegrityError:
        raise Refused("name", f'there is a rubric "{name}" already') from None
    audit.record(member.workspace_id, by, "rubric.added", subject=("rubric", made.pk), name=name, kind=kind)
    return made


@transaction.atomic
def retire(rubric: Rubric, member: Member, *, by: audit.Actor) -> None:
    """It is not asked for any more; scores that were given stay. A second time changes nothing."""
    require(member, Role.ADMIN)
    if Rubric.objects.filter(pk=rubric.pk, retired_at=None).update(retired_at=timezone.now()):
        audit.record(rubric.workspace_id, by, "rubric.retired", subject=("rubric", rubric.pk), name=rubric.name)
