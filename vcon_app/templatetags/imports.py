"""Filters of the pages of imports."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings

from sessions_app.models import Agent, Session
from sessions_app.rendering import numbers
from vcon_app import registry
from vcon_app.models import Import
from vcon_app.queries import imports
from vcon_app.services.documents import archives

register = template.Library()


@register.inclusion_tag("imports/_drop.html", takes_context=True)
def drop_zone(context: template.Context, short: bool = False) -> dict[str, Any]:
    """The form by which files come in; ``short`` leaves the choices out."""
    agents = Agent.objects.filter(workspace=context["workspace"]).order_by("name")
    return {
        "csrf_token": context["csrf_token"],
        "formats": [(name, format.SPEC.title) for name, format in sorted(registry.readers().items())],
        "agents": [] if short else agents.only("name", "slug")[:500],
        "limit": settings.MAX_UPLOAD_BYTES,
        "short": short,
    }


@register.filter
def sentence(imported: Import) -> str:
    """What came of the file; a row is no place for the names of all formats."""
    return imports.sentence(imported).partition(registry.KNOWN)[0]


@register.filter
def format_title(name: str) -> str:
    """A format's name for people; the bare name when the format is not installed any more."""
    if name == archives.NAME:
        return archives.TITLE
    format = registry.all_formats().get(name)
    return format.SPEC.title if format else name


@register.filter
def sessions(imported: Import) -> list[Session]:
    """The sessions of an import, each once."""
    return imports.sessions_of(imported)


@register.filter
def percent(progress: float) -> int:
    return round(progress * 100)


@register.simple_tag
def took(imported: Import) -> str:
    """How long the worker was at it."""
    return numbers.duration((imported.finished_at - imported.started_at).total_seconds() * 1000)
