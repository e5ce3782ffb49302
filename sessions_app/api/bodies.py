"""What is sent to the API: one class per body, with the bounds of every field."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StringConstraints, model_validator

from sessions_app.drafts import EventDraft, ToolDraft, Usage

MAX_BATCH = 1_000
MAX_TOKENS = 10**9
"""Of one model response: a thousand times what any takes, and far from what a sum can hold."""
MAX_DOLLARS = 100_000
MAX_EXPIRY = 30 * 24 * 3600
MAX_LIST = 1_000

Kind = Literal[
    "user_message", "agent_message", "reasoning", "tool_call", "tool_result", "system", "injected_context",
    "handoff", "model_request", "compaction", "file_change", "artifact", "approval", "escalation", "status",
    "error", "note", "unknown",
]  # fmt: skip
ACTORS: dict[str, str] = {
    "user_message": "person", "agent_message": "agent", "reasoning": "agent", "tool_call": "agent",
    "model_request": "agent", "handoff": "agent", "tool_result": "tool", "system": "system",
}  # fmt: skip
"""Who acts where the sender does not say."""


def _utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError('say the time zone, as in "2026-01-31T09:30:00Z"')
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError("is outside of the years 1 to 9999") from None


def _text_only(value: Any) -> Any:
    if not isinstance(value, (str, datetime)):
        raise ValueError('write times as RFC 3339 text, as in "2026-01-31T09:30:00Z"')
    return value


def _amount(value: Any) -> Any:
    """A cost as the API itself writes it: the object, or its amount alone."""
    if isinstance(value, dict):
        if value.get("currency", "USD") != "USD":
            raise ValueError("only USD is kept")
        return value.get("amount")
    return value


Moment = Annotated[datetime, BeforeValidator(_text_only), AfterValidator(_utc)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Id = Annotated[str, StringConstraints(min_length=1, max_length=500)]
"""An id of the sender's own: indexed, so bounded."""
Count = Annotated[int, Field(ge=0, le=MAX_TOKENS)]
Dollars = Annotated[Annotated[Decimal, Field(ge=0, le=MAX_DOLLARS)] | None, BeforeValidator(_amount)]


class NewAgent(BaseModel):
    name: Name
    runtime: Literal["managed", "local", "scripted", "external"] = "external"
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


class AgentChanges(BaseModel):
    """Only what is to change; null empties ``description``, ``model`` and ``instructions``.

    ``version`` is the one that the changes were made to: 409 when it is not the newest any more.
    """

    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
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


class NewSession(BaseModel):
    title: Annotated[str, Field(max_length=500)] | None = None
    message: str | None = None
    metadata: dict[str, Any] | None = None
    user_id: Id | None = None
    external_id: Id | None = None

    def values(self) -> dict[str, Any]:
        """What was said, for the columns."""
        return self.model_dump(exclude_none=True, exclude={"message"})


class NewMessage(BaseModel):
    text: Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
    interrupt: bool = False


class Continuation(BaseModel):
    """A new session that knows this one: all of it, or up to the end of a turn."""

    agent_id: UUID
    after_turn: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    message: Annotated[str, StringConstraints(min_length=1, pattern=r"\S")] | None = None
    handoff: bool = Field(False, description="the agent of this session stops, and the session is archived")


class SentActor(BaseModel):
    kind: Literal["person", "trigger", "agent", "subagent", "tool", "system", "unknown"]
    name: Annotated[str, Field(max_length=500)] | None = None


class SentTool(BaseModel):
    call_id: Id | None = None
    name: Annotated[str, Field(max_length=500)] | None = None
    server: Annotated[str, Field(max_length=500)] | None = None
    arguments: Any = None
    result: Any = None
    status: Literal["ok", "error", "cancelled", "denied"] | None = None


class SentUsage(BaseModel):
    """Tokens of one model response. The first four never overlap; reasoning is part of output."""

    input_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    output_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    total_tokens: Annotated[int, Field(ge=0, le=4 * MAX_TOKENS)] | None = None

    @model_validator(mode="after")
    def adds_up(self) -> SentUsage:
        """Counts that overlap would be paid twice, so a total that differs is refused and not guessed at."""
        parts = (self.input_tokens, self.cache_read_tokens, self.cache_write_tokens, self.output_tokens)
        known = sum(part for part in parts if part is not None)
        if self.total_tokens is not None and self.total_tokens != known:
            raise ValueError(
                f"total_tokens is {self.total_tokens}, but input, cache read, cache write and output make {known}; "
                "leave cached tokens out of input_tokens"
            )
        if self.reasoning_tokens and self.output_tokens is not None and self.reasoning_tokens > self.output_tokens:
            raise ValueError("reasoning_tokens is more than output_tokens, of which it is a part")
        return self


class SentEvent(BaseModel):
    client_id: Id
    kind: Kind
    at: Moment | None = None
    actor: SentActor | None = None
    text: str | None = None
    tool: SentTool | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    usage: SentUsage | None = None
    cost: Dollars = None
    parent_client_id: Id | None = None
    data: dict[str, Any] | None = None

    def event(self, now: datetime) -> EventDraft:
        """As the log takes it; without a time of its own it happened when it came."""
        kind = self.actor.kind if self.actor else ACTORS.get(self.kind, "unknown")
        return EventDraft(
            kind=self.kind,
            key=f"client:{self.client_id}",
            at=self.at or now,
            actor_kind=kind,
            actor_name=(self.actor.name if self.actor else None) or "",
            text=self.text or "",
            tool=ToolDraft(**self.tool.model_dump()) if self.tool else None,
            model=self.model,
            usage=Usage(**self.usage.model_dump(exclude={"total_tokens"})) if self.usage else None,
            cost=self.cost,
            parent=f"client:{self.parent_client_id}" if self.parent_client_id else None,
            data=self.data or {},
        )


class SentEvents(BaseModel):
    events: Annotated[list[SentEvent], Field(max_length=MAX_BATCH)]


class AskedTool(BaseModel):
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
    server: Annotated[str, Field(max_length=500)] | None = None
    arguments: dict[str, Any]


class Question(BaseModel):
    """An agent asks whether it may make a tool call."""

    session_id: UUID | None = None
    agent: Name | None = None
    tool: AskedTool
    context: Annotated[str, Field(max_length=100_000)] | None = None
    expires_in: Annotated[int, Field(ge=1, le=MAX_EXPIRY, description="seconds; then the call is denied")] | None = None
    risk: Annotated[str, Field(max_length=40)] | None = None
    client_id: Id | None = None

    @model_validator(mode="after")
    def in_one_place(self) -> Question:
        if (self.session_id is None) == (self.agent is None):
            raise ValueError("say either session_id or agent (a name, for which a session is made)")
        return self


class Decision(BaseModel):
    verdict: Literal["approve", "deny", "answer"]
    version: Annotated[int, Field(ge=1, le=2**31 - 1)]
    digest: Annotated[str, Field(max_length=64)]
    arguments: dict[str, Any] | None = None
    answer: Annotated[str, Field(max_length=100_000)] | None = None
    reason: Annotated[str, Field(max_length=10_000)] | None = None
