"""The answer to a turn in its Slack thread: one message that grows while the turn goes on, and says how it ended.

Beside the worker of a turn runs a thread that reads, once in a while, what was said so far. What it posted stands in
the turn's ``SlackReply``; what it could not finish (a crash, Slack away) the sweep finishes from there.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from sessions_app.models import SlackInstallation, SlackReply, TurnInFlight
from sessions_app.rendering import mrkdwn
from sessions_app.services.slack import installations, jobs

from . import api, blocks
from .progress import Paragraph, paragraphs_of, url_of

log = logging.getLogger(__name__)
SECONDS_BETWEEN = 1.2
"""``chat.update`` may be called 50 times a minute (tier 3)."""
LAST_WAITS = 30
"""Seconds that the end of an answer waits for Slack before it is left to the sweep."""
MOST_PARTS = 10
MOST_BLOCKS = 50
"""Of one message: https://docs.slack.dev/reference/block-kit/blocks."""
BEGUN, BETWEEN = "…", "\n\n"
METADATA = "countersign_reply"
GONE = ("message_not_found", "cant_update_message", "edit_window_closed")
"""Somebody deleted the message, or nobody may change it any more: it is not posted again."""


@contextmanager
def following(flight: TurnInFlight) -> Iterator[None]:
    """While the worker is at the turn, tell its Slack thread; at the end what is left, or that it waits."""
    reply = _reply_of(flight)
    if reply is None:
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(reply.pk, stop), name=f"slack-{reply.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def finish(reply_id: UUID) -> None:
    """Finish the answer to a turn that is over, or that waits; called by the sweep."""
    _step(reply_id)


def unfinished() -> list[UUID]:
    """Answers that were not finished although their turn is over; and those put off whose turn waits for a person."""
    going_on = TurnInFlight.objects.filter(session=OuterRef("session"), turn=OuterRef("turn"))
    late = ~Exists(going_on) | (Q(retry_at__isnull=False) & Exists(going_on.filter(worker=None)))
    found = SlackReply.objects.filter(jobs.unclaimed(), late)
    return list(found.order_by("created_at").values_list("id", flat=True)[:100])


def _reply_of(flight: TurnInFlight) -> SlackReply | None:
    """The row of a turn whose session stands in a thread of a Slack workspace that is still connected."""
    team, _, _ = flight.session.slack_conversation_key.partition(":")
    found = SlackInstallation.objects.filter(
        team_id=team, workspace_id=flight.session.workspace_id, revoked_at=None
    ).values_list("pk", flat=True)
    installation = found.first() if team else None
    if installation is None:
        return None
    reply, is_new = SlackReply.objects.get_or_create(
        session_id=flight.session_id, turn=flight.turn, defaults={"installation_id": installation}
    )
    if not is_new:  # it waited for a person, or is taken up again
        SlackReply.objects.filter(pk=reply.pk).update(done_at=None, error="", tries=0)
    return reply


def _follow(reply_id: UUID, stop: threading.Event) -> None:
    while not stop.is_set():
        _step(reply_id)
        connections.close_all()
        stop.wait(SECONDS_BETWEEN)
    until = timezone.now() + timedelta(seconds=LAST_WAITS)
    while (again := _step(reply_id)) is not None and again < until:
        connections.close_all()
        time.sleep(max((again - timezone.now()).total_seconds(), 0.05))
    connections.close_all()


def _step(reply_id: UUID) -> datetime | None:
    """Bring the thread up to date; when to try again, None when there is nothing left to do now."""
    try:
        rows = SlackReply.objects.select_related("installation", "session__agent").defer(*installations.SECRETS_OF_JOB)
        reply = rows.get(pk=reply_id)
        with jobs.claimed(reply) as mine:
            if mine:
                _bring_up_to_date(reply)
        reply.refresh_from_db(fields=["retry_at", "held_until", "done_at"])
    except (DatabaseError, InterfaceError) as error:
        log.warning("the answer %s in Slack waits for the database: %s", reply_id, error)
        return timezone.now() + timedelta(seconds=1)
    if reply.done_at:
        return None
    return reply.held_until or (reply.retry_at if reply.retry_at and reply.retry_at > timezone.now() else None)


