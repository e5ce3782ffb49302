"""What an agent keeps under keys: of a session, of a user in all their sessions with it, of the agent (the app)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.models import StateValue as Row
from sessions_app.services.state import search, values

from ..agents import agent_read
from ..auth import own_asker, own_reader, own_viewer
from ..paging import Cursor, Limit, Page, keyset
from ..parsing import refuse_repaired, reply
from ..problems import Problem, invalid
from ..sessions import session_read
from .schemas import Deleted, FoundValue, FoundValues, NewStateValue, StateSearch, StateValue

router = Router(tags=["state"])
Named = Annotated[str | None, Query(None, max_length=values.LONGEST_KEY, description="only this key")]
Words = Annotated[str, Query("", max_length=1000, description="only values with any of these words, the best first")]
OfUser = Annotated[
    str, Query("", max_length=1000, description="the values of this user; without it those of the agent")
]
OnlyAt = Annotated[int | None, Query(None, ge=0, lt=2**31, description="with `key`: 409 unless it is at this version")]
InScope = Annotated[
    Literal["session", "user", "app"],
    Query(description="session: of this session; user: of its user_id; app: of its agent"),
]
FAULTS = {
    values.Refused: lambda error: invalid(f"/{error.field}", str(error)),
    values.Stale: lambda error: Problem(409, str(error), version=error.version),
    values.Over: lambda error: Problem(409, str(error)),
}


@router.get("/sessions/{uuid:session_id}/state", auth=own_reader, response=Page[StateValue])
def read_state(
    request: HttpRequest,
    session_id: UUID,
    limit: Limit,
    cursor: Cursor,
    key: Named,
    q: Words,
    scope: InScope = "session",
) -> HttpResponse:
    """List the values that a session sees in a scope, in order of their keys. With `key` that one, or an empty list;
    with `q` the best `limit` values on a single page.

    422 for the scope `user` of a session without a `user_id`.
    """
    session = session_read(request, session_id)
    if q.strip():
        _, found = search.about(session, scope, q, limit)
        return reply(Page(items=[StateValue.from_row(one.row) for one in found], next_cursor=None))
    return _page(values.values_of(session, scope), limit, cursor, key)


def _page(found: QuerySet[Row], limit: int, cursor: str | None, key: str | None) -> HttpResponse:
    if key is not None:
        found = found.filter(key=key)
    rows, next_cursor = keyset(found, "key", limit, cursor, str, ascending=True)
    return reply(Page(items=[StateValue.from_row(row) for row in rows], next_cursor=next_cursor))


@router.get("/agents/{uuid:agent_id}/state", auth=own_viewer, response=Page[StateValue])
def read_state_of_agent(
    request: HttpRequest, agent_id: UUID, limit: Limit, cursor: Cursor, key: Named, user_id: OfUser = ""
) -> HttpResponse:
    """List the values of the scope `app` of an agent, or with `user_id` those of that user, in order of their keys."""
    found = values.values_of_agent(agent_read(request, agent_id).pk, user_id)
    return _page(found, limit, cursor, key)


@router.put("/sessions/{uuid:session_id}/state", auth=own_asker, response=StateValue)
def write_state(request: HttpRequest, session_id: UUID, new: NewStateValue) -> HttpResponse:
    """Keep a value under a key, in place of the one there.

    409 when `if_version` is not the version of the key (the answer has its `version`), and for the scope `session` of
    an archived session. 422 for more than 1,000 keys in a scope.
    """
    refuse_repaired(request)
    session = session_read(request, session_id)
    embedding = new.embedding and new.embedding.as_kept()
    row = values.write(session, new.scope, new.key, new.value, by=request.auth.actor, if_version=new.if_version,
                       embedding=embedding)  # fmt: skip
    return reply(StateValue.from_row(row))


@router.post("/sessions/{uuid:session_id}/state/search", auth=own_reader, response=FoundValues)
def search_state(request: HttpRequest, session_id: UUID, wanted: StateSearch) -> HttpResponse:
    """Search the values of a scope: by vectors where an embedding is sent and the database has pgvector, else by any of
    the words in `q`. `method` says which.
    """
    session = session_read(request, session_id)
    embedding = wanted.embedding and wanted.embedding.as_kept()
    method, found = search.about(
        session, wanted.scope, wanted.q, wanted.limit, prefix=wanted.prefix, embedding=embedding
    )  # fmt: skip
    return reply(FoundValues(method=method, items=[FoundValue.from_found(one) for one in found]))


@router.delete("/sessions/{uuid:session_id}/state", auth=own_asker, response=Deleted)
def delete_state(
    request: HttpRequest, session_id: UUID, key: Named, if_version: OnlyAt, scope: InScope = "session"
) -> HttpResponse:
    """Delete the value of `key`; without `key` all values of the scope `session` (422 for the other scopes).

    A key that is not there is a 200 with `deleted` 0. 409 as for writing.
    """
    session = session_read(request, session_id)
    if key is None:
        if scope != "session":
            raise invalid("/key", "name the key: only the state of a session is cleared as a whole")
        return reply(Deleted(deleted=values.clear(session, scope, by=request.auth.actor)))
    deleted = values.delete(session, scope, key, by=request.auth.actor, if_version=if_version)
    return reply(Deleted(deleted=deleted))
