"""Text of the reply to a turn in its Slack thread: what was said so far, what it is doing, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse

from sessions_app.models import Approval, Event, SlackInstallation, SlackReply, TurnInFlight
from sessions_app.rendering import mrkdwn
from sessions_app.rendering.text import first_line
from sessions_app.rendering.toolline import describe_call

from . import clicks, install

KINDS = ("user_message", "agent_message", "error", "status", "tool_call", "tool_result")
SHOWN_STATUSES = ("interrupted", "held_back", "retrying", "retry")
"""Statuses that a reader of the thread needs to know; their text says it."""
QUOTED = 300
WORDLESS = "_(done, without a word)_"


def reply_text(reply: SlackReply) -> tuple[str, bool]:
    """The reply in Slack's mrkdwn, and whether the turn is over."""
    flight = TurnInFlight.objects.filter(session=reply.session_id, turn=reply.turn).first()
    rows = Event.objects.filter(session=reply.session_id, turn=reply.turn, depth=0, kind__in=KINDS).order_by("seq")
    events = list(rows)
    paragraphs = [text for event in events if (text := _line(event))]
    if flight is not None:
        paragraphs += _activity(reply, flight, events)
    elif not paragraphs:
        paragraphs = [WORDLESS]
    return "\n\n".join(paragraphs), flight is None


def url_of(reply: SlackReply) -> str:
    """The session at the desk."""
    path = reverse("session-detail", args=[reply.session.agent_id, reply.session_id])
    return f"{install.desk_url(reply.installation)}{path}"


def _line(event: Event) -> str:
    if event.kind == "user_message":  # what was written in Slack stands there already
        at_desk = "" if "slack" in event.data else first_line(event.text, QUOTED)
        return f"> *{mrkdwn.escape(event.actor_name)}*, in Countersign: {mrkdwn.escape(at_desk)}" if at_desk else ""
    if event.kind == "agent_message":
        return mrkdwn.from_markdown(event.text)
    if event.kind == "error":
        return f":warning: _{mrkdwn.escape(first_line(event.text, QUOTED)) or 'it failed'}_"
    if event.kind == "status" and event.data.get("status") in SHOWN_STATUSES:
        return f"_{mrkdwn.escape(first_line(event.text, QUOTED))}_"
    return ""


def _activity(reply: SlackReply, flight: TurnInFlight, events: list[Event]) -> Iterator[str]:
    """The message that is being written; else what the agent waits for, or does."""
    if flight.said and not any(flight.said_request in (event.request, event.client_key) for event in events):
        yield f"{mrkdwn.from_markdown(flight.said)} …"
        return
    waiting = Approval.objects.filter(session=reply.session_id, status=Approval.Status.PENDING).order_by("requested_at")
    if asked := list(waiting):
        yield from (_waiting_line(reply.installation, approval) for approval in asked)
    elif events and events[-1].kind == "tool_call":
        call = describe_call(events[-1].tool_name, events[-1].arguments, events[-1].tool_server)
        yield f"_{mrkdwn.escape(call.verb)} …_"


def _waiting_line(installation: SlackInstallation, approval: Approval) -> str:
    where = mrkdwn.link(clicks.card_url(installation, approval), "decide in Countersign")
    tool = mrkdwn.escape(first_line(approval.tool_name, QUOTED)).replace("`", "'")
    return f":raised_hand: _It waits for a person: may it run_ `{tool}`? {where}"
