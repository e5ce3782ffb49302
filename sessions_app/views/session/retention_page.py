"""The page of a session's retention: what holds and what is due, a hold, pruning by hand, and showing it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from sessions_app.models import Role, Session
from sessions_app.queries.retention import hidden, strategies
from sessions_app.services.retention import advised, policies, pruning, showing, sweeping

from .. import access
from ..settings.retention import KINDS, RulesForm
from . import retention
from .addresses import session_at

KEPT = 50
"""Messages that stay where a person says no other number."""


class HoldForm(forms.Form):
    hold_reason = forms.CharField(
        max_length=policies.MOST_REASON, label=gettext_lazy("Reason"),
        help_text=gettext_lazy("It is shown with the session, and stays in the audit log."),
    )  # fmt: skip


class PruneForm(forms.Form):
    strategy = forms.ChoiceField(choices=KINDS, required=False, label=gettext_lazy("What stays visible"))
    window = forms.IntegerField(
        min_value=1, max_value=strategies.MOST, initial=KEPT, label=gettext_lazy("Messages at the end that stay")
    )

    def read(self) -> strategies.Strategy:
        name, window = self.cleaned_data["strategy"], self.cleaned_data["window"]
        make = {"keep_important": strategies.important, "summarize_old": strategies.summarized}
        return make.get(name, strategies.sliding)(window)


@require_http_methods(["GET", "HEAD", "POST"])
@access.viewer
def page(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """What holds; ``?window=50&strategy=…`` says what pruning by hand would do. Reviewers change it."""
    session = session_at(request, agent_id, session_id)
    if request.method == "POST":
        access.require(request.member, Role.REVIEWER)
        return _done(request, session)
    if "window" not in request.GET:
        return _page(request, session)
    form = PruneForm(request.GET)
    if not form.is_valid():
        return _page(request, session, 422, prune_form=form)
    try:
        return _page(request, session, prune_form=form, preview=pruning.preview(session, form.read()))
    except policies.Held as refused:
        return _page(request, session, 409, prune_form=form, problem=str(refused))


def _done(request: access.DeskRequest, session: Session) -> HttpResponse:
    do = DOES.get(request.POST.get("do", ""))
    if do is None:
        return _page(request, session, 422, problem=_("choose what to do on this page"))
    try:
        refused = do(request, session)
    except policies.NotAllowed as not_allowed:
        return _page(request, session, 403, problem=str(not_allowed))
    except policies.Held as held:
        return _page(request, session, 409, problem=str(held))
    return refused or redirect("session-retention", session.agent_id, session.pk)


def _set(request: access.DeskRequest, session: Session, said: dict[str, Any]) -> None:
    is_admin = request.member.role == Role.ADMIN
    policies.set_policy(session.pk, said, by=access.actor(request), is_admin=is_admin)


def _keep(request: access.DeskRequest, session: Session) -> HttpResponse | None:
    form = RulesForm(_own(session), request.POST)
    if not form.is_valid():
        return _page(request, session, 422, form=form)
    _set(request, session, form.said())
    messages.success(request, _("The retention of this session is saved."))
    return None


def _follow(request: access.DeskRequest, session: Session) -> None:
    _set(request, session, dict.fromkeys(policies.RULES))
    messages.success(request, _("This session follows the workspace again."))


def _hold(request: access.DeskRequest, session: Session) -> HttpResponse | None:
    form = HoldForm(request.POST)
    if not form.is_valid():
        return _page(request, session, 422, hold_form=form)
    _set(request, session, {"immutable": True, **form.cleaned_data})
    messages.success(request, _("This session is on hold: nothing of it is pruned or deleted."))
    return None


def _lift(request: access.DeskRequest, session: Session) -> None:
    _set(request, session, {"immutable": False})
    messages.success(request, _("This session is no longer on hold."))


def _prune(request: access.DeskRequest, session: Session) -> HttpResponse | None:
    form = PruneForm(request.POST)
    if not form.is_valid():
        return _page(request, session, 422, prune_form=form)
    done = advised.prune(session.pk, form.read(), by=access.actor(request))
    assert done is not None
    _tell(request, done.plan.messages, ngettext(
        "%(count)d message is hidden.", "%(count)d messages are hidden.", done.plan.messages
    ))  # fmt: skip
    return None


def _show(request: access.DeskRequest, session: Session) -> None:
    shown = showing.show_again(session.pk, by=access.actor(request)).messages
    _tell(request, shown, ngettext(
        "%(count)d message is visible again.", "%(count)d messages are visible again.", shown
    ))  # fmt: skip


def _tell(request: access.DeskRequest, count: int, words: str) -> None:
    messages.success(request, words % {"count": count})


DOES: dict[str, Callable[[access.DeskRequest, Session], HttpResponse | None]] = {
    "keep": _keep, "follow": _follow, "hold": _hold, "lift": _lift, "prune": _prune, "show": _show,
}  # fmt: skip
"""What the forms of the page ask for, by their field ``do``."""


def _page(request: access.DeskRequest, session: Session, status: int = 200, **shown: Any) -> HttpResponse:
    role, row = Role(request.member.role), sweeping.row_of(session)
    context = {
        "session": session, "retention": retention.of_session(session), "row": row,
        "hidden": sum(span.messages for span in hidden.known_of(session)),
        "of_workspace": request.member.workspace.retention,
        "may_change": role.covers(Role.REVIEWER) and (not row.immutable or role == Role.ADMIN),
        "may_review": role.covers(Role.REVIEWER),
        "form": RulesForm(_own(session)), "hold_form": HoldForm(), "prune_form": PruneForm(), **shown,
    }  # fmt: skip
    return render(request, "sessions/retention.html", context, status=status)


def _own(session: Session) -> dict[str, Any]:
    return sweeping.row_of(session).policy()
