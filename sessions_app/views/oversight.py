"""Page of the figures of oversight: one's own first, and the form by which admins plant a test call."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from sessions_app.models import Agent, Role
from sessions_app.policy.rules import RISKS
from sessions_app.queries import oversight as queries
from sessions_app.services.agents import NotActive
from sessions_app.services.approvals import requests
from sessions_app.services.log.sanitise import text
from sessions_app.services.oversight import planting

from . import access
from .pages import chosen

PERIODS = {
    "7": gettext_lazy("7 days"),
    "30": gettext_lazy("30 days"),
    "90": gettext_lazy("90 days"),
    "365": gettext_lazy("a year"),
}
DEFAULT = "30"
AGENTS = 500
TYPED = ("agent", "tool", "server", "arguments", "context", "risk")


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """Figures of the last ``?days=``."""
    return _page(request)


@require_POST
@access.admin
def plant(request: access.DeskRequest) -> HttpResponse:
    """Place a planted call; 422 with the form where it lacks something."""
    typed = {name: text(request.POST.get(name, "")).strip() for name in TYPED}
    agent = Agent.objects.filter(workspace_id=request.member.workspace_id, slug=typed["agent"]).first()
    arguments, errors = _arguments(typed["arguments"])
    if agent is None:
        errors["agent"] = gettext("Choose the agent that seems to ask.")
    if not 0 < len(typed["tool"]) <= 500:
        errors["tool"] = gettext("Name the tool.")
    if not errors and agent:
        question = requests.Question(
            typed["tool"], arguments, server=typed["server"] or None, context=typed["context"],
            risk=typed["risk"][:40],
        )  # fmt: skip
        try:
            planting.plant(agent, question, by=request.member)
        except NotActive as refused:
            errors["agent"] = str(refused)
        else:
            messages.success(
                request, gettext("The test call is in the inbox. It is marked nowhere until it is decided.")
            )
            return redirect("oversight")
    return _page(request, 422, typed=typed, errors=errors)


def _arguments(typed: str) -> tuple[Any, dict[str, str]]:
    try:
        value = orjson.loads(typed or "{}")
    except orjson.JSONDecodeError as error:
        return None, {"arguments": gettext("This is not JSON: %(error)s.") % {"error": error}}
    return (
        (value, {}) if isinstance(value, dict) else (None, {"arguments": gettext("Arguments are a JSON object: {…}.")})
    )


def _page(request: access.DeskRequest, status: int = 200, **shown: Any) -> HttpResponse:
    days = chosen(request.GET, "days", PERIODS, DEFAULT)
    now, workspace_id = timezone.now(), request.member.workspace_id
    found = queries.oversight(workspace_id, now - timedelta(days=int(days)), now + timedelta(minutes=1))
    is_admin = request.member.role == Role.ADMIN
    context = {
        "days": days,
        "periods": PERIODS,
        "risks": ["", *RISKS],
        "you": found.of(request.member.pk),
        "found": found,
        "people": [one for one in found.people if one.member_id != request.member.pk] if is_admin else [],
        "agents": Agent.objects.filter(workspace_id=workspace_id).order_by("name")[:AGENTS] if is_admin else [],
        **shown,
    }
    return render(request, "oversight/index.html", context, status=status)
