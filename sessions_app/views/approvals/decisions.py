"""The card of one approval, and the decision that is made on it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from sessions_app.models import Approval
from sessions_app.queries.approvals import with_turns
from sessions_app.services.approvals import decisions, reasons, taking_back
from sessions_app.services.policies.wishes import Wish

from .. import access
from ..pages import page_or_fragment, wants_fragment
from ..session.addresses import event_url, number
from .cards import LASTS

ALWAYS = "always"
"""Value of the button that approves and makes a grant."""
WHY = {ALWAYS: "why_always"}
SECOND = "_sure"
"""What the value of the second button ends with, where it takes two steps to approve (``second_step``)."""


@require_safe
@access.viewer
def card(request: access.DeskRequest, approval_id: UUID) -> HttpResponse:
    """The card as things stand now."""
    return card_response(request, access.approval_read(request, approval_id))


@require_POST
@access.reviewer
def decide(request: access.DeskRequest, approval_id: UUID) -> HttpResponse:
    """Approve, approve with edited arguments, answer, or deny with a reason.

    422 for a field that lacks something; 403 for whoever asked; 409 with the card as it is now when somebody was
    faster or the question has changed. What was typed comes back with all three, and with the same decision again that
    has another reason: the first stands.
    """
    approval = access.approval_read(request, approval_id)
    try:
        decided = decisions.decide(approval, access.decider(request), _decision(request.POST))
    except decisions.Invalid as invalid:
        errors = {_field(invalid.field, request.POST.get("verdict", "")): str(invalid)}
        return card_response(request, approval, 422, errors=errors, typed=_typed(request.POST))
    except decisions.NotAllowed as refused:
        return card_response(request, approval, 403, notice=str(refused), typed=_typed(request.POST))
    except decisions.Conflict as conflict:
        now = access.approval_read(request, conflict.approval.pk)
        return card_response(request, now, 409, notice=str(conflict), typed=_typed(request.POST))
    if "save_reason" in request.POST and request.POST.get("verdict") == "deny":
        _save_reason(request)
    if decided.not_kept:
        now, unchanged = access.approval_read(request, decided.pk), gettext("Nothing was changed")
        return card_response(request, now, notice=decided.not_kept, not_done=unchanged, typed=_typed(request.POST))
    if not wants_fragment(request):
        return redirect(_back(request, decided))
    response = card_response(request, access.approval_read(request, decided.pk))
    response.headers["HX-Trigger-After-Swap"] = "decided"
    return response


@require_POST
@access.reviewer
def withdraw(request: access.DeskRequest, approval_id: UUID) -> HttpResponse:
    """Take back a decision that has not taken effect. 403 for who did not make it, 409 when it is too late."""
    approval = access.approval_read(request, approval_id)
    try:
        taking_back.withdraw(approval, access.decider(request))
    except decisions.NotAllowed as refused:
        return card_response(request, approval, 403, notice=str(refused), not_done=gettext("Nothing was undone"))
    except decisions.Conflict as conflict:
        now = access.approval_read(request, approval_id)
        return card_response(request, now, 409, notice=str(conflict), not_done=gettext("Nothing was undone"))
    return card_response(request, access.approval_read(request, approval_id))


def _field(field: str, pressed: str) -> str:
    """The field of the card that an error stands beside: a reason is asked for at three places."""
    if pressed == ALWAYS:
        return "grant"
    return "comment" if field == "reason" and pressed != "deny" else field


def _save_reason(request: access.DeskRequest) -> None:
    """Keep the reason for other times. It is decided by now: a reason that cannot be kept is said, and no more."""
    try:
        reasons.save(request.member.workspace, "deny", request.POST.get("reason", ""), by=access.actor(request))
    except decisions.Invalid as invalid:
        messages.warning(
            request, gettext("It is denied, but the reason was not saved: %(invalid)s.") % {"invalid": invalid}
        )


def _decision(form: QueryDict) -> decisions.Decision:
    """The decision that the form states. Raises ``decisions.Invalid``."""
    pressed, reason = form.get("verdict", ""), form.get("reason", "").strip() or form.get("saved_reason", "").strip()
    verdict = "approve" if pressed == ALWAYS else pressed.removesuffix(SECOND)
    if verdict == "deny" and not reason:
        raise decisions.Invalid("reason", gettext("Say why: the agent is told, and so is who reads this later."))
    return decisions.Decision(
        "approve" if verdict == "edit" else verdict,
        version=number(form.get("version")) or 0,
        digest=form.get("digest", ""),
        arguments=_arguments(form.get("arguments", "")) if verdict == "edit" else None,
        answer=form.get("answer", "").strip() if verdict == "answer" else "",
        reason=reason if verdict == "deny" else form.get(WHY.get(pressed, "comment"), "").strip(),
        confirmation=form.get("confirmation", "").strip(),
        sure=pressed.endswith(SECOND),
        grant=_wish(form) if pressed == ALWAYS else None,
    )


def _wish(form: QueryDict) -> Wish:
    """What is to be allowed with the approval. Raises ``decisions.Invalid``."""
    if form.get("hours") not in LASTS:
        raise decisions.Invalid("grant", gettext("choose for how long"))
    why, lasts = form.get("why_always", "").strip(), timedelta(hours=int(form["hours"]))
    return Wish(why, whole_agent=form.get("scope") == "agent", lasts=lasts)


def _arguments(typed: str) -> Any:
    try:
        value = orjson.loads(typed)
    except orjson.JSONDecodeError as error:
        raise decisions.Invalid("arguments", gettext("This is not JSON: %(error)s.") % {"error": error}) from None
    if value is None:
        raise decisions.Invalid("arguments", gettext("Arguments cannot be null; write {} for none."))
    return value


def _typed(form: QueryDict) -> dict[str, str]:
    """What was typed for the verdict that was pressed: the other fields of the form hold nothing of the person's."""
    fields = {
        "edit": ("arguments", "comment"), "answer": ("answer",), "deny": ("reason",), "approve": ("comment",),
        ALWAYS: ("why_always", "scope", "hours"),
    }  # fmt: skip
    pressed = form.get("verdict", "").removesuffix(SECOND)
    wanted = fields.get(pressed, ())
    typed = {name: form[name][:100_000] for name in wanted if form.get(name) or name != "comment" and name in form}
    if pressed == "deny" and not typed.get("reason", "").strip() and (chosen := form.get("saved_reason", "")):
        typed["reason"] = chosen[:100_000]  # without scripts a saved reason is in its list alone
    return typed


def _back(request: access.DeskRequest, approval: Approval) -> str:
    """The page the form was on, when it is one of ours; else the place in the session."""
    return access.path_here(request.POST.get("next", "")) or event_url(approval.session, approval.event_seq)


def card_response(request: access.DeskRequest, approval: Approval, status: int = 200, **shown: Any) -> HttpResponse:
    """The card, alone on a page or for the place that it has on another one (``place``)."""
    asked = request.POST if request.method == "POST" else request.GET
    if asked.get("place") == "inbox":  # which session it is of is not said around it
        shown |= {"place": "inbox", "show_session": True, "heading": "h2"}
    elif asked.get("place") == "alone" and wants_fragment(request):
        shown |= {"place": "alone", "alone": True, "heading": "h1"}
    context = {"approval": with_turns([approval])[0], **shown}
    return page_or_fragment(request, "approvals/alone.html", "approvals/card/_card.html", context, status=status)
