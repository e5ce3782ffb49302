"""The page of one session: its timeline in windows, and the pieces that are fetched while it is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from sessions_app import extensions
from sessions_app.models import Role, Session
from sessions_app.queries import approvals
from sessions_app.queries.log import event_detail, links, marks, outline, search
from sessions_app.queries.log import lenses as lens_queries
from sessions_app.queries.log.timeline import Timeline, Window
from sessions_app.queries.money import budgets, paid_calls
from sessions_app.queries.sessions import provenance
from sessions_app.queries.sessions.run_summaries import happened_in
from sessions_app.queries.sessions.work_time import work_time
from sessions_app.rendering import text, usage_words
from sessions_app.services import sessions

from .. import access
from ..pages import page_or_fragment, wants_fragment
from ..reviews import box as review_box
from ..translated import translated
from . import composer, files, lenses, replay, retention
from .addresses import Place, at, event_url, fragment, number, place_in, session_at
from .event import inspected_at
from .head import head_of, runs_here, trigger_run_of
from .strip import strip_of
from .timeline import answers, layout, said

TOOLS = 50
"""Names of tools that the facts of a session with many calls show without counts."""


@require_safe
@access.viewer
def page(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The whole page; to htmx only the timeline, when a link leads elsewhere in it.

    ``?at=POINTER`` leads to the event that was read from that place of the source document.
    """
    session = session_at(request, agent_id, session_id)
    if "at" in request.GET:
        return redirect(event_url(session, event_detail.seq_at(session.pk, request.GET["at"]), tab="source"))
    usual = request.member.lens if request.member.lens in lens_queries.REMEMBERED else lens_queries.STORY
    place = place_in(session, request.GET, usual=usual)
    origin = imported_by(session)
    covers = covered(origin)
    waits_at = _waits_at(session, place)
    window = _window(session, place, lenses.rows_of(session, place, covers=covers), waits_at)
    shown = fitted(session, window, place, covers)
    context = at(session, place, shown=shown, opened=_opened(session, place), **_missing(place, shown))
    context |= lenses.around(session, place, window) | {"waits_at": waits_at, "opens": _opens(place, window, waits_at)}
    context["replay"] = replay.bar(session, place.replay) if place.replay else None
    if not wants_fragment(request):
        context |= _around_the_timeline(request, session, place, shown)
        head = head_of(request, session, window.origins.get(1), origin)
        happened = happened_in(session, head.files, request.member.workspace.rules_off)
        context |= {
            "head": head,
            "log_hash": links.head_hash(session.pk),
            "happened": happened,
            "named": files.named(session, head.files),
            "composer": composer.composer_of(session, request.member),
            "review_box": review_box.in_page(request, session),
        }
    return page_or_fragment(request, "sessions/session.html", "sessions/_timeline.html", context)


def _waits_at(session: Session, place: Place) -> int | None:
    """The first event that waits for a person, where the page opens at it: where its address names no other place."""
    numbers = (place.near, place.turn, place.start, place.end)
    if place.replay or place.path or place.order or any(number is not None for number in numbers):
        return None
    return next(iter(outline.pending_seqs(session.pk)), None) if session.pending_approvals else None


def _window(session: Session, place: Place, timeline: Timeline, waits_at: int | None) -> Window:
    """Where the page opens: at what the address names, at what waits, at the end of what runs, else at the start.

    At a turn after which little follows it has what comes before as well: it was half empty.
    """
    if place.replay:
        return timeline.before(place.replay + 1)
    if place.path:
        return timeline.around(place.path[0])
    if place.near is not None:
        return timeline.around(lenses.row_near(session, place, place.near))
    if place.turn is not None:
        return timeline.around(outline.first_seq(session.pk, place.turn) or session.last_seq, least=0)
    if place.start is not None:
        return timeline.after(place.start)
    if place.end is not None:
        return timeline.before(place.end)
    if place.order:
        return timeline.after(0)
    if waits_at is not None:
        return timeline.around(waits_at)
    if session.phase == Session.Phase.ACTIVE and session.origin != Session.Origin.IMPORT:
        return timeline.before(session.last_seq + 1)
    return timeline.after(0)


def _opens(place: Place, window: Window, waits_at: int | None) -> int | None:
    """The row that is in sight first, in a window that begins before it."""
    if place.turn is None or place.order:
        return waits_at
    return window.entries[window.anchor].seq if 0 < window.anchor < len(window.entries) else None


