"""Webhook deliveries: checked, kept once, and given to an agent, in one transaction."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import orjson
from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from sessions_app.encryption import Unreadable
from sessions_app.models import Agent, SignedRequest, TriggerRun, WebhookDelivery, WebhookEndpoint
from sessions_app.services import audit
from sessions_app.services.log.sanitise import text
from sessions_app.services.turns import messages

from . import trigger_runs, webhook_payloads, webhook_signatures

HOOK_ID = re.compile(r"[\w-]{20,64}", re.ASCII)
NOT_FOUND = "Webhook endpoint not found"
log = logging.getLogger(__name__)


class Unknown(LookupError):
    """No active endpoint has this address."""


class Unready(RuntimeError):
    """The endpoint cannot check signatures now; an admin has to enter its secret."""


class NoAgent(ValueError):
    """The endpoint has no agent to give a delivery to."""


class Emptied(ValueError):
    """The content of a delivery is not kept any more."""


@dataclass(frozen=True, slots=True)
class Posted:
    """A request as it came. Header names in lower case; ``url`` as the sender knows it."""

    body: bytes
    content_type: str
    headers: Mapping[str, str]
    url: str
    source_ip: str | None


@dataclass(frozen=True, slots=True)
class Received:
    """Result of ``receive``. ``challenge`` is for Slack, which checks an address before it uses it: nothing is kept."""

    delivery: WebhookDelivery | None
    session_id: UUID | None
    is_new: bool
    challenge: str = ""


def receive(hook_id: str, posted: Posted) -> Received:
    """Keep a delivery and start a session with it; one that came before starts nothing.

    Raises ``Unknown``, ``Unready``, ``signatures.Wrong`` and ``payloads.TooLarge`` (these two are counted).
    """
    endpoint = _endpoint(hook_id)
    try:
        _check(endpoint, posted)
    except webhook_signatures.Wrong as wrong:
        _count(endpoint, str(wrong))
        raise
    plain = _unpacked(endpoint, posted)
    payload = webhook_payloads.parsed(plain, posted.content_type)
    if endpoint.scheme == WebhookEndpoint.Scheme.SLACK and _is_challenge(payload):
        return Received(None, None, False, payload["challenge"])
    return _keep(endpoint, payload, posted)


def _unpacked(endpoint: WebhookEndpoint, posted: Posted) -> bytes:
    encoding = posted.headers.get("content-encoding", "")
    try:
        return webhook_payloads.unpacked(posted.body, encoding, settings.MAX_WEBHOOK_BYTES)
    except webhook_payloads.TooLarge as large:
        _count(endpoint, str(large))
        raise


def _endpoint(hook_id: str) -> WebhookEndpoint:
    if not HOOK_ID.fullmatch(hook_id):
        raise Unknown(NOT_FOUND)
    try:
        found = WebhookEndpoint.objects.select_related("agent").filter(hook_id=hook_id, active=True).first()
    except Unreadable as unreadable:
        raise Unready(str(unreadable)) from None
    if found is None:
        raise Unknown(NOT_FOUND)
    return found


def _check(endpoint: WebhookEndpoint, posted: Posted) -> None:
    if not endpoint.secret and endpoint.scheme != WebhookEndpoint.Scheme.NONE:
        raise webhook_signatures.Wrong("this endpoint has no secret yet: enter the one that the sender shows")
    request = webhook_signatures.Request(posted.body, posted.headers, posted.url, timezone.now())
    webhook_signatures.check(endpoint.scheme, endpoint.secret, request)


def _count(endpoint: WebhookEndpoint, why: str) -> None:
    log.info("webhook %s refused: %s", endpoint.name, why)
    WebhookEndpoint.objects.filter(pk=endpoint.pk).update(
        refused=F("refused") + 1, refused_at=timezone.now(), refused_why=why
    )


def _is_challenge(payload: Any) -> bool:
    is_one = isinstance(payload, dict) and payload.get("type") == "url_verification"
    return is_one and isinstance(payload.get("challenge"), str)


@transaction.atomic
def _keep(endpoint: WebhookEndpoint, payload: Any, posted: Posted) -> Received:
    """Two of the same at once: the second waits, at the lock or at the unique index, until the first is done."""
    replay_key = webhook_signatures.replay_key(endpoint.scheme, posted.headers, posted.body)
    if replay_key and (seen := _seen(endpoint, replay_key)):
        return Received(seen, _session_of(seen), is_new=False)
    delivery, is_new = WebhookDelivery.objects.get_or_create(
        endpoint=endpoint,
        delivery_id=webhook_payloads.delivery_id(endpoint.scheme, payload, posted.body, posted.headers, timezone.now()),
        defaults={
            "workspace_id": endpoint.workspace_id, "payload": payload, "source_ip": posted.source_ip,
            "size": len(posted.body), "topic": text(webhook_payloads.topic(payload, posted.headers)),
            "headers": webhook_payloads.kept_headers(posted.headers),
            "verified": endpoint.scheme != WebhookEndpoint.Scheme.NONE,
        },
    )  # fmt: skip
    if replay_key:
        SignedRequest.objects.create(endpoint=endpoint, sha256=replay_key, delivery=delivery)
    if is_new and endpoint.agent:
        return Received(delivery, _fire(delivery, endpoint.agent, f"delivery:{delivery.pk}").session_id, is_new)
    return Received(delivery, _session_of(delivery), is_new)


def _seen(endpoint: WebhookEndpoint, replay_key: str) -> WebhookDelivery | None:
    """The delivery that the same signed request was before. Others with this key wait until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"hook:{endpoint.pk}:{replay_key}"])
    same = SignedRequest.objects.select_related("delivery").filter(endpoint=endpoint, sha256=replay_key).first()
    return same.delivery if same else None


