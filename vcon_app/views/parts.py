"""Parts of the desk's pages that this app fills: see ``sessions_app/extensions.py`` and ``apps.py``."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy

from sessions_app.extensions import Part
from sessions_app.models import Agent, Event, Role, Session
from sessions_app.views.access import DeskRequest
from vcon_app import registry
from vcon_app.models import Sharing
from vcon_app.queries import export_log, imports, legal_basis, registrations, share_links, sources
from vcon_app.services.documents import event_bytes
from vcon_app.services.exports import export_options
from vcon_app.services.trust import own_keys, recipients
from vcon_app.signing.algorithms import kind_of
from vcon_app.signing.keys import BadKey, fingerprint

LISTED_AGENTS = 500
LISTED_IMPORTS = 20
LISTED_SHARES = 10

Signature = dict[str, Any]
"""With state, signer and detail, as the API gives it."""


FIRST = {
    "html": (gettext_lazy("Share a page"), gettext_lazy("one file that opens in any browser, offline")),
    "bundle": (gettext_lazy("Hand over"), gettext_lazy("a signed bundle that anyone can verify")),
    export_options.ORIGINAL: (gettext_lazy("Original file"), gettext_lazy("the bytes as they came in")),
}
"""What nearly everybody wants, in words; the other formats are behind these."""


def export_menu(request: DeskRequest, session: Session) -> Part:
    """The ways to take a session away that nearly everybody wants, and whether its legal basis lets it go."""
    names = export_options.formats_of(session)
    first = [name for name in FIRST if name in names]
    return Part(
        "sources/_export_menu.html",
        _ways(session, first)
        | {
            "others": len(names) - len(first),
            "taken": export_log.summary_of(session.pk),
            "may_redact": request.member.role != Role.VIEWER,
        },
    )


def other_ways(session: Session) -> dict[str, Any]:
    """What ``sources/_ways.html`` shows of the formats that the menu has behind the first: it fetches them, since few
    want them, and they were a twentieth of the page of a session.
    """
    return _ways(session, [name for name in export_options.formats_of(session) if name not in FIRST])


def _ways(session: Session, names: list[str]) -> dict[str, Any]:
    """Ways to take a session away, what can be chosen for each, and the bases on which it may go."""
    bases = legal_basis.bases_of(session, timezone.now())
    signed, sealed = export_options.signed_formats(), export_options.encrypting_formats()
    ways = [
        {
            "name": name,
            "words": FIRST.get(name, (name, ""))[0],
            "title": FIRST[name][1] if name in FIRST else registry.get(name).SPEC.title,
            "is_signed": name in signed,
            "is_sealed": name in signed and name in sealed,
            "options": export_options.options_of(name),
        }
        for name in names
    ]
    return {
        "session": session,
        "ways": ways,
        "recipients": recipients.candidates(session.workspace_id) if any(way["is_sealed"] for way in ways) else [],
        "goes_on": export_options.goes_on(session),
        "bases": bases,
        "handing_on": legal_basis.redistribution_state(bases),
    }


def source_line(request: DeskRequest, session: Session, signature: Signature | None) -> Part | None:
    """The import of a session, the state of its signature, and the number of findings."""
    link = sources.newest_link(session.pk)
    if link is None:
        return None
    is_of_another = bool(signature) and link.signature.get("state", "unsigned") != signature["state"]
    return Part(
        "sources/_line.html",
        {
            "session": session,
            "link": link,
            "remarks": len(sources.findings_of(link)),
            "signature": signature,
            "is_of_another": is_of_another,
        },
    )


def source_banner(request: DeskRequest, session: Session, signature: Signature | None) -> Part:
    """What is wrong with the signature, and what was removed before the file came here."""
    is_doubtful = signature and (signature["state"] == "invalid" or signature.get("uncovered"))
    return Part(
        "sources/_banner.html",
        {
            "session": session,
            "signature": signature,
            "file": _file_signed_with(signature, session.pk) if signature and is_doubtful else "",
            # without a file the metadata are what an agent reported, who may write anything there
            "vcon": session.metadata.get("vcon") if signature else None,
        },
    )


def _file_signed_with(signature: Signature, session_id: UUID) -> str:
    """Which of the files of a session has this signature, first of those that gave events; empty where one is all."""
    found = sorted(sources.links_of(session_id), key=lambda link: not link.events)
    named = (link.member or link.imported.filename for link in found if link.signature == signature)
    return next(named, "") if len(found) > 1 else ""


def source_facts(request: DeskRequest, session: Session) -> Part:
    """Every import of a session with its findings by rule, and who took the session away."""
    links = sources.links_of(session.pk).defer(None)[:LISTED_IMPORTS]
    told = [(link, imports.grouped(sources.findings_of(link))) for link in links]
    return Part("sources/_facts.html", {"imports": told} | exports_taken(session))


def exports_taken(session: Session) -> dict[str, Any]:
    """Who took a session away, with what is said of exports that are not written yet."""
    exports = list(export_log.exports_of(session.pk)[: export_log.SHOWN + 1])
    shown = exports[: export_log.SHOWN]
    states = export_log.states(session.workspace_id, shown)
    return {
        "session": session,
        "taken": list(zip(shown, states, strict=True)),
        "more": len(exports) > export_log.SHOWN,
        "poll": any(states),
        "registrations": list(registrations.of_session(session.pk)[: registrations.SHOWN]),
    }


def session_shares(request: DeskRequest, session: Session) -> Part | None:
    """The newest share links of a session; of a session that was never shared nothing."""
    links = share_links.shown(list(share_links.of_session(session.pk)[:LISTED_SHARES]))
    if not links:
        return None
    may_share = request.member.role != Role.VIEWER
    return Part("shares/_of_session.html", {"session": session, "links": links, "may_share": may_share})


def workspace_shares(request: DeskRequest, shown: dict[str, Any]) -> Part:
    """Whether sessions are shared by links, and the newest links."""
    workspace = request.member.workspace
    row = Sharing.objects.filter(workspace=workspace).first()
    links = share_links.shown(list(share_links.of_workspace(workspace.pk)[: share_links.SHOWN]))
    return Part(
        "shares/_settings.html",
        {
            "is_on": bool(row and row.is_on),
            "changed_by": row.changed_by if row else "",
            "changed_at": row.changed_at if row else None,
            "links": links,
            "working": share_links.in_force(workspace.pk).count(),
            "can_change": request.member.role == Role.ADMIN,
        },
    )


def redact_event(request: DeskRequest, session: Session, seq: int) -> Part | None:
    """The way to the page of redaction, at this event."""
    if request.member.role == Role.VIEWER:
        return None
    return Part("redaction/_event_action.html", {"session": session, "seq": seq})


def event_source(request: DeskRequest, event: Event) -> Part:
    """The document an event was read from, the place in it, and what was found odd there."""
    link = sources.link_of(event)
    findings = sources.findings_at(link, event.pointer) if link else []
    return Part("sources/_event.html", {"event": event, "link": link, "findings": findings})


def event_record(request: DeskRequest, event: Event) -> Part:
    """The record of an event, read from its document; of an event from no file nothing."""
    shown: dict[str, Any] = {"event": event, "link": sources.link_of(event)}
    if shown["link"]:
        try:
            shown["found"] = event_bytes.read(event, shown["link"].document)
        except event_bytes.NotShown as reason:
            shown["problem"] = str(reason)
    return Part("sources/_record.html", shown)


def drop_zone(request: DeskRequest) -> Part:
    """The form by which files come in, with a choice of agent and format."""
    agents = Agent.objects.filter(workspace=request.member.workspace).order_by("name").only("name", "slug")
    return Part("imports/_drop.html", {**_limits(), "agents": agents[:LISTED_AGENTS]})


def short_drop_zone(request: DeskRequest) -> Part | None:
    """The same without the choices, for an empty workspace."""
    if request.member.role == Role.VIEWER:
        return None
    return Part("imports/_drop.html", {**_limits(), "short": True})


def read_formats() -> list[tuple[str, str]]:
    """Names and titles of the formats that files are imported from."""
    return [(name, format.SPEC.title) for name, format in sorted(registry.readers().items())]


def _limits() -> dict[str, Any]:
    return {"formats": read_formats(), "limit": settings.MAX_UPLOAD_BYTES}


def trust_anchors(request: DeskRequest, shown: dict[str, Any]) -> Part:
    """Whose signatures are believed, with the form to add an anchor for those who may, and the key of this desk."""
    workspace = request.member.workspace
    return Part(
        "trust/_anchors.html",
        {
            "workspace": workspace,
            "can_change": request.member.role == Role.ADMIN,
            "anchors": recipients.candidates(workspace.pk),
            "form": shown.get("anchor_form"),
            "own": _own_key(),
        },
    )


def _own_key() -> dict[str, Any]:
    """The public half of the key that signs what leaves here, for others to pin."""
    try:
        ours = own_keys.signer()
    except (BadKey, OSError) as error:
        return {"problem": str(error)}
    return {
        "fingerprint": fingerprint(ours.key.public_key()),
        "kind": kind_of(ours.key.public_key()),
        "pem": ours.public_pem.decode(),
        "is_operators": own_keys.is_operators(),
    }


def graph_file(request: DeskRequest, agent: Agent) -> Part:
    """The graph of an agent as a file."""
    return Part("graph/_file.html", {"agent": agent})
