"""Absences: when one is away and who stands in; admins say it for others as well."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.models import Absence, Member, Role
from sessions_app.queries import absences as queries
from sessions_app.queries import deciders
from sessions_app.services.escalations import absences

from .. import access


class AbsenceForm(forms.Form):
    """Days as people say them: away from the beginning of the first to the end of the last, in UTC."""

    member = forms.ModelChoiceField(Member.objects.none(), empty_label=None, label=gettext_lazy("Who"))
    first = forms.DateField(label=gettext_lazy("First day"), widget=forms.DateInput({"type": "date"}))
    last = forms.DateField(label=gettext_lazy("Last day"), widget=forms.DateInput({"type": "date"}))
    stand_in = forms.ModelChoiceField(
        Member.objects.none(), required=False, empty_label=gettext_lazy("nobody"), label=gettext_lazy("Who stands in"),
        help_text=gettext_lazy("Is told what an escalation would tell you."),
    )  # fmt: skip
    note = forms.CharField(max_length=absences.MOST_NOTE, required=False, label=gettext_lazy("Note"))

    def __init__(self, member: Member, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        here = Member.objects.filter(workspace_id=member.workspace_id).select_related("user").order_by("user__username")
        mine = here if Role(member.role).covers(Role.ADMIN) else here.filter(pk=member.pk)
        self.fields["member"].queryset = mine
        self.fields["stand_in"].queryset = here.filter(role__in=deciders.ROLES)

    def period(self) -> tuple[datetime, datetime]:
        """From when to when; a first day that has begun means from now on."""
        begins = datetime.combine(self.cleaned_data["first"], time.min, UTC)
        ends = datetime.combine(self.cleaned_data["last"], time.min, UTC) + timedelta(days=1)
        return max(begins, timezone.now()), ends


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """Who is away and will be, and the form."""
    today = timezone.now().date()
    if request.method != "POST":
        initial = {"member": request.member.pk, "first": today, "last": today}
        return _page(request, AbsenceForm(request.member, initial=initial))
    form = AbsenceForm(request.member, request.POST)
    if not form.is_valid():
        return _page(request, form, 422)
    entered, (begins_at, ends_at) = form.cleaned_data, form.period()
    try:
        absences.make(
            entered["member"], by=access.actor(request), role=Role(request.member.role), begins_at=begins_at,
            ends_at=ends_at, stand_in=entered["stand_in"], note=entered["note"],
        )  # fmt: skip
    except absences.Refused as refused:
        form.add_error({"ends_at": "last"}.get(refused.field, refused.field), str(refused))
        return _page(request, form, 422)
    away = {"member": entered["member"], "day": f"{entered['last']:%Y-%m-%d}"}
    messages.success(request, _("%(member)s is away until the end of %(day)s (UTC).") % away)
    return redirect("absence-list")


@require_POST
@access.viewer
def remove(request: access.DeskRequest, absence_id: UUID) -> HttpResponse:
    """End an absence, or take it back before it begins."""
    absence = access.one(Absence.objects.select_related("member__user"), request, absence_id)
    try:
        absences.remove(absence, by=access.actor(request), role=Role(request.member.role))
    except absences.NotAllowed as refused:
        raise PermissionDenied(f"{refused}.") from None
    messages.success(request, _("%(member)s is here again.") % {"member": absence.member})
    return redirect("absence-list")


def _page(request: access.DeskRequest, form: AbsenceForm, status: int = 200) -> HttpResponse:
    is_admin = Role(request.member.role).covers(Role.ADMIN)
    found = [
        {
            "absence": one,
            "may_remove": is_admin or one.member_id == request.member.pk,
            "begun": one.begins_at <= timezone.now(),
        }  # fmt: skip
        for one in queries.current_and_later(request.member.workspace_id)
    ]
    return render(request, "settings/absences.html", {"form": form, "rows": found}, status=status)