def fitted(
    session: Session, window: Window, place: Place, covers: lenses.Covers | None = None, *, whole: bool = False
) -> layout.Fitted:
    """The rows of a window by turn, its cards with what they show of session and turn. ``whole``: see ``sections``."""
    paid_calls.note_costs_in(session, window.turns.values(), window.calls.values())
    turns = {entry.seq: window.turns.get(entry.turn) for entry in window.entries}
    for seq, approval in window.approvals.items():
        approval.session, approval.turn = session, turns[seq]
    approvals.note_people([*window.approvals.values()])
    end = _signed_end(session, window, place, covers)
    marks = said.marks_of(session, window)
    window = replace(window, targets=answers.targets_in(session, window))
    form = lenses.form_of(place)
    folded = frozenset(place.folded) if place.lens == lens_queries.STORY else frozenset()
    return layout.sections(window, place.opened, marks, end, whole=whole, form=form, folded=folded)


def imported_by(session: Session) -> provenance.Provenance | None:
    """The import that a session began with; without a query None for one that began otherwise."""
    if session.origin != Session.Origin.IMPORT:
        return None
    return provenance.provenance_of([session.pk]).get(session.pk)


def covered(origin: provenance.Provenance | None) -> lenses.Covers | None:
    """First and last event that the signature of the session's file covers; None where it covers none."""
    return origin.signature.get("covers") if origin else None


def _signed_end(
    session: Session, window: Window, place: Place, covers: lenses.Covers | None
) -> layout.SignedEnd | None:
    """Where among the rows of a window the events end that the signature of the session's file covers."""
    if place.order:
        return None  # no place of a table in another order is the end of anything
    behind = [entry.seq for entry in window.entries if covers and entry.seq > covers["last_seq"] and not entry.depth]
    if not covers or not behind:
        return None
    is_first = behind[0] == window.entries[0].seq and window.earlier
    between = {"seq__gt": covers["last_seq"], "seq__lt": behind[0]}
    if is_first and lenses.rows_of(session, place).rows().filter(**between).exists():
        return None  # it stands in the window before this one
    return layout.SignedEnd(first_seq=covers["first_seq"], last_seq=covers["last_seq"], before=behind[0])


def _opened(session: Session, place: Place) -> dict[int, layout.Fitted]:
    """The windows of sub-agents that lie open because the event asked for is in them, by the row they lie under."""
    return {
        under: fitted(session, lenses.rows_of(session, place, under).around(seq), place)
        for under, seq in zip(place.path, place.path[1:], strict=False)
    }


def _missing(place: Place, shown: layout.Fitted) -> dict[str, Any]:
    return {"no_event": place.event if place.event and not place.path else None, "is_empty": not shown.sections}


def _around_the_timeline(
    request: access.DeskRequest, session: Session, place: Place, shown: layout.Fitted
) -> dict[str, Any]:
    """Outline, hits of a search and the inspector: what a fragment of the timeline leaves alone."""
    current = place.turn if place.turn is not None else shown.sections[0].index if shown.sections else 0
    context: dict[str, Any] = {
        "outline": outline.around(session, current),
        "current_turn": current,
        "lenses": lenses.tabs(session),
        "kinds": lenses.kinds(place),
        "strip": strip_of(session, request.GET),
    }
    if place.words:
        context["found"] = search.find(session.pk, place.words)
    if place.event:
        context |= inspected_at(request, session, place.event)
    return context


