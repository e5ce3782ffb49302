"""One event of a session: the inspector, the inside of a tool card, a long value in full."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from sessions_app import extensions
from sessions_app.models import Role, Session
from sessions_app.queries.log import event_detail, links
from sessions_app.queries.log.timeline import Entry
from sessions_app.rendering import toolbody
from sessions_app.rendering.unescape import unescaped

from .. import access
from .addresses import MOST, at, fragment, place_in, session_at
from .timeline import answers, said
from .timeline.rows import body_of, html_of

SLOTS = {"source": extensions.EVENT_SOURCE, "raw": extensions.EVENT_RAW}
"""Tabs that show what another app knows of the event."""
KEPT = 50_000
"""Characters of an event as it is kept that a page shows."""
MOST_BESIDE = 400
"""Characters of one argument in the inspector: it comes with the page, which has 300 KB for all."""
TABS = ("arguments", "result", "text", "usage", "source", "raw")


def inspected_at(request: access.DeskRequest, session: Session, seq: int) -> dict[str, Any]:
    """What the inspector shows of an event under the tab ``?tab=``; nothing when there is no such event."""
    asked = request.GET.get("tab", "")
    inspected = event_detail.event(session.pk, min(seq, MOST))
    if inspected is None:
        return {}
    is_call = inspected.entry.tool_name is not None or inspected.entry.kind in ("tool_call", "tool_result")
    tabs = [name for name in TABS if is_call or name not in ("arguments", "result")]
    tab = (
        asked
        if asked in tabs
        else "text"
        if not is_call
        else "arguments"
        if inspected.entry.kind != "tool_result"
        else "result"
    )
    return {
        "inspected": inspected,
        "tabs": tabs,
        "tab": tab,
        "came_in": said.came_in(inspected.entry, inspected.origin),
        "may_record": Role(request.member.role).covers(Role.REVIEWER),
        "actions": extensions.parts(extensions.EVENT_ACTIONS, request, session, seq),
        "source": extensions.parts(SLOTS[tab], request, inspected.row) if tab in SLOTS else [],
        **_tab(session, inspected, tab),
    }


def _tab(session: Session, inspected: event_detail.Inspected, tab: str) -> dict[str, Any]:
    """What a tab shows: pairs of a title, the event and column it stands in, and its beginning."""
    if tab in ("arguments", "result"):
        return _parts(session, inspected, tab)
    own, answer = inspected.entry.seq, inspected.result.seq if inspected.result else None
    of_call = [
        (_("Arguments"), own, "arguments"),
        (_("Result"), answer or own, "text"),
        (_("Details"), answer or own, "result"),
    ]
    wanted = {
        "text": [(_("Text"), own, "text"), (_("Data"), own, "data")],
        "raw": of_call if inspected.call or inspected.entry.kind == "tool_result" else [],
    }.get(tab, [])
    values = [(title, seq, column, event_detail.value(session.pk, seq, column)) for title, seq, column in wanted]
    return {"values": [found for found in values if found[3] and found[3].characters and not _is_bare(*found[2:])]}


def _parts(session: Session, inspected: event_detail.Inspected, tab: str) -> dict[str, Any]:
    """Arguments or result as the row of the call shows them; their JSON stands under "raw"."""
    bodies, result = _bodies(session, inspected, MOST_BESIDE)
    parts = bodies["arguments" if tab == "arguments" else "results"]
    return {"parts": parts, "parts_of": result if tab == "result" else inspected.entry}


def _bodies(
    session: Session, inspected: event_detail.Inspected, most: int = toolbody.VALUE
) -> tuple[dict[str, Any], Entry]:
    """The inside of the card of a call, and the event with its result: that of the call where there is none."""
    seq = inspected.entry.seq
    asked = event_detail.card(session.pk, seq) or {}
    result_seq = inspected.call.result_seq if inspected.call else seq if asked["kind"] == "tool_result" else None
    answer = asked if result_seq == seq else event_detail.card(session.pk, result_seq) if result_seq else None
    failed = inspected.call is not None and inspected.call.status not in (None, "ok")
    said, value = (answer["head"], answer["light_result"]) if answer else ("", None)
    bodies = body_of(asked["tool_name"], asked["light_arguments"], said, value, failed=failed, most=most)
    return bodies, inspected.result or inspected.entry


def _is_bare(column: str, value: event_detail.Value) -> bool:
    """Whether a reader noted nothing beside the text. No arguments are something else: the call says so."""
    return column == "data" and value.text.split() == ["{", "}"]


@require_safe
@access.viewer
def inspector(request: access.DeskRequest, agent_id: UUID, session_id: UUID, seq: int) -> HttpResponse:
    """One event in full, under the tab ``?tab=``."""
    session = session_at(request, agent_id, session_id)
    context = at(session, place_in(session, request.GET), **inspected_at(request, session, seq))
    if "inspected" not in context:
        raise Http404(_("There is no event %(seq)s in this session.") % {"seq": seq})
    return fragment(request, "sessions/inspector/_inspector.html", context, _("Event %(seq)s") % {"seq": seq})


@require_safe
@access.viewer
def body(request: access.DeskRequest, agent_id: UUID, session_id: UUID, seq: int) -> HttpResponse:
    """The inside of a tool card: arguments and result."""
    session = session_at(request, agent_id, session_id)
    inspected = event_detail.event(session.pk, min(seq, MOST))
    if inspected is None:
        raise Http404(_("There is no event %(seq)s in this session.") % {"seq": seq})
    parts, result = _bodies(session, inspected)
    context = at(session, place_in(session, request.GET), entry=inspected.entry, result=result, **parts)
    return fragment(request, "sessions/rows/_body.html", context, _("Event %(seq)s") % {"seq": seq})


@require_safe
@access.viewer
def whole(request: access.DeskRequest, agent_id: UUID, session_id: UUID, seq: int) -> HttpResponse:
    """All of a long value, ``?of=`` text, arguments, result or data; of the very largest the first 2 MB."""
    session = session_at(request, agent_id, session_id)
    column = request.GET.get("of", "text")
    value = (
        event_detail.value(session.pk, min(seq, MOST), column, event_detail.WHOLE)
        if column in event_detail.COLUMNS
        else None
    )
    if value is None:
        raise Http404(gettext("Event %(seq)s has no %(column)s in this session.") % {"seq": seq, "column": column[:20]})
    is_message = column == "text" and request.GET.get("as") == "message"
    meant = unescaped(value.text) if is_message else None
    html = _html_of_message(session, seq, value.text if meant is None else meant) if is_message else None
    context = at(
        session, place_in(session, request.GET), value=value, seq=seq, html=html, is_unescaped=meant is not None
    )
    return fragment(request, "sessions/inspector/_whole.html", context, _("Event %(seq)s") % {"seq": seq})


def _html_of_message(session: Session, seq: int, said: str) -> SafeString:
    if session.agent.is_built_in:
        kind = event_detail.kind_of(session.pk, seq)
        if answers.is_answer(kind, links.origins(session.pk, [seq]).get(seq)):
            return answers.html_of_answer(said, answers.targets_of(session, [said]))
    return html_of(said)


@require_safe
@access.viewer
def kept(request: access.DeskRequest, agent_id: UUID, session_id: UUID, seq: int) -> HttpResponse:
    """An event as it is kept: its columns as JSON, of more than 50,000 characters the beginning."""
    session = session_at(request, agent_id, session_id)
    columns = event_detail.kept(session.pk, min(seq, MOST))
    if columns is None:
        raise Http404(_("There is no event %(seq)s in this session.") % {"seq": seq})
    json = toolbody.as_json(columns)
    context = at(session, place_in(session, request.GET), seq=seq, json=json[:KEPT], characters=len(json))
    context |= {"cut": len(json) > KEPT, "shown_characters": KEPT}
    return fragment(request, "sessions/lenses/_kept.html", context, _("Event %(seq)s") % {"seq": seq})
