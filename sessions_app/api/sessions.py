"""Sessions over all agents, and those of one agent under the address that the dashboard gives them."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app import models
from sessions_app.queries import triggers
from sessions_app.queries.money import paid_calls
from sessions_app.queries.sessions import provenance, relevance, turn_state
from sessions_app.queries.sessions import session_list as queries
from sessions_app.queries.sessions.conditions import BadFilter, names_agent
from sessions_app.services import agents, continuations, sessions
from sessions_app.services.reviews import tagging
from sessions_app.services.turns import messages

from .agents import agent_read
from .auth import own_asker, own_reader, own_writer
from .idempotency import once
from .paging import Cursor, Limit, Page, keyset
from .parsing import reply
from .problems import Problem, invalid, not_found
from .schemas.common import NOTHING, NoBody
from .schemas.sessions import (
    Accepted,
    Continuation,
    NewMessage,
    NewSession,
    OpenedSession,
    RankedAmong,
    Session,
    SessionChanges,
    SessionPage,
    SessionQuery,
    Turn,
)

router = Router(tags=["sessions"])
seed_router = Router(tags=["sessions of an agent"])
"""Below ``/dashboard/agents``."""


@router.get("/sessions", auth=own_reader, response=SessionPage)
def list_sessions(request: HttpRequest, wanted: Query[SessionQuery], limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the sessions of all agents that pass every filter, newest first unless `sort` says otherwise."""
    return _page(request, wanted.filter(), limit, cursor)


@router.post("/sessions", auth=own_asker, response={200: Session, 201: Session})
@once
def open_session(request: HttpRequest, opened: OpenedSession) -> HttpResponse:
    """Open the session that you call `external_id`, of the agent of this name: 201 when it is new, 200 when it exists.

    An agent that does not exist is made, with the runtime `external`. Of a session that exists nothing is changed. An
    imported session is never meant. 403 when the key is for another agent.
    """
    principal = request.auth
    if principal.agent and not agents.is_called(principal.agent, opened.agent):
        raise Problem(403, f'this key is for the agent "{principal.agent}" only; report in its name')
    session, is_new = sessions.open_known_as(
        principal.workspace.id, opened.agent, opened.external_id, by=principal.actor, among=principal.sees,
        **opened.values(),
    )  # fmt: skip
    return reply(session_schema(session_read(request, session.id)), 201 if is_new else 200)


