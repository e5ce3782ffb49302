"""Schedules, webhook endpoints, deliveries and trigger runs: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from sessions_app import models
from sessions_app.services.triggers import cron_times, unattended

from .common import AgentName, Body, Name

Missed = Literal["skip", "once", "all"]
Overlap = Literal["allow", "skip"]
WhenAsking = Literal["wait", "deny", "refuse"]
WHEN_ASKING = (
    "where a person would have to be asked: wait for one, deny the call, or begin no session of an agent that could ask"
)
WARNINGS = "what whoever saves it should know, as the rules and members are now"
Scheme = Literal["none", "github", "stripe", "slack", "shopify", "twilio", "generic", "standard"]
Cron = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Zone = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
Secret = Annotated[str, Field(max_length=500)]
MOST_AT_ONCE = 500


class NewSchedule(Body):
    agent_id: UUID
    name: Name
    cron: Cron = Field(examples=["0 9 * * MON-FRI"])
    timezone: Zone = Field("UTC", examples=["Europe/Berlin"])
    input_text: str = Field(description="the first message of each session")
    enabled: bool = True
    missed: Missed = Field("once", description="what becomes of times that passed while nothing ran here")
    overlap: Overlap = Field("allow", description="skip: not while the session of the last fire still runs")
    when_asking: WhenAsking = Field("wait", description=WHEN_ASKING)


class ScheduleChanges(Body):
    """Only what is to change."""

    agent_id: UUID = None
    name: Name = ""
    cron: Cron = ""
    timezone: Zone = ""
    input_text: str = ""
    enabled: bool = True
    missed: Missed = "once"
    overlap: Overlap = "allow"
    when_asking: WhenAsking = "wait"


class NewWebhook(Body):
    name: Annotated[str, Field(max_length=200, description="3 to 50 of a-z, 0-9 and -; reserved for ever")]
    scheme: Scheme = "generic"
    agent_id: UUID | None = Field(None, description="who is given what comes; without one it is only kept")
    when_asking: WhenAsking = Field("wait", description=WHEN_ASKING)
    secret: Secret = Field("", description="the sender's; of github, generic, standard one is made without it")


class WebhookChanges(Body):
    agent_id: UUID | None = None
    active: bool = True
    when_asking: WhenAsking = "wait"


class NewSecret(Body):
    secret: Secret = Field("", description="the sender's; of github, generic, standard one is made without it")


class Acknowledgement(Body):
    ids: Annotated[list[UUID], Field(min_length=1, max_length=MOST_AT_ONCE)]


class Acknowledged(BaseModel):
    acknowledged: int


def agent_name(agent: models.Agent | None) -> AgentName | None:
    return AgentName(id=agent.id, name=agent.name) if agent else None


class Schedule(BaseModel):
    """Times at which an agent begins a session."""

    id: UUID
    name: str
    agent: AgentName
    cron: str
    timezone: str
    in_words: str
    input_text: str
    enabled: bool
    missed: Missed
    overlap: Overlap
    when_asking: WhenAsking
    warnings: list[str] = Field(description=WARNINGS)
    next_run_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_row(cls, row: models.Schedule, rules: unattended.Rules) -> Schedule:
        words = {
            "agent": agent_name(row.agent), "in_words": cron_times.in_words(row.cron),
            "warnings": rules.warnings(row.agent, "schedule", row.when_asking),
        }  # fmt: skip
        return cls(**words, **{name: getattr(row, name) for name in cls.model_fields if name not in words})


class TriggerRun(BaseModel):
    """One fire, whatever came of it."""

    id: UUID
    kind: Literal["schedule", "webhook", "slack"]
    name: str = Field(description="of the trigger, as it was called then")
    status: Literal["started", "skipped", "failed"]
    error: str = Field(description="why there is no session")
    cause: str = Field(description='of a fire that is not the rule\'s own: "run now by Ines"')
    agent: AgentName | None
    schedule_id: UUID | None
    webhook_id: UUID | None
    delivery_id: UUID | None
    session_id: UUID | None
    due_at: datetime | None
    fired_at: datetime
    input_text: str = Field(description="the beginning of the first message")

    @classmethod
    def from_row(cls, row: models.TriggerRun) -> TriggerRun:
        others = {
            "agent": agent_name(row.agent),
            "webhook_id": row.delivery.endpoint_id if row.delivery else None,
        }
        return cls(**others, **{name: getattr(row, name) for name in cls.model_fields if name not in others})


class Webhook(BaseModel):
    """An address to which others post."""

    id: UUID
    name: str
    scheme: Scheme
    agent: AgentName | None
    active: bool
    when_asking: WhenAsking
    warnings: list[str] = Field(description=WARNINGS)
    url: str | None = Field(description="told to admins alone: whoever knows it may post")
    has_secret: bool
    waiting: int = Field(description="deliveries that are not acknowledged")
    refused: int = Field(description="requests that were not signed as they must be")
    refused_at: datetime | None
    refused_why: str
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any, url: str | None, rules: unattended.Rules) -> Webhook:
        """``row`` is out of ``queries.triggers.endpoints``."""
        others = {
            "agent": agent_name(row.agent), "url": url,
            "warnings": rules.warnings(row.agent, "webhook", row.when_asking),
        }  # fmt: skip
        return cls(**others, **{name: getattr(row, name) for name in cls.model_fields if name not in others})


class WebhookWithSecret(Webhook):
    secret: str | None = Field(description="when it was made here; shown in this answer and never again")


class DeliveryRow(BaseModel):
    """What was posted, without its content."""

    id: UUID
    webhook_id: UUID
    sender_id: str = Field(description="the sender's own id, or a hash: the same again is the same delivery")
    topic: str
    size: int
    verified: bool
    source_ip: str | None
    received_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str
    session_ids: list[UUID]

    @classmethod
    def _values(cls, row: models.WebhookDelivery) -> dict[str, Any]:
        sessions = [run.session_id for run in row.runs.all() if run.session_id]
        others = {"webhook_id": row.endpoint_id, "sender_id": row.delivery_id, "session_ids": sessions}
        return others | {name: getattr(row, name) for name in cls.model_fields if name not in others}

    @classmethod
    def from_row(cls, row: models.WebhookDelivery) -> DeliveryRow:
        return cls(**cls._values(row))


class Delivery(DeliveryRow):
    """What was posted, as it came; of headers that hold secrets only the names. Null when it is kept no more."""

    payload: Any
    headers: dict[str, str]
