"""Wallets, ledger entries and budgets: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.queries.money import budgets as budget_queries
from sessions_app.queries.money import ledger as queries
from sessions_app.services.money import ledger

from .common import Body, dollars

Kind = Literal["ai", "data"]
Source = Literal["subscription", "purchased", "trial"]
Amount = Annotated[Decimal, Field(ge=0, le=ledger.MOST, decimal_places=4)]


class WalletState(BaseModel):
    """Amounts are US dollars; below zero is owed."""

    kind: Kind
    limited: bool = Field(description="whether money was ever put in: from then on an empty AI wallet stops new turns")
    balance: str
    by_source: dict[Source, str] = Field(description="in the order in which they are drained")

    @classmethod
    def from_row(cls, wallet: queries.WalletState) -> WalletState:
        by_source = {source: dollars(amount) for source, amount in wallet.by_source.items()}
        balance = dollars(wallet.balance)
        return cls(kind=wallet.kind, limited=wallet.limited, balance=balance, by_source=by_source)


class Entry(BaseModel):
    """One line of the ledger. Lines are only ever added."""

    id: UUID
    at: datetime
    kind: Literal["usage", "credit", "expiry", "correction"]
    source: Source
    amount: str = Field(description="positive in, negative out")
    balance: str = Field(description="of the wallet, after this line")
    event: str = Field(description="turn:SESSION:TURN, call:SESSION:SEQ, retention:ID, credit:ID, expiry:ID")
    session_id: UUID | None
    by: str
    note: str

    @classmethod
    def from_row(cls, entry: models.LedgerEntry) -> Entry:
        same = ("id", "at", "kind", "source", "event", "session_id", "by", "note")
        amounts = {name: dollars(getattr(entry, name)) for name in ("amount", "balance")}
        return cls(**{name: getattr(entry, name) for name in same}, **amounts)


class NewCredit(Body):
    source: Source
    amount: Annotated[Amount, Field(gt=0)]
    note: Annotated[str, Field(max_length=1_000)] = ""


class NewBudget(Body):
    """Of a session, else of an agent, else of the workspace."""

    amount: Amount
    period: Literal["day", "all"] = "day"
    agent: UUID | None = None
    session: UUID | None = None


class Budget(BaseModel):
    """US dollars, and how many of them turns and tool calls took in the present period (days are UTC)."""

    id: UUID
    agent: UUID | None
    session: UUID | None
    period: Literal["day", "all"]
    amount: str
    spent: str
    used_up: bool

    @classmethod
    def from_row(cls, state: budget_queries.BudgetState) -> Budget:
        budget = state.budget
        return cls(
            id=budget.id, agent=budget.agent_id, session=budget.session_id, period=budget.period,
            amount=dollars(budget.amount), spent=dollars(state.spent), used_up=state.used_up,
        )  # fmt: skip
