"""Messages in the escalation channel: one for each approval, kept up to date; one when a budget is used up."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import Approval, Budget, SlackInstallation, SlackNotice
from sessions_app.queries.approvals import HIGH
from sessions_app.rendering import mrkdwn
from sessions_app.rendering.arguments.odd import oddities
from sessions_app.rendering.marks import risk_in_words
from sessions_app.rendering.masking import mask
from sessions_app.rendering.numbers import money
from sessions_app.rendering.text import first_line, in_quotes
from sessions_app.rendering.toolbody import as_json
from sessions_app.runtimes.tool_rules import ESCALATE
from sessions_app.services.approvals import second_step
from sessions_app.services.slack import installations, jobs, pauses

from . import api, blocks, install
from .clicks import card_url, value_of

log = logging.getLogger(__name__)
MOST_ARGUMENTS = 1_200
"""Characters; a block of Slack's takes 3,000, entities counted."""
MOST_CONTEXT = 300
METADATA = "countersign_notice"
POSTING = "posting"
"""Noted before a message is posted: who finds it without a ``ts`` looks in the channel before posting it again."""
LATE = timedelta(hours=1)
"""What was asked longer ago and never told is not told any more: a new channel would drown in it."""
MARKS = {
    "approved": ":white_check_mark:", "approved_edited": ":white_check_mark:", "answered": ":speech_balloon:",
    "denied": ":no_entry:",
}  # fmt: skip


def tell_of_approval(approval_id: UUID) -> None:
    """Ask in the channels of its workspace, or say there how it was decided."""
    approval = Approval.objects.select_related("session__agent").filter(pk=approval_id).first()
    if approval is None:
        return
    if approval.status == Approval.Status.PENDING:
        for installation in _with_channel(approval.workspace_id):
            SlackNotice.objects.get_or_create(
                installation=installation,
                subject=f"approval:{approval.pk}",
                defaults={"approval": approval, "channel": installation.escalation_channel},
            )
    SlackNotice.objects.filter(approval=approval).exclude(shown=approval.status).update(done_at=None)
    for notice in SlackNotice.objects.filter(approval=approval, done_at=None):
        post_or_update(notice.pk)


def tell_of_budget(budget_id: UUID) -> None:
    """Say once in a period that a budget is used up."""
    budget = Budget.objects.select_related("agent", "session").filter(pk=budget_id).exclude(told_for="").first()
    for installation in _with_channel(budget.workspace_id) if budget else ():
        subject = f"budget:{budget.pk}:{budget.told_for}"
        notice, _ = SlackNotice.objects.get_or_create(
            installation=installation, subject=subject, defaults={"channel": installation.escalation_channel}
        )
        post_or_update(notice.pk)


def post_or_update(notice_id: UUID) -> None:
    """Post the message of a notice, or bring it up to date, unless a worker is at it or Slack is away just now."""
    rows = SlackNotice.objects.select_related("installation__workspace", "approval__session__agent")
    notice = rows.defer(*installations.SECRETS_OF_JOB).get(pk=notice_id)
    if pauses.is_held(notice):
        return
    with jobs.claimed(notice) as mine:
        if mine:
            with pauses.noted(notice.installation):
                _post_or_update(notice)


def unfinished() -> list[UUID]:
    """Notices that were put off or lost, and those of approvals that were decided since."""
    decided = SlackNotice.objects.filter(shown=Approval.Status.PENDING, error="")
    decided.exclude(approval__status=Approval.Status.PENDING).update(done_at=None)
    return list(SlackNotice.objects.filter(jobs.unclaimed()).order_by("created_at").values_list("id", flat=True)[:100])


def not_posted() -> list[UUID]:
    """Approvals that wait, of workspaces with a channel in which they do not stand: their task was lost."""
    notices = SlackNotice.objects.filter(approval=OuterRef("pk"))
    channel = SlackInstallation.objects.filter(workspace=OuterRef("workspace"), revoked_at=None)
    waiting = Approval.objects.filter(status=Approval.Status.PENDING, requested_at__gt=timezone.now() - LATE)
    found = waiting.filter(~Exists(notices), Exists(channel.exclude(escalation_channel="")))
    return list(found.values_list("id", flat=True)[:100])


def _with_channel(workspace_id: UUID) -> list[SlackInstallation]:
    return list(installations.of_workspace(workspace_id).exclude(escalation_channel=""))


