"""The editor of rules: a draft as JSON, a form that adds one rule to it, and a replay before it takes effect."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from sessions_app.models import Approval, PolicyVersion
from sessions_app.policy.faults import Fault, Invalid
from sessions_app.policy.reading import read_rules
from sessions_app.policy.writing import written
from sessions_app.queries import deciders
from sessions_app.queries import policies as queries
from sessions_app.services.policies import grants, preview, versions

from .. import access
from . import rule_form, words
from .rule_form import RuleForm

MAX_JSON = 1_000_000
"""Characters of a draft."""
MAX_SHOWN = 50


@dataclass(slots=True)
class Draft:
    """What was typed, and what came of it."""

    text: str
    note: str = ""
    faults: list[Fault] = field(default_factory=list)
    problem: str = ""

    def rules(self) -> Any:
        """The rules that were typed; None, and a fault, where they are no JSON or cannot be used."""
        try:
            if len(self.text) > MAX_JSON:
                raise Invalid(
                    [Fault("", gettext("the draft is longer than %(max_json)s characters") % {"max_json": MAX_JSON})]
                )
            rules = json.loads(self.text or "[]")
            read_rules(rules)
        except json.JSONDecodeError as error:
            self.faults = [
                Fault(
                    "",
                    gettext("this is no JSON: %(msg)s at line %(lineno)s, column %(colno)s")
                    % {"msg": error.msg, "lineno": error.lineno, "colno": error.colno},
                )
            ]
        except (RecursionError, ValueError) as error:
            self.faults = list(
                getattr(error, "faults", [Fault("", gettext("this cannot be read: %(error)s") % {"error": error})])
            )
        else:
            return rules
        return None


@require_http_methods(["GET", "HEAD", "POST"])
@access.admin
def edit(request: access.DeskRequest) -> HttpResponse:
    """Write a draft: begun from what is in force, from a version (``?version=``), with a rule like an approval's."""
    state = queries.state_of(request.member.workspace_id)
    if request.method != "POST":
        rules = _begun_from(request, state)
        approval = _approval(request)
        form = RuleForm(initial=rule_form.like(approval) if approval else {})
        return _page(request, state, Draft(written(rules)), form, approval=approval)
    draft = Draft(request.POST.get("rules", ""), request.POST.get("note", "").strip())
    action = request.POST.get("action", "")
    if action == "add":
        return _add(request, state, draft)
    if rule_form.is_begun(request.POST):
        # Published without it, rules would look as if it were among them.
        draft.problem = gettext(
            "Nothing was done: the rule in the form is not in the draft yet. Add it, or empty the form."
        )
        return _page(request, state, draft, RuleForm(initial=request.POST.dict()))
    rules = draft.rules()
    if rules is None:
        return _page(request, state, draft, RuleForm())
    if action == "preview":
        seen = preview.replay(request.member.workspace_id, rules)
        _warn(request, rules)
        return _page(request, state, draft, RuleForm(), seen=seen)
    return _keep(request, state, draft, rules, action)


def _keep(request: access.DeskRequest, state: queries.State, draft: Draft, rules: Any, action: str) -> HttpResponse:
    """Save the draft, and publish it or put it in shadow where that was pressed."""
    workspace_id, by = request.member.workspace_id, access.actor(request)
    if action == "publish" and not draft.note:
        draft.problem = gettext(
            "Say in the note what changes and why: it stands in the audit log, and beside the version."
        )
        return _page(request, state, draft, RuleForm())
    if action == "publish":
        seen = request.POST.get("seen", "")
        number = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 10 else 0
        try:
            versions.put_in_force(workspace_id, rules, by=by, note=draft.note, seen=number)
        except versions.Conflict as conflict:
            draft.problem = gettext("Nothing was published: %(conflict)s.") % {"conflict": conflict}
            return _page(request, queries.state_of(workspace_id), draft, RuleForm(), status=409)
        messages.success(request, gettext("These rules are in force from the next call on."))
        return redirect("policy")  # which has the warnings
    _warn(request, rules)
    version = versions.save_draft(workspace_id, rules, by=by, note=draft.note)
    if action == "shadow":
        versions.put_in_shadow(workspace_id, version, by=by)
        messages.success(
            request,
            gettext("Version %(number)s runs in shadow: it says what it would do.") % {"number": version.number},
        )
        return redirect("policy")
    messages.success(
        request,
        gettext("Version %(number)s is kept. It has no effect until you publish it.") % {"number": version.number},
    )
    return redirect("policy-version", version.number)


def _warn(request: access.DeskRequest, rules: Any) -> None:
    for warning in deciders.warnings(request.member.workspace_id, rules):
        messages.warning(request, warning)


def _add(request: access.DeskRequest, state: queries.State, draft: Draft) -> HttpResponse:
    """The draft with the rule of the form at its end."""
    form = RuleForm(request.POST)
    if not form.is_valid():
        return _page(request, state, draft, form)
    rules = draft.rules()
    if rules is None:
        return _page(request, state, draft, form)
    try:
        read_rules([*rules, form.rule()])
    except Invalid as invalid:
        return _page(request, state, draft, form, rule_faults=[fault.message for fault in invalid.faults])
    return _page(request, state, Draft(written([*rules, form.rule()]), draft.note), RuleForm(), added=form.rule())


def _page(
    request: access.DeskRequest, state: queries.State, draft: Draft, form: RuleForm, *, status: int = 200,
    seen: preview.Preview | None = None, approval: Approval | None = None, added: dict[str, Any] | None = None,
    rule_faults: list[str] | None = None,
) -> HttpResponse:  # fmt: skip
    wrong = bool(draft.faults or draft.problem or rule_faults or form.errors)
    context = {
        "state": state, "draft": draft, "form": form, "rows": enumerate(form.conditions()),
        "operators": rule_form.operators(), "seen": seen, "shown": seen.shown[:MAX_SHOWN] if seen else [],
        "added": words.in_words(added) if added else None, "rule_faults": rule_faults or [],
        "rule_open": form.is_bound or form.initial or not draft.text.strip("[] \n"), "approval": approval,
        "may_grant": approval is not None and not grants.why_not_offered(approval),
    }  # fmt: skip
    return render(request, "policies/edit.html", context, status=422 if wrong and status == 200 else status)


def _begun_from(request: access.DeskRequest, state: queries.State) -> Any:
    number = request.GET.get("version", "")
    if number.isascii() and number.isdigit() and len(number) < 10:
        found: PolicyVersion | None = queries.versions_of(request.member.workspace_id).filter(number=number).first()
        if found:
            return found.rules
    return state.live.rules if state.live else []


def _approval(request: access.DeskRequest) -> Approval | None:
    """The approval that a rule is to be made like; 404 for what is none of the workspace's."""
    wanted = request.GET.get("approval", "")
    if not wanted:
        return None
    try:
        return access.approval_read(request, UUID(wanted))
    except ValueError:
        raise Http404(gettext("There is no such approval in this workspace.")) from None
