"""Numbers of two versions of an agent, and what differs between them."""

from __future__ import annotations

from collections.abc import Callable

from django import template
from django.utils.translation import gettext

from sessions_app.rendering import numbers

register = template.Library()
UNITS: dict[str, Callable[[float], str]] = {
    "dollars": lambda value: f"${value:,.4f}" if value < 1 else f"${value:,.2f}",
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
    return sign + UNITS[unit](abs(value))
