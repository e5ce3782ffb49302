"""The page on which a reviewer chooses what must not leave. What is chosen is kept in a draft, on every click."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from sessions_app.models import Session
from sessions_app.views import access
from sessions_app.views.pages import wants_fragment
from sessions_app.views.session.addresses import number
from vcon_app.models import Redaction
from vcon_app.queries import redactions as queries
from vcon_app.services.exports import export_options, redactions
from vcon_app.services.redaction import preview as previews
from vcon_app.services.redaction import redaction_drafts, redaction_rules
from vcon_app.services.redaction.redaction_rules import CONTAINING, EVERY, ONE_OF_FILE, PARTS, WHOLE, BadRule, Rule
from vcon_app.services.trust import recipients

KINDS = {
    "reasoning": gettext_lazy("all reasoning"),
    "arguments": gettext_lazy("all arguments of tools"),
    "result": gettext_lazy("all results of tools"),
    "attachments": gettext_lazy("all files and attachments"),
    "people": gettext_lazy("what identifies persons: names, addresses, numbers"),
    "title": gettext_lazy("the title"),
    "summary": gettext_lazy("the summary"),
    "environment": gettext_lazy("where it ran: folders, repository, branch"),
    "metadata": gettext_lazy("what else programs noted of the session"),
}
PART_WORDS = {
    "event": gettext_lazy("whole events"),
    "text": gettext_lazy("texts"),
    "arguments": gettext_lazy("arguments"),
    "result": gettext_lazy("results"),
}
FILTERS = ("everything", *queries.KINDS)
TYPES = ("PII Redaction", "Secrets", "Confidential content")
"""Offered for ``redacted.type``; any other is as good."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A box before a part of an event. ``implied``: another rule removes it already."""

    part: str
    label: str
    checked: bool
    implied: bool


@dataclass(frozen=True, slots=True)
class Line:
    """An event with its boxes."""

    row: queries.Row
    ticks: list[Tick]

    @property
    def goes(self) -> bool:
        return any(tick.checked or tick.implied for tick in self.ticks)


