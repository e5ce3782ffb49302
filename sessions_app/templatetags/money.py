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
    if not entry.session:
        return ""
    place = place_of(entry)
    turn = f"#t-{place.removeprefix('?turn=')}" if place.startswith("?turn=") else ""
    return event_url(entry.session, None) + place + turn


@register.filter
def entry_words(entry: LedgerEntry) -> str:
    """``turn 3``, ``event 87``, or what else the entry is: ``credit``."""
    return place_of(entry).removeprefix("?").replace("=", " ") or entry.kind
