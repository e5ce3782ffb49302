"""Sessions: created, locked, archived. Their messages and turns: see ``turns``."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Case, F, Q, Value, When
from django.utils import timezone

from sessions_app.drafts import EventDraft
from sessions_app.models import Agent, Session
from sessions_app.prepared import Statement, fetch
from sessions_app.queries.sessions import provenance

from . import actors, agents, audit, notify, task_queue
from .approvals import endings
from .fair_queue import Line
from .log import events, heads, links, search_index
from .log.sanitise import identifier, storable
from .retention import policies
from .state import values
from .stops import doors
from .turns.resume import stop

FROM_FILE = "this session was read from a file and stays as it is: continue it in a new session"
FROM_SIGNED_FILE = "this session was read from a signed file and stays as it was signed: continue it in a new session"
KNOWN_AS = Statement("""
SELECT id FROM sessions_app_session WHERE workspace_id = %s AND external_id = %s AND source_format = %s
""")
CLOSED = "this session is archived: it can be read and exported, but not continued"


class Closed(ValueError):
    """The session takes nothing, or nothing from outside."""


class Archived(Closed):
    """The session is read-only."""


class ReadFromFile(Closed):
    """The session was read from a file: what is sent from outside would stand among what the file says."""


@transaction.atomic
def create(
    agent: Agent, *, by: audit.Actor, origin: str = Session.Origin.API, for_question: bool = False,
    retention: dict[str, Any] | None = None, **fields: Any,
) -> Session:  # fmt: skip
    """A new, empty session of an agent. ``fields``: title, summary, user_id, external_id (texts), metadata, tags.
    ``retention``: its policy, as ``policies.set_policy`` takes it.

    Raises ``doors.Stopped``; not of a session that is but made ``for_question``, which is answered no and kept.
    """
    if not for_question:
        doors.refuse_where_stopped(agent)
    fields = storable(fields) | {"external_id": identifier(fields.get("external_id", ""))}
    session = Session.objects.create(
        workspace_id=agent.workspace_id,
        agent=agent,
        agent_version=agent.version,
        origin=origin,
        started_at=timezone.now(),
        opened_by_key_id=actors.api_key_id_of(by),
        **fields,
    )
    if session.title or session.summary:
        search_index.index_title(session.id)
    audit.record(agent.workspace_id, by, "session.created", subject=("session", session.id), agent=agent.name)
    if retention:
        policies.set_policy(session.pk, retention, by=by)
    return session


def lock(session_id: UUID) -> Session:
    """The session, with its agent, locked until the transaction ends.

    Sessions are locked before what hangs on them everywhere, so that no two locks wait for each other.
    """
    rows = Session.objects.select_for_update(of=("self",)).select_related("agent").defer("source_record")
    return rows.get(pk=session_id)


def lock_row(session_id: UUID) -> bool:
    """Lock the session until the transaction ends, without reading it; whether it exists."""
    return Session.objects.select_for_update().filter(pk=session_id).values_list("pk").first() is not None


def lock_open(session_id: UUID) -> Session:
    """The session, locked. Raises ``Archived``."""
    session = lock(session_id)
    if session.status == Session.Status.ARCHIVED:
        raise Archived(CLOSED)
    return session


def refuse_from_outside(session: Session) -> None:
    """Raises ``ReadFromFile`` for a session that takes events only from its file, grown, and from the desk itself."""
    if session.origin == Session.Origin.IMPORT:
        raise ReadFromFile(FROM_FILE)


def refuse_where_signed(head: heads.Head) -> None:
    """Raises ``ReadFromFile`` for a session that was read from a signed file, however much that signature is worth.

    One of an unsigned file may ask: hooks do, of an agent whose transcript is read here while it runs.
    """
    if head.origin != Session.Origin.IMPORT:
        return
    found = provenance.provenance_of([head.session_id]).get(head.session_id)
    if found and found.is_signed:
        raise ReadFromFile(FROM_SIGNED_FILE)


@transaction.atomic(savepoint=False)
def append_to_open(
    session_id: UUID, new: list[EventDraft], *, origin: links.Origin, among: heads.Seen | None = None
) -> events.Appended:
    """``events.append`` for sessions that still take events. Raises ``Archived`` and ``ReadFromFile``, and what
    ``heads.lock`` does."""
    head = heads.lock(session_id, among)
    refuse_archived(head)
    if origin.kind == links.Kind.API and head.origin == Session.Origin.IMPORT:
        raise ReadFromFile(FROM_FILE)
    return events.append(session_id, new, origin=origin, head=head)


def refuse_archived(head: heads.Head) -> None:
    """Raises ``Archived`` for the log of a session that is."""
    if head.status == Session.Status.ARCHIVED:
        raise Archived(CLOSED)


@transaction.atomic
def archive(session: Session, *, by: audit.Actor) -> None:
    """Read-only from now on, and ended, so that it can be signed; a turn in flight is stopped. What waits for a person
    is cancelled, what was queued stays unsent. A second time changes nothing.
    """
    changed = Session.objects.filter(pk=session.pk).exclude(status=Session.Status.ARCHIVED)
    ended = Case(When(phase=Session.Phase.ACTIVE, then=Value(Session.Phase.COMPLETED)), default=F("phase"))
    if not changed.update(status=Session.Status.ARCHIVED, phase=ended, updated_at=timezone.now()):
        return
    values.end_of(session.pk)
    stop(session.pk)
    endings.cancel_all(session.pk, reason="the session was archived", by=by)
    audit.record(session.workspace_id, by, "session.archived", subject=("session", session.pk))
    notify.session_changed(session.pk, session.last_seq)
    if Session.objects.filter(pk=session.pk).exclude(runtime_id="").exists():
        task_queue.enqueue(task_queue.CLOSE_SESSION, session.pk, Line(session.workspace_id))


@transaction.atomic
def open_known_as(
    workspace_id: UUID, agent_name: str, external_id: str, *, by: audit.Actor, among: Q, **fields: Any
) -> tuple[Session, bool]:
    """The session that its sender calls so, and whether it was made now; its agent is made, too, where there is none.

    One that was read from a file takes no events and is another session. A stop does not refuse it: what an agent of
    somebody else's does in spite of a stop has to be seen. ``fields``, as ``create`` takes them, are of a new one.
    """
    agent = agents.get_or_create_agent(workspace_id, agent_name)
    found = known_as(agent, external_id, among & ~Q(origin=Session.Origin.IMPORT))
    if found:
        return found, False
    values = fields | {"external_id": external_id}
    return create(agent, by=by, origin=Session.Origin.API, for_question=True, **values), True


def known_as(agent: Agent, external_id: str, among: Q) -> Session | None:
    """The session that its sender calls so; the oldest, where an import has the same one. In a transaction."""
    with connection.cursor() as cursor:  # two first questions or events at once must not make two sessions
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"session:{agent.id}:{external_id}"])
    return Session.objects.filter(among, agent=agent, external_id=identifier(external_id)).order_by("id").first()


def find_by_external_id(workspace_id: UUID, external_id: str, source_format: str) -> list[Session]:
    """Sessions that the same source knows by this id, newest first.

    Nearly always there is none, which a prepared statement tells in a fifth of the time.
    """
    known = [workspace_id, identifier(external_id), source_format]
    ids = [id_ for (id_,) in fetch(KNOWN_AS, known)]
    return list(Session.objects.filter(pk__in=ids).order_by("-created_at")) if ids else []