@require_safe
@access.reviewer
def page(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """The log in pages of 50, ``?q=`` and ``?kind=`` narrow it down, ``?event=`` begins at one."""
    return _page(request, access.session_read(request, session_id))


def _page(request: access.DeskRequest, session: Session, status: int = 200, **more: Any) -> HttpResponse:
    draft = redaction_drafts.draft_of(session, access.actor(request))
    return render(
        request, "redaction/index.html", _list(session, draft, request.GET) | _chosen(draft) | more, status=status
    )


def _list(session: Session, draft: Redaction, asked: QueryDict) -> dict[str, Any]:
    kind = asked.get("kind", "") if asked.get("kind") in queries.KINDS else ""
    words = asked.get("q", "").replace("\0", "").strip()[: redaction_rules.LONGEST]
    event = number(asked.get("event"))
    after = event - 1 if event else number(asked.get("after")) or 0
    rows, more = queries.event_rows(session.pk, after=after, kind=kind, words=words, last=session.last_seq)
    place = {name: value for name, value in (("q", words), ("kind", kind)) if value}
    return {
        "session": session,
        "lines": _lines(session, draft, rows),
        "kind": kind or FILTERS[0],
        "filters": [(name, urlencode({**place, "kind": name})) for name in FILTERS],
        "q": words,
        "after": after,
        "here": urlencode({**place, "after": after}),
        "next": urlencode({**place, "after": rows[-1].seq}) if more else "",
        "first": urlencode(place) if after else "",
        "made": queries.finished_redactions(session.pk)[:10],
    }


def _lines(session: Session, draft: Redaction, rows: list[queries.Row]) -> list[Line]:
    seqs = [row.seq for row in rows]
    wide_rules = [rule for rule in draft.rules if "seq" not in rule]
    implied = redaction_rules.selection_of(session.pk, "", wide_rules, session.last_seq, seqs)
    ticked = {(rule["seq"], rule["what"]) for rule in draft.rules if "seq" in rule}
    return [
        Line(row, [
            Tick(part, label, (row.seq, part) in ticked, part in implied.parts_asked(row.seq, row.kind))
            for part, label in _parts(row)
        ])
        for row in rows
    ]  # fmt: skip


def _parts(row: queries.Row) -> list[tuple[str, str]]:
    """The parts an event has, with their names; "whole event" comes first."""
    found = [("event", gettext("whole event"))]
    if row.kind == "tool_result":
        return [*found, ("result", "result")]
    if row.said:
        found.append(("text", "reasoning" if row.kind == "reasoning" else "text"))
    if row.arguments:
        found.append(("arguments", "arguments"))
    return [*found, ("result", "result")] if row.result else found


def _chosen(draft: Redaction) -> dict[str, Any]:
    """What the draft says, for the panel."""
    whats = {rule["what"] for rule in draft.rules if "seq" not in rule}
    ticked = {(rule["what"], rule["index"]) for rule in draft.rules if "index" in rule}
    kept = queries.file_items(draft.session.source_record)
    return {
        "session": draft.session,
        "draft": draft,
        "kinds": [(what, label, what in whats) for what, label in KINDS.items()],
        "of_file": [
            (what, one["i"], _label(what, one["item"]), (what, one["i"]) in ticked)
            for what, name in ONE_OF_FILE.items()
            for one in kept[name]
        ],
        "words": [rule["words"] for rule in draft.rules if rule["what"] == CONTAINING],
        "events": len({rule["seq"] for rule in draft.rules if "seq" in rule}),
        "others": sum("seq" not in rule and rule["what"] != CONTAINING for rule in draft.rules),
    }


def _label(what: str, item: dict[str, Any]) -> str:
    values = (item.get(name) for name in ("purpose", "type", "filename", "vendor"))
    return " · ".join([what, *(value[:60] for value in values if isinstance(value, str) and value)])


@require_safe
@access.reviewer
def preview(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """The session as the redacted file will have it, in pages; ``?show=all`` has the events that stay as they are, too.

    Its form makes the file: nobody makes one without having had it before them.
    """
    return _preview(request, access.session_read(request, session_id))


def _preview(request: access.DeskRequest, session: Session, status: int = 200, **more: Any) -> HttpResponse:
    draft = redaction_drafts.draft_of(session, access.actor(request))
    shows_all = request.GET.get("show") == "all"
    after = number(request.GET.get("after")) or 0
    seen = previews.preview(session, draft.rules, after=after, changed_only=not shows_all)
    place = {"show": "all"} if shows_all else {}
    context = {
        "session": session,
        "draft": draft,
        "seen": seen,
        "whole": [(what, KINDS[what]) for what in WHOLE if what in seen.whole],
        "parts": [(PART_WORDS.get(part, part), times) for part, times in seen.parts.items()],
        "kinds": [(kind.replace("_", " "), times) for kind, times in seen.kinds.items()],
        "shows_all": shows_all,
        "after": after,
        "first": urlencode(place),
        "next": urlencode({**place, "after": seen.next_after}) if seen.next_after else "",
        **_ways(session),
        **more,
    }
    return render(request, "redaction/preview.html", context, status=status)


def _ways(session: Session) -> dict[str, Any]:
    """How the file can be wrapped, for the form that makes it."""
    return {
        "types": TYPES,
        "can_sign": redactions.FORMAT in export_options.signed_formats() and not export_options.goes_on(session),
        "recipients": recipients.candidates(session.workspace_id),
    }


@require_POST
@access.reviewer
def tick(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """The boxes of the events that were shown (``seen``): those in ``remove`` (``12:text``) are ticked."""
    session = access.session_read(request, session_id)
    seen = [int(seq) for seq in request.POST.getlist("seen")[: 2 * queries.ROWS] if number(seq) is not None]
    add = [rule for value in request.POST.getlist("remove") if (rule := _ticked(value)) and rule["seq"] in seen]
    return _changed(request, session, add=add, seen=seen)


def _ticked(value: str) -> Rule | None:
    seq, _, part = value.partition(":")
    return {"what": part, "seq": int(seq)} if part in PARTS and number(seq) is not None else None


@require_POST
@access.reviewer
def kinds(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """Whole kinds, parts of the session as a whole, and single objects of its file."""
    session = access.session_read(request, session_id)
    draft = redaction_drafts.draft_of(session, access.actor(request))
    drop = [rule for rule in draft.rules if "seq" not in rule and rule["what"] != CONTAINING]
    add: list[Rule] = [{"what": what} for what in request.POST.getlist("what") if what in (*EVERY, *WHOLE)]
    for value in request.POST.getlist("of_file"):
        what, _, index = value.partition(":")
        if what in ONE_OF_FILE and number(index) is not None:
            add.append({"what": what, "index": int(index)})
    return _changed(request, session, is_wide=True, add=add, drop=drop)


@require_POST
@access.reviewer
def words(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """Every place that contains words: ``add`` them, or ``drop`` them again."""
    session = access.session_read(request, session_id)
    given = (request.POST.get(name) for name in ("add", "drop"))
    add, drop = ([{"what": CONTAINING, "words": value}] if value else [] for value in given)
    return _changed(request, session, is_wide=True, add=add, drop=drop)


def _changed(request: access.DeskRequest, session: Session, *, is_wide: bool = False, **changes: Any) -> HttpResponse:
    """The panel to htmx, or the page anew where it shows on other events (``is_wide``); else back to where it was."""
    problem = ""
    try:
        draft = redaction_drafts.change(session, access.actor(request), **changes)
    except BadRule as bad:
        draft, problem = redaction_drafts.draft_of(session, access.actor(request)), str(bad)
    if wants_fragment(request):
        if is_wide and not problem:
            return HttpResponseClientRefresh()
        context = _chosen(draft) | {"problem": problem}
        return render(request, "redaction/_panel.html", context, status=422 if problem else 200)
    if problem:
        messages.error(request, problem)
    query = urlencode([(name, request.POST[name]) for name in ("q", "kind", "after") if request.POST.get(name)])
    return redirect(f"{reverse('redaction', args=[session.pk])}?{query}")


@require_POST
@access.reviewer
def discard(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    session = access.session_read(request, session_id)
    redaction_drafts.discard(session, access.actor(request))
    messages.success(request, gettext("Nothing is chosen any more."))
    return redirect("redaction", session.pk)


@require_POST
@access.reviewer
def make(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """Write the file that the draft describes, and show what came of it."""
    session, actor = access.session_read(request, session_id), access.actor(request)
    draft = redaction_drafts.draft_of(session, actor)
    signed, kind = request.POST.get("signed") == "true", request.POST.get("type", "")
    try:
        readers = recipients.recipients_named(session.workspace_id, request.POST.getlist("encrypt_for"))
        made = redactions.make(session, draft.rules, kind, by=actor, signed=signed, encrypt_for=readers)
    except (BadRule, export_options.CannotExport, recipients.NoRecipient) as error:
        return _preview(request, session, 422, problem=str(error), type=kind)
    return redirect("redacted", session.pk, made.pk)
