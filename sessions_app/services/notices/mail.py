"""Mail about approvals: one for each, or one for several of low risk. Nothing is decided by opening its link."""

from __future__ import annotations

from uuid import UUID

import orjson
from django.conf import settings
from django.db.models import Q
from django.urls import reverse

from sessions_app.models import Approval, Notice
from sessions_app.rendering.arguments.odd import oddities
from sessions_app.rendering.marks import risk_in_words
from sessions_app.rendering.text import clamp, clean, first_line, in_quotes
from sessions_app.rendering.toolline import describe_call, name_in_words

from ..people import mail, refused
from . import outbox, payloads

MOST_SUBJECT, MOST_CONTEXT, MOST_ARGUMENTS, MOST_LINES = 150, 300, 2_000, 40
MOST_LISTED = 50
"""Approvals of one digest; the others are counted."""


def send(notice_id: UUID) -> None:
    """Send a notice, or the digest that it is of; unless it is not time, another worker is at it, or nobody has to be
    told any more.
    """
    row = Notice.objects.filter(pk=notice_id).values_list("member_id", "digest").first()
    if row is None:
        return  # erased with its session, or its member has left
    member_id, is_digest = row
    which = Q(member=member_id, channel=Notice.Channel.MAIL, digest=True) if is_digest else Q(pk=notice_id)
    told = []
    for notice in outbox.claim(which):
        if why := _why_not(notice):
            outbox.end([notice], error=why)
        else:
            told.append(notice)
    if not told:
        return
    # The same id each time: who is told twice, because a worker died, is shown it once.
    host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2]
    about = {"Message-ID": f"<{told[0].pk}@{host}>", "Auto-Submitted": "auto-generated"}
    subject = subject_of_digest(told) if is_digest else subject_of(told[0].approval)
    body = body_of_digest(told) if is_digest else body_of(told[0])
    try:
        mail.send(told[0].member.user, subject, body, headers=about)
    except refused.Refused as fault:
        outbox.put_off(told, str(fault))
    else:
        outbox.note_sent(told)


def _why_not(notice: Notice) -> str:
    """Why nobody is to be told by it any more; empty where somebody is."""
    if not mail.reaches(notice.member.user):
        return "no mail can be sent: EMAIL_URL is not set, or the member has no address"
    return outbox.why_not(notice)


def subject_of(approval: Approval) -> str:
    """Agent, tool and the telling argument, masked before it is cut: half a key would not be known as one."""
    line = describe_call(*map(payloads.masked, (approval.tool_name, approval.arguments, approval.tool_server)))
    return first_line(f"{_agent(approval)} asks: {line.verb} {line.subject}".strip(), MOST_SUBJECT)


def subject_of_digest(notices: list[Notice]) -> str:
    """How many wait, and of which agents, without what they ask for."""
    agents = dict.fromkeys(_agent(notice.approval) for notice in notices)
    waits = f"{len(notices)} calls of low risk wait" if len(notices) > 1 else "1 call of low risk waits"
    return first_line(f"{waits} for you: {', '.join(agents)}", MOST_SUBJECT)


def body_of_digest(notices: list[Notice]) -> str:
    """A line and a link for each."""
    lines = []
    for notice in notices[:MOST_LISTED]:
        approval = notice.approval
        until = f", denied by itself at {approval.expires_at:%Y-%m-%d %H:%M} UTC" if approval.expires_at else ""
        card = _address(reverse("approval-detail", args=[approval.pk]))
        lines.append(f"- {subject_of(approval)} (asked at {approval.requested_at:%H:%M} UTC{until})\n  {card}")
    if len(notices) > MOST_LISTED:
        lines.append(f"and {len(notices) - MOST_LISTED} more")
    head = f"{len(notices)} calls wait" if len(notices) > 1 else "A call waits"
    parts = [
        f"{head} for a decision in {_workspace(notices[0])}, with what looks like a secret masked:", "\n".join(lines),
        f"Sign in to decide them: {_address(reverse('approval-list'))}\nOpening a link decides nothing.",
        f"You get this because you chose calls of low risk in one mail: {_address(reverse('notice-choice'))}",
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def body_of(notice: Notice) -> str:
    """The text: what is asked, whose words are whose, and where it is decided."""
    approval = notice.approval
    tool = name_in_words(payloads.masked(approval.tool_name), 200)
    tool += f" of {_name(approval.tool_server, 200)}" if approval.tool_server else ""
    parts = [f"{_agent(approval)} asks to run {tool}."]
    if notice.step:
        parts.append(f"Nobody has decided it so far: this is step {notice.step} of its escalation.")
    parts.append(f"Arguments, with what looks like a secret masked:\n{_quoted(_arguments(approval))}")
    if odd := oddities([approval.tool_name, approval.tool_server or "", approval.arguments, approval.context]):
        parts.append("Characters that deceive:\n" + _quoted("\n".join(clean(one) for one in odd)))
    if context := first_line(payloads.masked(approval.context), MOST_CONTEXT):
        parts.append(f"Why, in the words of the agent:\n{_quoted(context)}")
    # Who is a member of several has to know in which one the link opens.
    facts = [f"Session: {_name(str(approval.session), 100)}", f"Workspace: {_workspace(notice)}"]
    facts += [f"Risk: {risk_in_words(approval.risk, approval.terms)}"] if approval.risk else []
    if approval.expires_at:
        facts.append(f"Denied by itself at {approval.expires_at:%Y-%m-%d %H:%M} UTC")
    parts.append("\n".join(facts))
    parts.append(f"Sign in to decide: {_address(reverse('approval-detail', args=[approval.pk]))}\n"
                 "Opening the link decides nothing.")  # fmt: skip
    why = "a rule names you" if notice.step else "you chose to be told by mail"
    parts.append(f"You get this because {why}: {_address(reverse('notice-choice'))}")
    return "\n\n".join(parts) + "\n"


def _workspace(notice: Notice) -> str:
    return first_line(str(notice.member.workspace), 100)


def _agent(approval: Approval) -> str:
    return _name(approval.session.agent.name, 60)


def _name(said: str, most: int) -> str:
    """A name or a title in quotes: a mail begins with what somebody else calls their agent, and has no other mark.

    It is masked before it is cut: titles are what somebody typed, keys and all.
    """
    return in_quotes(payloads.masked(said), most)


def _arguments(approval: Approval) -> str:
    written = orjson.dumps(payloads.masked(approval.arguments), option=orjson.OPT_INDENT_2).decode()
    shown = clamp(clean(written), characters=MOST_ARGUMENTS, lines=MOST_LINES)
    return shown.text + ("\n… cut: the whole of it is on the page" if shown.cut else "")


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _address(path: str) -> str:
    """Below the public address; without one only the path is known here."""
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}" if settings.PUBLIC_URL else f"{path} at your desk"
