"""Wallets, the entries that their balances are sums of, and budgets."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.queries.money import budgets as budget_queries
from sessions_app.queries.money import ledger as queries
from sessions_app.services.money import budgets, ledger

from . import schemas
from .auth import admin, reader
from .idempotency import once
from .paging import Cursor, Limit, Page, keyset
from .parsing import reply
from .problems import not_found

router = Router(tags=["money"])
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
    def of(cls, wallet: queries.WalletState) -> WalletState:
        by_source = {source: schemas.dollars(amount) for source, amount in wallet.by_source.items()}
        balance = schemas.dollars(wallet.balance)
        return cls(kind=wallet.kind, limited=wallet.limited, balance=balance, by_source=by_source)


class Entry(BaseModel):
    """One line of the ledger. Lines are only ever added."""

    id: UUID
    at: datetime
    kind: Literal["usage", "credit", "expiry", "correction"]
    source: Source
    amount: str = Field(description="positive in, negative out")
    balance: str = Field(description="of the wallet, after this line")
    event: str = Field(description="turn:SESSION:TURN, call:SESSION:SEQ, credit:ID, expiry:ID")
    session_id: UUID | None
    by: str
    note: str

    @classmethod
    def of(cls, entry: models.LedgerEntry) -> Entry:
        same = ("id", "at", "kind", "source", "event", "session_id", "by", "note")
        amounts = {name: schemas.dollars(getattr(entry, name)) for name in ("amount", "balance")}
        return cls(**{name: getattr(entry, name) for name in same}, **amounts)


class NewCredit(BaseModel):
    source: Source
    amount: Annotated[Amount, Field(gt=0)]
    note: Annotated[str, Field(max_length=1_000)] = ""


class NewBudget(BaseModel):
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
    def of(cls, standing: budget_queries.Standing) -> Budget:
        budget = standing.budget
        return cls(
            id=budget.id, agent=budget.agent_id, session=budget.session_id, period=budget.period,
            amount=schemas.dollars(budget.amount), spent=schemas.dollars(standing.spent), used_up=standing.used_up,
        )  # fmt: skip


@router.get("/wallets", auth=reader, response=Page[WalletState])
def list_wallets(request: HttpRequest) -> HttpResponse:
    """What is left in both wallets, by source."""
    states = queries.wallets(request.auth.workspace.id)
    return reply(Page(items=[WalletState.of(state) for state in states], next_cursor=None))


@router.get("/wallets/{kind}/entries", auth=reader, response=Page[Entry])
def list_entries(request: HttpRequest, kind: Kind, limit: Limit, cursor: Cursor) -> HttpResponse:
    """What went in and out, the newest first, with the balance after each."""
    found = queries.entries(request.auth.workspace.id, kind)
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    return reply(Page(items=[Entry.of(row) for row in queries.with_balance(found, rows)], next_cursor=next_cursor))


@router.post("/wallets/{kind}/credits", auth=admin, response={201: WalletState})
@once
def create_credit(request: HttpRequest, kind: Kind, credit: NewCredit) -> HttpResponse:
    """Put money in. Send an `Idempotency-Key`: without one, the same again puts the same in again."""
    wallet = ledger.wallet_of(request.auth.workspace.id, kind)
    ledger.credit(wallet, credit.source, credit.amount, by=request.auth.actor, note=credit.note)
    state = next(state for state in queries.wallets(request.auth.workspace.id) if state.kind == kind)
    return reply(WalletState.of(state), 201)


@router.get("/budgets", auth=reader, response=Page[Budget])
def list_budgets(
    request: HttpRequest, limit: Limit, cursor: Cursor, agent: UUID | None = None, session: UUID | None = None
) -> HttpResponse:
    """The newest first, with what was spent of each; of an agent or a session only where one is named."""
    about = {name: value for name, value in (("agent", agent), ("session", session)) if value}
    workspace_id = request.auth.workspace.id
    rows, next_cursor = keyset(budget_queries.of(workspace_id, **about), "id", limit, cursor, UUID)
    items = [Budget.of(standing) for standing in budget_queries.standings(workspace_id, rows)]
    return reply(Page(items=items, next_cursor=next_cursor))


@router.put("/budgets", auth=admin, response=Budget)
def put_budget(request: HttpRequest, budget: NewBudget) -> HttpResponse:
    """Set what an agent, a session or the workspace may spend in a day or in all; replaces the one there was."""
    about = {
        "agent": _own(request, models.Agent, budget.agent),
        "session": _own(request, models.Session, budget.session),
    }
    kept = budgets.put(request.auth.workspace.id, budget.amount, budget.period, by=request.auth.actor, **about)
    return reply(Budget.of(budget_queries.Standing(kept, budget_queries.spent_of(kept))))


@router.delete("/budgets/{uuid:budget_id}", auth=admin, response={204: None})
def delete_budget(request: HttpRequest, budget_id: UUID) -> HttpResponse:
    """Let spending go on without it."""
    budgets.remove(_own(request, models.Budget, budget_id), by=request.auth.actor)
    return HttpResponse(status=204)


def _own(request: HttpRequest, model: type, id_: UUID | None) -> models.Agent | models.Session | models.Budget | None:
    """The row of the workspace; None for None, 404 for another workspace's."""
    if id_ is None:
        return None
    found = model.objects.filter(workspace=request.auth.workspace, pk=id_).first()
    if found is None:
        raise not_found(model._meta.model_name)
    return found
