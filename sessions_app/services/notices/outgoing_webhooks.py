"""Outgoing webhooks: made, changed and removed by admins. A secret is shown in the moment it is made."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from sessions_app.ids import uuid7
from sessions_app.models import OutgoingMessage, OutgoingWebhook

from .. import audit, task_queue
from ..fair_queue import Line
from ..log.sanitise import text
from . import announcing, outgoing_messages, payloads, standard_webhooks

MOST = 20
"""Of a workspace: each event is a row and a post for each."""
MOST_NAME, MOST_URL = 50, 2_000


class NotGivenUp(ValueError):
    """A message that was not given up is not sent again by hand."""


class Refused(ValueError):
    """A field is wrong; ``field`` names it, the message says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@transaction.atomic
def create(
    workspace_id: UUID, name: str, url: str, events: list[str], *, by: audit.Actor
) -> tuple[OutgoingWebhook, str]:
    """A webhook and its secret. Without ``events`` it is told of all. Raises ``Refused``."""
    if OutgoingWebhook.objects.filter(workspace_id=workspace_id).count() >= MOST:
        raise Refused("name", f"there are {MOST} already; remove one first")
    secret = standard_webhooks.new_secret()
    webhook = OutgoingWebhook(workspace_id=workspace_id, secret=secret, made_by=text(by.name))
    _set(webhook, {"name": name, "url": url, "events": events})
    _save(webhook, force_insert=True)
    _audit(webhook, by, "outgoing_webhook.created", origin=_origin(webhook.url), events=webhook.events)
    return webhook, secret


@transaction.atomic
def change(webhook: OutgoingWebhook, changes: dict[str, Any], *, by: audit.Actor) -> OutgoingWebhook:
    """``changes``: name, url, events, active. What waits for one that is switched off is given up.

    Raises ``Refused``, and ``OutgoingWebhook.DoesNotExist`` where it was removed meanwhile.
    """
    webhook = _locked(webhook)
    before = {name: getattr(webhook, name) for name in changes}
    _set(webhook, changes)
    changed = {name: getattr(webhook, name) for name in changes if getattr(webhook, name) != before[name]}
    if not changed:
        return webhook
    if "url" in changed or changed.get("active"):
        for name, value in outgoing_messages.WELL.items():
            setattr(webhook, name, value)
    _save(webhook, update_fields=[*changed, *outgoing_messages.WELL])
    if changed.get("active") is False:
        outgoing_messages.switch_off(webhook.pk, "the webhook was switched off")
    said = {name: _origin(value) if name == "url" else value for name, value in changed.items()}
    _audit(webhook, by, "outgoing_webhook.changed", **{"new_name" if k == "name" else k: v for k, v in said.items()})
    return webhook


@transaction.atomic
def rotate(webhook: OutgoingWebhook, *, by: audit.Actor) -> str:
    """Sign with a new secret from now on; returned, and shown nowhere else. Raises ``OutgoingWebhook.DoesNotExist``."""
    webhook = _locked(webhook)
    webhook.secret = secret = standard_webhooks.new_secret()
    webhook.save(update_fields=["secret"])
    _audit(webhook, by, "outgoing_webhook.secret_changed")
    return secret


@transaction.atomic
def remove(webhook: OutgoingWebhook, *, by: audit.Actor) -> None:
    """Remove a webhook with its messages. A second time changes nothing."""
    if OutgoingWebhook.objects.filter(pk=webhook.pk).delete()[0]:
        _audit(webhook, by, "outgoing_webhook.removed", origin=_origin(webhook.url))


@transaction.atomic
def send_test(webhook: OutgoingWebhook, *, by: audit.Actor) -> OutgoingMessage:
    """A message that says nothing but who sent it. Raises ``Refused`` where the webhook is switched off, and as
    ``rotate``.
    """
    webhook = _locked(webhook)
    if not webhook.active:
        raise Refused("active", "it is switched off; switch it on to send something")
    now = timezone.now()
    body = payloads.body(announcing.TEST, now, {"webhook": {"name": webhook.name}, "sent_by": by.name})
    message = OutgoingMessage.objects.create(
        webhook=webhook, event=announcing.TEST, subject_id=uuid7(), body=body, next_try_at=now
    )
    task_queue.enqueue(task_queue.POST_MESSAGE, message.pk, Line(webhook.workspace_id))
    return message


