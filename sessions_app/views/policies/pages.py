"""Pages of a workspace's policy: what is in force, its versions and their differences, what the shadow says."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from sessions_app.models import PolicyVersion, Role
from sessions_app.queries import deciders
from sessions_app.queries import policies as queries
from sessions_app.rendering import diff
from sessions_app.services.policies import versions

from .. import access
from . import words

VERSIONS = 30
MAX_SHOWN = 50


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """The rules in force in words, and the versions that there are."""
    workspace_id = request.member.workspace_id
    state = queries.state_of(workspace_id)
    shadowed = queries.shadowed(workspace_id, state.shadow) if state.shadow else None
    context = {
        "state": state,
        "rules": words.rules_in_words(state.live.rules) if state.live else [],
        "versions": queries.versions_of(workspace_id).defer("rules").order_by("-number")[:VERSIONS],
        "shadowed": shadowed,
        "differing": [_shadowed_row(one) for one in shadowed.differing[:MAX_SHOWN]] if shadowed else [],
        "may_write": _may_write(request),
        "warnings": deciders.warnings(workspace_id, state.live.rules) if state.live else [],
    }
    return render(request, "policies/index.html", context)


@require_safe
@access.viewer
def version(request: access.DeskRequest, number: int) -> HttpResponse:
    """One version: its rules, and what became of each since another one (the live one, or the one before)."""
    shown = _version(request, number)
    state = queries.state_of(shown.workspace_id)
    since = _since(request, shown, state.live)
    changes = queries.changes(since.rules if since else [], shown.rules)
    context = {
        "version": shown, "state": state, "since": since, "rules": words.rules_in_words(shown.rules),
        "changes": [_change_row(one) for one in changes], "may_write": _may_write(request),
    }  # fmt: skip
    return render(request, "policies/version.html", context)


@require_POST
@access.admin
def publish(request: access.DeskRequest, number: int) -> HttpResponse:
    """Put a version in force; an older one than the newest as a new version with its rules."""
    shown = _version(request, number)
    newest = queries.state_of(shown.workspace_id).newest
    act = versions.publish if newest is None or newest.pk == shown.pk else versions.roll_back
    seen, reason = _number(request.POST.get("seen", "")), request.POST.get("reason", "")
    try:
        act(shown, by=access.actor(request), seen=seen, reason=reason)
    except versions.Conflict as conflict:
        messages.error(request, gettext("Nothing was published: %(conflict)s.") % {"conflict": conflict})
        return redirect("policy-version", number)
    messages.success(request, gettext("These rules are in force from the next call on."))
    return redirect("policy")


@require_POST
@access.admin
def put_in_shadow(request: access.DeskRequest, number: int) -> HttpResponse:
    versions.put_in_shadow(request.member.workspace_id, _version(request, number), by=access.actor(request))
    messages.success(
        request,
        gettext("Version %(number)s runs in shadow: it says what it would do, and nothing else.") % {"number": number},
    )
    return redirect("policy")


@require_POST
@access.admin
def end_shadow(request: access.DeskRequest) -> HttpResponse:
    versions.put_in_shadow(request.member.workspace_id, None, by=access.actor(request))
    return redirect("policy")


def _shadowed_row(approval: Any) -> dict[str, Any]:
    return {"approval": approval, "effect": queries.effect_of(approval), "shadow": approval.shadow or {}}


def _change_row(change: queries.Change) -> dict[str, Any]:
    name, before, after = words.change_in_words(change)
    return {"name": f"{name}: {change.kind}", "rows": tuple(diff.between(before, after))}


def _since(request: HttpRequest, shown: PolicyVersion, live: PolicyVersion | None) -> PolicyVersion | None:
    """The version to compare with: the one that is named, else the live one, else the one before."""
    others = queries.versions_of(shown.workspace_id)
    named = _number(request.GET.get("since", ""))
    if named:
        return others.filter(number=named).first()
    if live and live.pk != shown.pk:
        return live
    return others.filter(number__lt=shown.number).order_by("-number").first()


def _version(request: access.DeskRequest, number: int) -> PolicyVersion:
    found = queries.versions_of(request.member.workspace_id).filter(number=number).first() if number < 2**31 else None
    if found is None:
        raise Http404(gettext("There is no such version in this workspace."))
    return found


def _number(typed: str) -> int | None:
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 10 else None


def _may_write(request: access.DeskRequest) -> bool:
    return Role(request.member.role).covers(Role.ADMIN)
