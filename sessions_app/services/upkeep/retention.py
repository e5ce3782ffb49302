"""Retention: removes answers kept for repeated POSTs, browser sessions and content of webhook deliveries once old."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.models import Session as BrowserSession
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone

from sessions_app.models import IdempotentAnswer, SignedRequest, TriggerRun, WebhookDelivery

ANSWERS_KEPT = timedelta(days=7)
"""So long an ``Idempotency-Key`` is known again; nobody repeats a request that long."""
SIGNED_REQUESTS_KEPT = timedelta(days=1)
"""A signed time holds for 5 minutes before and after (``webhook_signatures.TOLERANCE``)."""
BATCH = 500
"""Rows of one statement: each is a transaction of its own, and holds nothing that a request waits for long."""


def forget_answers() -> int:
    """Remove answers that are older than 7 days; how many."""
    old = IdempotentAnswer.objects.filter(created_at__lt=timezone.now() - ANSWERS_KEPT)
    return _in_batches(old, lambda ids: IdempotentAnswer.objects.filter(pk__in=ids).delete()[0])


def forget_signed_requests() -> int:
    """Remove what was kept to know signed requests again whose time is long over; how many."""
    old = SignedRequest.objects.filter(received_at__lt=timezone.now() - SIGNED_REQUESTS_KEPT)
    return _in_batches(old, lambda ids: SignedRequest.objects.filter(pk__in=ids).delete()[0])


def forget_browser_sessions() -> int:
    """Remove browser sessions that have expired (14 days after signing in); how many."""
    old = BrowserSession.objects.filter(expire_date__lt=timezone.now())
    return _in_batches(old, lambda keys: BrowserSession.objects.filter(pk__in=keys).delete()[0])


def empty_deliveries() -> int:
    """Remove content, headers and sender's address of deliveries that are old enough; how many.

    The row stays, so that the same delivery is known again, and so do its runs with their sessions. What began no
    session and nobody acknowledged is still to be seen to, and is kept whole; so is what began a session on hold.
    """
    since = timezone.now() - timedelta(days=min(settings.KEEP_DELIVERIES_DAYS, 36_500))
    began = TriggerRun.objects.filter(delivery=OuterRef("pk"), status=TriggerRun.Status.STARTED)
    held = TriggerRun.objects.filter(delivery=OuterRef("pk"), session__retention__immutable=True)
    seen_to = Q(acknowledged_at__isnull=False) | Exists(began)
    old = WebhookDelivery.objects.filter(seen_to, received_at__lt=since).exclude(Exists(held)).exclude(headers={})
    return _in_batches(old, empty_content)


def empty_content(ids: list[UUID]) -> int:
    """Remove content, headers and sender's address of these deliveries; how many."""
    TriggerRun.objects.filter(delivery__in=ids).update(input_text="")  # it is the beginning of the content
    gone = {"payload": RawSQL("'null'::json", []), "headers": {}, "source_ip": None}
    return WebhookDelivery.objects.filter(pk__in=ids).update(**gone)


def _in_batches(rows: QuerySet[Any], do: Callable[[list[Any]], int]) -> int:
    """Work in batches in the order of the ids, so that no batch reads again what stands before it."""
    done, page = 0, rows
    while ids := list(page.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        done += do(ids)
        page = rows.filter(pk__gt=ids[-1])
    return done
