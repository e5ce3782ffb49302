"""The example sessions, one click away."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from sessions_app.views import access
from vcon_app.services.imports import demo


@require_POST
@access.admin
def load(request: access.DeskRequest) -> HttpResponse:
    """Load the examples into the member's workspace; what is there already stays as it is."""
    made = demo.load(request.member.workspace, by=access.actor(request))
    for imported in made:
        if imported.error:
            messages.error(request, imported.error)
    if made:
        messages.success(request, gettext("The examples are here: one of them has a refund that needs your approval."))
    return redirect("home")
