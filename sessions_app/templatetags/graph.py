"""Decisions and evidence in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from django import template
from django.utils.translation import gettext_lazy as _

register = template.Library()
WORDS = {
    "proposed": _("proposed"), "reviewing": _("under review"), "approved": _("approved"), "rejected": _("rejected"),
    "deprecated": _("deprecated"), "strategic": _("strategic"), "product": _("product"),
    "engineering": _("engineering"), "design": _("design"), "business": _("business"), "other": _("other"),
    "supports": _("supports it"), "refutes": _("speaks against it"), "neutral": _("neutral"),
    "quantitative": _("quantitative"), "qualitative": _("qualitative"), "anecdotal": _("anecdotal"),
    "expert_opinion": _("opinion of an expert"), "experiment_run": _("experiment"), "observation": _("observation"),
    "quote": _("quote"), "metric_change": _("change of a metric"), "market_data": _("data of the market"),
    "interview": _("interview"),
}  # fmt: skip
FIELDS = {
    "rationale": _("Rationale"), "layer": _("Layer"), "context": _("Context"),
    "options_considered": _("Options considered"), "decision_outcome": _("Outcome"),
    "consequences": _("Consequences"), "decision_makers": _("Who decided, it says"),
    "decision_drivers": _("What drove it"), "date": _("Date"), "summary": _("Summary"), "quote": _("Quote"),
    "source": _("Source"), "evidence_rigor": _("How rigorous"), "evidence_source": _("Kind of evidence"),
}  # fmt: skip
"""Fields of a product graph in the words of the forms; others stand as their file names them."""


@register.filter
def field_word(name: str) -> str:
    """What a field of a decision or of evidence is called on pages."""
    return str(FIELDS.get(name, name))


@register.filter
def status_word(value: str) -> str:
    """A word of the catalog for people."""
    return str(WORDS.get(value, value))


@register.filter
def next_of(transitions: Mapping[str, tuple[str, ...]], status: str) -> tuple[str, ...]:
    """What a decision of this status may become."""
    return transitions.get(status, ())


@register.filter
def told_value(value: Any) -> str:
    """A field as text: the items of a list on lines of their own."""
    if isinstance(value, list):
        return "\n".join(told_value(one) for one in value)
    return value if isinstance(value, str) else orjson.dumps(value).decode()


@register.filter
def of_form(entered: Mapping[str, Any], form: str) -> Mapping[str, Any]:
    """What a form begins with: all that was entered in it, or the event alone that the page was opened for."""
    return (
        entered
        if entered.get("form") == form
        else {"first_seq": entered.get("opened"), "last_seq": entered.get("opened")}
    )


@register.filter
def errors_of(entered: Mapping[str, Any], form: str) -> Mapping[str, str]:
    """What was wrong in a form, by field."""
    return entered.get("errors", {}) if entered.get("form") == form else {}
