"""What the card of an approval shows of the question, beside others and on a page of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_lazy

from sessions_app.models import Approval, Member, Role
from sessions_app.policy import terms
from sessions_app.queries import approvals as queries
from sessions_app.queries import votes
from sessions_app.queries.votes import Tally
from sessions_app.rendering import marks, text, toolbody, toolline
from sessions_app.rendering.arguments import secrets, shape
from sessions_app.services.approvals import authority, second_step
from sessions_app.services.policies import grants
from sessions_app.services.turns import messages

from .. import access

LASTS = {
    "1": gettext_lazy("an hour"),
    "8": gettext_lazy("8 hours"),
    "24": gettext_lazy("a day"),
    "168": gettext_lazy("a week"),
    "720": gettext_lazy("30 days"),
}
"""Hours -> words."""
LARGE = 8_000
"""Characters of arguments as JSON that every card carries whole. Larger ones stand whole on the card's own page."""
WHOLE = 256 * 1024
VOTED = {"approve": "approved", "deny": "denied", "answer": "answered"}
CONTEXT = 4_000
"""Characters of one value there, and of what the agent says on a card among others."""


@dataclass(frozen=True, slots=True)
class ApprovalCard:
    """A question as a card shows it. ``cut`` says that long values stand whole only on the card's own page."""

    line: toolline.ToolLine
    question: text.Clamped | None
    """What a person is to answer in words; None where the agent asks whether it may run something."""
    parts: list[shape.Part]
    """The arguments, without the question."""
    destroys: list[str]
    """Why it is approved in two steps."""
    odd: list[str]
    """Characters in it that deceive."""
    hidden: int
    """Secrets that are masked."""
    why: text.Clamped
    """What the agent says of why it asks, where that is not the question again."""
    cut: bool
    left_out: bool
    """Whether even the card's own page does not show everything."""
    after: tuple[marks.Mark, marks.Mark]
    """What became of the decision: whether the agent was told, and whether the call was run."""
    twice: bool
    """Whether it is approved in two steps."""
    allowed: tuple[str, ...]
    """What the rules let people decide: of approve, edit, answer, deny, always."""
    comments: tuple[str, ...]
    """Verdicts that want a comment."""
    typed_confirmation: bool
    tally: Tally
    """How the votes stand: a decision names its digest."""
    arguments: Any
    """Of the call that a decision is about: what was asked, or what an earlier vote made of it; with its secrets."""
    may_grant: bool
    """Whether calls like it can be allowed from now on."""
    runs_here: bool
    """Whether approving it runs it; else the agent reads the answer when it asks next."""
    refusal: str
    """Why who looks at it may not decide it; empty where they may."""
    voted: bool
    """Whether who looks at it approved it already, and others have to as well."""
    may_take_back: bool
    """Whether it was decided by who looks at it, and has not taken effect."""

    lasts = tuple(LASTS.items())
    """Hours that a grant can last, and their words."""

    @property
    def changed(self) -> str:
        """What a vote made of the arguments, as JSON without its secrets; empty where they are as they were asked."""
        return "" if self.tally.arguments is None else toolbody.as_json(secrets.masked(self.tally.arguments)[0])

    @property
    def changed_by(self) -> str:
        """Who made it of them."""
        return next((vote.by for vote in self.tally.approvals if vote.arguments is not None), "")


