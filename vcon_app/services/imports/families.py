"""Families: a session and its sub-agents, whose transcripts are files of their own, linked when one of them comes.

Two that link one family at once do not see what the other writes, so that a family has a lock. An import holds the rows
of its sessions until its end, and who links a family may need them: so no import waits for a family, nor for a row
while it holds one. It puts the look off until its transaction is over. That is a row of it, so that a kill in between
loses nothing. Who ends last links, as if the files had come in turn.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from sessions_app.models import Session
from vcon_app import registry
from vcon_app.models import Companion, FamilyCheck

from . import sub_agents_by_file, sub_agents_by_prompt

log = logging.getLogger(__name__)

TRY_ALL = "SELECT pg_try_advisory_xact_lock(hashtext('families'), hashtext(%(place)s))"
# Of some families, beside whoever links others. As many as 1,024 locks for one import, or PostgreSQL has no more.
TRY_THESE = """
SELECT coalesce(bool_and(pg_try_advisory_xact_lock(hashtext('family'), key)), true)
       AND pg_try_advisory_xact_lock_shared(hashtext('families'), hashtext(%(place)s))
FROM (SELECT DISTINCT hashtext(%(place)s || ':' || root) %% 1024 AS key
      FROM unnest(%(roots)s::text[]) AS root ORDER BY key OFFSET 0) each
"""
# What a second look does can be done again. It gives up before PostgreSQL looks for a deadlock, after a second.
SECOND_LOOK = "SET LOCAL synchronous_commit = off; SET LOCAL lock_timeout = '500ms'"
NOT_NOW = frozenset({"40P01", "55P03"})
"""SQLSTATE of a deadlock, and of a lock that was not given in time."""
LATE = timedelta(minutes=1)
"""A dozen sweeps."""


class _Busy(Exception):
    """Somebody else links one of the families."""


def link(workspace_id: UUID, format_name: str, sessions: Iterable[Session], kept: Iterable[Companion]) -> None:
    """Give sub-agents their parents, in the families of these sessions and of those that companions speak of.

    Where somebody else links one of them, or holds a session of one, that is done right after the transaction. To be
    called in one, at its end.
    """
    if not registry.get(format_name).SPEC.children:
        return
    check = FamilyCheck(
        workspace_id=workspace_id,
        source_format=format_name,
        sessions=[session.pk for session in sessions],
        agents=[companion.tail.partition("-")[2] for companion in kept],
        due_at=timezone.now(),
    )
    # Also where nothing is put off here: others leave a family to whoever links it.
    transaction.on_commit(partial(link_put_off, workspace_id), robust=True)
    if not _is_linked(check, waits=False):
        check.save(force_insert=True)


def link_put_off(workspace_id: UUID | None = None) -> int:
    """Take the looks at families that were put off, in one workspace or in all; how many.

    Called right after each import with families, and by a sweep for those that were killed before. Whoever holds a
    family looks for more when it is free again, so that nobody waits for it here. To be called outside of a
    transaction.
    """
    done = 0
    while taken := sum(_link_one(check) for check in _due(workspace_id)):
        done += taken
    return done


def late_notice() -> str | None:
    """What a person who looks after the desk should know of families that nobody links."""
    late = FamilyCheck.objects.filter(due_at__lt=timezone.now() - LATE)
    if count := late.count():
        imports = "an import" if count == 1 else f"{count} imports"
        return f"the sub-agents of {imports} are not linked with the sessions that started them yet"
    return None


def _due(workspace_id: UUID | None) -> list[FamilyCheck]:
    found = FamilyCheck.objects.all() if workspace_id is None else FamilyCheck.objects.filter(workspace_id=workspace_id)
    return list(found.order_by("due_at", "pk")[:100])


def _link_one(check: FamilyCheck) -> bool:
    """Whether the look was taken now, by us."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(SECOND_LOOK)
        return _is_linked(check, waits=True) and bool(FamilyCheck.objects.filter(pk=check.pk).delete()[0])


def _is_linked(check: FamilyCheck, *, waits: bool) -> bool:
    """Link the families; False where they are somebody else's now, and everything is let go of again.

    ``waits`` is for rows of sessions, a moment, and not for who holds some.
    """
    try:
        with transaction.atomic():
            _link(check, waits)
    except _Busy:
        return False
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) not in NOT_NOW:
            raise
        log.info("families of %s sessions are looked at later: %s", check.source_format, error)
        return False
    return True


def _link(check: FamilyCheck, waits: bool) -> None:
    spec, lock = registry.get(check.source_format).SPEC, partial(_locked, waits=waits)
    scope = check.workspace_id, check.source_format
    place = f"{check.workspace_id}:{check.source_format}"
    if spec.children != "beside":
        _hold(TRY_ALL, place)
        sub_agents_by_prompt.link_children(*scope, spec.children, spec.starts_sessions, check.sessions, lock)
        return
    here = Session.objects.filter(pk__in=check.sessions).values_list("external_id", flat=True)
    if check.agents:
        _hold(TRY_ALL, place)  # a family whose child is being read now is not found
        roots = sub_agents_by_file.roots_of(here, *scope, check.agents)
    else:
        roots = sub_agents_by_file.roots_of(here, *scope, ())
        _hold(TRY_THESE, place, roots)
    sub_agents_by_file.link_families(*scope, roots, spec.starts_sessions, lock)


def _hold(statement: str, place: str, roots: Collection[str] = ()) -> None:
    """Raises ``_Busy`` rather than wait."""
    with connection.cursor() as cursor:
        cursor.execute(statement, {"place": place, "roots": list(roots)})
        if not cursor.fetchone()[0]:
            raise _Busy


def _locked(session_ids: Collection[UUID], *, waits: bool) -> list[Session]:
    """The sessions, locked in the order of their ids."""
    if not session_ids:
        return []
    rows = Session.objects.select_for_update(no_key=True, nowait=not waits).filter(pk__in=session_ids)
    return list(rows.defer("source_record").order_by("pk"))
