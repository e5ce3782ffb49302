"""Triggers: the list of all, their runs, and what reviewers and admins do with a schedule."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from sessions_app.models import Role, Schedule, TriggerRun
from sessions_app.queries import triggers as queries
from sessions_app.services.triggers import Refused, cron_times, schedules, unattended

from .. import access
from ..pages import chosen, page_or_fragment
from ..tables import list_place, page_number
from .forms import MISSED, OVERLAP, WHEN_ASKING, ScheduleForm

MANY = 100
RUNS = 50
UPCOMING = 5
Status = TriggerRun.Status


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """Schedules and webhook endpoints in one place, each with what came of it last."""
    workspace_id = request.member.workspace_id
    plans = Paginator(queries.schedules(workspace_id), MANY).get_page(page_number(request.GET))
    hooks = Paginator(queries.endpoints(workspace_id), MANY).get_page(page_number(request.GET, "webhooks"))
    context = {
        "plans": plans, "schedules": queries.with_last_runs(plans.object_list),
        "hooks": hooks, "endpoints": queries.with_last_deliveries(hooks.object_list), **rights(request),
    }  # fmt: skip
    return render(request, "triggers/index.html", context)


def rights(request: access.DeskRequest) -> dict[str, bool]:
    """What of the page's forms the member may send."""
    role = Role(request.member.role)
    return {"can_change": role.covers(Role.ADMIN), "can_run": role.covers(Role.REVIEWER)}


@require_safe
@access.viewer
def runs(request: access.DeskRequest) -> HttpResponse:
    """Every fire of the workspace, ``?status=`` of one kind, ``?before=`` older ones."""
    status = chosen(request.GET, "status", Status.values)
    found = queries.runs(request.member.workspace_id)
    if status:
        found = found.filter(status=status)
    context = older(request, found, RUNS) | {"status": status, "statuses": Status.values}
    return page_or_fragment(request, "triggers/runs.html", "triggers/_runs.html", context)


def older(request: HttpRequest, found: Any, size: int) -> dict[str, Any]:
    """A page of rows with descending ids: those ``?before=`` an id, and the id that the next page is before."""
    before = list_place(request.GET, "before")
    rows = list((found.filter(pk__lt=before) if before else found)[: size + 1])
    return {"rows": rows[:size], "before": rows[size - 1].pk if len(rows) > size else None, "is_first": before is None}


# --- a schedule -------------------------------------------------------------------------------------------------


@require_safe
@access.viewer
def schedule(request: access.DeskRequest, schedule_id: UUID) -> HttpResponse:
    """One schedule: when it fires next, and what its fires came to."""
    found = _read(request, schedule_id)
    context = older(request, queries.runs(found.workspace_id).filter(schedule=found), RUNS)
    context |= {
        "schedule": found, "words": cron_times.in_words(found.cron), "missed": MISSED[found.missed],
        "overlap": OVERLAP[found.overlap], "asking": WHEN_ASKING[found.when_asking],
        "warnings": unattended.Rules(found.workspace_id).warnings(found.agent, "schedule", found.when_asking),
        "upcoming": _upcoming(found) if found.enabled else [], **rights(request),
    }  # fmt: skip
    return page_or_fragment(request, "triggers/schedule.html", "triggers/_runs.html", context)


def _read(request: access.DeskRequest, schedule_id: UUID) -> Schedule:
    return access.one(Schedule.objects.select_related("agent"), request, schedule_id)


def _upcoming(of: Schedule) -> list[Any]:
    return cron_times.upcoming(of.cron, of.timezone, timezone.now(), UPCOMING)


@require_safe
@access.viewer
def preview(request: access.DeskRequest) -> HttpResponse:
    """The next times of ``?cron=`` in ``?timezone=``, or what is wrong with them."""
    cron, zone = (request.GET.get(name, "").replace("\0", "")[:200] for name in ("cron", "timezone"))
    return render(request, "triggers/_preview.html", _previewed(cron, zone))


def _previewed(cron: str, zone: str) -> dict[str, Any]:
    try:
        upcoming = cron_times.upcoming(" ".join(cron.split()), zone, timezone.now(), UPCOMING)
        return {"upcoming": upcoming, "words": cron_times.in_words(cron), "zone": zone}
    except cron_times.Invalid as invalid:
        return {"wrong": str(invalid) if cron.strip() else ""}