def card_of(approval: Approval, *, alone: bool, revealed: bool = False, member: Member | None = None) -> ApprovalCard:
    """The question, nothing of it cut without saying so; its secrets only where they are ``revealed``.

    ``member`` is who looks at it.
    """
    tally = votes.tally(approval, None if approval.version > 1 else ())
    stands = approval.arguments if tally.arguments is None else tally.arguments
    arguments, hidden = (approval.arguments, 0) if revealed else secrets.masked(approval.arguments)
    cut = not alone and len(toolbody.as_json(arguments)) > LARGE
    question = toolline.question_of(approval.tool_name, arguments, approval.tool_server)
    rest = {key: value for key, value in arguments.items() if key != "question"} if question else arguments
    most = 300 if cut else WHOLE
    seen = shape.shape_of(approval.tool_name, rest, approval.tool_server, most=most, alone=alone)
    why = "" if approval.context == question else approval.context
    destroys = [] if question else seen.destroys
    return ApprovalCard(
        line=shape.title_of(approval.tool_name, arguments, approval.tool_server),
        question=_clamped(question, alone) if question else None,
        parts=seen.parts,
        destroys=destroys,
        odd=seen.odd,
        hidden=hidden,
        why=_clamped(why if revealed else secrets.in_text(why)[0], alone),
        cut=cut or (seen.left_out and not alone),
        left_out=seen.left_out and alone,
        after=(_delivery(approval), _execution(approval)),
        twice=bool(second_step.why(approval, stands)) or bool(approval.terms.get("typed_confirmation")),
        allowed=terms.decisions_allowed(approval.terms, approval.risk),
        comments=tuple(approval.terms.get("comment") or ()),
        typed_confirmation=bool(approval.terms.get("typed_confirmation")),
        tally=tally,
        arguments=stands,
        may_grant=not (question or grants.why_not_offered(approval)),
        runs_here=messages.runs_here(approval.session.agent),
        refusal=_refusal(approval, member),
        voted=any(member and vote.member_id == member.pk for vote in tally.approvals),
        may_take_back=_may_take_back(approval, tally, member),
    )


def _delivery(approval: Approval) -> marks.Mark:
    """A decision that was read from a file was never ours to deliver."""
    if approval.recorded:
        is_inferred = bool(approval.decision) and approval.decision.get("inferred")
        return marks.Mark(gettext("as the file tells it, inferred") if is_inferred else gettext("as the file tells it"))
    return marks.DELIVERIES.get(approval.delivery, marks.NOTHING_TO_DELIVER)


def _execution(approval: Approval) -> marks.Mark:
    """Whether it was run. Of a call that an agent makes elsewhere nothing is known until the agent reports it."""
    if known := marks.EXECUTIONS.get(approval.execution):
        return known
    may_run = bool(approval.executable_digest) and approval.delivery == "delivered"
    elsewhere = may_run and not messages.runs_here(approval.session.agent)
    return marks.NOT_REPORTED if elsewhere else marks.NOT_EXECUTED


def _refusal(approval: Approval, member: Member | None) -> str:
    if member is None or approval.status != Approval.Status.PENDING:
        return ""
    return authority.why_not(approval, access.decider_of(member))


def _may_take_back(approval: Approval, tally: Tally, member: Member | None) -> bool:
    if member is None or not approval.takes_effect_at or not Role(member.role).covers(Role.REVIEWER):
        return False
    return votes.vote_of(tally, votes.person_of(member, None, "")) is not None


def mark_of(approval: Approval) -> marks.Mark:
    """The badge of how it stands: of a decision that can be taken back, what was decided."""
    if approval.takes_effect_at and (last := votes.tally(approval).last):
        verdict = "approved_edited" if last.verdict == "approve" and last.arguments is not None else VOTED[last.verdict]
        return marks.state_of(verdict)
    return marks.state_of(queries.standing(approval))


def line_of(approval: Approval) -> toolline.ToolLine:
    """The question on one line, without its secrets."""
    return shape.title_of(approval.tool_name, secrets.masked(approval.arguments)[0], approval.tool_server)


def _clamped(said: str, alone: bool) -> text.Clamped:
    return text.clamp(said, characters=WHOLE if alone else CONTEXT, lines=5_000 if alone else 80)


def weight(approval: Approval) -> int:
    """Bytes of HTML that a card among others takes: its arguments stand there twice, to read and to edit."""
    shown = toolbody.as_json(approval.arguments)
    said = len(text.escape(shown if len(shown) <= LARGE else "").encode())
    return (
        6_000 + 3 * said + len(text.escape(approval.context[:CONTEXT]).encode()) + (20_000 if len(shown) > LARGE else 0)
    )
