"""Pages on which an admin deletes a session or an import, typed to confirm, and the tombstone that remains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Sum
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from sessions_app.models import Session
from sessions_app.queries.erasure import tombstone_of
from sessions_app.views import access
from vcon_app.models import Export, Import, SourceDocument
from vcon_app.services.erasure import erasing, plans
from vcon_app.services.trust import anchors, tombstones

SHOWN = 12
"""Sessions or imports that are named before they are counted."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was typed into the form, and what is wrong with it."""

    word: str = ""
    reason: str = ""
    children: bool = False
    errors: dict[str, str] = field(default_factory=dict)


@require_http_methods(["GET", "HEAD", "POST"])
@access.admin
def session_page(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """Delete a session."""
    session = access.session_read(request, session_id)

    def delete(asked: Asked) -> None:
        erasing.erase_session(session, by=access.actor(request), reason=asked.reason, with_children=asked.children)

    return _page(request, session, delete, "session-list")


@require_http_methods(["GET", "HEAD", "POST"])
@access.admin
def import_page(request: access.DeskRequest, import_id: UUID) -> HttpResponse:
    """Delete an import."""
    imported = access.one(Import.objects.select_related("document", "duplicate_of"), request, import_id)

    def delete(asked: Asked) -> None:
        erasing.erase_import(imported, by=access.actor(request), reason=asked.reason)

    return _page(request, imported, delete, "import-list")


@require_safe
@access.admin
def tombstone_page(request: access.DeskRequest, subject_id: UUID) -> HttpResponse:
    """What remains of something that was deleted."""
    tombstone = tombstone_of(request.member.workspace_id, subject_id)
    if tombstone is None:
        raise Http404(gettext("Nothing of this id was deleted in this workspace."))
    context = {
        "tombstone": tombstone,
        "counts": [(number, _noun(name, number)) for name, number in tombstone.counts.items() if number],
        "signature": tombstones.check(tombstone, anchors.keyring(tombstone.workspace_id).anchors),
        "digest": tombstones.digest_of(tombstone),
    }
    return render(request, "erasure/tombstone.html", context)


def _noun(name: str, number: int) -> str:
    """``tool call`` or ``tool calls``."""
    words = name.replace("_", " ")
    return words.removesuffix("s") if number == 1 else words


def _page(
    request: access.DeskRequest, subject: Session | Import, delete: Callable[[Asked], None], then: str
) -> HttpResponse:
    """The form, or with POST the deed: 422 where the form is not filled in, 409 where it cannot be done."""
    word = str(subject.pk)[-6:]
    asked = Asked()
    refused = ""
    if request.method == "POST":
        asked = _read(request, word)
        if not asked.errors:
            try:
                delete(asked)
            except erasing.CannotErase as reason:
                refused = str(reason)
            else:
                messages.success(request, gettext("Deleted. What remains of it is in the audit log."))
                return redirect(then)
    context = {"asked": asked, "word": word, "refused": refused, "max_reason": tombstones.MAX_REASON}
    status = 422 if asked.errors else 409 if refused else 200
    return render(request, "erasure/delete.html", context | _shown(subject), status=status)


def _read(request: access.DeskRequest, word: str) -> Asked:
    typed = request.POST.get("word", "").strip().lower()
    reason = request.POST.get("reason", "").strip()
    errors = {}
    if typed != word:
        errors["word"] = gettext("Type %(word)s to confirm.") % {"word": word}
    if not reason:
        errors["reason"] = gettext("Say why: it is what people will read in its place.")
    elif len(reason) > tombstones.MAX_REASON:
        errors["reason"] = gettext("Use at most %(max_reason)s characters.") % {
            "max_reason": f"{tombstones.MAX_REASON:,}"
        }
    return Asked(typed, reason, "children" in request.POST, errors)


def _shown(subject: Session | Import) -> dict[str, Any]:
    """What goes and what stays, as far as it may go at all."""
    is_session = isinstance(subject, Session)
    about = {
        "session": subject if is_session else None,
        "imported": None if is_session else subject,
        "back": _address(subject),
    }
    try:
        plan = plans.plan_session(subject) if isinstance(subject, Session) else plans.plan_import(subject)
    except erasing.CannotErase as reason:
        return about | {"impossible": str(reason)}
    sessions = Session.objects.filter(pk__in=plan.sessions)
    others = Import.objects.filter(pk__in=plan.imports).exclude(pk=subject.pk).defer("findings").order_by("pk")
    return about | {
        "sessions": list(sessions.select_related("agent").defer("source_record").order_by("pk")[:SHOWN]),
        "session_count": len(plan.sessions),
        "events": sessions.aggregate(sum=Sum("event_count", default=0))["sum"],
        "asks": sessions.aggregate(sum=Sum("pending_approvals", default=0))["sum"],
        "exports": Export.objects.filter(session__in=plan.sessions).count(),
        "imports": list(others[:SHOWN]),
        "import_count": len(plan.imports - {subject.pk}),
        "documents": list(SourceDocument.objects.filter(pk__in=plan.documents).order_by("pk")[:SHOWN]),
        "document_count": len(plan.documents),
        "remains": plans.remains_of(plan),
    }


def _address(subject: Session | Import) -> str:
    if isinstance(subject, Session):
        return reverse("session-detail", args=[subject.agent_id, subject.pk])
    return reverse("import-detail", args=[subject.pk])
