"""Settings: the rules that mark sessions by themselves, on or off in the workspace."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from sessions_app.models import Role
from sessions_app.queries.reviews.queues import asking_for
from sessions_app.queries.sessions import run_findings
from sessions_app.services import workspaces
from sessions_app.summary.findings import NAMES

from .. import access


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """Rules with the sessions in which they found something; admins turn them on and off."""
    if request.method != "POST":
        return _page(request)
    access.require(request.member, Role.ADMIN)
    on = request.POST.getlist("on")
    if unknown := [name for name in on if name not in NAMES]:
        return _page(request, _('there is no rule "%(name)s"') % {"name": unknown[0][:40]}, 422)
    off = [name for name in NAMES if name not in on]
    workspaces.turn_rules_off(request.member.workspace_id, off, by=access.actor(request))
    messages.success(request, _("%(on)d of %(all)d rules are on.") % {"on": len(on), "all": len(NAMES)})
    if stopped := asking_for(request.member.workspace_id, off):
        names = ", ".join(queue.name for queue in stopped)
        messages.warning(request, _("Queues of rules that are off give no sessions out: %(names)s.") % {"names": names})
    return redirect("finding-rules")


def _page(request: access.DeskRequest, problem: str = "", status: int = 200) -> HttpResponse:
    states = run_findings.states(request.member.workspace)
    context = {"states": states, "problem": problem, "can_change": request.member.role == Role.ADMIN}
    return render(request, "settings/finding_rules.html", context, status=status)
