"""Wallets with their ledgers, and budgets. Everybody reads them; admins change them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from sessions_app.ids import uuid7
from sessions_app.models import Budget, LedgerEntry, Role, Wallet
from sessions_app.queries.money import budgets as budget_queries
from sessions_app.queries.money import ledger as queries
from sessions_app.rendering import numbers
from sessions_app.services.money import budgets, ledger

from .. import access
from ..labels import label
from ..pages import chosen, page_or_fragment, wants_fragment
from ..tables import CSV_ROWS, before, csv_response, uuid_in
from .usage import agent_choices

ENTRY_HEAD = ("time", "kind", "source", "amount USD", "balance USD", "for", "session", "by", "note")


class CreditForm(forms.Form):
    source = forms.ChoiceField(choices=LedgerEntry.Source.choices, initial=LedgerEntry.Source.PURCHASED)
    amount = forms.DecimalField(min_value=Decimal("0.0001"), max_value=ledger.MOST, decimal_places=4)
    note = forms.CharField(max_length=1_000, required=False)


class BudgetForm(forms.Form):
    period = forms.ChoiceField(choices=Budget.Period.choices)
    amount = forms.DecimalField(min_value=0, max_value=budgets.MOST, decimal_places=4)
    agent = forms.CharField(max_length=500, required=False)
    session = forms.UUIDField(required=False)


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """``?wallet=`` says whose entries are listed, ``?before=`` pages them."""
    return page(request)


def page(request: access.DeskRequest, status: int = 200, **shown: Any) -> HttpResponse:
    """The page; ``shown`` has a form with its errors."""
    workspace_id = request.member.workspace_id
    kind = chosen(request.GET, "wallet", Wallet.Kind.values, Wallet.Kind.AI.value)
    found = queries.entries(workspace_id, kind)
    entries, more = before(found, request.GET)
    context = {
        "kind": kind, "entries": queries.with_balance(found, entries), "more": more,
        "can_change": request.member.role == Role.ADMIN,
    }  # fmt: skip
    if not wants_fragment(request) or shown:
        context |= {
            "wallets": queries.wallets(workspace_id), "sources": LedgerEntry.Source.choices, **_budgets(workspace_id),
            "agents": agent_choices(request), "credit_form": CreditForm(), **shown,
        }  # fmt: skip
    return page_or_fragment(request, "usage/wallets.html", "usage/_entries.html", context, status=status)


def _budgets(workspace_id: UUID) -> dict[str, Any]:
    found = budget_queries.budgets_of(workspace_id)
    listed = list(found[: budget_queries.SHOWN])
    more = found.count() - len(listed) if len(listed) == budget_queries.SHOWN else 0
    return {"budgets": budget_queries.budget_states(workspace_id, listed), "more_budgets": more}


@require_safe
@access.viewer
def entries_csv(request: access.DeskRequest, kind: str) -> HttpResponse:
    """The newest 100,000 entries with the balance after each."""
    rows = queries.every_balance(queries.entries(request.member.workspace_id, _kind(kind)), CSV_ROWS)
    return csv_response(f"wallet-{kind}.csv", ENTRY_HEAD, map(_entry_cells, rows))


def _entry_cells(entry: LedgerEntry) -> tuple[Any, ...]:
    session = str(entry.session_id) if entry.session_id else None
    money = (entry.kind, entry.source, entry.amount, entry.balance)
    return (entry.at, *money, entry.event, session, entry.by, entry.note)


@require_POST
@access.admin
def credit(request: access.DeskRequest, kind: str) -> HttpResponse:
    """Credit a wallet: asks first; with ``confirmed`` it is done once, however often the button is pressed."""
    form = CreditForm(request.POST)
    if not form.is_valid():
        return page(request, 422, credit_form=form, credit_kind=_kind(kind))
    wallet = ledger.wallet_of(request.member.workspace_id, _kind(kind))
    entered = form.cleaned_data
    token = uuid_in(request.POST.get("confirmed", ""))
    if token is None:
        left = ledger.balance(wallet)
        context = {"wallet": wallet, "entered": entered, "token": uuid7(), "left": left}
        return render(request, "usage/credit.html", context | {"after": left + entered["amount"]})
    by, event = access.actor(request), f"credit:{token}"
    ledger.credit(wallet, entered["source"], entered["amount"], by=by, note=entered["note"], event=event)
    amount = numbers.money(entered["amount"])
    messages.success(
        request,
        gettext("%(amount)s (%(source)s) were added to the %(wallet)s wallet.")
        % {"amount": amount, "source": label(entered["source"]), "wallet": label(wallet.get_kind_display())},
    )
    return redirect(f"{reverse('wallets')}?wallet={kind}")


@require_POST
@access.admin
def set_budget(request: access.DeskRequest) -> HttpResponse:
    """Of a session, else of an agent (its slug), else of the workspace; goes back to ``next``."""
    form = BudgetForm(request.POST)
    if not form.is_valid():
        return page(request, 422, budget_form=form)
    entered = form.cleaned_data
    agent = access.agent_read(request, entered["agent"]) if entered["agent"] else None
    session = access.session_read(request, entered["session"]) if entered["session"] else None
    by = access.actor(request)
    budgets.set_budget(
        request.member.workspace_id, entered["amount"], entered["period"], by=by, agent=agent, session=session
    )
    messages.success(request, gettext("The budget is %(amount)s now.") % {"amount": numbers.money(entered["amount"])})
    return _back(request)


@require_POST
@access.admin
def remove_budget(request: access.DeskRequest, budget_id: UUID) -> HttpResponse:
    budgets.remove(access.one(Budget.objects.select_related("agent"), request, budget_id), by=access.actor(request))
    messages.success(request, gettext("The budget was removed."))
    return _back(request)


def _kind(kind: str) -> str:
    if kind not in Wallet.Kind.values:
        raise Http404(gettext("There are two wallets: ai and data."))
    return kind


def _back(request: access.DeskRequest) -> HttpResponse:
    """Redirect to the page that the form stood on."""
    return redirect(access.path_here(request.POST.get("next", "")) or f"{reverse('wallets')}#budgets")