@transaction.atomic
def send_again(webhook: OutgoingWebhook, message_id: UUID, *, by: audit.Actor) -> OutgoingMessage:
    """Send a message that was given up once more, at once and then as often as a new one.

    It is the same message with the same id, so a receiver that took it after all knows it. Raises ``NotGivenUp``, and
    ``Refused`` as ``send_test``; ``OutgoingMessage.DoesNotExist`` for none of this webhook's.
    """
    webhook, now = _locked(webhook), timezone.now()
    message = OutgoingMessage.objects.select_for_update().get(pk=message_id, webhook=webhook)
    if message.taken_at or message.next_try_at:
        state = "it was delivered" if message.taken_at else "it is on its way"
        raise NotGivenUp(f"{state}; only what was given up is sent again by hand")
    if not webhook.active:
        raise Refused("active", "the webhook is switched off; switch it on to send something")
    _audit(
        webhook, by, "outgoing_webhook.sent_again", message=str(message.pk), event=message.event, tries=message.tries
    )
    message.next_try_at, message.tries, message.error = now, 0, ""  # it is not given up any more
    message.save(update_fields=["next_try_at", "tries", "error"])
    # Somebody asks for it now: it does not wait for the end of a pause that earlier failures made.
    OutgoingWebhook.objects.filter(pk=webhook.pk, next_at__gt=now).update(next_at=now)
    task_queue.enqueue(task_queue.POST_MESSAGE, message.pk, Line(webhook.workspace_id))
    return message


def _locked(webhook: OutgoingWebhook) -> OutgoingWebhook:
    return OutgoingWebhook.objects.select_for_update(of=("self",)).get(pk=webhook.pk)


def _set(webhook: OutgoingWebhook, changes: dict[str, Any]) -> None:
    if "name" in changes:
        webhook.name = _name(changes["name"])
    if "url" in changes:
        webhook.url = _url(changes["url"])
    if "events" in changes:
        unknown = [one for one in changes["events"] if one not in announcing.EVENTS]
        if unknown:
            raise Refused("events", f'there is no event "{text(unknown[0])[:60]}"; use {", ".join(announcing.EVENTS)}')
        webhook.events = [one for one in announcing.EVENTS if one in changes["events"]]
    if "active" in changes:
        webhook.active = changes["active"]


def _name(name: str) -> str:
    name = " ".join(text(name).split())
    if not 1 <= len(name) <= MOST_NAME or not name.isprintable():
        raise Refused("name", f"use 1 to {MOST_NAME} characters that can be seen")
    return name


def _url(url: str) -> str:
    url = url.strip()
    try:
        parts = urlsplit(url)
        is_one = bool(parts.hostname) and parts.scheme in ("https", "http") and (parts.port or 1) > 0
    except ValueError:
        is_one = False
    if not is_one or not url.isascii() or not url.isprintable() or " " in url or len(url) > MOST_URL:
        raise Refused("url", f"use https://HOST/PATH, in at most {MOST_URL:,} ASCII characters")
    if parts.username or parts.password:
        raise Refused("url", "leave name and password out: messages are signed, and the address is shown to admins")
    return url


def _save(webhook: OutgoingWebhook, **how: Any) -> None:
    try:
        with transaction.atomic():
            webhook.save(**how)
    except IntegrityError:
        raise Refused("name", f'there is a webhook "{webhook.name}" already') from None


def _origin(url: str) -> str:
    """Scheme and host: the rest may be what keeps others from posting there."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _audit(webhook: OutgoingWebhook, by: audit.Actor, action: str, **details: Any) -> None:
    audit.record(
        webhook.workspace_id, by, action, subject=("outgoing_webhook", webhook.pk), name=webhook.name, **details
    )