@require_safe
@access.viewer
def rows(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """More of the timeline: ``?after=SEQ``, ``?before=SEQ`` or ``?only=SEQ``; with ``under=SEQ`` of a sub-agent.

    ``?after=SEQ&to=SEQ`` are rows that were on the page and left it; ``whole`` says that they begin with their turn.
    ``?run=SEQ&to=SEQ`` are the rows of a run, each by itself.
    """
    session = session_at(request, agent_id, session_id)
    place = place_in(session, request.GET)
    names = ("after", "before", "only", "under", "to", "run")
    asked = {name: number(request.GET.get(name)) for name in names}
    tail, covers = "tail" in request.GET, covered(imported_by(session))
    window = _asked_window(lenses.rows_of(session, place, asked["under"], asked["run"], covers), asked)
    if (tail or asked["only"] is not None) and not window.entries:
        return HttpResponse(status=204)  # htmx leaves the page as it is and keeps listening
    shown = fitted(session, window, place, covers, whole="whole" in request.GET)
    context = at(session, place, shown=shown, under=asked["under"], run=asked["run"], to=asked["to"], tail=tail)
    names = ("run", "only", "before", "to")
    context["direction"] = next((name for name in names if asked[name] is not None), "after")
    return fragment(request, "sessions/_rows_of_session.html", context, gettext("More of the session"))


def _asked_window(timeline: Timeline, asked: dict[str, int | None]) -> Window:
    if asked["run"] is not None:
        return timeline.between(asked["run"] - 1, asked["to"] or asked["run"])
    for name in ("only", "before"):
        if (seq := asked[name]) is not None:
            return getattr(timeline, name)(seq)
    after, last = asked["after"] or 0, asked["to"]
    return timeline.after(after) if last is None else timeline.between(after, last)


@require_safe
@access.viewer
def outline_rows(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """More turns of the outline: ``?after=INDEX`` or ``?before=INDEX``; those around one: ``?around=INDEX``."""
    session = session_at(request, agent_id, session_id)
    after, before, around = (number(request.GET.get(name)) for name in ("after", "before", "around"))
    if around is not None:
        found = outline.around(session, around)
    elif before is not None:
        found = outline.before(session, before)
    else:
        found = outline.after(session, -1 if after is None else after)
    context = at(session, place_in(session, request.GET), outline=found, current_turn=around)
    return fragment(request, "sessions/_outline_rows.html", context, gettext("Outline"))


@require_safe
@access.viewer
def head(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The head of the page, as it is now, on paper as well, and the numbers of the lenses."""
    session = session_at(request, agent_id, session_id)
    context = {
        "session": session,
        "head": head_of(request, session),
        "lenses": lenses.tabs(session),
        "log_hash": links.head_hash(session.pk),
    }
    return fragment(request, "sessions/head/_now.html", context, gettext("The session"))


@require_safe
@access.viewer
def overview(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """What stands beside the timeline: what the session comes to, as it is now."""
    session = session_at(request, agent_id, session_id)
    head = head_of(request, session)
    happened = happened_in(session, head.files, request.member.workspace.rules_off)
    context = {"session": session, "head": head, "happened": happened, "named": files.named(session, head.files)}
    return fragment(request, "sessions/side/_overview.html", context, gettext("Overview"))


@require_safe
@access.viewer
def facts(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Everything known of the session as a whole: tools with counts, recorder, environment, source, findings.

    ``?tools=all``: count the calls however many there are.
    """
    session = session_at(request, agent_id, session_id)
    here = runs_here(session)
    counts_calls = session.tool_call_count <= event_detail.COUNTED or request.GET.get("tools") == "all"
    context = {
        "session": session,
        "runs_here": here,
        "trigger_run": trigger_run_of(session),
        "columns": extensions.parts(extensions.SESSION_FACTS, request, session),
        "base": event_url(session, None),
        "tools": event_detail.tool_counts(session.pk) if counts_calls else [],
        "tool_names": [] if counts_calls else session.tools_invoked[:TOOLS],
        "children": event_detail.children(session.pk),
        "recorder": translated(usage_words.recorder(runs_here=here)),
        "models": ", ".join(text.first_line(name, 80) for name in session.all_models),
        "ran_for": work_time(session.pk) if here else None,
        "retention": retention.of_session(session),
        **(_budgets(request, session) if here else {}),
    }
    return fragment(request, "sessions/facts/_facts.html", context, gettext("About this session"))


def _budgets(request: access.DeskRequest, session: Session) -> dict[str, Any]:
    """Budgets of a session, with the form of an admin to set one."""
    found = budgets.budgets_of(session.workspace_id, session=session.pk)
    return {
        "budgets": budgets.budget_states(session.workspace_id, found),
        "can_change": request.member.role == Role.ADMIN,
        "of_session": session,
        "next": event_url(session, None),
    }


@require_safe
@access.viewer
def find(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Hits of ``?q=`` after the event ``?after=``; without words nothing, which empties the list."""
    session = session_at(request, agent_id, session_id)
    place = place_in(session, request.GET)
    found = search.find(session.pk, place.words, number(request.GET.get("after")) or 0) if place.words else None
    template = "sessions/_hits.html" if "after" in request.GET else "sessions/_found.html"
    return fragment(request, template, at(session, place, found=found), gettext("Search"))


@require_safe
@access.viewer
def next_mark(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """On to the next ``?what=error`` or ``?what=approval`` behind ``?after=SEQ``, or the one before ``?before=SEQ``."""
    session = session_at(request, agent_id, session_id)
    before = number(request.GET.get("before")) if "before" in request.GET else None
    seq = (number(request.GET.get("after")) or 0) if before is None else before
    found = marks.step(session.pk, _what(request), seq, back=before is not None)
    return redirect(event_url(session, found, place_in(session, request.GET).kept))


@require_safe
@access.viewer
def marked(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The numbers of all events with an error (``?what=error``) or a pending approval, for who goes through them."""
    session = session_at(request, agent_id, session_id)
    what = _what(request)
    count = session.pending_approvals if what == "approval" else session.error_count
    return JsonResponse({"count": count, "seqs": marks.seqs(session.pk, what)})


def _what(request: access.DeskRequest) -> str:
    return "approval" if request.GET.get("what") == "approval" else "error"


@require_POST
@access.reviewer
def archive(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Read-only from now on."""
    session = session_at(request, agent_id, session_id)
    sessions.archive(session, by=access.actor(request))
    return redirect("session-detail", session.agent_id, session.pk)
