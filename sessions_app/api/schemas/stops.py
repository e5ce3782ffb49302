"""Stops: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from sessions_app import models
from sessions_app.queries import stops as queries
from sessions_app.services.stops.stops import LONGEST, MOST_REASON

from .common import AgentName, Body, Name, moment

Reason = Annotated[str, Field(min_length=1, max_length=MOST_REASON)]


class NewStop(Body):
    """A stop to make. Without ``until`` and ``for_seconds`` it is in force until somebody lifts it."""

    agent: Name | None = Field(None, description="name, slug or id of the agent; null: every agent of the workspace")
    reason: Reason = Field(description="why; everybody who meets the stop reads it, agents too")
    until: Annotated[datetime | None, BeforeValidator(moment)] = Field(
        None, description="a day or a time (UTC) within 366 days; not with `for_seconds`"
    )
    for_seconds: Annotated[int, Field(ge=1, le=int(LONGEST.total_seconds()))] | None = None

    @model_validator(mode="after")
    def one_end(self) -> NewStop:
        if self.until and self.for_seconds:
            raise ValueError("give until or for_seconds, not both")
        return self


class Lifting(Body):
    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""


class StoppedSession(BaseModel):
    session_id: UUID
    denied: int = Field(description="calls that waited for a person, or were approved but not yet told to the agent")
    turn_interrupted: bool
    executing: str | None = Field(
        description="the tool whose call was being made at that moment, which was not undone; null: none"
    )

    @classmethod
    def from_row(cls, row: models.StoppedSession) -> StoppedSession:
        return cls(
            session_id=row.session_id, denied=row.denied, turn_interrupted=row.turn_interrupted,
            executing=row.executing or None,
        )  # fmt: skip


class StopInForce(BaseModel):
    """The stop that is in force for an agent."""

    id: UUID
    reason: str
    made_by: str
    until: datetime | None = Field(description="null: until somebody lifts it")

    @classmethod
    def from_row(cls, row: models.Stop | None) -> StopInForce | None:
        return cls(**{name: getattr(row, name) for name in cls.model_fields}) if row else None


class Stop(BaseModel):
    """A stop of one agent, or of every agent."""

    id: UUID
    agent: AgentName | None = Field(description="null: every agent of the workspace")
    reason: str
    made_by: str
    made_by_kind: str
    made_at: datetime
    until: datetime | None
    in_force: bool
    carried_out_at: datetime | None = Field(
        description="when the last waiting call was denied and the last turn told to stop; null: not yet. Nothing new "
        "has begun since `made_at` in any case"
    )
    lifted_at: datetime | None
    lifted_by: str
    lift_reason: str
    sessions: list[StoppedSession]

    @classmethod
    def from_row(cls, row: models.Stop) -> Stop:
        others = {
            "agent": AgentName(id=row.agent.id, name=row.agent.name) if row.agent else None,
            "in_force": queries.holds(row),
            "sessions": [StoppedSession.from_row(each) for each in row.sessions.all()],
        }
        return cls(**others, **{name: getattr(row, name) for name in cls.model_fields if name not in others})
