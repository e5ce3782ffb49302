"""Sending of notices: each in its way."""

from __future__ import annotations

from uuid import UUID

from sessions_app.models import Notice

from . import mail, outbox, push


def send(notice_id: UUID) -> None:
    """Send a notice, unless it is not time, another worker is at it, or nobody has to be told any more."""
    if outbox.channel_of(notice_id) == Notice.Channel.PUSH:
        push.send(notice_id)
    else:
        mail.send(notice_id)
