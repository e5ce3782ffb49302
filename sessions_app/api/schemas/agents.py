"""Agents: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from sessions_app import models

from .common import Body, Name
from .stops import StopInForce

MAX_LIST = 1_000


class NewAgent(Body):
    """An agent to define. ``instructions``, ``tools`` and ``environment`` are used by agents that run here."""

    name: Name
    runtime: Literal["managed", "local", "scripted", "external"] = Field(
        "external", description="external: it runs elsewhere and reports; every other one runs here"
    )
    description: Annotated[str, Field(max_length=10_000)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    instructions: str | None = None
    tools: Annotated[list[Any], Field(max_length=MAX_LIST)] | None = None
    policy: dict[str, Any] | None = None
    environment: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None

    def values(self) -> dict[str, Any]:
        """What was said, for the columns: null is as good as nothing."""
        return self.model_dump(exclude_none=True)


class AgentChanges(Body):
    """Only the fields that change. Null empties ``description``, ``model`` and ``instructions``."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None, description="the version that you changed: 409 when it is no longer the newest; null: not checked"
    )
    name: Name = ""
    description: Annotated[str, Field(max_length=10_000)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    instructions: str | None = None
    tools: Annotated[list[Any], Field(max_length=MAX_LIST)] = []
    policy: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    status: Literal["active", "paused", "archived"] = "active"

    def values(self) -> dict[str, Any]:
        """Only what was sent, for the columns."""
        sent = self.model_dump(exclude_unset=True, exclude={"version"})
        return {name: "" if value is None else value for name, value in sent.items()}


class Agent(BaseModel):
    """The definition of an agent."""

    id: UUID
    name: str
    slug: str
    runtime: Literal["managed", "local", "scripted", "external", "built_in"]
    model: str | None
    version: int
    status: Literal["active", "paused", "archived"]
    description: str
    instructions: str
    tools: list[Any]
    policy: dict[str, Any]
    environment: dict[str, Any]
    metadata: dict[str, Any]
    stopped: StopInForce | None = Field(description="the stop in force for it, or for every agent; null: none")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_row(cls, agent: models.Agent, stop: models.Stop | None) -> Agent:
        others = {"model": agent.model or None, "stopped": StopInForce.from_row(stop)}
        return cls(**others, **{name: getattr(agent, name) for name in cls.model_fields if name not in others})


class AgentVersion(BaseModel):
    """A definition as it was. A session keeps the version that it began with."""

    version: int
    definition: dict[str, Any]
    changed_by: str
    changed_at: datetime

    @classmethod
    def from_row(cls, kept: models.AgentVersion) -> AgentVersion:
        return cls(**{name: getattr(kept, name) for name in cls.model_fields})
