"""Many decisions at once: each one shown, each one made by itself, each with its own outcome."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from sessions_app.models import Approval
from sessions_app.queries import approvals as queries
from sessions_app.services.approvals import decisions

from .. import access
from ..labels import label
from ..session.addresses import number
from . import cards

MOST = 100
"""Approvals that are decided at once."""
VERDICTS = {"approve", "deny"}


@dataclass(slots=True)
class Item:
    """One approval of a batch: what was shown of it, why it cannot be among others, and what became of it."""

    approval: Approval
    card: cards.ApprovalCard
    version: int
    digest: str
    why_not: str = ""
    outcome: str = ""
    failed: bool = False

    @property
    def pick(self) -> str:
        return f"{self.approval.pk}:{self.version}:{self.digest}"


@require_POST
@access.reviewer
def batch(request: access.DeskRequest) -> HttpResponse:
    """Decide what is picked (``pick``: id, version and digest as they were shown).

    First a page that shows each of them; with ``sure`` each is decided through the path that every decision takes. A
    batch makes no grant and no edit, and leaves out what wants a comment, several people or the name of the tool.
    """
    verdict = request.POST.get("verdict", "")
    verdict = verdict if verdict in VERDICTS else "approve"
    items = list(_items(request, verdict))
    possible = [item for item in items if not item.why_not]
    reason = request.POST.get("reason", "").strip()
    error = (
        gettext("Say why: each agent is told.") if verdict == "deny" and "sure" in request.POST and not reason else ""
    )
    context = {
        "items": items, "possible": possible, "verdict": verdict, "reason": reason, "error": error, "most": MOST,
        "beyond": max(0, len(request.POST.getlist("pick")) - MOST),
    }  # fmt: skip
    if "sure" not in request.POST or error or not possible:
        return render(request, "approvals/batch.html", context, status=422 if error else 200)
    for item in possible:
        _decide(item, access.decider(request), verdict, reason)
    done = sum(not item.failed for item in possible)
    return render(request, "approvals/batch.html", context | {"results": True, "done": done})


def _items(request: access.DeskRequest, verdict: str) -> Iterator[Item]:
    picked: dict[UUID, tuple[int, str]] = {}
    for pick in request.POST.getlist("pick")[:MOST]:
        name, _, rest = pick.partition(":")
        version, _, digest = rest.partition(":")
        try:
            picked[UUID(name)] = (number(version) or 0, digest)
        except ValueError:
            continue  # not one of ours: no page of ours sends it
    found = queries.with_turns(queries.of_ids(request.member.workspace_id, picked))
    for approval in sorted(found, key=queries.urgency_key):
        card = cards.card_of(approval, alone=False, member=request.member)
        yield Item(approval, card, *picked[approval.pk], why_not=_why_not(approval, card, verdict))


def _why_not(approval: Approval, card: cards.ApprovalCard, verdict: str) -> str:
    """Why one cannot be decided among others; empty where it can."""
    if approval.status != Approval.Status.PENDING:
        return gettext("it is %(status)s by now") % {"status": label(approval.get_status_display().lower())}
    if card.refusal:
        return card.refusal
    if card.question:
        return gettext("a question wants an answer")
    if verdict == "deny":
        return ""
    if approval.votes_needed > 1:
        return gettext("%(votes_needed)s people have to approve it") % {"votes_needed": approval.votes_needed}
    if card.odd:
        return gettext("characters in it deceive: look at its own card")
    if card.typed_confirmation:
        return gettext("it wants the name of the tool typed")
    if verdict in card.comments:
        return gettext("it wants a comment of its own")
    return gettext("its arguments are too long to be shown among others") if card.cut else ""


def _decide(item: Item, decider: decisions.Decider, verdict: str, reason: str) -> None:
    said = reason if verdict == "deny" else ""
    decision = decisions.Decision(verdict, version=item.version, digest=item.digest, reason=said, sure=True)
    try:
        decided = decisions.decide(item.approval, decider, decision)
    except (decisions.NotAllowed, decisions.Invalid, decisions.Conflict) as refused:
        item.outcome, item.failed = gettext("not taken: %(refused)s") % {"refused": refused}, True
    else:
        if decided.not_kept:
            item.outcome, item.failed = gettext("not taken: %(refused)s") % {"refused": decided.not_kept}, True
            return
        item.outcome = gettext("approved") if verdict == "approve" else gettext("denied")
        item.approval = decided
