"""Outgoing webhooks: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.services.notices.outgoing_webhooks import MOST_NAME, MOST_URL

from .common import Body

EventName = Literal[
    "approval.requested", "approval.voted", "approval.decided", "approval.expired", "approval.cancelled",
    "approval.delivered", "approval.executed", "stop.made", "stop.lifted",
]  # fmt: skip
Events = Annotated[list[EventName], Field(max_length=20, description="the events it is told of; empty: all of them")]
WebhookName = Annotated[str, Field(min_length=1, max_length=MOST_NAME)]
Url = Annotated[str, Field(min_length=1, max_length=MOST_URL, examples=["https://example.com/countersign"])]


class NewOutgoingWebhook(Body):
    name: WebhookName
    url: Url
    events: Events = []


class OutgoingWebhookChanges(Body):
    """Only the fields that change."""

    name: WebhookName = ""
    url: Url = ""
    events: Events = []
    active: bool = True


class OutgoingWebhook(BaseModel):
    """An outgoing webhook: an address that is told of approvals and stops, by posts that are signed by the rules of
    Standard Webhooks 1.0.
    """

    id: UUID
    name: str
    url: str
    events: list[str]
    active: bool
    waiting: int = Field(description="messages that are still to be delivered")
    problem: str = Field(description="why the last post failed, until one succeeds; empty: it did not")
    made_by: str
    made_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> OutgoingWebhook:
        """``row`` is out of ``queries.notices.outgoing_webhooks``."""
        return cls(**{name: getattr(row, name) for name in OutgoingWebhook.model_fields})


class OutgoingWebhookWithSecret(OutgoingWebhook):
    secret: str | None = Field(description="`whsec_` and Base64; in this answer alone, null in a repeat")


class OutgoingMessage(BaseModel):
    """A message: posted until the receiver takes it (answers 2xx) or it is given up."""

    id: UUID = Field(description="also the header `webhook-id`, the same with each try")
    event: str
    body: str
    created_at: datetime
    tries: int
    next_try_at: datetime | None = Field(description="null: it was taken or given up")
    taken_at: datetime | None
    last_status: int | None = Field(description="status of the last answer; null: none came")
    error: str

    @classmethod
    def from_row(cls, row: models.OutgoingMessage) -> OutgoingMessage:
        return cls(**{name: getattr(row, name) for name in cls.model_fields})
