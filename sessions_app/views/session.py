"""The page of one session: its timeline in windows, and the pieces that are fetched while it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from sessions_app.models import Session, Turn
from sessions_app.queries import inspect, outline, search
from sessions_app.queries.timeline import DEPTHS, Timeline, Window, path_to
from sessions_app.services import sessions as session_services

from . import access
from .pages import page_or_fragment, wants_fragment
from .timeline import layout
from .timeline.rows import body_of, html_of

EVERYTHING = "everything"
TABS = ("arguments", "result", "text", "usage", "source", "raw")
MOST = 2**31 - 1
"""The largest number that a column for ``seq`` holds."""


@dataclass(frozen=True, slots=True)
class Place:
    """What the address says: how much to show, and where in the session.

    ``path`` leads to ``event``; ``start`` and ``end`` bound a window for who turns the pages without JavaScript.
    """

    show: str
    event: int | None
    turn: int | None
    start: int | None
    end: int | None
    words: str
    path: list[int]

    @property
    def opened(self) -> frozenset[int]:
        return frozenset(self.path)


def _place(session: Session, asked: QueryDict) -> Place:
    show = asked.get("show", EVERYTHING)
    show = show if show in DEPTHS else EVERYTHING
    event = number(asked.get("event"))
    path = path_to(session.pk, event) if event else []
    if path and show != EVERYTHING and not Timeline(session.pk, show).rows().filter(seq=path[0]).exists():
        show = EVERYTHING  # a link to an event shows that event
    turn, start, end = (number(asked.get(name)) for name in ("turn", "from", "until"))
    return Place(show, event, turn, start, end, asked.get("q", "").strip()[:500], path)


def number(value: str | None) -> int | None:
    """A number of an event or turn from an address, or None for whatever else stands there."""
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 10 else None


def session_at(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> Session:
    """The session behind an address; 404 also when it is not this agent's."""
    session = access.session_read(request, session_id)
    if session.agent_id != agent_id:
        raise Http404("There is no such session of this agent.")
    return session


def _at(session: Session, place: Place, **more: Any) -> dict[str, Any]:
    """What every piece of the page needs: the session, and what its links begin and end with."""
    kept = f"&show={place.show}" if place.show != EVERYTHING else ""
    return {"session": session, "place": place, "base": event_url(session, None), "kept": kept, **more}


