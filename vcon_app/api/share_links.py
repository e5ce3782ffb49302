"""Links that show one session to people without an account."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from sessions_app.api.auth import writer
from sessions_app.api.paging import Cursor, Limit, Page, keyset
from sessions_app.api.parsing import reply
from sessions_app.api.problems import Problem, invalid, not_found
from sessions_app.api.schemas.common import NOTHING, Body, NoBody
from sessions_app.api.sessions import session_read
from vcon_app import models
from vcon_app.queries import redactions as redaction_queries
from vcon_app.queries import share_links as queries
from vcon_app.services.exports import handing_on, sharing
from vcon_app.services.redaction import redaction_rules
from vcon_app.services.shares import share_links
from vcon_app.views.share_links import address_of

router = Router(tags=["share links"])
SEVERAL = (*redaction_rules.EVERY, *redaction_rules.WHOLE)


def _cannot_share(error: sharing.CannotShare) -> Problem:
    return invalid(f"/{error.parameter}", str(error)) if error.parameter else Problem(409, str(error))


FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {
    sharing.CannotShare: _cannot_share,
    share_links.NotHeld: lambda error: Problem(409, str(error)),
}


class NewShareLink(Body):
    hours: Annotated[
        int, Field(ge=sharing.SHORTEST_HOURS, le=sharing.LONGEST_HOURS, description="hours until it expires")
    ]
    redaction: Annotated[
        UUID | None, Field(description="id of a redaction of the session that is `ready`; not with `leave_out`")
    ] = None
    leave_out: Annotated[
        list[Annotated[str, Field(max_length=40)]],
        Field(max_length=len(SEVERAL), description=f"kinds of parts that are left out: {', '.join(SEVERAL)}"),
    ] = []
    without_cost: Annotated[bool, Field(description="show neither money nor tokens")] = False
    redistribution: Annotated[
        Literal["check", "confirmed"],
        Field(description="for a session whose legal basis does not grant it: check is a 409, confirmed shares it"),
    ] = "check"
    accept: Annotated[
        bool, Field(description="let it open even if words that were left out are still found on the page")
    ] = False


class ShareLeak(BaseModel):
    """A place on the page that still says what was left out."""

    pointer: str
    words: str
    source: str


class ShareLink(BaseModel):
    """A link that shows a session up to the event ``last_seq``. It opens in the state ``open`` alone."""

    id: UUID
    session_id: UUID
    state: str = Field(description="open, writing, failed, held, expired, withdrawn, off or orphaned")
    shared_by: str
    last_seq: int
    redaction: str = Field(description="what is left out, in words; empty: nothing")
    left_out: dict[str, int]
    without_cost: bool = Field(description="whether neither money nor tokens are shown")
    leaks: list[ShareLeak] = Field(description="the first 50 of them")
    leak_count: int
    accepted_by: str | None
    created_at: datetime
    expires_at: datetime
    opened: int
    last_opened_at: datetime | None
    withdrawn_at: datetime | None
    withdrawn_by: str | None

    @classmethod
    def from_shown(cls, one: queries.Shown, **more: Any) -> ShareLink:
        """Of a row with its state."""
        row = one.row
        same = (
            "id", "session_id", "last_seq", "redaction", "without_cost", "leak_count", "created_at", "expires_at",
            "opened", "last_opened_at", "withdrawn_at",
        )  # fmt: skip
        return cls(
            **{name: getattr(row, name) for name in same},
            state=one.state,
            shared_by=row.actor_name,
            left_out=row.counts,
            leaks=[ShareLeak(**leak) for leak in row.leaks],
            accepted_by=row.accepted_by or None,
            withdrawn_by=row.withdrawn_by or None,
            **more,
        )


class MadeShareLink(ShareLink):
    url: str = Field(description="the link itself; only in this answer, since only its hash is kept")


@router.post("/sessions/{uuid:session_id}/share-links", auth=writer, response={201: MadeShareLink})
def create_share_link(request: HttpRequest, session_id: UUID, link: NewShareLink) -> HttpResponse:
    """Make a link that shows a session as it is now to people without an account.

    409 while the workspace has share links turned off, and for a session without events. `Idempotency-Key` has no
    effect: the answer has a secret and is not kept, so a repeat makes another link.
    """
    session = session_read(request, session_id)
    confirmed = handing_on.is_confirmed(session, link.redistribution)
    made, secret = sharing.make(
        session, hours=link.hours, by=request.auth.actor, redaction=_redaction(session, link.redaction),
        rules=_rules(link.leave_out), without_cost=link.without_cost, handing_on_confirmed=confirmed,
    )  # fmt: skip
    if link.accept and queries.state_of(made) == "held":
        share_links.accept(made, by=request.auth.actor)
    shown = queries.shown([queries.of_session(session.pk).get(pk=made.pk)])[0]
    answer = reply(MadeShareLink.from_shown(shown, url=address_of(request, secret)), 201)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@router.get("/sessions/{uuid:session_id}/share-links", auth=writer, response=Page[ShareLink])
def list_share_links(request: HttpRequest, session_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the share links of a session, newest first, with those that ended."""
    rows, next_cursor = keyset(queries.of_session(session_read(request, session_id).pk), "id", limit, cursor, UUID)
    return reply(Page(items=[ShareLink.from_shown(one) for one in queries.shown(rows)], next_cursor=next_cursor))


@router.post("/sessions/{uuid:session_id}/share-links/{uuid:share_link_id}/accept", auth=writer, response=ShareLink)
def accept_share_link(
    request: HttpRequest, session_id: UUID, share_link_id: UUID, nothing: NoBody = NOTHING
) -> HttpResponse:
    """Let a held link open as it is. 409 unless its state is `held`."""
    share_links.accept(_read(request, session_id, share_link_id), by=request.auth.actor)
    return reply(ShareLink.from_shown(queries.shown([_read(request, session_id, share_link_id)])[0]))


@router.delete("/sessions/{uuid:session_id}/share-links/{uuid:share_link_id}", auth=writer, response={204: None})
def withdraw_share_link(request: HttpRequest, session_id: UUID, share_link_id: UUID) -> HttpResponse:
    """Withdraw a link, at once and for good. A second time changes nothing."""
    share_links.withdraw(_read(request, session_id, share_link_id), by=request.auth.actor)
    return HttpResponse(status=204)


def _rules(kinds: list[str]) -> list[redaction_rules.Rule]:
    for number, kind in enumerate(kinds):
        if kind not in SEVERAL:
            raise invalid(f"/leave_out/{number}", f'"{kind}" cannot be left out; use one of {", ".join(SEVERAL)}')
    return [{"what": kind} for kind in kinds]


def _redaction(session: models.Session, redaction_id: UUID | None) -> models.Redaction | None:
    if redaction_id is None:
        return None
    found = redaction_queries.finished_redaction(session.workspace_id, session.pk, redaction_id)
    if found is None:
        raise invalid("/redaction", "this session has no such redaction")
    return found


def _read(request: HttpRequest, session_id: UUID, share_link_id: UUID) -> models.ShareLink:
    found = queries.of_session(session_read(request, session_id).pk).filter(pk=share_link_id).first()
    if found is None:
        raise not_found("share link")
    return found