def _post_or_update(notice: SlackNotice) -> None:
    """Raises ``jobs.Away``, ``Refused`` and ``ClaimLost``."""
    approval = notice.approval
    status = approval.status if approval else "reached"
    if notice.shown == POSTING and not notice.ts and (ts := _posted_before(notice)):
        jobs.extend(notice, ts=ts)
    if not notice.ts and approval and status != Approval.Status.PENDING:
        return jobs.finish(notice, shown=status)  # decided before anybody was asked
    message = _question(notice.installation, approval) if approval else _budget(notice)
    message |= {"channel": notice.channel, "unfurl_links": False, "unfurl_media": False}
    if not notice.ts:
        jobs.extend(notice, shown=POSTING)
        message["metadata"] = {"event_type": METADATA, "event_payload": _mark(notice)}
        posted = api.call_for(notice.installation, "chat_postMessage", **message)
        jobs.extend(notice, ts=posted["ts"], channel=posted["channel"], shown=status)
    elif notice.shown != status:
        del message["unfurl_links"], message["unfurl_media"]
        api.call_for(notice.installation, "chat_update", ts=notice.ts, **message)
    jobs.finish(notice, shown=status)


def _posted_before(notice: SlackNotice) -> str | None:
    mark, since = _mark(notice), notice.created_at
    return api.posted_before(notice.installation, "conversations_history", mark, since, channel=notice.channel)


def _mark(notice: SlackNotice) -> dict[str, str]:
    return {"notice": str(notice.pk)}


# --- what the messages say ---


def _question(installation: SlackInstallation, approval: Approval) -> dict[str, Any]:
    """Text for the notification, and blocks for the channel."""
    agent = in_quotes(approval.session.agent.name, blocks.MOST_NAME - 2)
    asks = "asks" if approval.tool_name == ESCALATE else f"asks to run {blocks.code(_tool(approval))}"
    arguments, whole = _arguments(approval)
    shown = [blocks.section(f"{blocks.bold(agent)} {asks}")]
    if context := first_line(approval.context, MOST_CONTEXT):
        shown.append(blocks.section(f"> {mrkdwn.escape(context)}"))
    if arguments:
        shown.append(blocks.section(f"```{arguments}```"))
    if odd := oddities([approval.tool_name, approval.tool_server or "", approval.arguments, approval.context]):
        named = mrkdwn.escape("; ".join(odd)[:MOST_ARGUMENTS])
        shown.append(blocks.section(f":warning: Characters that deceive: {named}"))
    shown.append(blocks.context(_facts(installation, approval)))
    if approval.status == Approval.Status.PENDING:
        shown.append(_buttons(installation, approval, whole))
    else:
        shown.append(blocks.section(_outcome(approval)))
    return {"text": _summary(approval, blocks.name(agent), asks), "blocks": shown}


def _summary(approval: Approval, agent: str, asks: str) -> str:
    """Summary for the notification, without arguments: anybody may read it on a locked phone."""
    return f"{agent} {asks}" + ("" if approval.status == Approval.Status.PENDING else f": {_outcome(approval)}")


def _tool(approval: Approval) -> str:
    """Server and name, on one line."""
    name = f"{approval.tool_server}/{approval.tool_name}" if approval.tool_server else approval.tool_name
    return first_line(name, blocks.MOST_NAME)


