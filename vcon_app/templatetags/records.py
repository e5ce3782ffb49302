"""What the pages of sessions show of files: where events came from, and the ways to take a session along."""

from __future__ import annotations

from typing import Any

from django import template

from sessions_app.models import Event, Session
from vcon_app import registry
from vcon_app.queries import imports, provenance, sources
from vcon_app.services import exports, records

register = template.Library()
HANDING_ON = "agent_session_redistribution"


@register.inclusion_tag("sources/_export_menu.html")
def export_menu(session: Session) -> dict[str, Any]:
    """The formats a session can be taken away in."""
    names = exports.formats_of(session)
    return {
        "session": session,
        "formats": [(name, _title(name)) for name in names],
        "signed": [(name, _title(name)) for name in exports.signed_formats()],
        "handing_on": _handing_on(session),
    }


def _handing_on(session: Session) -> str:
    """Whether the file's legal basis lets the session be handed on: granted, denied, or "" where it says nothing.

    draft-howe-vcon-agent-session names the purpose; a denial anywhere in the file counts.
    """
    told = session.metadata.get("lawful_basis")
    bases = [basis for basis in told if isinstance(basis, dict)] if isinstance(told, list) else []
    grants = [grant for basis in bases for grant in basis.get("purpose_grants") or () if isinstance(grant, dict)]
    said = {grant.get("granted") for grant in grants if grant.get("purpose") == HANDING_ON}
    return "denied" if False in said else "granted" if True in said else ""


def _title(name: str) -> str:
    return "the file as it came in" if name == exports.ORIGINAL else registry.get(name).TITLE


@register.simple_tag
def signature_of(session: Session) -> dict[str, Any] | None:
    """That of the documents the session was read from, as the API gives it; None for one that came from no file."""
    found = provenance.of([session.pk]).get(session.pk)
    return found.signature if found else None


@register.inclusion_tag("sources/_line.html")
def source_line(session: Session, signature: dict[str, Any] | None) -> dict[str, Any]:
    """Signature, import and number of findings, for the head of the page."""
    return {"link": sources.links(session.pk).first(), "session": session, "signature": signature}


@register.inclusion_tag("sources/_facts.html")
def source_facts(session: Session) -> dict[str, Any]:
    """Every import of the session, with its findings by rule."""
    found = [(link, imports.grouped(link.imported.findings)) for link in sources.links(session.pk).defer(None)[:20]]
    return {"imports": found, "session": session}


@register.inclusion_tag("sources/_event.html")
def event_source(session: Session, event: Event) -> dict[str, Any]:
    """The document an event was read from, the place in it, and what was found odd there."""
    link = sources.link_of(event)
    return {
        "session": session,
        "event": event,
        "link": link,
        "findings": sources.findings_at(link, event.pointer) if link else [],
    }


@register.inclusion_tag("sources/_record.html")
def source_bytes(session: Session, event: Event) -> dict[str, Any]:
    """The record of an event, read from its document; of an event from no file nothing."""
    link = sources.link_of(event)
    if link is None:
        return {"session": session, "event": event, "link": None}
    try:
        return {"session": session, "event": event, "link": link, "found": records.read(event, link.document)}
    except records.NotShown as reason:
        return {"session": session, "event": event, "link": link, "problem": str(reason)}
