"""The reply to a turn in its Slack thread: what was said so far, what it is doing, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse

from sessions_app.models import Approval, Event, SlackInstallation, SlackReply, TurnInFlight
from sessions_app.rendering import mrkdwn
from sessions_app.rendering.text import first_line
from sessions_app.rendering.toolline import describe_call

from . import blocks, clicks, install

KINDS = ("user_message", "agent_message", "error", "status", "tool_call", "tool_result")
SHOWN_STATUSES = ("interrupted", "held_back", "retrying", "retry")
"""Statuses that a reader of the thread needs to know; their text says it."""
QUOTED = 300
WORDLESS = "_(done, without a word)_"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some of a reply in Slack's mrkdwn. ``by_desk``: the desk says it, else the agent."""

    text: str
    by_desk: bool = True


def paragraphs_of(reply: SlackReply) -> tuple[list[Paragraph], bool]:
    """The reply so far, and whether the turn is over."""
    flight = TurnInFlight.objects.filter(session=reply.session_id, turn=reply.turn).first()
    rows = Event.objects.filter(session=reply.session_id, turn=reply.turn, depth=0, kind__in=KINDS).order_by("seq")
    events = list(rows)
    said = [paragraph for event in events if (paragraph := _paragraph_of(event))]
    if flight is not None:
        said += _activity(reply, flight, events)
    elif not said:
        said = [Paragraph(WORDLESS)]
    return said, flight is None


def url_of(reply: SlackReply) -> str:
    """The session at the desk."""
    path = reverse("session-detail", args=[reply.session.agent_id, reply.session_id])
    return f"{install.desk_url(reply.installation)}{path}"


def _paragraph_of(event: Event) -> Paragraph | None:
    line = first_line(event.text, QUOTED)
    if event.kind == "user_message" and "slack" not in event.data and line:  # else it stands in Slack already
        return Paragraph(f"{blocks.bold(event.actor_name)}, in Countersign: {mrkdwn.escape(line)}")
    if event.kind == "agent_message":
        written = mrkdwn.from_markdown(event.text)
        return Paragraph(written, by_desk=False) if written.strip() else None
    if event.kind == "error":
        return Paragraph(f":warning: _{mrkdwn.escape(line) or 'it failed'}_")
    if event.kind == "status" and event.data.get("status") in SHOWN_STATUSES:
        return Paragraph(f"_{mrkdwn.escape(line)}_")
    return None


def _activity(reply: SlackReply, flight: TurnInFlight, events: list[Event]) -> Iterator[Paragraph]:
    """The message that is being written; else what the agent waits for, or does."""
    if flight.said and not any(flight.said_request in (event.request, event.client_key) for event in events):
        yield Paragraph(f"{mrkdwn.from_markdown(flight.said)} …", by_desk=False)
        return
    waiting = Approval.objects.filter(session=reply.session_id, status=Approval.Status.PENDING).order_by("requested_at")
    if asked := list(waiting):
        yield from (_waiting(reply.installation, approval) for approval in asked)
    elif events and events[-1].kind == "tool_call":
        call = describe_call(events[-1].tool_name, events[-1].arguments, events[-1].tool_server)
        yield Paragraph(f"{blocks.code(call.verb)} …")


def _waiting(installation: SlackInstallation, approval: Approval) -> Paragraph:
    where = mrkdwn.link(clicks.card_url(installation, approval), "decide in Countersign")
    return Paragraph(f":raised_hand: _It waits for a person: may it run_ {blocks.code(approval.tool_name)}? {where}")
