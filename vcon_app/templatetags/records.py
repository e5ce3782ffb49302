"""What the pages of sessions show of files: where events came from, and the ways to take a session along."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils import timezone

from sessions_app.models import Event, Role, Session
from vcon_app import registry
from vcon_app.drafts import Option
from vcon_app.queries import export_log, imports, legal_basis, provenance, sources
from vcon_app.services.documents import event_bytes
from vcon_app.services.exports import export_options
from vcon_app.services.trust import recipients

register = template.Library()


@register.inclusion_tag("sources/_export_menu.html", takes_context=True)
def export_menu(context: template.Context, session: Session) -> dict[str, Any]:
    """The ways to take a session away, what can be chosen for each, and whether its legal basis lets it go."""
    bases = legal_basis.bases_of(session, timezone.now())
    signed, sealed = export_options.signed_formats(), export_options.encrypting_formats()
    ways = [
        {
            "name": name,
            "title": _title(name),
            "is_signed": name in signed,
            "is_sealed": name in signed and name in sealed,
            "options": [_option(option) for option in export_options.options_of(name)],
        }
        for name in export_options.formats_of(session)
    ]
    return {
        "session": session,
        "ways": ways,
        "recipients": recipients.candidates(session.workspace_id) if any(way["is_sealed"] for way in ways) else [],
        "goes_on": export_options.goes_on(session),
        "bases": bases,
        "handing_on": legal_basis.redistribution_state(bases),
        "taken": export_log.summary_of(session.pk),
        "may_redact": context["member"].role != Role.VIEWER,
    }


def _option(option: Option) -> dict[str, Any]:
    return {"name": option.name, "title": option.title, "choices": option.choices, "detail": option.detail}


def _title(name: str) -> str:
    return "the file as it came in" if name == export_options.ORIGINAL else registry.get(name).SPEC.title


@register.inclusion_tag("sources/_taken.html")
def taken_away(session: Session) -> dict[str, Any]:
    """Who took the session away, when, and in which form."""
    found = list(export_log.exports_of(session.pk)[: export_log.SHOWN + 1])
    return {"session": session, "taken": found[: export_log.SHOWN], "more": len(found) > export_log.SHOWN}


@register.simple_tag
def signature_of(session: Session) -> dict[str, Any] | None:
    """That of the documents the session was read from, as the API gives it; None for one that came from no file."""
    found = provenance.provenance_of([session.pk]).get(session.pk)
    return found.signature if found else None


@register.inclusion_tag("sources/_line.html")
def source_line(session: Session, signature: dict[str, Any] | None) -> dict[str, Any]:
    """Signature, import and number of findings, for the head of the page."""
    link = sources.links_of(session.pk).defer(None).first()
    remarks = len(sources.findings_of(link)) if link else 0
    is_of_another = bool(link and signature) and link.signature.get("state", "unsigned") != signature["state"]
    return {
        "link": link, "remarks": remarks, "session": session, "signature": signature, "is_of_another": is_of_another,
    }  # fmt: skip


@register.simple_tag
def signed_file(session: Session, signature: dict[str, Any]) -> str:
    """Which of the files of a session has this signature, first of those that gave events; empty where one is all."""
    found = sorted(sources.links_of(session.pk), key=lambda link: not link.events)
    named = (link.member or link.imported.filename for link in found if link.signature == signature)
    return next(named, "") if len(found) > 1 else ""


@register.inclusion_tag("sources/_facts.html")
def source_facts(session: Session) -> dict[str, Any]:
    """Every import of the session, with its findings by rule."""
    found = [
        (link, imports.grouped(sources.findings_of(link))) for link in sources.links_of(session.pk).defer(None)[:20]
    ]
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
        return {"session": session, "event": event, "link": link, "found": event_bytes.read(event, link.document)}
    except event_bytes.NotShown as reason:
        return {"session": session, "event": event, "link": link, "problem": str(reason)}
