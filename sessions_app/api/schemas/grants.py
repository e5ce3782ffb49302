"""Grants: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, model_validator

from sessions_app import models
from sessions_app.queries import policies as queries
from sessions_app.services.policies import grants

from .common import AgentName, Body

Reason = Annotated[str, Field(max_length=grants.MAX_REASON)]
LONGEST = int(grants.LONGEST.total_seconds())


class GrantTerms(Body):
    """Which calls like one that was asked need no decision from now on."""

    scope: Literal["session", "agent"] = Field(
        "session", description="in the session that asked, or in all of its agent"
    )
    arguments: list[Any] | None = Field(
        None, description="conditions as in a rule; []: any arguments; null: exactly those of the approval"
    )
    expires_in: Annotated[int, Field(ge=1, le=LONGEST, description="seconds")] = int(grants.USUAL.total_seconds())
    uses: Annotated[int | None, Field(ge=1, le=grants.MOST_USES, description="how many calls; null: no limit")] = None
    reason: Reason

    def wish(self) -> grants.Wish:
        return grants.Wish(
            self.reason, whole_agent=self.scope == "agent", arguments=self.arguments,
            lasts=timedelta(seconds=self.expires_in), uses=self.uses,
        )  # fmt: skip


class NewGrant(GrantTerms):
    """A grant from an approval, by whoever may decide it; or for an agent and a tool, by an admin: that one is for all
    sessions of the agent, and without ``arguments`` for any arguments.
    """

    approval: UUID | None = Field(None, description="id of the approval; or name `agent` and `tool` instead")
    agent: UUID | None = Field(None, description="id of the agent")
    tool: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    server: Annotated[str, Field(max_length=500)] | None = None
    fingerprint: Annotated[str, Field(max_length=64)] = ""

    @model_validator(mode="after")
    def of_one_thing(self) -> NewGrant:
        if (self.approval is None) == (self.agent is None or self.tool is None):
            raise ValueError("say either approval, or agent and tool")
        if self.approval is not None and (self.agent or self.tool or self.server or self.fingerprint):
            raise ValueError("agent, tool, server and fingerprint are those of the approval")
        return self


class Revocation(Body):
    reason: Reason = ""


class GrantedTool(BaseModel):
    name: str
    server: str | None


class Grant(BaseModel):
    """Calls that need no decision, until the grant ends."""

    id: UUID
    agent: AgentName
    session_id: UUID | None = Field(description="the only session it is for; null: every session of the agent")
    tool: GrantedTool
    arguments: list[Any]
    agent_version: int
    state: Literal["in force", "used up", "expired", "void", "ended"]
    expires_at: datetime
    uses: int
    uses_left: int | None
    last_used_at: datetime | None
    made_by: str
    made_at: datetime
    reason: str
    ended_at: datetime | None
    ended_by: str
    end_reason: str

    @classmethod
    def from_row(cls, grant: models.Grant) -> Grant:
        others = {
            "agent": AgentName(id=grant.agent.id, name=grant.agent.name),
            "tool": GrantedTool(name=grant.tool_name, server=grant.tool_server),
            "state": queries.state_of_grant(grant),
        }
        return cls(**others, **{name: getattr(grant, name) for name in cls.model_fields if name not in others})
