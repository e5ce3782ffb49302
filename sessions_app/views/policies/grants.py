"""Grants: listed with their uses, made from an approval, revoked."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from sessions_app.models import Approval, Grant, Role
from sessions_app.policy.faults import Invalid
from sessions_app.queries import policies as queries
from sessions_app.rendering.arguments import secrets
from sessions_app.services.approvals import authority
from sessions_app.services.policies import grants

from .. import access
from ..approvals.cards import LASTS
from ..tables import before
from . import words


class GrantForm(forms.Form):
    scope = forms.ChoiceField(choices=[("session", "session"), ("agent", "agent")], initial="session")
    which = forms.ChoiceField(choices=[("exact", "exact"), ("conditions", "conditions")], initial="exact")
    arguments = forms.CharField(max_length=20_000, required=False)
    hours = forms.ChoiceField(choices=[*LASTS.items()], initial="8")
    uses = forms.IntegerField(min_value=1, max_value=grants.MOST_USES, required=False)
    reason = forms.CharField(max_length=grants.MAX_REASON, error_messages={"required": gettext_lazy("Say why.")})

    def wish(self) -> grants.Wish:
        """What is to be allowed. Raises ``Invalid`` and ``json.JSONDecodeError``."""
        said = self.cleaned_data
        exact = said["which"] == "exact"
        return grants.Wish(
            said["reason"],
            whole_agent=said["scope"] == "agent",
            arguments=None if exact else json.loads(said["arguments"] or "[]"),
            lasts=timedelta(hours=int(said["hours"])),
            uses=said["uses"],
        )


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """Grants, the newest first; ``?before=`` pages."""
    found = queries.grants_of(request.member.workspace_id)
    shown, more = before(found, request.GET)
    rows = [_row(grant) for grant in shown]
    may_revoke = Role(request.member.role).covers(Role.REVIEWER)
    return render(request, "policies/grants.html", {"more": more, "rows": rows, "may_revoke": may_revoke})


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def make(request: access.DeskRequest, approval_id: UUID) -> HttpResponse:
    """Allow calls like one that was asked."""
    approval = access.approval_read(request, approval_id)
    refused = authority.why_not(approval, access.decider(request)) or grants.why_not_offered(approval)
    form = GrantForm(request.POST or None)
    if request.method == "POST" and not refused and form.is_valid():
        problem = _made(request, approval, form)
        if not problem:
            return redirect("grant-list")
        form.add_error("arguments", problem)
    context = {
        "approval": approval, "form": form, "refused": refused, "lasts": LASTS.items(),
        "arguments": json.dumps(secrets.masked(approval.arguments)[0], indent=2, ensure_ascii=False),
        "example": json.dumps(_conditions(approval), indent=2, ensure_ascii=False),
    }  # fmt: skip
    status = 422 if request.method == "POST" else 200
    return render(request, "policies/grant.html", context, status=status)


@require_POST
@access.reviewer
def revoke(request: access.DeskRequest, grant_id: UUID) -> HttpResponse:
    """End a grant at once."""
    grant = access.one(Grant.objects.all(), request, grant_id)
    try:
        grants.revoke(grant, by=access.actor(request), reason=request.POST.get("reason", ""))
        messages.success(request, gettext("The grant for %(tool_name)s has ended.") % {"tool_name": grant.tool_name})
    except grants.NotInForce as ended:
        messages.error(request, f"{ended}.")
    return redirect("grant-list")


def _made(request: access.DeskRequest, approval: Approval, form: GrantForm) -> str:
    """Make the grant; what is wrong with it, else empty."""
    try:
        grants.make_from(approval, form.wish(), decider=access.decider(request))
    except json.JSONDecodeError as error:
        return gettext("This is no JSON: %(msg)s at line %(lineno)s, column %(colno)s") % {
            "msg": error.msg,
            "lineno": error.lineno,
            "colno": error.colno,
        }
    except (Invalid, grants.NotOffered, authority.NotAllowed) as refused:
        return str(refused)
    messages.success(
        request,
        gettext("Calls like this of %(tool_name)s pass without a decision from now on.")
        % {"tool_name": approval.tool_name},
    )
    return ""


def _row(grant: Grant) -> dict[str, object]:
    state = queries.state_of_grant(grant)
    return {"grant": grant, "state": state, "conditions": _in_words(grant), "holds": state == "in force"}


def _in_words(grant: Grant) -> list[str]:
    conditions = grant.arguments if isinstance(grant.arguments, list) else []
    shown = secrets.masked_conditions([one for one in conditions if isinstance(one, dict)])
    return [words.argument(one) for one in shown] or [gettext("any arguments")]


def _conditions(approval: Approval) -> list[dict[str, object]]:
    """Conditions to begin with: each argument as it was, without those that hold secrets: everybody reads a grant."""
    arguments = secrets.without(approval.arguments if isinstance(approval.arguments, dict) else {})
    steps = {name: name.replace("~", "~0").replace("/", "~1") for name in arguments}
    return [{"path": f"/{steps[name]}", "op": "=", "value": value} for name, value in arguments.items()]
