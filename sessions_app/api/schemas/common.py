"""Shapes that answers of several routers share: names of agents, tokens, money, signatures, moments in a query."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Protocol
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, StringConstraints
from pydantic_core import CoreSchema

from sessions_app import models

LONGEST_NAME = 200
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_NAME)]
Id = Annotated[str, StringConstraints(min_length=1, max_length=500)]
"""An id of the sender's own: indexed, so bounded."""
DAY = len("2026-01-31")


def moment(value: Any) -> Any:
    """A day or a moment as text, UTC unless it says otherwise. A ``+`` that was sent unescaped comes as a blank."""
    if not isinstance(value, str):
        return value
    try:
        read = datetime.fromisoformat(value.strip().replace(" ", "+") if "T" in value else value.strip())
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f'"{value[:40]}" is no time; write it as 2026-01-31 or 2026-01-31T09:30:00Z') from None


def end_moment(value: Any) -> Any:
    """The same; a day means to its end."""
    read = moment(value)
    try:
        return read + timedelta(days=1) if isinstance(value, str) and len(value.strip()) <= DAY else read
    except OverflowError:
        return read


Since = Annotated[datetime | None, BeforeValidator(moment)]
Until = Annotated[datetime | None, BeforeValidator(end_moment)]
Basis = Literal["recorded", "priced", "mixed", "none"]
MONEY_DECIMALS = 6


def _take_exactly(schema: Any) -> None:
    """Make each integer and truth value in a core schema strict."""
    if isinstance(schema, dict):
        if schema.get("type") in ("int", "bool"):
            schema["strict"] = True
        schema = schema.values()
    if isinstance(schema, Iterable) and not isinstance(schema, str):
        for part in schema:
            if isinstance(part, dict | list | tuple):
                _take_exactly(part)


class Body(BaseModel):
    """What is sent. A field that it does not know is refused: a misspelt one must not be dropped in silence.

    Numbers and truth values are JSON's own: pydantic would take "off" for false and "7" for 7, and the description of
    the API says that it does not.
    """

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _take_exactly(schema)
        return schema


class NoBody(Body):
    """Of a route that is sent nothing: no body, or an empty object."""


NOTHING = NoBody()


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
    """Tokens, counted once per model response; null: not known. The first four never overlap and make the total."""

    input_tokens: int | None = Field(description="without those that were read from or written to a cache")
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None = Field(description="the part of `output_tokens` that was reasoning")
    total_tokens: int | None

    @classmethod
    def from_row(cls, counted: Counted) -> Usage:
        return cls(**{name: getattr(counted, name) for name in cls.model_fields})


class Cost(BaseModel):
    """Money. With unpriced tokens the amount is a lower bound."""

    amount: str | None = Field(description="decimal string; null: not known")
    currency: Literal["USD"] = "USD"
    basis: Basis = Field(description="recorded: as the recorder states it; priced: by the price list; mixed: both")
    unpriced_tokens: int = Field(description="tokens of models without a known price")

    @classmethod
    def from_row(cls, spent: Spent) -> Cost:
        return cls(
            amount=dollars(spent.cost_amount), basis=spent.cost_basis, unpriced_tokens=spent.unpriced_tokens or 0
        )

    @classmethod
    def with_tools(cls, spent: models.Session | models.Turn) -> Cost:
        """Of a session or a turn: its model responses and its tool calls, as far as those were noted."""
        basis = "priced" if spent.tool_cost is not None and spent.cost_basis == "none" else spent.cost_basis
        return cls(amount=dollars(spent.whole_cost), basis=basis, unpriced_tokens=spent.unpriced_tokens or 0)

    @classmethod
    def from_model_request(cls, request: models.ModelRequest) -> Cost:
        """Of one model response: what the recorder stated, else the price, else unpriced."""
        if request.cost_recorded is not None:
            return cls(amount=dollars(request.cost_recorded), basis="recorded", unpriced_tokens=0)
        if request.cost_priced is not None:
            return cls(amount=dollars(request.cost_priced), basis="priced", unpriced_tokens=0)
        return cls(amount=None, basis="none", unpriced_tokens=request.total_tokens or 0)


class Covered(BaseModel):
    first_seq: int
    last_seq: int


class Signature(BaseModel):
    """The signature of the file that something came from. ``valid`` alone means verified and trusted."""

    covers: Covered | None = Field(
        None,
        description="the events of the session that the signature was verified for, and no others; null: none, or an "
        "import of several sessions, each of which has its own",
    )

    state: Literal["valid", "valid_untrusted", "valid_expired", "invalid", "uncheckable", "unsigned", "encrypted"]
    signer: str | None
    detail: str


class AgentName(BaseModel):
    id: UUID
    name: str
