"""Where entries of a ledger lead, and the budgets of one session for its page."""

from __future__ import annotations

from typing import Any

from django import template

from sessions_app.models import LedgerEntry, Role, Session
from sessions_app.queries.money import budgets
from sessions_app.queries.money.ledger import place_of
from sessions_app.views.session.addresses import event_url

register = template.Library()


@register.filter
def entry_url(entry: LedgerEntry) -> str:
    """The turn or call that an entry pays for, in its session; "" when there is none, or it was erased."""
    return event_url(entry.session, None) + place_of(entry) if entry.session else ""


@register.filter
def entry_words(entry: LedgerEntry) -> str:
    """``turn 3``, ``event 87``, or what else the entry is: ``credit``."""
    return place_of(entry).removeprefix("?").replace("=", " ") or entry.kind


@register.inclusion_tag("usage/_budget.html", takes_context=True)
def session_budgets(context: template.Context, session: Session) -> dict[str, Any]:
    """Budgets of a session, with the form of an admin to set one."""
    found = budgets.budgets_of(session.workspace_id, session=session.pk)
    return {
        "budgets": budgets.budget_states(session.workspace_id, found),
        "can_change": context["member"].role == Role.ADMIN,
        "of_session": session,
        "next": event_url(session, None),
    }
