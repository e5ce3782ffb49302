"""Schedules, webhook endpoints, deliveries and trigger runs: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, StringConstraints

from sessions_app import models
from sessions_app.services.triggers import cron_times, unattended

from .common import AgentName, Body

Missed = Literal["skip", "once", "all"]
Overlap = Literal["allow", "skip"]
WhenAsking = Literal["wait", "deny", "refuse"]
WHEN_ASKING = (
    "where a person would have to be asked. wait: the call waits for one; deny: it is denied; refuse: no session "
    "begins of an agent that could ask"
)
WARNINGS = "what to look out for, with the rules and members of now, such as that nobody could decide its calls"
Scheme = Literal["none", "github", "stripe", "slack", "shopify", "twilio", "generic", "standard"]
Cron = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Zone = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
Secret = Annotated[str, Field(max_length=500)]
ScheduleName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
SECRET = "the sender's, 8 to 500 characters; left out, one is made for github, generic and standard"
MOST_AT_ONCE = 500


class NewSchedule(Body):
    agent_id: UUID
    name: ScheduleName
    cron: Cron = Field(examples=["0 9 * * MON-FRI"], description="five fields: minute hour day month weekday")
    timezone: Zone = Field("UTC", examples=["Europe/Berlin"], description="name in the IANA database")
    input_text: str = Field(description="the first message of each session")
    enabled: bool = True
    missed: Missed = Field(
        "once",
        description="what it makes up for of times that passed while nothing ran: none, the last one, or the last 100",
    )
    overlap: Overlap = Field("allow", description="skip: it does not fire while the session of its last run is running")
    when_asking: WhenAsking = Field("wait", description=WHEN_ASKING)


class ScheduleChanges(Body):
    """Only the fields that change."""

    agent_id: UUID = None
    name: ScheduleName = ""
    cron: Cron = ""
    timezone: Zone = ""
    input_text: str = ""
    enabled: bool = True
    missed: Missed = "once"
    overlap: Overlap = "allow"
    when_asking: WhenAsking = "wait"


class NewWebhook(Body):
    name: Annotated[
        str,
        Field(
            max_length=200,
            description="3 to 50 of a-z, 0-9 and -, with a letter or digit at both ends; it stays reserved for ever",
        ),
    ]
    scheme: Scheme = "generic"
    agent_id: UUID | None = Field(None, description="the agent that is given what comes; null: it is only kept")
    when_asking: WhenAsking = Field("wait", description=WHEN_ASKING)
    secret: Secret = Field("", description=SECRET)


class WebhookChanges(Body):
    """Only the fields that change."""

    agent_id: UUID | None = None
    active: bool = True
    when_asking: WhenAsking = "wait"


class NewSecret(Body):
    secret: Secret = Field("", description=SECRET)


class Acknowledgement(Body):
    ids: Annotated[list[UUID], Field(min_length=1, max_length=MOST_AT_ONCE)]


class Acknowledged(BaseModel):
    acknowledged: int


def agent_name(agent: models.Agent | None) -> AgentName | None:
    return AgentName(id=agent.id, name=agent.name) if agent else None


class Schedule(BaseModel):
    """A schedule: the times at which an agent begins a session."""

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
    """One time that a trigger fired, whatever came of it."""

    id: UUID
    kind: Literal["schedule", "webhook", "slack"]
    name: str = Field(description="name of the trigger at that time")
    status: Literal["started", "skipped", "failed"]
    error: str = Field(description="why there is no session; empty: there is one")
    cause: str = Field(description='who had it fire by hand, as "run now by Ines"; empty: it fired by itself')
    agent: AgentName | None
    schedule_id: UUID | None
    webhook_id: UUID | None
    delivery_id: UUID | None
    session_id: UUID | None
    due_at: datetime | None
    fired_at: datetime
    input_text: str = Field(
        description="the beginning of the first message; empty once the content of its delivery is kept no more"
    )

    @classmethod
    def from_row(cls, row: models.TriggerRun) -> TriggerRun:
        others = {
            "agent": agent_name(row.agent),
            "webhook_id": row.delivery.endpoint_id if row.delivery else None,
        }
        return cls(**others, **{name: getattr(row, name) for name in cls.model_fields if name not in others})


class Webhook(BaseModel):
    """A webhook endpoint: an address to which others post."""

    id: UUID
    name: str
    scheme: Scheme
    agent: AgentName | None
    active: bool
    when_asking: WhenAsking
    warnings: list[str] = Field(description=WARNINGS)
    url: str | None = Field(description="where to post; null for anybody but an admin")
    has_secret: bool
    waiting: int = Field(description="deliveries that are not acknowledged yet")
    refused: int = Field(
        description="requests that were refused since the secret was last set: signed wrongly, or too large"
    )
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
    secret: str | None = Field(
        description="a secret that was made here, in this answer alone; null: none was, or this is a repeat"
    )


class DeliveryRow(BaseModel):
    """A delivery: what was posted, without its content."""

    id: UUID
    webhook_id: UUID
    sender_id: str = Field(
        description="the sender's own id of the delivery, or a hash: the same again is the same delivery"
    )
    topic: str
    size: int = Field(description="bytes")
    verified: bool = Field(description="whether its signature was checked; false for an unsigned endpoint")
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
    """A delivery with its content. Once that is kept no more, ``payload`` is null and ``headers`` is empty."""

    payload: Any
    headers: dict[str, str] = Field(description="as they came, without the values of those that hold secrets")