@router.get("/sessions/{uuid:session_id}", auth=own_reader, response=Session)
def read_session(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return a session."""
    return reply(session_schema(session_read(request, session_id)))


@router.patch("/sessions/{uuid:session_id}", auth=own_writer, response=Session)
def change_session(request: HttpRequest, session_id: UUID, changes: SessionChanges) -> HttpResponse:
    """Replace the tags of a session, change its retention, or both. 403 for a change of retention that
    is an admin's.
    """
    session, auth = session_read(request, session_id), request.auth
    retention = changes.retention.said() if changes.retention else None
    is_admin = auth.role.covers(models.Role.ADMIN)
    tagging.change(session.pk, tags=changes.tags, retention=retention, by=auth.actor, is_admin=is_admin)
    return reply(session_schema(session_read(request, session_id)))


@router.get("/sessions/{uuid:session_id}/turns", auth=own_reader, response=Page[Turn])
def list_turns(request: HttpRequest, session_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the turns of a session in order. Turn 0 holds the events before the first message."""
    session = session_read(request, session_id)
    found = models.Turn.objects.filter(session=session)
    rows, next_cursor = keyset(found, "index", limit, cursor, int, ascending=True)
    paid_calls.note_costs_in(session, rows, ())
    return reply(Page(items=[Turn.from_row(row, session) for row in rows], next_cursor=next_cursor))


@router.post("/sessions/{uuid:session_id}/continue", auth=own_writer, response={201: Session})
@once
def continue_session(request: HttpRequest, session_id: UUID, wanted: Continuation) -> HttpResponse:
    """Continue a session, or fork it after one of its turns, as a new session of an agent that runs here.

    409 when the agent runs elsewhere or is not active, and for a `handoff` of a session that is archived or imported;
    402 when a message cannot be paid for. 422 for an agent or a turn that does not exist.
    """
    source = session_read(request, session_id)
    agent = models.Agent.objects.filter(workspace=request.auth.workspace, pk=wanted.agent_id).first()
    if agent is None or not request.auth.may_see_agent(agent.pk):
        raise invalid("/agent_id", "there is no such agent in this workspace")
    made = continuations.continue_session(
        source, agent, by=request.auth.actor, origin=_origin(request), after_turn=wanted.after_turn,
        message=wanted.message or "", handoff=wanted.handoff,
    )  # fmt: skip
    return reply(session_schema(session_read(request, made.id)), 201)


@seed_router.get("/{uuid:agent_id}/sessions", auth=own_reader, response=SessionPage)
def list_agent_sessions(
    request: HttpRequest, agent_id: UUID, wanted: Query[SessionQuery], limit: Limit, cursor: Cursor
) -> HttpResponse:
    """List the sessions of an agent that pass every filter; the filter `agent` is ignored."""
    agent = agent_read(request, agent_id)
    return _page(request, wanted.model_copy(update={"agent": str(agent.id)}).filter(), limit, cursor)


@seed_router.post("/{uuid:agent_id}/sessions", auth=own_asker, response={201: Session})
@once
def create_session(request: HttpRequest, agent_id: UUID, session: NewSession = NewSession()) -> HttpResponse:  # noqa: B008
    """Create a session, with a first message or without.

    A message to an agent that runs here begins a turn, which needs the role `reviewer`: 403 otherwise. 402 when no
    budget or wallet can pay for it; 409 when the agent is stopped, paused or archived.
    """
    agent, by = agent_read(request, agent_id), request.auth.actor
    if session.message and messages.runs_here(agent) and not request.auth.role.covers(models.Role.REVIEWER):
        raise Problem(403, f'a message begins a turn of "{agent}", and that needs the role "reviewer"')
    made = messages.start_session(agent, session.message or "", by=by, origin=_origin(request), **session.values())
    return reply(session_schema(session_read(request, made.id)), 201)


@seed_router.get("/{uuid:agent_id}/sessions/{uuid:session_id}", auth=own_reader, response=Session)
def read_agent_session(request: HttpRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Return a session of an agent."""
    return reply(session_schema(session_read(request, session_id, agent_id)))


@seed_router.post("/{uuid:agent_id}/sessions/{uuid:session_id}/messages", auth=own_writer, response={202: Accepted})
@once
def send_message(request: HttpRequest, agent_id: UUID, session_id: UUID, message: NewMessage) -> HttpResponse:
    """Send a message to the agent. It begins a turn, or waits behind the one in flight.

    402 when no budget or wallet can pay for the turn; 409 when the session is archived or imported, or the agent is
    stopped, paused or archived. An agent that runs elsewhere finds the message in the log.
    """
    session = session_read(request, session_id, agent_id)
    taken = messages.submit(session.pk, message.text, by=request.auth.actor, interrupting=message.interrupt)
    return reply(Accepted(seq=taken.seq, queued=taken.queued), 202)


@seed_router.post("/{uuid:agent_id}/sessions/{uuid:session_id}/interrupt", auth=own_writer, response={202: Session})
def interrupt_session(
    request: HttpRequest, agent_id: UUID, session_id: UUID, nothing: NoBody = NOTHING
) -> HttpResponse:
    """Cancel the turn in flight and the approvals that it waits for. 202 also without one; 409 when it is archived."""
    messages.interrupt(session_read(request, session_id, agent_id).pk, by=request.auth.actor)
    return reply(session_schema(session_read(request, session_id, agent_id)), 202)


@seed_router.post("/{uuid:agent_id}/sessions/{uuid:session_id}/archive", auth=own_writer, response=Session)
def archive_session(request: HttpRequest, agent_id: UUID, session_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Archive a session: it is read-only from now on. A second time changes nothing.

    A turn in flight is stopped, pending approvals are cancelled, waiting messages stay unsent, and the state that was
    kept for this session alone is deleted.
    """
    sessions.archive(session_read(request, session_id, agent_id), by=request.auth.actor)
    return reply(session_schema(session_read(request, session_id, agent_id)))


def session_read(request: HttpRequest, session_id: UUID, agent_id: UUID | None = None) -> models.Session:
    """A session that the principal sees (of the agent, where one is named), with its agent; 404 otherwise."""
    found = models.Session.objects.select_related("agent").defer("source_record")
    found = found.filter(request.auth.sees, pk=session_id)
    session = (found.filter(agent_id=agent_id) if agent_id else found).first()
    if session is None:
        raise not_found("session")
    return session


def session_schema(session: models.Session) -> Session:
    """Session as the API answers it, with its provenance."""
    return session_schemas([session])[0]


def session_schemas(found: Iterable[models.Session]) -> list[Session]:
    """Sessions as the API answers them, with their provenance."""
    rows = list(found)
    ids = [row.id for row in rows]
    paid_calls.note_costs_of(rows)
    known, others = provenance.provenance_of(ids), turn_state.queue_and_continuations_of(ids)
    begun_by = triggers.that_started_each(rows)
    return [Session.from_row(row, known.get(row.id), others[row.id], begun_by.get(row.id)) for row in rows]


def _origin(request: HttpRequest) -> models.Session.Origin:
    return models.Session.Origin.API if request.auth.api_key_id else models.Session.Origin.CHAT


def _page(request: HttpRequest, wanted: queries.SessionFilter, limit: int, cursor: str | None) -> HttpResponse:
    try:
        sees = request.auth.lists(names_agent(wanted.agent, wanted.q))
        page = relevance.found_page(request.auth.workspace.id, wanted, limit, cursor, sees)
    except BadFilter as bad:
        raise invalid(f"/{bad.field}", str(bad)) from None
    items = session_schemas(page.items)
    ranked = RankedAmong.of(page.ranked)
    return reply(SessionPage(items=items, next_cursor=page.next_cursor, ranked=ranked, is_cut=page.is_cut))
