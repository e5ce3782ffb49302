"""Saved views of the session list: a name for a query, one's own or for all of the workspace."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app import models
from sessions_app.services.reviews import saved_views

from ..auth import reader
from ..idempotency import once
from ..paging import Cursor, Limit, Page, keyset
from ..parsing import reply
from ..problems import not_found
from ..schemas.reviews import NewSavedView, SavedView, SavedViewChange
from .reviews import member_of

router = Router(tags=["reviews"])


def _seen(request: HttpRequest) -> Q:
    """Views that whoever asks may use: those that are shared, and their own."""
    here = Q(workspace=request.auth.workspace)
    own = Q(member_id=request.auth.member_id) if request.auth.member_id else Q(pk=None)
    return here & (Q(is_shared=True) | own)


@router.get("/saved-views", auth=reader, response=Page[SavedView])
def list_views(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the shared views and your own, newest first. `query` is a query string for `GET /api/v1/sessions`."""
    rows, next_cursor = keyset(models.SavedView.objects.filter(_seen(request)), "id", limit, cursor, UUID)
    items = [SavedView.from_row(row, request.auth.member_id) for row in rows]
    return reply(Page(items=items, next_cursor=next_cursor))


@router.post("/saved-views", auth=reader, response={201: SavedView})
@once
def save_view(request: HttpRequest, new: NewSavedView) -> HttpResponse:
    """Save a query under a name, in place of your own view of that name. 403 for keys, and for viewers who share it."""
    member = member_of(request)
    made = saved_views.save(member, new.name, new.query, shared=new.shared, by=request.auth.actor)
    return reply(SavedView.from_row(made, member.pk), 201)


@router.patch("/saved-views/{uuid:view_id}", auth=reader, response=SavedView)
def rename_view(request: HttpRequest, view_id: UUID, change: SavedViewChange) -> HttpResponse:
    """Rename your own view, or as an admin a shared one. 403 for keys and others; 422 for a name that is taken."""
    member, view = member_of(request), _view(request, view_id)
    renamed = saved_views.rename(view, member, change.name, by=request.auth.actor)
    return reply(SavedView.from_row(renamed, member.pk))


@router.delete("/saved-views/{uuid:view_id}", auth=reader, response={204: None})
def remove_view(request: HttpRequest, view_id: UUID) -> HttpResponse:
    """Delete your own view, or as an admin a shared one. 403 for keys and others."""
    member, view = member_of(request), _view(request, view_id)
    saved_views.remove(view, member, by=request.auth.actor)
    return HttpResponse(status=204)


def _view(request: HttpRequest, view_id: UUID) -> models.SavedView:
    """A view that whoever asks may use; 404 otherwise."""
    view = models.SavedView.objects.filter(_seen(request), pk=view_id).first()
    if view is None:
        raise not_found("saved view")
    return view
