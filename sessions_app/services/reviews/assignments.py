"""Sessions that are assigned to somebody, or taken by somebody who is reviewing them at this moment."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Member, ReviewQueue, Role, Session, TakenSession
from sessions_app.prepared import Statement, run
from sessions_app.queries.reviews import queues as queries

from .. import audit, notify
from .problems import Refused, require

TAKEN_FOR = timedelta(minutes=30)
"""Nobody else is given a session for so long after somebody took it."""
ONE_AT_A_TIME = Statement("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))")


@transaction.atomic
def assign(session_ids: Collection[UUID], assignee: Member | None, member: Member, *, by: audit.Actor) -> int:
    """Give sessions of the member's workspace to somebody, or to nobody; how many changed hands.

    Raises ``Refused`` and ``NotAllowed``.
    """
    require(member, Role.REVIEWER)
    if assignee and assignee.workspace_id != member.workspace_id:
        raise Refused("assignee", "choose a member of this workspace")
    if assignee and not Role(assignee.role).covers(Role.REVIEWER):
        raise Refused("assignee", f"{assignee} is a viewer and gives no verdicts; choose a reviewer or an admin")
    here = Session.objects.filter(workspace_id=member.workspace_id, pk__in=session_ids).order_by("pk")
    rows = here.select_for_update(of=("self",)).values_list("pk", "assignee_id")
    changed = [pk for pk, before in rows if before != (assignee.pk if assignee else None)]
    Session.objects.filter(pk__in=changed).update(assignee=assignee)
    notify.reviews_changed(changed)
    audit.record_each(member.workspace_id, [
        audit.Said(by, "session.assigned", ("session", pk), {"to": str(assignee) if assignee else None})
        for pk in changed
    ])  # fmt: skip
    return len(changed)


@transaction.atomic
def take_next(queue: ReviewQueue, member: Member) -> Session | None:
    """The next session of a queue for this member, who has it for half an hour; None at the end of the queue.

    Two who ask at the same moment are given different ones. Raises ``BadFilter`` and ``NotAllowed``.
    """
    require(member, Role.REVIEWER)
    run(ONE_AT_A_TIME, [f"reviews:{queue.workspace_id}"])
    session = queries.next_for(queue, member)
    if session:
        TakenSession.objects.update_or_create(
            session_id=session.pk, defaults={"member": member, "until": timezone.now() + TAKEN_FOR}
        )
    return session


def give_back(session: Session, member: Member) -> None:
    """Others may be given it again at once."""
    TakenSession.objects.filter(session=session, member=member).delete()
