"""One redacted vCon: what was removed, where removed words still stand, and its file."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from sessions_app.models import Session
from sessions_app.views import access
from sessions_app.views.pages import page_or_fragment
from vcon_app.models import Redaction
from vcon_app.queries import redactions as queries
from vcon_app.services.exports import export_options, redactions
from vcon_app.services.redaction import redaction_drafts
from vcon_app.services.redaction.redaction_rules import BadRule
from vcon_app.services.trust import recipients

LEAKS = 50
"""Places that the page lists; the API tells 200."""


@require_safe
@access.reviewer
def detail(request: access.DeskRequest, session_id: UUID, redaction_id: UUID) -> HttpResponse:
    """The page; while the file is written it asks for itself every two seconds."""
    session, made = _read(request, session_id, redaction_id)
    return page_or_fragment(request, "redaction/detail.html", "redaction/_detail.html", _context(session, made))


def _context(session: Session, made: Redaction) -> dict[str, Any]:
    leaks = [
        leak | {"event": int(leak["source"]) if leak["source"].isdecimal() else None} for leak in made.leaks[:LEAKS]
    ]
    return {
        "session": session,
        "made": made,
        "state": redactions.state_of(made),
        "leaks": leaks,
        "unlisted": made.leak_count - len(leaks),
        "rules": len(made.rules),
        "grows": len(redactions.rules_for_leaks(made)) > len(made.rules),
    }


@require_POST
@access.reviewer
def accept(request: access.DeskRequest, session_id: UUID, redaction_id: UUID) -> HttpResponse:
    """Hand it out although removed words still stand in it."""
    session, made = _read(request, session_id, redaction_id)
    try:
        redactions.accept(made, by=access.actor(request))
    except redactions.NotReady as error:
        messages.error(request, f"{error}.")
    return redirect("redacted", session.pk, made.pk)


@require_POST
@access.reviewer
def more(request: access.DeskRequest, session_id: UUID, redaction_id: UUID) -> HttpResponse:
    """Make it again, without the places that were found: signed and encrypted as it was, or not at all."""
    session, made = _read(request, session_id, redaction_id)
    wrapped = made.export.options
    try:
        keys = [one["fingerprint"] for one in wrapped.get("encrypt_for", ())]
        readers = recipients.recipients_named(session.workspace_id, keys)
        again = redactions.make(
            session, redactions.rules_for_leaks(made), made.type, by=access.actor(request),
            signed=bool(wrapped.get("signed")), encrypt_for=readers,
        )  # fmt: skip
    except (BadRule, export_options.CannotExport, recipients.NoRecipient) as error:
        messages.error(request, f"{error}.")
        return redirect("redacted", session.pk, made.pk)
    return redirect("redacted", session.pk, again.pk)


@require_POST
@access.reviewer
def choose(request: access.DeskRequest, session_id: UUID, redaction_id: UUID) -> HttpResponse:
    """Choose again: what was chosen for this file is chosen in the draft, beside what is there already."""
    session, made = _read(request, session_id, redaction_id)
    try:
        redaction_drafts.change(session, access.actor(request), add=made.rules)
    except BadRule as error:
        messages.error(request, f"{error}.")
        return redirect("redacted", session.pk, made.pk)
    return redirect("redaction", session.pk)


def _read(request: access.DeskRequest, session_id: UUID, redaction_id: UUID) -> tuple[Session, Redaction]:
    session = access.session_read(request, session_id)
    made = queries.finished_redaction(session.workspace_id, session.pk, redaction_id)
    if made is None:
        raise Http404(gettext("There is no such redaction of this session."))
    return session, made
