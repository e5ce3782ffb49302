"""Reasons in store: listed, added, removed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.services.approvals import reasons
from sessions_app.services.approvals.decisions import Invalid

from .. import access


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def index(request: access.DeskRequest) -> HttpResponse:
    """All saved reasons; a POST adds one, 422 with what was typed where it is none."""
    shown: dict[str, Any] = {}
    if request.method == "POST":
        try:
            reasons.save(request.member.workspace, "deny", request.POST.get("text", ""), by=access.actor(request))
        except Invalid as invalid:
            shown = {"error": str(invalid), "typed": request.POST.get("text", "")[:2_000]}
        else:
            return redirect("reason-list")
    context = {"reasons": reasons.store(request.member), **shown}
    return render(request, "approvals/reasons.html", context, status=422 if shown else 200)


@require_POST
@access.reviewer
def remove(request: access.DeskRequest, reason_id: UUID) -> HttpResponse:
    reasons.remove(request.member.workspace, reason_id, by=access.actor(request))
    return redirect("reason-list")
