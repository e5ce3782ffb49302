"""What people do with an approval that waits, short of deciding it: look at it, hand it over, put it off."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST

from sessions_app.models import Approval
from sessions_app.services.approvals import cancelling, decisions, handling
from sessions_app.services.approvals.decisions import Decider

from .. import access
from ..pages import wants_fragment
from ..session.addresses import number
from .decisions import card_response

NOT_DONE = gettext_lazy("This was not done")
Step = Callable[[Approval, Decider, QueryDict], Approval]


@require_POST
@access.reviewer
def handle(request: access.DeskRequest, approval_id: UUID) -> HttpResponse:
    """Claim, release, assign (``member``), snooze (``minutes``), unsnooze, escalate (``to``) or cancel it, as ``do``
    says.

    403, 409 and 422 bring the card with a sentence, as a decision does.
    """
    approval = access.approval_read(request, approval_id)
    step = STEPS.get(request.POST.get("do", ""))
    try:
        if step is None:
            raise decisions.Invalid("do", gettext("choose one of %(steps)s") % {"steps": ", ".join(STEPS)})
        step(approval, access.decider(request), request.POST)
    except decisions.Invalid as invalid:
        return card_response(request, approval, 422, notice=str(invalid), not_done=NOT_DONE)
    except decisions.NotAllowed as refused:
        return card_response(request, approval, 403, notice=str(refused), not_done=NOT_DONE)
    except decisions.Conflict as conflict:
        now = access.approval_read(request, approval_id)
        return card_response(request, now, 409, notice=str(conflict), not_done=NOT_DONE)
    if not wants_fragment(request):
        return redirect(reverse("approval-detail", args=[approval_id]))
    return card_response(request, access.approval_read(request, approval_id))


def _snooze(approval: Approval, decider: Decider, form: QueryDict) -> Approval:
    minutes = number(form.get("minutes"))
    if not minutes:
        raise decisions.Invalid("minutes", gettext("say for how many minutes"))
    return handling.snooze(approval, decider, timezone.now() + timedelta(minutes=min(minutes, 100_000)))


def _assign(approval: Approval, decider: Decider, form: QueryDict) -> Approval:
    try:
        member_id = UUID(form["member"]) if form.get("member") else None
    except ValueError:
        raise decisions.Invalid("member", gettext("there is no such member in this workspace")) from None
    return handling.assign(approval, decider, member_id)


def _escalate(approval: Approval, decider: Decider, form: QueryDict) -> Approval:
    return handling.escalate(approval, decider, form.getlist("to"), reason=form.get("reason", ""))


def _cancel(approval: Approval, decider: Decider, form: QueryDict) -> Approval:
    return cancelling.cancel(approval, decider, reason=form.get("reason", ""))


STEPS: dict[str, Step] = {
    "claim": lambda approval, decider, form: handling.claim(approval, decider),
    "release": lambda approval, decider, form: handling.release(approval, decider),
    "assign": _assign,
    "snooze": _snooze,
    "unsnooze": lambda approval, decider, form: handling.unsnooze(approval, decider),
    "escalate": _escalate,
    "cancel": _cancel,
}