def _arguments(approval: Approval) -> tuple[str, bool]:
    """The arguments without secrets, and whether that is all of them."""
    written = as_json(approval.arguments) if approval.arguments not in (None, {}) else ""
    masked, secrets = mask(written)
    shown = mrkdwn.escape(masked)
    if len(shown) <= MOST_ARGUMENTS and "```" not in shown:
        return shown, not secrets
    return mrkdwn.escape(masked[: MOST_ARGUMENTS // 2].replace("`", "'")) + " …", False


def _facts(installation: SlackInstallation, approval: Approval) -> str:
    session = approval.session
    path = reverse("session-detail", args=[session.agent_id, session.pk])
    where = f"<{install.desk_url(installation)}{path}|{blocks.name(str(session), 80).replace('|', '¦')}>"
    partial = bool(session.unpriced_tokens or session.under_reported)
    expiry = f"denied by itself at {approval.expires_at:%d %b %H:%M} UTC" if approval.expires_at else ""
    risk = f"risk {mrkdwn.escape(risk_in_words(approval.risk, approval.terms))}" if approval.risk else ""
    cost = f"cost so far {money(session.cost_amount, partial=partial)}"
    return " · ".join(filter(None, (where, risk, cost, expiry, _only_at_the_desk(approval))))


def _buttons(installation: SlackInstallation, approval: Approval, whole: bool) -> dict[str, Any]:
    """Approving needs to have been seen, and done as the rule wants: what cannot be both here is done at the desk."""
    value = value_of(approval)
    approve = {**_button("Approve", "approval_approve"), "value": value, "style": "primary"}
    if why := second_step.why(approval, approval.arguments):
        approve |= {"value": value_of(approval, sure=True), "confirm": _confirm_approval(approval, why)}
    deny = {**_button("Deny", "approval_deny"), "value": value, "style": "danger"}
    elsewhere = _only_at_the_desk(approval)
    words = "Answer" if approval.tool_name == ESCALATE else "Decide" if elsewhere else "Open"
    open_ = {**_button(f"{words} in Countersign", "approval_open"), "url": card_url(installation, approval)}
    if approval.tool_name == ESCALATE or approval.votes_needed > 1:
        here = []  # a vote of others changes what a button here would be about
    else:
        here = [approve, deny] if whole and not elsewhere else [deny]
    stop = {**_button("Stop this agent", "approval_stop"), "value": value, "confirm": _confirm_stop(approval)}
    return {"type": "actions", "elements": [*here, open_, stop]}


def _only_at_the_desk(approval: Approval) -> str:
    """What the rule wants of an approval that no button here can give; empty where nothing is wanted."""
    terms = approval.terms
    allowed = terms.get("decisions")
    wanted = (
        (approval.votes_needed > 1, f"needs {approval.votes_needed} people"),
        (terms.get("typed_confirmation"), "needs the name of the tool typed"),
        ("approve" in (terms.get("comment") or ()), "needs a reason"),
        ("decisions" in terms and "approve" not in (allowed or ()), "cannot be approved as it stands"),
    )
    return ", ".join(words for is_wanted, words in wanted if is_wanted)


def _confirm_stop(approval: Approval) -> dict[str, Any]:
    """What Slack asks before it sends the click: a stop ends everything that the agent is at."""
    name = in_quotes(approval.session.agent.name, 60)
    text = "What it is at is ended, and nothing new begins until somebody lifts the stop in Countersign."
    return _confirm(f"Stop {name}?", text, "Stop it", "Leave it")


def _confirm_approval(approval: Approval, why: list[str]) -> dict[str, Any]:
    """What Slack asks before it sends the click: what destroys, or is of high risk, takes a second press."""
    title = f"Approve, at risk {first_line(approval.risk, 40)}?" if approval.risk in HIGH else "Approve what destroys?"
    text = f"{in_quotes(approval.session.agent.name, 60)} then runs {_tool(approval)[:80]} with these arguments: "
    return _confirm(title, first_line(text + mask("; ".join(why))[0], 300), "Approve", "Not yet")


def _confirm(title: str, text: str, yes: str, no: str) -> dict[str, Any]:
    """A question before a click; Slack takes 100 characters of a title and 300 of a text."""
    said = {"title": title, "text": text, "confirm": yes, "deny": no}
    return {name: {"type": "plain_text", "text": words} for name, words in said.items()} | {"style": "danger"}


def _outcome(approval: Approval) -> str:
    made = approval.decision or {}
    status = approval.get_status_display().replace("_", " ").lower()
    by, channel = str(made.get("by") or ""), made.get("channel")
    name = "the API key " if made.get("by_kind") == "api_key" else ""
    name += blocks.name(by)
    who = f" by {name}" + (" in Slack" if channel == "slack" else "") if by else ""
    reason = made.get("answer") or made.get("reason") or ""
    why = f": {mrkdwn.escape(first_line(reason, MOST_CONTEXT))}" if reason else ""
    return f"{MARKS.get(approval.status, ':hourglass:')} *{status.capitalize()}*{who}{why}"


def _budget(notice: SlackNotice) -> dict[str, Any]:
    _, budget_id, period = notice.subject.split(":", 2)
    budget = Budget.objects.select_related("agent", "session").filter(pk=budget_id).first()
    if budget is None:
        raise api.Refused("chat_postMessage", "the budget was removed")
    whose = budget.session or budget.agent or notice.installation.workspace
    when = "in all" if period == "all" else f"for {period} (UTC)"
    text = (
        f":money_with_wings: The budget of {blocks.bold(str(whose), 80)} is used up: "
        f"{money(budget.amount)} {when}. No new turn begins until an admin raises it"
        f"{'' if period == 'all' else ' or the day is over'}."
    )
    return {"text": text}


def _button(words: str, action: str) -> dict[str, Any]:
    return {"type": "button", "text": {"type": "plain_text", "text": words}, "action_id": action}
