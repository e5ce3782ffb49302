"""Posts to outgoing webhooks: claimed by one worker, sent, tried again for three days, then given up.

A message is claimed by moving ``next_try_at`` ahead, so that a worker that dies leaves it to the sweep.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from sessions_app.encryption import Unreadable
from sessions_app.models import OutgoingMessage, OutgoingWebhook

from .. import task_queue
from ..fair_queue import Line
from . import posting, standard_webhooks
from .posting import Failed

log = logging.getLogger(__name__)
WAITS = (5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
"""Seconds after each failed try; Standard Webhooks recommends about these, over some days."""
SECONDS = 15.0
"""For one post, from the name to the headers of the answer; the specification says 15 to 30."""
CLAIM = timedelta(seconds=60)
AT_ONCE = 4
"""Posts to one receiver at a time."""
BUSY = timedelta(seconds=5)
"""So long a message waits for a receiver that has those."""
FIRST_PAUSE, DOUBLINGS, LONGEST_PAUSE = 5, 6, 3_600
"""Seconds without a post to a receiver that fails; they double, to 5 min 20 s, unless it asks for more itself."""
WELL = {"problem": "", "failing_since": None, "failed_times": 0, "next_at": None}
"""Columns of a webhook whose receiver took the last post."""
MOST_ERROR = 300
SWEPT = 500
KEPT = timedelta(days=30)
GONE = 410
"""The receiver wants no more: the specification says to switch the webhook off."""


def send(message_id: UUID) -> None:
    """Post a message, unless it is not time, another worker is at it, or its receiver fails or is slow just now."""
    now = timezone.now()
    # Of one table alone: with a join PostgreSQL would not look again at a row that it waited for, and two would post.
    due = OutgoingMessage.objects.filter(pk=message_id, next_try_at__lte=now)
    webhook = OutgoingWebhook.objects.filter(messages__in=due).defer("secret").first()
    if webhook and (later := _not_before(webhook, now)):
        due.update(next_try_at=later)
        return
    if not due.update(next_try_at=now + CLAIM, held_until=now + CLAIM, tries=F("tries") + 1):
        return
    rows = OutgoingMessage.objects.select_related("webhook").defer("webhook__secret")
    message = rows.filter(pk=message_id).first()
    if message is None:
        return  # removed with its webhook
    if not message.webhook.active:
        OutgoingMessage.objects.filter(pk=message_id).update(
            next_try_at=None, held_until=None, error="the webhook was switched off"
        )
        return
    try:
        status = posting.post(message.webhook.url, _headers(message), message.body.encode(), SECONDS)
    except Failed as failed:
        _note_failure(message, failed)
    else:
        _note_taken(message, status)


def _not_before(webhook: OutgoingWebhook, now: datetime) -> datetime | None:
    """Until when messages have to wait for their receiver; None: one can be posted now.

    A slow receiver gets ``AT_ONCE`` posts at a time, and one that fails a single one after each pause: the others wait
    for what becomes of it, and nobody else's posts wait behind them.
    """
    if webhook.next_at:
        if webhook.next_at > now:
            return webhook.next_at
        free = OutgoingWebhook.objects.filter(pk=webhook.pk, next_at=webhook.next_at)
        return None if free.update(next_at=now + CLAIM) else now + BUSY
    held = OutgoingMessage.objects.filter(webhook=webhook.pk, held_until__gt=now)
    return now + BUSY if held.count() >= AT_ONCE else None


def sweep() -> int:
    """Enqueue messages whose time has come and whose task was lost or failed; how many."""
    due = OutgoingMessage.objects.filter(next_try_at__lte=timezone.now(), webhook__active=True).order_by("next_try_at")
    found = list(due.values_list("pk", "next_try_at", "webhook__workspace_id")[:SWEPT])
    lost = {pk: at for pk, at, _ in found if at}
    return task_queue.requeue(task_queue.POST_MESSAGE, lost, {pk: Line(workspace) for pk, _, workspace in found})


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


@transaction.atomic
def _note_taken(message: OutgoingMessage, status: int) -> None:
    OutgoingMessage.objects.filter(pk=message.pk).update(
        next_try_at=None, held_until=None, taken_at=timezone.now(), last_status=status, error=""
    )
    failed = ~Q(problem="") | Q(failed_times__gt=0) | ~Q(next_at=None)
    OutgoingWebhook.objects.filter(failed, pk=message.webhook_id).update(**WELL)


@transaction.atomic
def _note_failure(message: OutgoingMessage, failed: Failed) -> None:
    """Put it off, or give it up; a receiver that says that it is gone gets nothing more until an admin says so."""
    why = str(failed)[:MOST_ERROR]
    given_up = message.tries > len(WAITS)
    next_try_at = None if given_up else timezone.now() + timedelta(seconds=WAITS[message.tries - 1])
    OutgoingMessage.objects.filter(pk=message.pk).update(
        next_try_at=next_try_at, held_until=None, last_status=failed.status,
        error=why + (" — given up" if given_up else ""),
    )  # fmt: skip
    webhook = OutgoingWebhook.objects.select_for_update().defer("secret").filter(pk=message.webhook_id).first()
    if webhook is None:
        return  # removed, with the message, while it was posted
    now = timezone.now()
    pause = FIRST_PAUSE * 2 ** min(webhook.failed_times, DOUBLINGS)
    OutgoingWebhook.objects.filter(pk=webhook.pk).update(
        problem=why, failing_since=webhook.failing_since or now, failed_times=F("failed_times") + 1,
        next_at=now + timedelta(seconds=max(pause, min(failed.retry_after or 0, LONGEST_PAUSE))),
    )  # fmt: skip
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
    waiting.update(next_try_at=None, held_until=None, error=why)