def _session_of(delivery: WebhookDelivery) -> UUID | None:
    run = TriggerRun.objects.filter(delivery=delivery).order_by("id").first()
    return run.session_id if run else None


def _fire(delivery: WebhookDelivery, agent: Agent, fire_key: str, cause: str = "") -> TriggerRun:
    endpoint = delivery.endpoint
    fire = trigger_runs.Fire(
        TriggerRun.Kind.WEBHOOK, fire_key, endpoint.name, message_of(delivery), cause=cause, delivery=delivery,
        when_asking=endpoint.when_asking,
        title=f"{endpoint.name}: {delivery.topic}" if delivery.topic else endpoint.name,
    )  # fmt: skip
    return trigger_runs.fire(agent, fire)


def is_emptied(delivery: WebhookDelivery) -> bool:
    """Whether its content was removed, after ``COUNTERSIGN_KEEP_DELIVERIES_DAYS``: nothing that comes is null."""
    return delivery.payload is None


def message_of(delivery: WebhookDelivery) -> str:
    """First message of the session: the JSON, indented unless that is too long, cut to what an agent can be given."""
    written = orjson.dumps(delivery.payload, option=orjson.OPT_INDENT_2).decode()
    if len(written) > messages.MAX_MESSAGE:
        written = orjson.dumps(delivery.payload).decode()
    if len(written) > messages.MAX_MESSAGE:
        left = f"\n… cut: the whole of it is delivery {delivery.pk} of {delivery.endpoint.name}"
        written = written[: messages.MAX_MESSAGE - len(left)] + left
    return written


@transaction.atomic
def replay(delivery: WebhookDelivery, *, by: audit.Actor) -> TriggerRun:
    """Give a delivery to the endpoint's agent once more, in a session of its own. Raises ``NoAgent``, ``Emptied``."""
    agent = delivery.endpoint.agent
    if agent is None:
        raise NoAgent(f"{delivery.endpoint.name} has no agent: choose one, then replay")
    if is_emptied(delivery):
        raise Emptied("what was sent is not kept any more: have the sender send it again, as a new delivery")
    _audit(delivery, by, "webhook.replayed")
    return _fire(delivery, agent, f"replay:{uuid4()}", cause=f"replayed by {by.name}")


@transaction.atomic
def acknowledge(workspace_id: UUID, delivery_ids: Collection[UUID], *, by: audit.Actor) -> int:
    """Mark deliveries as seen to; those that were stay as they are. How many changed."""
    waiting = WebhookDelivery.objects.filter(workspace_id=workspace_id, pk__in=delivery_ids, acknowledged_at=None)
    changed = waiting.update(acknowledged_at=timezone.now(), acknowledged_by=text(by.name))
    if changed:
        audit.record(workspace_id, by, "webhook.acknowledged", deliveries=[str(one) for one in delivery_ids][:100])
    return changed


def _audit(delivery: WebhookDelivery, by: audit.Actor, action: str) -> None:
    audit.record(delivery.workspace_id, by, action, subject=("webhook_delivery", delivery.pk))
