"""Stops: the button, what is in force on every page, and what was stopped before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from sessions_app.models import Agent, Role, Stop
from sessions_app.queries import stops as queries
from sessions_app.rendering.text import first_line
from sessions_app.services.stops import stops

from . import access
from .tables import list_place

SHOWN = 50
ENDS = {
    "": gettext_lazy("until somebody lifts it"), "900": gettext_lazy("15 minutes"), "3600": gettext_lazy("1 hour"),
    "14400": gettext_lazy("4 hours"), "86400": gettext_lazy("1 day"), "604800": gettext_lazy("7 days"),
}  # fmt: skip


class StopForm(forms.Form):
    agent = forms.ModelChoiceField(
        Agent.objects.none(), to_field_name="slug", required=False, label=gettext_lazy("Agent"),
        empty_label=gettext_lazy("every agent of this workspace"),
    )  # fmt: skip
    reason = forms.CharField(
        max_length=stops.MOST_REASON, label=gettext_lazy("Reason"), widget=forms.Textarea({"rows": 2}),
        help_text=gettext_lazy("Shown on every page and told to the agents."),
    )  # fmt: skip
    seconds = forms.ChoiceField(choices=ENDS.items(), required=False, label=gettext_lazy("For how long"))

    def __init__(self, workspace_id: UUID, asked: str, *args: Any, **kwargs: Any) -> None:
        """``asked``: slug of the agent that it comes for. It is a choice in any case: without it, the form would be
        about every agent.
        """
        super().__init__(*args, **kwargs)
        here = Agent.objects.filter(~Q(status=Agent.Status.ARCHIVED) | Q(slug=asked), workspace_id=workspace_id)
        self.fields["agent"].queryset = here.only("id", "name", "slug").order_by("name")
        self.fields["agent"].label_from_instance = _name_of


def _name_of(agent: Agent) -> str:
    """Programs name agents: what hides in a name is shown, so that nobody takes one agent for another."""
    return first_line(agent.name, 200)


@dataclass(frozen=True, slots=True)
class Row:
    """A stop, what it ended, and whether the member may lift it."""

    stop: Stop
    may_lift: bool
    denied: int
    turns: int
    sessions: int
    executing: int


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """What is stopped and was; and the form, which ``?agent=SLUG`` fills in."""
    workspace = request.member.workspace
    asked = (request.POST if request.method == "POST" else request.GET).get("agent", "").replace("\0", "")
    if request.method != "POST":
        if asked:
            access.agent_read(request, asked)  # 404 for one that there is not
        return _page(request, StopForm(workspace.pk, asked, initial={"agent": asked}))
    access.require(request.member, Role.REVIEWER)
    form = StopForm(workspace.pk, asked, request.POST)
    if not form.is_valid():
        return _page(request, form, 422)
    entered = form.cleaned_data
    until = timezone.now() + timedelta(seconds=int(entered["seconds"])) if entered["seconds"] else None
    try:
        made = stops.make(
            workspace, by=access.actor(request), role=Role(request.member.role), reason=entered["reason"],
            agent=entered["agent"], until=until,
        )  # fmt: skip
    except stops.Refused as refused:
        form.add_error("reason" if refused.field == "reason" else "seconds", str(refused))
        return _page(request, form, 422)
    if made.agent:
        told = _("%(agent)s is stopped. Nothing new begins.") % {"agent": made.agent.name}
    else:
        told = _("Every agent is stopped. Nothing new begins.")
    messages.warning(request, told)
    return redirect("stop-list")


@require_POST
@access.reviewer
def lift(request: access.DeskRequest, stop_id: UUID) -> HttpResponse:
    """End a stop, or say why not."""
    stop = access.one(Stop.objects.select_related("agent"), request, stop_id)
    by, reason = access.actor(request), request.POST.get("reason", "")
    try:
        stops.lift(stop, by=by, role=Role(request.member.role), reason=reason)
    except stops.NotAllowed as refused:
        raise PermissionDenied(f"{refused}.") from None
    except (stops.NotInForce, stops.Refused) as refused:
        messages.error(request, _("Not lifted: %(why)s.") % {"why": refused})
        return redirect("stop-list")
    if stop.agent:
        told = _("The stop of %(agent)s is lifted.") % {"agent": stop.agent.name}
    else:
        told = _("The stop of every agent is lifted.")
    messages.success(request, f"{told} {_('Messages that were held back wait until somebody sends them.')}")
    return redirect("stop-list")


@require_safe
@access.viewer
def strip(request: access.DeskRequest) -> HttpResponse:
    """What is in force, for pages that stay open; 204 where that is what the page shows (``?known=``)."""
    held = queries.strips(request.member.workspace_id)
    if request.GET.get("known") == queries.key_of(held):
        return HttpResponse(status=204)
    return render(request, "stops/_strip.html")


def _page(request: access.DeskRequest, form: StopForm, status: int = 200) -> HttpResponse:
    found = queries.recent(request.member.workspace_id)
    holding = found.filter(pk__in=queries.in_force(request.member.workspace_id).values("pk")).order_by("-id")
    over = found.exclude(pk__in=[stop.pk for stop in holding]).order_by("-id")
    if before := list_place(request.GET, "before"):
        over = over.filter(pk__lt=before)
    page = list(over[: SHOWN + 1])
    context = {
        "form": form, "may_stop": Role(request.member.role).covers(Role.REVIEWER),
        "holding": [_row(request, stop) for stop in holding], "over": [_row(request, stop) for stop in page[:SHOWN]],
        "older": page[SHOWN - 1].pk if len(page) > SHOWN else None,
    }  # fmt: skip
    return render(request, "stops/index.html", context, status=status)


def _row(request: access.DeskRequest, stop: Stop) -> Row:
    ended = list(stop.sessions.all())
    return Row(
        stop, stops.may_lift(stop, access.actor(request), Role(request.member.role)),
        denied=sum(one.denied for one in ended), turns=sum(one.turn_interrupted for one in ended),
        sessions=len(ended), executing=sum(bool(one.executing) for one in ended),
    )  # fmt: skip
