"""What the API answers: one class per shape, each with the function that makes it from rows.

Unknown is null, never 0. Times are UTC with "Z", money is a decimal string in US dollars.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, Protocol
from uuid import UUID

from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.queries.log.events import Shown
from sessions_app.queries.sessions.provenance import UNSIGNED, Provenance
from sessions_app.queries.sessions.turn_state import Around

Basis = Literal["recorded", "priced", "mixed", "none"]
MONEY_DECIMALS = 6


class Counted(Protocol):
    """Token columns, of a session, a turn, a model response or a sum."""

    input_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None

    @property
    def total_tokens(self) -> int | None: ...


class Spent(Protocol):
    """Money columns, of the same."""

    unpriced_tokens: int

    @property
    def cost_amount(self) -> Decimal | None: ...
    @property
    def cost_basis(self) -> str: ...


def dollars(amount: Decimal | None) -> str | None:
    """Plain notation, all digits, at least six decimals: "0.012345"."""
    if amount is None:
        return None
    whole, _, decimals = f"{amount:f}".partition(".")
    return f"{whole}.{decimals.rstrip('0').ljust(MONEY_DECIMALS, '0')}"


class Usage(BaseModel):
    """Tokens, each counted once per model response. The first four never overlap and add up to the total."""

    input_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None = Field(description="the part of output_tokens that was reasoning")
    total_tokens: int | None

    @classmethod
    def of(cls, counted: Counted) -> Usage:
        return cls(**{name: getattr(counted, name) for name in cls.model_fields})


class Cost(BaseModel):
    """Money. With unpriced tokens the amount is a lower bound."""

    amount: str | None
    currency: Literal["USD"] = "USD"
    basis: Basis
    unpriced_tokens: int

    @classmethod
    def of(cls, spent: Spent) -> Cost:
        return cls(
            amount=dollars(spent.cost_amount), basis=spent.cost_basis, unpriced_tokens=spent.unpriced_tokens or 0
        )

    @classmethod
    def of_request(cls, request: models.ModelRequest) -> Cost:
        """Of one model response: what the recorder stated, else the price, else unpriced."""
        if request.cost_recorded is not None:
            return cls(amount=dollars(request.cost_recorded), basis="recorded", unpriced_tokens=0)
        if request.cost_priced is not None:
            return cls(amount=dollars(request.cost_priced), basis="priced", unpriced_tokens=0)
        return cls(amount=None, basis="none", unpriced_tokens=request.total_tokens or 0)


class Signature(BaseModel):
    """Of the file that something came from; ``valid`` alone means verified and trusted."""

    state: Literal["valid", "valid_untrusted", "valid_expired", "invalid", "uncheckable", "unsigned", "encrypted"]
    signer: str | None
    detail: str


class AgentName(BaseModel):
    id: UUID
    name: str


class ImportedFrom(BaseModel):
    import_id: UUID
    format: str


class Agent(BaseModel):
    """The definition of an agent."""

    id: UUID
    name: str
    slug: str
    runtime: Literal["managed", "local", "scripted", "external"]
    model: str | None
    version: int
    status: Literal["active", "paused", "archived"]
    description: str
    instructions: str
    tools: list[Any]
    policy: dict[str, Any]
    environment: dict[str, Any]
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, agent: models.Agent) -> Agent:
        fields = {name: getattr(agent, name) for name in cls.model_fields}
        return cls(**fields | {"model": agent.model or None})


class AgentVersion(BaseModel):
    """A definition as it was. A session runs to its end under the version that it began with."""

    version: int
    definition: dict[str, Any]
    changed_by: str
    changed_at: datetime

    @classmethod
    def of(cls, kept: models.AgentVersion) -> AgentVersion:
        return cls(**{name: getattr(kept, name) for name in cls.model_fields})


class Session(BaseModel):
    """One run of an agent, with what it adds up to."""

    id: UUID
    agent: AgentName
    title: str
    status: Literal["idle", "running", "archived"]
    origin: Literal["chat", "slack", "schedule", "webhook", "import", "api", "otlp"]
    phase: Literal["active", "completed", "crashed", "timed_out"]
    started_at: datetime | None
    ended_at: datetime | None
    created_at: datetime
    turn_count: int
    event_count: int
    last_seq: int
    tool_call_count: int
    error_count: int
    tools_invoked: list[str]
    models: list[str]
    usage: Usage
    cost: Cost
    copied_tokens: int = Field(description="repeated from an earlier session, and counted there")
    under_reported: int = Field(description="responses whose output the recorder did not count to the end")
    summary: str
    tags: list[str]
    metadata: dict[str, Any]
    user_id: str | None
    external_id: str | None
    parent_session_id: UUID | None
    agent_version: int = Field(description="of the definition that it runs under")
    continues: UUID | None = Field(description="the session whose transcript is the context of this one")
    continues_seq: int | None = Field(description="up to this event of it")
    continued_by: list[UUID] = Field(description="sessions that go on from this one")
    pending_approvals: int
    queued_messages: int = Field(description="that wait behind the turn in flight")
    imported_from: ImportedFrom | None
    signature: Signature

    @classmethod
    def of(cls, session: models.Session, provenance: Provenance | None, around: Around) -> Session:
        same = ("id", "title", "status", "origin", "phase", "started_at", "ended_at", "created_at", "turn_count",
                "event_count", "last_seq", "tool_call_count", "error_count", "tools_invoked", "summary", "tags",
                "metadata", "pending_approvals", "copied_tokens", "under_reported", "agent_version",
                "continues_seq")  # fmt: skip
        return cls(
            **{name: getattr(session, name) for name in same},
            agent=AgentName(id=session.agent_id, name=session.agent.name),
            models=session.model_names,
            usage=Usage.of(session),
            cost=Cost.of(session),
            user_id=session.user_id or None,
            external_id=session.external_id or None,
            parent_session_id=session.parent_id,
            continues=session.continues_id,
            continued_by=around.continued_by,
            queued_messages=around.queued,
            imported_from=ImportedFrom(import_id=provenance.import_id, format=provenance.format)
            if provenance
            else None,
            signature=Signature(**(provenance.signature if provenance else UNSIGNED)),
        )


class Turn(BaseModel):
    """Everything from one message of a person or trigger until before the next; turn 0 is what came before."""

    index: int
    started_at: datetime | None
    ended_at: datetime | None
    duration_ms: int | None
    prompt: str
    first_seq: int
    last_seq: int
    event_count: int
    usage: Usage
    cost: Cost
    models: list[str]
    tool_calls: int
    errors: int

    @classmethod
    def of(cls, turn: models.Turn) -> Turn:
        same = (
            "index",
            "started_at",
            "ended_at",
            "prompt",
            "first_seq",
            "last_seq",
            "event_count",
            "tool_calls",
            "errors",
        )
        known = turn.started_at and turn.ended_at
        return cls(
            **{name: getattr(turn, name) for name in same},
            duration_ms=(turn.ended_at - turn.started_at) // timedelta(milliseconds=1) if known else None,
            usage=Usage.of(turn),
            cost=Cost.of(turn),
            models=turn.model_names,
        )


class EventActor(BaseModel):
    kind: str
    name: str


class EventTool(BaseModel):
    """The tool half of a call, a result or an approval. A result of plain text stands in ``text`` as well."""

    call_id: str | None
    name: str | None
    server: str | None
    arguments: Any
    result: Any
    status: str | None


class EventSource(BaseModel):
    document: str | None = Field(description="SHA-256 of the source document")
    pointer: str = Field(description="JSON pointer, or L<line> with a pointer behind it")


class Event(BaseModel):
    """One thing that happened. ``usage`` and ``cost`` stand on one event of each model response."""

    seq: int
    id: UUID
    kind: str
    at: datetime | None
    turn: int
    actor: EventActor
    text: str
    tool: EventTool | None
    model: str | None
    usage: Usage | None
    cost: Cost | None
    usage_quality: str | None = Field(description="final, placeholder, interrupted, estimated or aggregate")
    counted_in: UUID | None = Field(description="the session that counts these tokens, of which this is a copy")
    parent_seq: int | None
    depth: int
    data: dict[str, Any]
    source: EventSource | None

    @classmethod
    def of(cls, shown: Shown) -> Event:
        event, request = shown.event, shown.request
        has_tokens = request and (request.total_tokens is not None or request.reasoning_tokens is not None)
        same = ("seq", "id", "kind", "at", "turn", "text", "model", "parent_seq", "depth", "data")
        return cls(
            **{name: getattr(event, name) for name in same},
            actor=EventActor(kind=event.actor_kind, name=event.actor_name),
            tool=_tool(shown),
            usage=Usage.of(request) if has_tokens else None,
            cost=Cost.of_request(request) if request else None,
            usage_quality=request.quality if request and has_tokens else None,
            counted_in=request.counted_in_id if request else None,
            source=EventSource(document=event.document, pointer=event.pointer) if event.document else None,
        )


def _tool(shown: Shown) -> EventTool | None:
    """A result is given the name of its call, and a call the outcome of its result."""
    event, call = shown.event, shown.call
    said = (event.call_id, event.tool_name, event.tool_server, event.arguments, event.result, event.tool_status)
    if call is None and all(part is None for part in said):
        return None
    is_text = event.kind == "tool_result" and event.result is None
    return EventTool(
        call_id=event.call_id,
        name=event.tool_name or (call.name or None if call else None),
        server=event.tool_server or (call.server if call else None),
        arguments=event.arguments,
        result=(event.text or None) if is_text else event.result,
        status=event.tool_status or (call.status if call and event.kind == "tool_call" else None),
    )


class EventPage(BaseModel):
    """Events in ``seq`` order. The next page is ``after`` the last ``seq`` of this one."""

    items: list[Event]
    last_seq: int = Field(description="the last seq of the session: what this page does not reach is in the next")


class Appended(BaseModel):
    first_seq: int | None
    last_seq: int | None
    accepted: int
    duplicates: int


class ApprovalTool(BaseModel):
    name: str
    server: str | None
    arguments: Any


class Vote(BaseModel):
    by: str
    verdict: str
    arguments: Any
    answer: str
    reason: str
    channel: str
    at: datetime


class Approval(BaseModel):
    """A tool call that waits, or waited, for a person."""

    id: UUID
    session_id: UUID
    event_seq: int | None
    recorded: bool = Field(description="told by an imported file; it was never asked here and cannot be decided here")
    client_id: str | None
    tool: ApprovalTool
    context: str
    digest: str = Field(description="SHA-256 of what is shown; a decision has to repeat it")
    status: Literal["pending", "approved", "approved_edited", "denied", "answered", "expired", "cancelled",
                    "auto_allowed", "auto_denied", "settled_elsewhere"]  # fmt: skip
    risk: str | None
    rule: str | None
    requested_by: str
    requested_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None
    votes: list[Vote]
    decision: dict[str, Any] | None
    delivery: str
    execution: str
    version: int

    @classmethod
    def of(cls, approval: models.Approval) -> Approval:
        """Reads ``approval.votes``: prefetch them for a list."""
        same = ("id", "session_id", "event_seq", "recorded", "context", "digest", "status", "rule", "requested_by",
                "requested_at", "expires_at", "decided_at", "delivery", "execution", "version")  # fmt: skip
        votes = sorted(approval.votes.all(), key=lambda vote: vote.at)
        return cls(
            **{name: getattr(approval, name) for name in same},
            client_id=approval.client_id or None,
            tool=ApprovalTool(name=approval.tool_name, server=approval.tool_server, arguments=approval.arguments),
            risk=approval.risk or None,
            votes=[Vote(**{name: getattr(vote, name) for name in Vote.model_fields}) for vote in votes],
            decision=decision_of(approval),
        )


def decision_of(approval: models.Approval) -> dict[str, Any] | None:
    """Who decided what, when and why; ``at`` in the same form as every other time."""
    if approval.decision is None:
        return None
    at = approval.decided_at.astimezone(UTC).isoformat().replace("+00:00", "Z") if approval.decided_at else None
    return approval.decision | {"status": approval.status, "at": at}
