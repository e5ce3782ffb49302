"""Outgoing webhooks, for admins: other programs are told of approvals and stops."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app import models
from sessions_app.queries import notices as queries
from sessions_app.services.notices import outgoing_webhooks

from ..auth import admin
from ..idempotency import once, once_hiding
from ..paging import Cursor, Limit, Page, keyset
from ..parsing import reply
from ..problems import Problem, invalid, not_found
from ..schemas.common import NOTHING, NoBody
from ..schemas.outgoing_webhooks import (
    NewOutgoingWebhook,
    OutgoingMessage,
    OutgoingWebhook,
    OutgoingWebhookChanges,
    OutgoingWebhookWithSecret,
)

router = Router(tags=["outgoing webhooks"])
FAULTS = {
    outgoing_webhooks.Refused: lambda error: invalid(f"/{error.field}", str(error)),
    outgoing_webhooks.NotGivenUp: lambda error: Problem(409, str(error)),
    models.OutgoingMessage.DoesNotExist: lambda error: not_found("message"),
    models.OutgoingWebhook.DoesNotExist: lambda error: not_found("outgoing webhook"),  # somebody else was faster
}
ONE = "/outgoing-webhooks/{uuid:outgoing_webhook_id}"


@router.get("/outgoing-webhooks", auth=admin, response=Page[OutgoingWebhook])
def list_outgoing_webhooks(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the outgoing webhooks of the workspace, newest first, without their secrets."""
    rows, next_cursor = keyset(queries.outgoing_webhooks(request.auth.workspace.id), "id", limit, cursor, UUID)
    return reply(Page(items=[OutgoingWebhook.from_row(row) for row in rows], next_cursor=next_cursor))


@router.post("/outgoing-webhooks", auth=admin, response={201: OutgoingWebhookWithSecret})
@once_hiding("secret")
def create_outgoing_webhook(request: HttpRequest, new: NewOutgoingWebhook) -> HttpResponse:
    """Add an outgoing webhook: at most 20. Only this answer has the secret by which the receiver checks who posts."""
    made, secret = outgoing_webhooks.create(
        request.auth.workspace.id, new.name, new.url, list(new.events), by=request.auth.actor
    )
    return _with_secret(request, made.pk, secret, 201)


@router.get(ONE, auth=admin, response=OutgoingWebhook)
def read_outgoing_webhook(request: HttpRequest, outgoing_webhook_id: UUID) -> HttpResponse:
    """Return an outgoing webhook, without its secret."""
    return reply(OutgoingWebhook.from_row(_webhook(request, outgoing_webhook_id)))


@router.patch(ONE, auth=admin, response=OutgoingWebhook)
def change_outgoing_webhook(
    request: HttpRequest, outgoing_webhook_id: UUID, changes: OutgoingWebhookChanges
) -> HttpResponse:
    """Change the fields that are sent. When it is switched off, the messages that wait for it are given up."""
    sent = changes.model_dump(exclude_unset=True)
    outgoing_webhooks.change(_webhook(request, outgoing_webhook_id), sent, by=request.auth.actor)
    return reply(OutgoingWebhook.from_row(_webhook(request, outgoing_webhook_id)))


@router.delete(ONE, auth=admin, response={204: None})
def delete_outgoing_webhook(request: HttpRequest, outgoing_webhook_id: UUID) -> HttpResponse:
    """Delete an outgoing webhook with its messages; those that wait are not sent."""
    outgoing_webhooks.remove(_webhook(request, outgoing_webhook_id), by=request.auth.actor)
    return HttpResponse(status=204)


@router.post(f"{ONE}/rotate", auth=admin, response=OutgoingWebhookWithSecret)
@once_hiding("secret")
def rotate_secret(request: HttpRequest, outgoing_webhook_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Give it a new secret, which signs every post from now on, further tries of earlier messages too."""
    secret = outgoing_webhooks.rotate(_webhook(request, outgoing_webhook_id), by=request.auth.actor)
    return _with_secret(request, outgoing_webhook_id, secret, 200)


@router.post(f"{ONE}/test", auth=admin, response={201: OutgoingMessage})
@once
def send_test(request: HttpRequest, outgoing_webhook_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Send the event `webhook.test`; its messages soon say how it went. 422 while it is switched off."""
    message = outgoing_webhooks.send_test(_webhook(request, outgoing_webhook_id), by=request.auth.actor)
    return reply(OutgoingMessage.from_row(message), 201)


@router.get(f"{ONE}/messages", auth=admin, response=Page[OutgoingMessage])
def list_messages(request: HttpRequest, outgoing_webhook_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the messages of the last 30 days, sent, waiting and given up ones, newest first."""
    found = queries.messages_of(_webhook(request, outgoing_webhook_id))
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    return reply(Page(items=[OutgoingMessage.from_row(row) for row in rows], next_cursor=next_cursor))


@router.post(f"{ONE}/messages/{{uuid:message_id}}/send-again", auth=admin, response=OutgoingMessage)
@once
def send_again(
    request: HttpRequest, outgoing_webhook_id: UUID, message_id: UUID, nothing: NoBody = NOTHING
) -> HttpResponse:  # fmt: skip
    """Send once more a message that was given up, with the same `webhook-id`. 409 for any other; 422 while it is
    switched off.
    """
    message = outgoing_webhooks.send_again(
        _webhook(request, outgoing_webhook_id), message_id, by=request.auth.actor
    )  # fmt: skip
    return reply(OutgoingMessage.from_row(message))


def _webhook(request: HttpRequest, webhook_id: UUID) -> models.OutgoingWebhook:
    found = queries.outgoing_webhooks(request.auth.workspace.id).filter(pk=webhook_id).first()
    if found is None:
        raise not_found("outgoing webhook")
    return found


def _with_secret(request: HttpRequest, webhook_id: UUID, secret: str, status: int) -> HttpResponse:
    shown = OutgoingWebhook.from_row(_webhook(request, webhook_id))
    return reply(OutgoingWebhookWithSecret(**shown.model_dump(), secret=secret), status)
