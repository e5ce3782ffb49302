"""Events of a session: what is sent and what is answered."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from sessions_app import drafts
from sessions_app.queries.log.events import Shown

from .common import Basis, Body, Cost, Id, Usage

MAX_BATCH = 1_000
MAX_TOKENS = 10**9
"""Of one model response: a thousand times what any takes, and far from what a sum can hold."""
MAX_DOLLARS = 100_000
Kind = Literal[
    "user_message", "agent_message", "reasoning", "tool_call", "tool_result", "system", "injected_context",
    "handoff", "model_request", "compaction", "file_change", "artifact", "approval", "escalation", "status",
    "error", "note", "unknown",
]  # fmt: skip
SentKind = Literal[
    "user_message", "agent_message", "reasoning", "tool_call", "tool_result", "system", "injected_context",
    "handoff", "model_request", "compaction", "file_change", "artifact", "error", "note", "unknown",
]  # fmt: skip
"""What may come from outside: approvals, escalations and status are the desk's own words."""
DESKS_OWN = frozenset({"approval", "escalation", "status"})
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


Moment = Annotated[datetime, BeforeValidator(_text_only), AfterValidator(_utc)]
Count = Annotated[int, Field(ge=0, le=MAX_TOKENS)]


class SentActor(Body):
    kind: Literal["person", "trigger", "agent", "subagent", "tool", "system", "unknown"]
    name: Annotated[str, Field(max_length=500)] | None = None


class SentTool(Body):
    """The tool of a call or a result. A result belongs to the call with the same ``call_id``."""

    call_id: Id | None = None
    name: Annotated[str, Field(max_length=500)] | None = None
    server: Annotated[str, Field(max_length=500)] | None = None
    arguments: Any = None
    result: Any = None
    status: Literal["ok", "error", "cancelled", "denied"] | None = None


class SentUsage(Body):
    """Tokens of one model response; null: not known. The first four must not overlap: leave cached tokens out of
    ``input_tokens``. ``reasoning_tokens`` are a part of ``output_tokens``.
    """

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


Amount = Annotated[Decimal, Field(ge=0, le=MAX_DOLLARS)]
_AMOUNT: TypeAdapter[Decimal | None] = TypeAdapter(Amount | None)