def _bring_up_to_date(reply: SlackReply) -> None:
    """Raises ``jobs.Away``, ``Refused`` and ``ClaimLost``."""
    said, is_over = paragraphs_of(reply)
    parts = _parts(said or [Paragraph(BEGUN)])
    if len(parts) > MOST_PARTS:
        rest = mrkdwn.link(url_of(reply), "The rest is in Countersign")
        parts = [*parts[: MOST_PARTS - 1], [Paragraph(rest)]]
    for number, part in enumerate(parts):
        _show(reply, number, part)
    for number in range(len(parts), len(reply.parts)):
        _show(reply, number, [Paragraph("_(this part is not needed any more)_")])
    if is_over:
        jobs.finish(reply, retry_at=None)
    elif reply.tries:
        jobs.extend(reply, tries=0, retry_at=None)


def _parts(said: list[Paragraph]) -> list[list[Paragraph]]:
    """The paragraphs as messages that Slack takes. What the agent says in one go is one paragraph."""
    parts: list[list[Paragraph]] = []
    left = 0
    for paragraph in said:
        for text in mrkdwn.split(paragraph.text):
            if not parts or left < len(text) + len(BETWEEN) or len(parts[-1]) == MOST_BLOCKS - 1:  # a long one is two
                parts.append([])
                left = mrkdwn.LIMIT
            left -= len(text) + len(BETWEEN)
            parts[-1].append(Paragraph(text, paragraph.by_desk))
    return parts


def _message(part: list[Paragraph]) -> dict[str, Any]:
    """``text`` for notices, and ``blocks``: the desk speaks in small print, which an agent cannot imitate."""
    shown: list[dict[str, Any]] = []
    for paragraph in part:
        made = blocks.context if paragraph.by_desk else blocks.section
        shown += [made(text) for text in mrkdwn.split(paragraph.text, blocks.MOST_SECTION) if text.strip()]
    return {"text": BETWEEN.join(paragraph.text for paragraph in part), "blocks": shown}


def _show(reply: SlackReply, number: int, part: list[Paragraph]) -> None:
    """Have a part of the answer say this. What it says already is not sent again."""
    message = _message(part)
    sha256 = hashlib.sha256(repr(message).encode()).hexdigest()
    if number < len(reply.parts):
        if reply.parts[number]["sha256"] == sha256:
            return
        _edit(reply, reply.parts[number]["ts"], message)
        shown = [*reply.parts]
        shown[number] |= {"sha256": sha256}
        jobs.extend(reply, parts=shown)
        return
    ts = _posted_before(reply, number) if reply.posting == number else None
    if ts is None:
        jobs.extend(reply, posting=number)
        ts = _post(reply, number, message)
        jobs.extend(reply, parts=[*reply.parts, {"ts": ts, "sha256": sha256}], posting=None)
    else:
        jobs.extend(reply, parts=[*reply.parts, {"ts": ts, "sha256": ""}], posting=None)
        _show(reply, number, part)


def _place(reply: SlackReply) -> tuple[str, str]:
    """Channel and thread."""
    _, channel, thread = reply.session.slack_conversation_key.split(":", 2)
    return channel, thread


def _post(reply: SlackReply, number: int, message: dict[str, Any]) -> str:
    channel, thread = _place(reply)
    posted = api.call_for(
        reply.installation, "chat_postMessage", channel=channel, thread_ts=thread, unfurl_links=False,
        unfurl_media=False, metadata={"event_type": METADATA, "event_payload": _mark(reply, number)}, **message,
    )  # fmt: skip
    return posted["ts"]


def _edit(reply: SlackReply, ts: str, message: dict[str, Any]) -> None:
    channel, _ = _place(reply)
    try:
        api.call_for(reply.installation, "chat_update", channel=channel, ts=ts, **message)
    except api.Refused as refused:
        if refused.code not in GONE:
            raise


def _posted_before(reply: SlackReply, number: int) -> str | None:
    channel, thread = _place(reply)
    mark = _mark(reply, number)
    return api.posted_before(
        reply.installation, "conversations_replies", mark, reply.created_at, channel=channel, ts=thread
    )  # fmt: skip


def _mark(reply: SlackReply, number: int) -> dict[str, Any]:
    return {"session": str(reply.session_id), "turn": reply.turn, "part": number}
