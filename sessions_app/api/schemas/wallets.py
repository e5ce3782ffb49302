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
from sessions_app.services.money import budgets, ledger

from .common import Body, dollars

Kind = Literal["ai", "data"]
Source = Literal["subscription", "purchased", "trial"]


class WalletState(BaseModel):
    """A wallet. Amounts are US dollars; a balance below zero is owed."""

    kind: Kind
    limited: bool = Field(
        description="whether money was ever put in; from then on an empty AI wallet stops new turns, and calls that "
        "the data wallet cannot pay for are refused"
    )
    balance: str
    by_source: dict[Source, str] = Field(description="in the order in which they are drained")

    @classmethod
    def from_row(cls, wallet: queries.WalletState) -> WalletState:
        by_source = {source: dollars(amount) for source, amount in wallet.by_source.items()}
        balance = dollars(wallet.balance)
        return cls(kind=wallet.kind, limited=wallet.limited, balance=balance, by_source=by_source)


class Entry(BaseModel):
    """An entry of the ledger. Entries are only ever added."""

    id: UUID
    at: datetime
    kind: Literal["usage", "credit", "expiry", "correction"]
    source: Source
    amount: str = Field(description="US dollars: positive in, negative out")
    balance: str = Field(description="of the wallet, after this entry")
    event: str = Field(
        description="what it is for: turn:SESSION:TURN, call:SESSION:SEQ, retention:ID, credit:ID, expiry:ID"
    )
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
    amount: Annotated[Decimal, Field(gt=0, le=ledger.MOST, decimal_places=4, description="US dollars")]
    note: Annotated[str, Field(max_length=1_000)] = ""


class NewBudget(Body):
    """The budget of a session, where one is named; else of an agent, where one is named; else of the workspace."""

    amount: Annotated[
        Decimal, Field(ge=0, le=budgets.MOST, decimal_places=4, description="US dollars; 0 stops every new turn")
    ]
    period: Literal["day", "all"] = Field("day", description="day: each day in UTC; all: from the beginning, for ever")
    agent: UUID | None = None
    session: UUID | None = None


class Budget(BaseModel):
    """How many US dollars may be spent, and what turns and tool calls have cost so far in the period."""

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
