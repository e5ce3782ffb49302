"""Settings: the rubrics that reviewers of the workspace score."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.models import Role, Rubric
from sessions_app.queries.reviews import verdicts as queries
from sessions_app.services.reviews import rubrics
from sessions_app.services.reviews.problems import Refused

from .. import access
from ..labels import lazy_label


class RubricForm(forms.Form):
    """A rubric to add."""

    name = forms.CharField(max_length=rubrics.MOST_NAME, label=gettext_lazy("Name"))
    kind = forms.ChoiceField(
        choices=[(kind, lazy_label(kind.label)) for kind in Rubric.Kind], label=gettext_lazy("Scored")
    )


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """Rubrics in use; admins add some."""
    if request.method != "POST":
        return _page(request, RubricForm())
    access.require(request.member, Role.ADMIN)
    form = RubricForm(request.POST)
    if not form.is_valid():
        return _page(request, form, 422)
    entered: dict[str, Any] = form.cleaned_data
    try:
        made = rubrics.add(request.member, entered["name"], entered["kind"], by=access.actor(request))
    except Refused as refused:
        form.add_error(refused.field, str(refused))
        return _page(request, form, 422)
    messages.success(request, _("Reviewers score %(rubric)s from now on.") % {"rubric": made.name})
    return redirect("rubric-list")


@require_POST
@access.admin
def retire(request: access.DeskRequest, rubric_id: UUID) -> HttpResponse:
    """Ask for it no more."""
    rubric = access.one(Rubric.objects.all(), request, rubric_id)
    rubrics.retire(rubric, request.member, by=access.actor(request))
    told = _("%(rubric)s is not asked for any more; scores that were given stay.") % {"rubric": rubric.name}
    messages.success(request, told)
    return redirect("rubric-list")


def _page(request: access.DeskRequest, form: RubricForm, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "rubrics": queries.rubrics_of(request.member.workspace_id),
        "can_change": request.member.role == Role.ADMIN,
    }
    return render(request, "settings/rubrics.html", context, status=status)
