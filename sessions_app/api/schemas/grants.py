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
    """What is allowed from now on of calls like one that was asked."""

    scope: Literal["session", "agent"] = Field("session", description="the session that asked, or all of its agent")
    arguments: list[Any] | None = Field(
        None, description="conditions as in a rule; null: exactly the arguments of the approval; [] any arguments"
    )
    expires_in: Annotated[int, Field(ge=1, le=LONGEST, description="seconds")] = int(grants.USUAL.total_seconds())
    uses: Annotated[int | None, Field(ge=1, le=grants.MOST_USES, description="null: without a limit")] = None
    reason: Reason

    def wish(self) -> grants.Wish:
        return grants.Wish(
            self.reason, whole_agent=self.scope == "agent", arguments=self.arguments,
            lasts=timedelta(seconds=self.expires_in), uses=self.uses,
        )  # fmt: skip


class NewGrant(GrantTerms):
    """Of an approval, by who may decide it; or of an agent and a tool, by an admin."""

    approval: UUID | None = None
    agent: UUID | None = None
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
    """Calls that need no decision any more, until it ends."""

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
