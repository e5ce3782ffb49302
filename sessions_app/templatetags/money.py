"""Where entries of a ledger lead."""

from __future__ import annotations

from django import template

from sessions_app.models import LedgerEntry
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
