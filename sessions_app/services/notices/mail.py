"""Mail about approvals: sent by a worker, once, tried again for some hours. Nothing is decided by opening its link."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import orjson
from django.conf import settings
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import Approval, Notice, Role
from sessions_app.rendering.text import clamp, clean, first_line
from sessions_app.rendering.toolline import describe_call

from .. import audit, task_queue
from ..approvals import authority
from ..people import mail, refused
from . import payloads

WAITS = (30, 120, 600, 1_800, 3_600, 7_200)
"""Seconds after each failed try."""
CLAIM = timedelta(minutes=3)
"""Longer than a mail server takes that answers slowly at each step (``EMAIL_TIMEOUT``)."""
SWEPT = 200
MOST_SUBJECT, MOST_CONTEXT, MOST_ARGUMENTS, MOST_LINES = 150, 300, 2_000, 40


def send(notice_id: UUID) -> None:
    """Send a notice, unless it is not time, another worker is at it, or nobody has to be told any more."""
    now = timezone.now()
    # Of one table alone: with a join PostgreSQL would not look again at a row that it waited for, and two would send.
    due = Notice.objects.filter(pk=notice_id, next_try_at__lte=now, channel=Notice.Channel.MAIL)
    if not due.update(next_try_at=now + CLAIM, tries=F("tries") + 1):
        return
    rows = Notice.objects.select_related("member__user", "member__workspace", "approval__session__agent")
    notice = rows.filter(pk=notice_id).first()
    if notice is None:
        return  # erased with its session, or its member has left
    if why := _why_not(notice):
        return _end(notice, error=why)
    # The same id each time: who is told twice, because a worker died, is shown it once.
    host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2]
    about = {"Message-ID": f"<{notice.pk}@{host}>", "Auto-Submitted": "auto-generated"}
    try:
        mail.send(notice.member.user, subject_of(notice.approval), body_of(notice), headers=about)
    except refused.Refused as fault:
        if notice.tries > len(WAITS):
            return _end(notice, error=f"{fault} — given up")
        later = timezone.now() + timedelta(seconds=WAITS[notice.tries - 1])
        Notice.objects.filter(pk=notice.pk).update(next_try_at=later, error=str(fault))
    else:
        Notice.objects.filter(pk=notice.pk).update(next_try_at=None, sent_at=timezone.now(), error="")


def sweep() -> int:
    """Enqueue notices whose time has come and whose task was lost or failed; how many."""
    due = Notice.objects.filter(next_try_at__lte=timezone.now(), channel=Notice.Channel.MAIL).order_by("next_try_at")
    lost = {pk: at for pk, at in due.values_list("pk", "next_try_at")[:SWEPT] if at}
    return task_queue.requeue(task_queue.SEND_NOTICE, lost)


def _why_not(notice: Notice) -> str:
    """Why nobody is to be told by it any more; empty where somebody is."""
    approval, member = notice.approval, notice.member
    if approval.status != Approval.Status.PENDING:
        return "it was decided before the mail was sent"
    if not mail.reaches(member.user):
        return "no mail can be sent: EMAIL_URL is not set, or the member has no address"
    actor = audit.Actor("member", str(member.pk), str(member))
    decider = authority.Decider(actor, Role(member.role), "mail", member_id=member.pk)
    # An escalation step names whom it wants told, whether or not they may decide.
    return "" if notice.step else authority.why_not(approval, decider)


def _end(notice: Notice, error: str) -> None:
    Notice.objects.filter(pk=notice.pk).update(next_try_at=None, error=error)


def subject_of(approval: Approval) -> str:
    """Agent, tool and the telling argument, masked before it is cut: half a key would not be known as one."""
    line = describe_call(approval.tool_name, payloads.masked(approval.arguments), approval.tool_server)
    agent = first_line(approval.session.agent.name, 60)
    return first_line(f"{agent} asks: {line.verb} {line.subject}".strip(), MOST_SUBJECT)


def body_of(notice: Notice) -> str:
    """The text: what is asked, whose words are whose, and where it is decided."""
    approval = notice.approval
    tool = first_line(approval.tool_name, 200) + (f" of {first_line(approval.tool_server, 200)}"
                                                  if approval.tool_server else "")  # fmt: skip
    parts = [f"{first_line(approval.session.agent.name, 100)} asks to run {tool}."]
    if notice.step:
        parts.append(f"Nobody has decided it so far: this is step {notice.step} of its escalation.")
    parts.append(f"Arguments, with what looks like a secret masked:\n{_quoted(_arguments(approval))}")
    if context := first_line(payloads.masked(approval.context), MOST_CONTEXT):
        parts.append(f"Why, in the words of the agent:\n{_quoted(context)}")
    facts = [f"Session: {first_line(str(approval.session), 100)}"]
    facts += [f"Risk: {first_line(approval.risk, 40)}"] if approval.risk else []
    if approval.expires_at:
        facts.append(f"Denied by itself at {approval.expires_at:%Y-%m-%d %H:%M} UTC")
    parts.append("\n".join(facts))
    parts.append(f"Sign in to decide: {_address(reverse('approval-detail', args=[approval.pk]))}\n"
                 "Opening the link decides nothing.")  # fmt: skip
    why = "a rule names you" if notice.step else "you chose to be told by mail"
    parts.append(f"You get this because {why}: {_address(reverse('notice-choice'))}")
    return "\n\n".join(parts) + "\n"


def _arguments(approval: Approval) -> str:
    written = orjson.dumps(payloads.masked(approval.arguments), option=orjson.OPT_INDENT_2).decode()
    shown = clamp(clean(written), characters=MOST_ARGUMENTS, lines=MOST_LINES)
    return shown.text + ("\n… cut: the whole of it is on the page" if shown.cut else "")


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _address(path: str) -> str:
    """Below the public address; without one only the path is known here."""
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}" if settings.PUBLIC_URL else f"{path} at your desk"
