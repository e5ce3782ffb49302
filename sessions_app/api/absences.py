"""Absences: who is away and who stands in. Everybody says it of themselves, admins of others."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app import models
from sessions_app.queries import absences as queries
from sessions_app.services.escalations import absences

from .auth import reader
from .idempotency import once
from .paging import Cursor, Limit, Page, keyset
from .parsing import reply
from .problems import invalid, not_found
from .schemas.absences import Absence, NewAbsence

router = Router(tags=["absences"])


@router.get("/absences", auth=reader, response=Page[Absence])
def list_absences(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the absences that are not over yet, the last made first."""
    rows, next_cursor = keyset(queries.current_and_later(request.auth.workspace.id), "id", limit, cursor, UUID)
    return reply(Page(items=[Absence.from_row(row) for row in rows], next_cursor=next_cursor))


@router.post("/absences", auth=reader, response={201: Absence})
@once
def make_absence(request: HttpRequest, absence: NewAbsence) -> HttpResponse:
    """Record that a member is away: yourself, or as an admin anybody (403 otherwise). A key has to name
    the `member`.
    """
    principal = request.auth
    if absence.member:
        member = _member(request, "member", absence.member)
    elif principal.member_id:
        member = models.Member.objects.select_related("user").get(pk=principal.member_id)
    else:
        raise invalid("/member", "this is a key, not a member: name who is away")
    made = absences.make(
        member, by=principal.actor, role=principal.role, begins_at=absence.begins_at, ends_at=absence.ends_at,
        stand_in=_member(request, "stand_in", absence.stand_in) if absence.stand_in else None, note=absence.note,
    )  # fmt: skip
    return reply(Absence.from_row(made), 201)


@router.delete("/absences/{uuid:absence_id}", auth=reader, response={204: None})
def remove_absence(request: HttpRequest, absence_id: UUID) -> HttpResponse:
    """End an absence, or take it back before it begins: your own, or as an admin anybody's (403 otherwise)."""
    found = models.Absence.objects.filter(workspace=request.auth.workspace, pk=absence_id)
    absence = found.select_related("member__user").first()
    if absence is None:
        raise not_found("absence")
    absences.remove(absence, by=request.auth.actor, role=request.auth.role)
    return HttpResponse(status=204)


def _member(request: HttpRequest, field: str, named: str) -> models.Member:
    here = models.Member.objects.filter(workspace=request.auth.workspace).select_related("user")
    try:
        found = here.filter(pk=UUID(named)).first()
    except ValueError:
        found = here.filter(Q(user__email__iexact=named) | Q(user__username__iexact=named)).first()
    if found is None:
        raise invalid(f"/{field}", f'"{named[:100]}" is no member of this workspace')
    return found