@require_http_methods(["GET", "HEAD", "POST"])
@access.admin
def new_schedule(request: access.DeskRequest) -> HttpResponse:
    """The form, and what it makes. The button "preview" only shows the times, for who has no JavaScript."""
    if request.method != "POST" or "preview" in request.POST:
        return _form(request, ScheduleForm(request.member.workspace_id, initial=_entered(request)))
    form = ScheduleForm(request.member.workspace_id, request.POST)
    if not form.is_valid():
        return _form(request, form, 422)
    entered = dict(form.cleaned_data)
    try:
        made = schedules.create(entered.pop("agent"), by=access.actor(request), **entered)
    except Refused as refused:
        form.add_error(refused.field, str(refused))
        return _form(request, form, 422)
    messages.success(request, _("%(schedule)s is set.") % {"schedule": made.name})
    return redirect("schedule-detail", made.pk)


def _entered(request: access.DeskRequest) -> dict[str, str]:
    """What was entered so far, or what a link fills in (``?agent=``); nothing is checked."""
    values = {
        "timezone": "UTC",
        "missed": "once",
        "overlap": "allow",
        "when_asking": "wait",
        **request.GET.dict(),
        **request.POST.dict(),
    }
    return {name: value.replace("\0", "") for name, value in values.items() if name in ScheduleForm.base_fields}


@require_http_methods(["GET", "HEAD", "POST"])
@access.admin
def edit_schedule(request: access.DeskRequest, schedule_id: UUID) -> HttpResponse:
    """The form of one that is there, and what it changes; "preview" as above."""
    found = _read(request, schedule_id)
    if request.method != "POST" or "preview" in request.POST:
        kept = {name: getattr(found, name) for name in ScheduleForm.base_fields} | {"agent": found.agent.slug}
        initial = _entered(request) if request.method == "POST" else kept
        form = ScheduleForm(found.workspace_id, initial=initial, kept=found.agent_id)
        return _form(request, form, schedule=found)
    form = ScheduleForm(found.workspace_id, request.POST, kept=found.agent_id)
    if not form.is_valid():
        return _form(request, form, 422, schedule=found)
    try:
        schedules.change(found, form.cleaned_data, by=access.actor(request))
    except Refused as refused:
        form.add_error(refused.field, str(refused))
        return _form(request, form, 422, schedule=found)
    messages.success(request, _("Changed."))
    return redirect("schedule-detail", found.pk)


def _form(request: access.DeskRequest, form: ScheduleForm, status: int = 200, **more: Any) -> HttpResponse:
    cron, zone = form["cron"].value() or "", form["timezone"].value() or ""
    context = {
        "form": form,
        "examples": cron_times.EXAMPLES,
        "zones": cron_times.zones(),
        **_previewed(cron, zone),
        **more,
    }
    return render(request, "triggers/schedule_form.html", context, status=status)


@require_POST
@access.admin
def switch_schedule(request: access.DeskRequest, schedule_id: UUID) -> HttpResponse:
    """Pause it, or resume it from the next time on."""
    found = _read(request, schedule_id)
    enabled = request.POST.get("enabled") == "true"
    try:
        found = schedules.change(found, {"enabled": enabled}, by=access.actor(request))
    except Refused as invalid:
        told = _("%(schedule)s cannot be resumed: %(why)s") % {"schedule": found.name, "why": invalid}
        messages.error(request, told)
        return _back(request, found)
    told = _("%(schedule)s fires again from its next time on.") if enabled else _("%(schedule)s is paused.")
    messages.success(request, told % {"schedule": found.name})
    return _back(request, found)


@require_POST
@access.reviewer
def run_schedule(request: access.DeskRequest, schedule_id: UUID) -> HttpResponse:
    """Fire it now and go to the session, or stay and say why there is none."""
    found = _read(request, schedule_id)
    run = schedules.run_now(found, by=access.actor(request))
    return follow(request, run, "schedule-detail", found.pk)


def follow(request: access.DeskRequest, run: TriggerRun, back: str, *args: Any) -> HttpResponse:
    """Where somebody goes who fired by hand."""
    if run.session_id:
        return redirect("session-detail", run.agent_id, run.session_id)
    messages.error(request, _("No session began: %(why)s") % {"why": run.error})
    return redirect(back, *args)


@require_POST
@access.admin
def delete_schedule(request: access.DeskRequest, schedule_id: UUID) -> HttpResponse:
    found = _read(request, schedule_id)
    schedules.delete(found, by=access.actor(request))
    messages.success(request, _("%(schedule)s is gone; what it started stays.") % {"schedule": found.name})
    return redirect("trigger-list")


def _back(request: access.DeskRequest, found: Schedule) -> HttpResponse:
    if request.POST.get("back") == "list":
        return redirect("trigger-list")
    return redirect("schedule-detail", found.pk)
