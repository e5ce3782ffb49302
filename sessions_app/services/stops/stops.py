"""Stops: made by reviewers and admins, lifted by admins and by who made them."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from sessions_app.models import Agent, Role, Stop, Workspace
from sessions_app.queries import stops as queries

from .. import audit
from ..log.sanitise import text
from . import carrying_out, doors

log = logging.getLogger(__name__)
MOST_REASON = 2_000
LONGEST = timedelta(days=366)
LOCK_TIMEOUT = "2s"
"""So long a stop waits for what is at a door; a process that hangs there must not keep anybody from stopping."""
WAITED_TOO_LONG = "55P03"
"""SQLSTATE of a lock that was not given in time."""


class Refused(ValueError):
    """A field is wrong; ``field`` names it, the message says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class NotAllowed(PermissionError):
    """Who tried may not stop, or not lift this one."""


class NotInForce(ValueError):
    """The stop was lifted, or its time was over."""


def make(
    workspace: Workspace, *, by: audit.Actor, role: Role, reason: str, agent: Agent | None = None,
    until: datetime | None = None, id_: UUID | None = None,
) -> Stop:  # fmt: skip
    """Stop an agent, or every agent of the workspace, from now on; what waits and runs is ended before this returns,
    or within seconds by the sweep.

    The same ``id_`` again is the same stop, as it stands. Not to be called inside a transaction: others wait for its
    locks. Raises ``NotAllowed`` and ``Refused``.
    """
    if made := _made_before(workspace, id_):
        return made
    if not role.covers(Role.REVIEWER):
        raise NotAllowed(f"the role {role} may not stop agents; ask a reviewer or an admin")
    now, reason = timezone.now(), text(reason).strip()
    if not reason or len(reason) > MOST_REASON:
        raise Refused("reason", f"say why, in 1 to {MOST_REASON:,} characters: everybody who meets the stop reads it")
    if until and not now < until <= now + LONGEST:
        raise Refused("until", f"{until:%Y-%m-%d %H:%M} UTC is not within the next {LONGEST.days} days")
    stop = Stop(
        workspace=workspace, agent=agent, reason=reason, made_by=text(by.name), made_by_kind=by.kind, made_by_id=by.id,
        made_at=now, until=until, **({"pk": id_} if id_ else {}),
    )  # fmt: skip
    try:
        _shut_doors(stop)
    except IntegrityError:  # asked twice at once: the other one is carried out by who made it
        if made := _made_before(workspace, id_):
            return made
        raise
    carrying_out.carry_out(stop, seconds=carrying_out.AT_ONCE_SECONDS)
    stop.refresh_from_db()
    return stop


def _made_before(workspace: Workspace, id_: UUID | None) -> Stop | None:
    return Stop.objects.select_related("agent").filter(pk=id_, workspace=workspace).first() if id_ else None


def _shut_doors(stop: Stop) -> None:
    """Commit the row; nothing else is written here, so that whoever is at a door never waits for this one."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
        try:
            with transaction.atomic():
                doors.lock_alone(stop.workspace_id)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) != WAITED_TOO_LONG:
                raise
            log.warning("stop %s goes ahead: something has been at a door for %s", stop.pk, LOCK_TIMEOUT)
        stop.save(force_insert=True)


def may_lift(stop: Stop, by: audit.Actor, role: Role) -> bool:
    """Whether somebody may lift it: an admin, or who made it and may still stop."""
    made_it = bool(by.id) and (stop.made_by_kind, stop.made_by_id) == (by.kind, by.id)
    return role.covers(Role.ADMIN) or (made_it and role.covers(Role.REVIEWER))


@transaction.atomic
def lift(stop: Stop, *, by: audit.Actor, role: Role, reason: str = "") -> Stop:
    """End a stop. What it ended stays ended; messages that were held back wait for somebody to send them.

    Raises ``NotAllowed``, ``Refused`` and ``NotInForce``.
    """
    if not may_lift(stop, by, role):
        raise NotAllowed(f"only an admin, or {stop.made_by}, who made this stop, may lift it")
    reason = text(reason).strip()
    if len(reason) > MOST_REASON:
        raise Refused("reason", f"has {len(reason):,} characters; use at most {MOST_REASON:,}")
    stop = Stop.objects.select_for_update(of=("self",)).select_related("agent").get(pk=stop.pk)
    if stop.lifted_at:
        raise NotInForce(f"this stop was lifted by {stop.lifted_by} on {stop.lifted_at:%Y-%m-%d at %H:%M} UTC")
    if not queries.holds(stop):
        raise NotInForce(f"the time of this stop was over on {stop.until:%Y-%m-%d at %H:%M} UTC")
    carrying_out.end(stop, by=by, reason=reason, at=timezone.now())
    return stop