class SentCost(Body):
    """What a model response cost in US dollars: an object as the API answers it, or the amount alone.

    Only the amount is kept.
    """

    model_config = ConfigDict(json_schema_extra={"type": ["object", "string", "number"]})
    amount: Amount | None = None
    currency: str = "USD"
    basis: Basis | None = None
    unpriced_tokens: Annotated[int, Field(ge=0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def amount_alone(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        try:  # here, so that the pointer is to what was sent: it has no "amount"
            return {"amount": _AMOUNT.validate_python(value)}
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"]) from None

    @field_validator("currency")
    @classmethod
    def dollars_only(cls, value: str) -> str:
        if value != "USD":
            raise ValueError("only USD is kept")
        return value


def _not_the_desks(value: Any) -> Any:
    if isinstance(value, str) and value in DESKS_OWN:
        raise ValueError(f'"{value}" is written by the desk alone: ask with POST /api/v1/approvals')
    return value


class SentEvent(Body):
    """An event that happened elsewhere. ``usage`` and ``cost`` belong on one event of each model response."""

    client_id: Id = Field(description="your own id, unique in the session: sent again, the event is not added again")
    kind: Annotated[SentKind, BeforeValidator(_not_the_desks)]
    at: Moment | None = Field(None, description="when it happened, with its time zone; null: when it is received")
    actor: SentActor | None = Field(None, description="null: as the kind has it, such as agent for tool_call")
    text: str | None = None
    tool: SentTool | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    usage: SentUsage | None = None
    cost: SentCost | None = Field(None, description="null: priced by the desk, where it knows the model's prices")
    parent_client_id: Id | None = Field(None, description="`client_id` of the event that this one belongs to")
    data: dict[str, Any] | None = None

    def event(self, now: datetime) -> drafts.EventDraft:
        """As the log takes it; without a time of its own it happened when it came."""
        kind = self.actor.kind if self.actor else ACTORS.get(self.kind, "unknown")
        return drafts.EventDraft(
            kind=self.kind,
            key=f"client:{self.client_id}",
            at=self.at or now,
            actor_kind=kind,
            actor_name=(self.actor.name if self.actor else None) or "",
            text=self.text or "",
            tool=drafts.ToolDraft(**self.tool.model_dump()) if self.tool else None,
            model=self.model,
            usage=drafts.Usage(**self.usage.model_dump(exclude={"total_tokens"})) if self.usage else None,
            cost=self.cost.amount if self.cost else None,
            parent=f"client:{self.parent_client_id}" if self.parent_client_id else None,
            data=self.data or {},
        )


class SentEvents(Body):
    events: Annotated[list[SentEvent], Field(max_length=MAX_BATCH)]


class EventActor(BaseModel):
    kind: str
    name: str


class EventTool(BaseModel):
    """The tool of a call, a result or an approval. A result that is plain text is in ``text``, too."""

    call_id: str | None
    name: str | None
    server: str | None
    arguments: Any
    result: Any
    status: str | None


class EventSource(BaseModel):
    document: str | None = Field(description="SHA-256 of the file, in hex")
    pointer: str = Field(description="JSON pointer into it; in a file of lines L<line>, followed by a pointer")


class Event(BaseModel):
    """One thing that happened. ``usage`` and ``cost`` stand on one event of each model response."""

    seq: int = Field(description="place in the log of the session, from 1")
    id: UUID
    kind: str
    at: datetime | None = Field(description="when it happened, as its sender says; null: not known")
    turn: int = Field(description="index of the turn that it belongs to")
    actor: EventActor
    text: str
    tool: EventTool | None
    model: str | None
    usage: Usage | None
    cost: Cost | None
    usage_quality: str | None = Field(description="final, placeholder, interrupted, estimated or aggregate")
    counted_in: UUID | None = Field(
        description="the session in which these tokens count, as this event is a copy of one there; null: this one"
    )
    parent_seq: int | None
    depth: int
    data: dict[str, Any]
    source: EventSource | None
    origin: Literal["file", "runtime", "api", "desk"] = Field(
        description="file: read from a file; runtime: made by an agent that runs here; api: sent from outside; "
        "desk: written by the desk itself"
    )
    reported_by: str | None = Field(
        description="name of the member, key or trigger that sent it, or had it sent; null: nobody"
    )
    received_at: datetime | None = Field(description="when it came in here")

    @classmethod
    def from_row(cls, shown: Shown) -> Event:
        event, request = shown.event, shown.request
        has_tokens = request and (request.total_tokens is not None or request.reasoning_tokens is not None)
        same = ("seq", "id", "kind", "at", "turn", "text", "model", "parent_seq", "depth", "data")
        return cls(
            **{name: getattr(event, name) for name in same},
            actor=EventActor(kind=event.actor_kind, name=event.actor_name),
            tool=_tool(shown),
            usage=Usage.from_row(request) if has_tokens else None,
            cost=Cost.from_model_request(request) if request else None,
            usage_quality=request.quality if request and has_tokens else None,
            counted_in=request.counted_in_id if request else None,
            source=EventSource(document=event.document, pointer=event.pointer) if event.document else None,
            origin=shown.origin.kind,
            reported_by=shown.origin.reported_by or None,
            received_at=shown.origin.received_at,
        )


def _tool(shown: Shown) -> EventTool | None:
    """A result is given the name of its call, and a call the outcome of its result."""
    event, call = shown.event, shown.call
    fields = (event.call_id, event.tool_name, event.tool_server, event.arguments, event.result, event.tool_status)
    if call is None and all(part is None for part in fields):
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
    """Events in order of ``seq``. For the next page send the last ``seq`` of this one as ``after``."""

    items: list[Event]
    last_seq: int = Field(description="the last seq of the session: there are more pages until you have it")


class Appended(BaseModel):
    first_seq: int | None = Field(description="of the events that were added; null: none was")
    last_seq: int | None
    accepted: int = Field(description="events that were added")
    duplicates: int = Field(description="events that the session had already")
