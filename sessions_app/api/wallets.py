"""Wallets, the entries that their balances are sums of, and budgets."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app import models
from sessions_app.queries.money import budgets as budget_queries
from sessions_app.queries.money import ledger as queries
from sessions_app.services.money import budgets, ledger

from .auth import admin, noun_of, reader
from .idempotency import once
from .paging import Cursor, Limit, Page, behind, keyset
from .parsing import reply
from .problems import not_found
from .schemas.wallets import Budget, Entry, Kind, NewBudget, NewCredit, WalletState

router = Router(tags=["money"])
OfAgent = Annotated[UUID | None, Query(None, description="id of an agent: its own budgets alone")]
OfSession = Annotated[UUID | None, Query(None, description="id of a session: its own budgets alone")]


@router.get("/wallets", auth=reader, response=Page[WalletState])
def list_wallets(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List both wallets with their balances, also by source."""
    states = queries.wallets(request.auth.workspace.id)
    rows, next_cursor = behind(states, attrgetter("kind"), limit, cursor)
    return reply(Page(items=[WalletState.from_row(state) for state in rows], next_cursor=next_cursor))


@router.get("/wallets/{kind}/entries", auth=reader, response=Page[Entry])
def list_entries(request: HttpRequest, kind: Kind, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the ledger entries of a wallet, newest first, each with the balance after it."""
    found = queries.entries(request.auth.workspace.id, kind)
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    return reply(
        Page(items=[Entry.from_row(row) for row in queries.with_balance(found, rows)], next_cursor=next_cursor)
    )


@router.post("/wallets/{kind}/credits", auth=admin, response={201: WalletState})
@once
def create_credit(request: HttpRequest, kind: Kind, credit: NewCredit) -> HttpResponse:
    """Put money into a wallet. Without an `Idempotency-Key` a repeat puts the same amount in again."""
    wallet = ledger.wallet_of(request.auth.workspace.id, kind)
    ledger.credit(wallet, credit.source, credit.amount, by=request.auth.actor, note=credit.note)
    state = next(state for state in queries.wallets(request.auth.workspace.id) if state.kind == kind)
    return reply(WalletState.from_row(state), 201)


@router.get("/budgets", auth=reader, response=Page[Budget])
def list_budgets(
    request: HttpRequest, limit: Limit, cursor: Cursor, agent: OfAgent, session: OfSession
) -> HttpResponse:
    """List budgets with what was spent of each, newest first: all, or those of the `agent` or `session`
    that is named.
    """
    about = {name: value for name, value in (("agent", agent), ("session", session)) if value}
    workspace_id = request.auth.workspace.id
    rows, next_cursor = keyset(budget_queries.budgets_of(workspace_id, **about), "id", limit, cursor, UUID)
    items = [Budget.from_row(state) for state in budget_queries.budget_states(workspace_id, rows)]
    return reply(Page(items=items, next_cursor=next_cursor))


@router.put("/budgets", auth=admin, response=Budget)
def put_budget(request: HttpRequest, budget: NewBudget) -> HttpResponse:
    """Set the budget of a session, an agent or the workspace for a day (UTC) or in all, in place of the
    one there was.
    """
    about = {
        "agent": _row_of_workspace(request, models.Agent, budget.agent),
        "session": _row_of_workspace(request, models.Session, budget.session),
    }
    kept = budgets.set_budget(request.auth.workspace.id, budget.amount, budget.period, by=request.auth.actor, **about)
    return reply(Budget.from_row(budget_queries.BudgetState(kept, budget_queries.spent_of(kept))))


@router.delete("/budgets/{uuid:budget_id}", auth=admin, response={204: None})
def delete_budget(request: HttpRequest, budget_id: UUID) -> HttpResponse:
    """Delete a budget: spending is no longer limited by it."""
    budgets.remove(_row_of_workspace(request, models.Budget, budget_id), by=request.auth.actor)
    return HttpResponse(status=204)


def _row_of_workspace(
    request: HttpRequest, model: type, id_: UUID | None
) -> models.Agent | models.Session | models.Budget | None:
    """Row of the request's workspace; None for None, 404 for another workspace's."""
    if id_ is None:
        return None
    found = model.objects.filter(workspace=request.auth.workspace, pk=id_).first()
    if found is None:
        raise not_found(noun_of(model))
    return found
