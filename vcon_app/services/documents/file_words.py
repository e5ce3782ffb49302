"""What files say beside the events of their sessions, for the search: read by a worker, a while after the import."""

from __future__ import annotations

import logging
import re
from datetime import timedelta
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils import timezone

from sessions_app.models import FileText, Session
from sessions_app.services import task_queue
from sessions_app.services.fair_queue import Line
from sessions_app.services.log import file_texts
from vcon_app.formats.file_parts import Value, parts_of

from .. import task_names
from . import jobs
from .file_rest import IN_THE_SEARCH, FileParts, parts_beside_events

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=10)
"""A file that takes its worker down with it is looked through again after so long, and not at once."""
LATE = timedelta(minutes=5)
"""A dozen sweeps; a file that is being looked through is due after its lease."""
MAX_TRIES = 5
"""As of an import (``import_jobs``)."""
COUNTED = 1_000
SWEPT = 200
"""Sessions of one sweep: after an upgrade all are to be looked through, and must not fill the queue."""

NAMES_OF_KINDS = frozenset({
    "type", "subtype", "kind", "role", "status", "state", "object", "format", "encoding", "mediatype", "mimetype",
    "usertype", "version",
})  # fmt: skip
"""Members that say which of a few things something is: whoever looks for ``user`` wants no file that has the role."""
_NUMBERS = re.compile(r"(?:/\d+)+$")
_NUMBER = re.compile(r"-?[\d.,:eE+-]*\d")


def read(session_id: UUID) -> None:
    """Look through the file of a session, if that is due and nobody else is at it.

    One at which its worker went away ``MAX_TRIES`` times, as by its memory, is given up: what its reader kept of it is
    searched.
    """
    now = timezone.now()
    leased = now + LEASE
    due = FileText.objects.filter(session_id=session_id, due_at__lte=now)
    if not due.update(due_at=leased, tries=F("tries") + 1):
        return
    session = Session.objects.filter(pk=session_id).first()
    if session is None:
        return
    is_given_up = FileText.objects.filter(session_id=session_id, tries__gt=MAX_TRIES).exists()
    parts = _kept_parts(session) if is_given_up else _parts(session)
    said = (value.text for part in parts.parts for value in part.values if _is_text(value))
    file_texts.keep(session_id, "\n".join(said), leased, is_given_up=is_given_up)


def _is_text(value: Value) -> bool:
    """Whether somebody may look for it: not for a number, nor for a word that every file of the format has."""
    member = _NUMBERS.sub("", value.place).rpartition("/")[2].casefold()
    return member not in NAMES_OF_KINDS and not _NUMBER.fullmatch(value.text)


def _parts(session: Session) -> FileParts:
    try:
        return parts_beside_events(session, limits=IN_THE_SEARCH)
    except Exception as error:  # of a hostile file: what its reader kept is searched, and it is not read for ever
        if jobs.is_transient(error):
            raise
        if jobs.what_to_wait_for(error):
            FileText.objects.filter(session_id=session.pk, tries__gt=0).update(tries=F("tries") - 1)  # not its fault
            raise
        log.exception("the file of session %s could not be looked through", session.pk)
        return _kept_parts(session)


def _kept_parts(session: Session) -> FileParts:
    """What the reader kept at the import, without the file."""
    return FileParts(parts_of(session.source_format, session.source_record), is_whole=False)


def notice() -> str | None:
    """What a person who looks after the desk should know of files that nobody looks through, or that were given up."""
    return "; ".join(filter(None, (_late(), _given_up()))) or None


def _late() -> str:
    late = FileText.objects.filter(due_at__lt=timezone.now() - LATE).order_by("due_at")
    oldest = late.values_list("due_at", flat=True).first()
    if oldest is None:
        return ""
    minutes = int((timezone.now() - oldest).total_seconds() // 60)
    return (
        f"what the files of {_sessions(late)} say beside their events is not in the search, for {minutes:,} min: "
        "newest first; read logs/worker-1.log where their number does not fall"
    )


def _given_up() -> str:
    given_up = FileText.objects.filter(due_at=None, tries__gt=0).order_by("session_id")
    first = given_up.values_list("session_id", flat=True).first()
    if first is None:
        return ""
    return (
        f"the files of {_sessions(given_up)} were given up, since their worker went away {MAX_TRIES} times each (see "
        f"/sessions/{first}/): the search knows of them what their events say and what the import kept; an import of "
        "more of a session has its file tried again"
    )


def _sessions(rows: QuerySet[FileText]) -> str:
    count = rows[: COUNTED + 1].count()
    return "a session" if count == 1 else f"{min(count, COUNTED):,}{'+' * (count > COUNTED)} sessions"


def sweep() -> int:
    """Enqueue what is due, of the newest sessions first; how many."""
    due = FileText.objects.filter(due_at__lte=timezone.now()).order_by("-due_at", "-session_id")
    rows = due.values_list("session_id", "due_at", "workspace_id")[:SWEPT]
    lines = {id_: Line(workspace_id) for id_, _, workspace_id in rows}
    return task_queue.requeue(task_names.READ_FILE, {id_: since for id_, since, _ in rows if since}, lines)
