"""Posts to outgoing webhooks: claimed by one worker, sent, tried again for three days, then given up.

A message is claimed by moving ``next_try_at`` ahead, so that a worker that dies leaves it to the sweep.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

import anyio
import httpx2
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from sessions_app import guarded_http
from sessions_app.encryption import Unreadable
from sessions_app.models import OutgoingMessage, OutgoingWebhook

from .. import task_queue
from . import standard_webhooks

log = logging.getLogger(__name__)
WAITS = (5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds after each failed try; Standard Webhooks recommends about these, over some days."""
SECONDS = 15.0
"""For one post, from the name to the headers of the answer; the specification says 15 to 30."""
CLAIM = timedelta(seconds=60)
MOST_ERROR = 300
SWEPT = 500
KEPT = timedelta(days=30)
GONE = 410
"""The receiver wants no more: the specification says to switch the webhook off."""


class Failed(Exception):
    """A post was not taken; ``status`` where there was an answer."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def send(message_id: UUID) -> None:
    """Post a message, unless it is not time, or another worker is at it."""
    now = timezone.now()
    # Of one table alone: with a join PostgreSQL would not look again at a row that it waited for, and two would post.
    due = OutgoingMessage.objects.filter(pk=message_id, next_try_at__lte=now)
    if not due.update(next_try_at=now + CLAIM, tries=F("tries") + 1):
        return
    rows = OutgoingMessage.objects.select_related("webhook").defer("webhook__secret")
    message = rows.filter(pk=message_id).first()
    if message is None:
        return  # removed with its webhook
    if not message.webhook.active:
        OutgoingMessage.objects.filter(pk=message_id).update(next_try_at=None, error="the webhook was switched off")
        return
    try:
        status = anyio.run(_post, message.webhook.url, _headers(message), message.body.encode())
    except Failed as failed:
        _note_failure(message, failed)
    else:
        _note_taken(message, status)


def sweep() -> int:
    """Enqueue messages whose time has come and whose task was lost or failed; how many."""
    due = OutgoingMessage.objects.filter(next_try_at__lte=timezone.now(), webhook__active=True).order_by("next_try_at")
    lost = {pk: at for pk, at in due.values_list("pk", "next_try_at")[:SWEPT] if at}
    return task_queue.requeue(task_queue.POST_MESSAGE, lost)


def forget_old() -> int:
    """Remove messages that were taken or given up 30 days ago; how many."""
    old = OutgoingMessage.objects.filter(next_try_at=None, created_at__lt=timezone.now() - KEPT)
    return old.delete()[0]


def _headers(message: OutgoingMessage) -> dict[str, str]:
    """Signed anew for each try: receivers refuse a time that is long ago. Raises ``Failed``."""
    try:
        secret = message.webhook.secret
    except Unreadable as unreadable:
        raise Failed(f"{unreadable}: rotate the secret") from None
    signed_at = int(timezone.now().timestamp())
    own = standard_webhooks.headers(secret, str(message.pk), signed_at, message.body.encode())
    return own | {"content-type": "application/json", "user-agent": "Countersign"}


async def _post(url: str, headers: dict[str, str], body: bytes) -> int:
    """Status of the answer, whose body is not read. Redirects are not followed. Raises ``Failed``."""
    try:
        with anyio.fail_after(SECONDS):
            async with guarded_http.client(headers) as http, http.stream("POST", url, content=body) as answer:
                status = int(answer.status_code)
    except TimeoutError:
        raise Failed(f"no answer within {SECONDS:.0f} s") from None
    except guarded_http.PrivateAddress as refused:
        raise Failed(str(refused)) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as fault:
        raise Failed(f"{type(fault).__name__}: {fault}".rstrip(": ")) from None
    if not 200 <= status < 300:
        raise Failed(f"the answer was {status}, not 2xx" + (" (redirects are not followed)" * (300 <= status < 400)),
                     status)  # fmt: skip
    return status


@transaction.atomic
def _note_taken(message: OutgoingMessage, status: int) -> None:
    OutgoingMessage.objects.filter(pk=message.pk).update(
        next_try_at=None, taken_at=timezone.now(), last_status=status, error=""
    )
    OutgoingWebhook.objects.filter(~Q(problem=""), pk=message.webhook_id).update(problem="")


@transaction.atomic
def _note_failure(message: OutgoingMessage, failed: Failed) -> None:
    """Put it off, or give it up; a receiver that says that it is gone gets nothing more until an admin says so."""
    why = str(failed)[:MOST_ERROR]
    given_up = message.tries > len(WAITS)
    next_try_at = None if given_up else timezone.now() + timedelta(seconds=WAITS[message.tries - 1])
    OutgoingMessage.objects.filter(pk=message.pk).update(
        next_try_at=next_try_at, last_status=failed.status, error=why + (" — given up" if given_up else "")
    )
    OutgoingWebhook.objects.filter(pk=message.webhook_id).update(problem=why)
    if failed.status == GONE:
        log.info("webhook %s answers 410: it is switched off", message.webhook_id)
        switch_off(message.webhook_id, "the receiver answered 410: it wants no more")
        OutgoingWebhook.objects.filter(pk=message.webhook_id).update(
            problem="it answered 410 Gone, so it was switched off"
        )


def switch_off(webhook_id: UUID, why: str) -> None:
    """Give up what waits for a webhook and send it nothing more. Inside a transaction."""
    OutgoingWebhook.objects.filter(pk=webhook_id).update(active=False)
    waiting = OutgoingMessage.objects.filter(~Q(next_try_at=None), webhook_id=webhook_id)
    waiting.update(next_try_at=None, error=why)
