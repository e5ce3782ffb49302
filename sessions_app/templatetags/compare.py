"""Numbers of two versions of an agent, and what differs between them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from django import template
from django.utils.html import format_html
from django.utils.translation import gettext

from sessions_app.rendering import numbers

register = template.Library()
MICRO_DOLLAR = Decimal("0.000001")


def _dollars(value: float) -> str:
    """As all money, with what a mean is behind the cents in the title."""
    mean = Decimal(value).quantize(MICRO_DOLLAR)
    return format_html('<span title="{}">{}</span>', numbers.dollars(mean), numbers.money(mean))


UNITS: dict[str, Callable[[float], str]] = {
    "dollars": _dollars,
    "tokens": lambda value: f"{value:,.0f}",
    "seconds": lambda value: numbers.duration(value * 1000),
    "number": lambda value: f"{value:,.1f}",
    "share": lambda value: f"{100 * value:.0f} %",
}


@register.filter
def measured(value: float | None, unit: str) -> str:
    """A mean or share in its unit; a dash where it is unknown."""
    return "—" if value is None else UNITS[unit](value)


@register.filter
def measured_difference(value: float | None, unit: str) -> str:
    """A difference with its sign, shares in points."""
    if value is None:
        return "—"
    sign = "+" if value > 0 else "\u2212" if value < 0 else "\u00b1"
    if unit == "share":
        return gettext("%(points)s points") % {"points": f"{sign}{100 * abs(value):.0f}"}
    return format_html("{}{}", sign, UNITS[unit](abs(value)))
