"""Filters of the pages of imports."""

from __future__ import annotations

from django import template

from sessions_app.rendering import numbers
from vcon_app import registry
from vcon_app.models import Import
from vcon_app.services.documents import archives

register = template.Library()


@register.filter
def format_title(name: str) -> str:
    """A format's name for people; the bare name when the format is not installed any more."""
    if name == archives.NAME:
        return archives.TITLE
    format = registry.all_formats().get(name)
    return format.SPEC.title if format else name


@register.filter
def percent(progress: float) -> int:
    return round(progress * 100)


@register.filter
def reading_time(imported: Import) -> str:
    """How long the worker was at it."""
    return numbers.duration((imported.finished_at - imported.started_at).total_seconds() * 1000)