@require_safe
@access.viewer
def page(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The whole page; to htmx only the timeline, when a link leads elsewhere in it.

    ``?at=POINTER`` leads to the event that was read from that place of the source document.
    """
    session = session_at(request, agent_id, session_id)
    if "at" in request.GET:
        return redirect(event_url(session, inspect.seq_at(session.pk, request.GET["at"]), tab="source"))
    place = _place(session, request.GET)
    window = _window(session, place)
    shown = _shown(session, window, place)
    context = _at(session, place, shown=shown, opened=_opened(session, place), **_missing(place, shown))
    if not wants_fragment(request):
        context |= _around_the_timeline(session, place, shown, request.GET.get("tab", ""))
    return page_or_fragment(request, "sessions/session.html", "sessions/_timeline.html", context)


def _window(session: Session, place: Place) -> Window:
    """Where the page opens: at what the address names, at what waits, at the end of what runs, else at the start."""
    timeline = Timeline(session.pk, place.show)
    if place.path:
        return timeline.around(place.path[0])
    if place.turn is not None:
        first = Turn.objects.filter(session=session, index__gte=place.turn).order_by("index").values_list("first_seq", flat=True).first()
        return timeline.after((first or session.last_seq) - 1)
    if place.start is not None:
        return timeline.after(place.start)
    if place.end is not None:
        return timeline.before(place.end)
    if session.pending_approvals and (waiting := outline.pending_seqs(session.pk)):
        return timeline.around(waiting[0])
    if session.phase == Session.Phase.ACTIVE and session.origin != Session.Origin.IMPORT:
        return timeline.before(session.last_seq + 1)
    return timeline.after(0)


def _shown(session: Session, window: Window, place: Place) -> layout.Fitted:
    turns = {entry.seq: window.turns.get(entry.turn) for entry in window.entries}
    for seq, approval in window.approvals.items():
        approval.session, approval.turn = session, turns[seq]
    return layout.sections(window, place.opened)


def _opened(session: Session, place: Place) -> dict[int, layout.Fitted]:
    """The windows of sub-agents that lie open because the event asked for is in them, by the row they lie under."""
    return {
        under: _shown(session, Timeline(session.pk, place.show, under).around(seq), place)
        for under, seq in zip(place.path, place.path[1:], strict=False)
    }


def _missing(place: Place, shown: layout.Fitted) -> dict[str, Any]:
    return {"no_event": place.event if place.event and not place.path else None, "is_empty": not shown.sections}


def _around_the_timeline(session: Session, place: Place, shown: layout.Fitted, tab: str) -> dict[str, Any]:
    """Outline, hits of a search and the inspector: what a fragment of the timeline leaves alone."""
    current = place.turn if place.turn is not None else shown.sections[0].index if shown.sections else 0
    context: dict[str, Any] = {"outline": outline.around(session.pk, current), "current_turn": current, "depths": DEPTHS}
    if place.words:
        context["found"] = search.find(session.pk, place.words)
    if place.event:
        context |= _inspected(session, place.event, tab)
    return context


@require_safe
@access.viewer
def rows(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """More of the timeline: ``?after=SEQ``, ``?before=SEQ`` or ``?only=SEQ``; with ``under=SEQ`` of a sub-agent."""
    session = session_at(request, agent_id, session_id)
    place = _place(session, request.GET)
    asked = {name: number(request.GET.get(name)) for name in ("after", "before", "only", "under")}
    tail = "tail" in request.GET
    window = _asked_window(Timeline(session.pk, place.show, asked["under"]), asked)
    if (tail or asked["only"] is not None) and not window.entries:
        return HttpResponse(status=204)  # htmx leaves the page as it is and keeps listening
    context = _at(session, place, shown=_shown(session, window, place), under=asked["under"], tail=tail)
    context["direction"] = next((name for name in ("only", "before") if asked[name] is not None), "after")
    return _fragment(request, "sessions/_rows_of_session.html", context, "More of the session")


def _asked_window(timeline: Timeline, asked: dict[str, int | None]) -> Window:
    for name in ("only", "before"):
        if (seq := asked[name]) is not None:
            return getattr(timeline, name)(seq)
    return timeline.after(asked["after"] or 0)


@require_safe
@access.viewer
def outline_rows(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """More turns of the outline: ``?after=INDEX`` or ``?before=INDEX``."""
    session = session_at(request, agent_id, session_id)
    before = number(request.GET.get("before"))
    after = number(request.GET.get("after"))
    found = outline.before(session.pk, before) if before is not None else outline.after(session.pk, -1 if after is None else after)
    context = _at(session, _place(session, request.GET), outline=found)
    return _fragment(request, "sessions/_outline_rows.html", context, "Outline")


@require_safe
@access.viewer
def head(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The totals in the head of the page, as they are now."""
    session = session_at(request, agent_id, session_id)
    return _fragment(request, "sessions/_head.html", {"session": session}, "The session")


@require_safe
@access.viewer
def facts(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Everything known of the session as a whole: tools with counts, recorder, environment, source, findings."""
    session = session_at(request, agent_id, session_id)
    context = {"session": session, "tools": inspect.tool_counts(session.pk), "children": inspect.children(session.pk)}
    return _fragment(request, "sessions/_facts.html", context, "About this session")


@require_safe
@access.viewer
def find(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Hits of ``?q=`` after the event ``?after=``; without words nothing, which empties the list."""
    session = session_at(request, agent_id, session_id)
    place = _place(session, request.GET)
    found = search.find(session.pk, place.words, number(request.GET.get("after")) or 0) if place.words else None
    template = "sessions/_hits.html" if "after" in request.GET else "sessions/_found.html"
    return _fragment(request, template, _at(session, place, found=found), "Search")


@require_safe
@access.viewer
def next_mark(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """On to the next ``?what=error`` or ``?what=approval`` behind ``?after=SEQ``."""
    session = session_at(request, agent_id, session_id)
    seq = number(request.GET.get("after")) or 0
    step = outline.next_approval if request.GET.get("what") == "approval" else outline.next_error
    return redirect(event_url(session, step(session.pk, seq), request.GET.get("show", "")))


def event_url(session: Session, seq: int | None, show: str = "", tab: str = "") -> str:
    """The permanent address of an event, or of the session when there is none."""
    base = reverse("session-detail", args=[session.agent_id, session.pk])
    kept = f"&show={show}" if show in DEPTHS and show != EVERYTHING else ""
    return f"{base}?event={seq}{kept}{f'&tab={tab}' if tab else ''}#e-{seq}" if seq else base


@require_safe
@access.viewer
def inspector(request: access.DeskRequest, agent_id: UUID, session_id: UUID, seq: int) -> HttpResponse:
    """One event in full, under the tab ``?tab=``."""
    session = session_at(request, agent_id, session_id)
    context = _at(session, _place(session, request.GET), **_inspected(session, seq, request.GET.get("tab", "")))
    if "inspected" not in context:
        raise Http404(f"There is no event {seq} in this session.")
    return _fragment(request, "sessions/_inspector.html", context, f"Event {seq}")


def _inspected(session: Session, seq: int, asked: str) -> dict[str, Any]:
    inspected = inspect.event(session.pk, min(seq, MOST))
    if inspected is None:
        return {}
    is_call = inspected.entry.tool_name is not None or inspected.entry.kind in ("tool_call", "tool_result")
    tabs = [name for name in TABS if is_call or name not in ("arguments", "result")]
    tab = asked if asked in tabs else "text" if not is_call else "arguments" if inspected.entry.kind != "tool_result" else "result"
    return {"inspected": inspected, "tabs": tabs, "tab": tab, **_tab(session, inspected, tab)}


def _tab(session: Session, inspected: inspect.Inspected, tab: str) -> dict[str, Any]:
    """What a tab shows: pairs of a title, the event and column it stands in, and its beginning."""
    own, answer = inspected.entry.seq, inspected.result.seq if inspected.result else None
    wanted = {
        "arguments": [("Arguments", own, "arguments")],
        "result": [("Result", answer or own, "text"), ("Structured result", answer or own, "result")],
        "text": [("Text", own, "text"), ("Data", own, "data")],
    }.get(tab, [])
    values = [(title, seq, column, inspect.value(session.pk, seq, column)) for title, seq, column in wanted]
    return {"values": [found for found in values if found[3] and found[3].characters]}


@require_safe
@access.viewer
def body(request: access.DeskRequest, agent_id: UUID, session_id: UUID, seq: int) -> HttpResponse:
    """The inside of a tool card: arguments and result."""
    session = session_at(request, agent_id, session_id)
    inspected = inspect.event(session.pk, min(seq, MOST))
    asked = inspect.card(session.pk, inspected.entry.seq) if inspected else None
    if asked is None:
        raise Http404(f"There is no event {seq} in this session.")
    result_seq = inspected.call.result_seq if inspected.call else seq if asked["kind"] == "tool_result" else None
    answer = asked if result_seq == seq else inspect.card(session.pk, result_seq) if result_seq else None
    parts = body_of(
        asked["tool_name"], asked["light_arguments"], answer["head"] if answer else "", answer["light_result"] if answer else None
    )
    context = _at(session, _place(session, request.GET), entry=inspected.entry, result=inspected.result or inspected.entry, **parts)
    return _fragment(request, "sessions/rows/_body.html", context, f"Event {seq}")


@require_safe
@access.viewer
def whole(request: access.DeskRequest, agent_id: UUID, session_id: UUID, seq: int) -> HttpResponse:
    """All of a long value, ``?of=`` text, arguments, result or data; of the very largest the first 2 MB."""
    session = session_at(request, agent_id, session_id)
    column = request.GET.get("of", "text")
    value = inspect.value(session.pk, min(seq, MOST), column, inspect.WHOLE) if column in inspect.COLUMNS else None
    if value is None:
        raise Http404(f"Event {seq} has no {column[:20]} in this session.")
    is_message = column == "text" and request.GET.get("as") == "message"
    context = _at(session, _place(session, request.GET), value=value, seq=seq, html=html_of(value.text) if is_message else None)
    return _fragment(request, "sessions/_whole.html", context, f"Event {seq}")


@require_POST
@access.reviewer
def archive(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Read-only from now on."""
    session = session_at(request, agent_id, session_id)
    session_services.archive(session, by=access.actor(request))
    return redirect("session-detail", session.agent_id, session.pk)


@require_POST
@access.reviewer
def message(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """A message to the agent, at the end of the log; 409 when the session was archived meanwhile."""
    session = session_at(request, agent_id, session_id)
    said = request.POST.get("text", "").strip()
    try:
        if said:
            session_services.add_message(session, said, by=access.actor(request))
    except session_services.Archived as archived:
        return render(request, "sessions/_composer.html", {"session": session, "typed": said, "problem": str(archived)}, status=409)
    if not wants_fragment(request):
        return redirect(event_url(session, None))
    response = render(request, "sessions/_composer.html", {"session": session})
    response.headers["HX-Trigger-After-Swap"] = "said"
    return response


def _fragment(request: access.DeskRequest, template: str, context: dict[str, Any], title: str) -> HttpResponse:
    """A piece of the page; who comes without htmx gets it on a page of its own."""
    if wants_fragment(request):
        return page_or_fragment(request, template, template, context)
    return page_or_fragment(request, "sessions/alone.html", template, {**context, "template": template, "title": title})
