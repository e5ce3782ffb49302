"""Settings: how long messages of sessions stay in sight that have no retention of their own, and how long all sessions
are kept; what is due now."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from sessions_app.models import Role
from sessions_app.queries.retention import over, strategies
from sessions_app.services.retention import keeping, sweeping, workspaces

from .. import access
from ..tables import list_place

LOOKED_AT = 100
"""Sessions that one page of the report goes through."""
MOST_DAYS = 36_500
KINDS = [
    ("", gettext_lazy("the last messages")),
    ("keep_important", gettext_lazy("the last messages, and what is important before them")),
    ("summarize_old", gettext_lazy("the last messages, and a summary of those before them")),
]


class RulesForm(forms.Form):
    """A retention, of a workspace or of a session: what is left empty is not limited."""

    ttl_days = forms.IntegerField(
        min_value=1, max_value=MOST_DAYS, required=False, label=gettext_lazy("Days"),
        help_text=gettext_lazy("All messages are hidden this many days after the last event."),
    )  # fmt: skip
    max_messages = forms.IntegerField(
        min_value=1, max_value=strategies.MOST, required=False, label=gettext_lazy("Messages"),
        help_text=gettext_lazy("Beyond this many, the oldest are hidden."),
    )  # fmt: skip
    prune_strategy = forms.ChoiceField(choices=KINDS, required=False, label=gettext_lazy("What stays visible"))
    auto_prune = forms.BooleanField(
        required=False, label=gettext_lazy("Prune automatically"),
        help_text=gettext_lazy("Within ten minutes of being due. Otherwise what is due is only listed."),
    )  # fmt: skip

    def __init__(self, kept: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, initial=kept, **kwargs)
        name = kept.get("prune_strategy") or ""
        if name == "sliding_window":
            self.fields["prune_strategy"].choices = [(name, KINDS[0][1]), *KINDS[1:]]
        elif name not in dict(KINDS):  # keep_last_50, which a program says
            last = _("the last %(n)s messages") % {"n": name.rpartition("_")[2]}
            self.fields["prune_strategy"].choices = [*KINDS, (name, last)]

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if said.get("auto_prune") and not (
            said.get("ttl_days") or said.get("max_messages") or said.get("prune_strategy")
        ):
            self.add_error("auto_prune", _("There is nothing to prune by: enter days or messages."))
        return said

    def said(self) -> dict[str, Any]:
        """As the services take it."""
        return self.cleaned_data | {"prune_strategy": self.cleaned_data["prune_strategy"] or None}


class KeepForm(forms.Form):
    """How long sessions are kept; empty: for good."""

    keep_days = forms.IntegerField(
        min_value=1, max_value=keeping.MOST_DAYS, required=False, label=gettext_lazy("Days that sessions are kept"),
        help_text=gettext_lazy("So many days after its last event came in, a session is deleted."),
    )  # fmt: skip


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """The retention of the workspace, which admins change, and what the next sweep would do."""
    kept = request.member.workspace.retention
    if request.method != "POST":
        return _page(request, RulesForm(kept))
    access.require(request.member, Role.ADMIN)
    form = RulesForm(kept, request.POST)
    if not form.is_valid():
        return _page(request, form, 422)
    workspaces.set_policy(request.member.workspace_id, form.said(), by=access.actor(request))
    messages.success(request, _("The retention is saved. Nothing is hidden yet: see what is due."))
    return redirect("retention")


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def keep(request: access.DeskRequest) -> HttpResponse:
    """For how many days sessions are kept, which admins say, and what goes or would go by other ``?keep_days=``."""
    workspace = request.member.workspace
    if request.method == "POST":
        access.require(request.member, Role.ADMIN)
        form = KeepForm(request.POST)
        if form.is_valid():
            keeping.set_days(workspace.pk, form.cleaned_data["keep_days"], by=access.actor(request))
            messages.success(request, _("Saved. See below what goes by it."))
            return redirect("retention-keep")
        return _keep_page(request, form, None, 422)
    if "keep_days" not in request.GET:
        return _keep_page(request, KeepForm(initial={"keep_days": workspace.keep_days}), workspace.keep_days)
    form = KeepForm(request.GET)
    if not form.is_valid():
        return _keep_page(request, form, None, 422)
    return _keep_page(request, form, form.cleaned_data["keep_days"])


def _keep_page(request: access.DeskRequest, form: KeepForm, days: int | None, status: int = 200) -> HttpResponse:
    workspace = request.member.workspace
    found, last = over.page(workspace.pk, days, _after(request), LOOKED_AT)
    context = {
        "form": form, "days": days, "is_trial": days != workspace.keep_days, "workspace": workspace, "over": found,
        "last": last, "can_change": request.member.role == Role.ADMIN,
    }  # fmt: skip
    return render(request, "settings/keep_days.html", context, status=status)


def _page(request: access.DeskRequest, form: RulesForm, status: int = 200) -> HttpResponse:
    due, last = sweeping.report_page(request.member.workspace_id, _after(request), LOOKED_AT)
    context = {
        "form": form, "kept": request.member.workspace.retention, "due": due, "last": last, "after": _after(request),
        "can_change": request.member.role == Role.ADMIN, "workspace": request.member.workspace,
    }  # fmt: skip
    return render(request, "settings/retention.html", context, status=status)


def _after(request: access.DeskRequest) -> UUID | None:
    return list_place(request.GET, "after")
