"""Forms with which reviewers record what a session led to."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from sessions_app.models import GraphNode, Role, Session
from sessions_app.services.graph import fields, recording
from sessions_app.services.graph.recording import Recorded
from sessions_app.services.reviews.problems import Refused

from .. import access, tables
from ..session.addresses import number, session_at
from . import pages

FORMS = {"decision": fields.OF_DECISION, "evidence": fields.OF_EVIDENCE}


@require_POST
@access.reviewer
def record(request: access.DeskRequest, agent_id: UUID, session_id: UUID, kind: str) -> HttpResponse:
    """Record a decision, or evidence."""
    session = session_at(request, agent_id, session_id)
    try:
        made = _made(request, session, kind)
    except Refused as refused:
        typed = {name: request.POST.get(name, "") for name in request.POST}
        return pages.show(request, session, typed | {"form": kind, "errors": {refused.field: str(refused)}}, 422)
    return _redirect_to_node(session, made)


def _made(request: access.DeskRequest, session: Session, kind: str) -> GraphNode:
    sent = request.POST
    said = Recorded(sent.get("title", ""), _fields(sent, kind), _events(sent))
    if kind == "evidence":
        about = tables.uuid_in(sent.get("decision_id", ""))
        said = Recorded(said.title, said.fields, said.events, about=about)
        return recording.support(session.pk, said, by=access.actor(request))
    said = Recorded(said.title, said.fields, said.events, status=sent.get("status", recording.PROPOSED))
    return recording.decide(session.pk, said, Role(request.member.role), by=access.actor(request))


def _fields(sent: QueryDict, kind: str) -> dict[str, Any]:
    """What was typed; of a list each line is an item."""
    found: dict[str, Any] = {}
    for name, of in FORMS[kind].items():
        typed = sent.get(name, "").replace("\r\n", "\n")
        found[name] = typed.split("\n") if of == fields.LIST else typed
    return found


def _events(sent: QueryDict) -> tuple[int, int] | None:
    typed = [sent.get(name, "").strip() for name in ("first_seq", "last_seq")]
    if not any(typed):
        return None
    first, last = (number(one) for one in typed)
    first, last = first if typed[0] else last, last if typed[1] else first
    if first is None or last is None:
        raise Refused("first_seq", "give numbers of events, such as 12")
    return first, last


@require_POST
@access.reviewer
def change_status(request: access.DeskRequest, agent_id: UUID, session_id: UUID, node_id: UUID) -> HttpResponse:
    """Move a decision on."""
    session = session_at(request, agent_id, session_id)
    decision = access.one(GraphNode.objects.filter(session=session, kind="decision"), request, node_id)
    try:
        recording.change_status(decision, request.POST.get("status", ""), by=access.actor(request))
    except Refused as refused:
        return pages.show(request, session, {"form": str(node_id), "errors": {"status": str(refused)}}, 422)
    return _redirect_to_node(session, decision)


def _redirect_to_node(session: Session, node: GraphNode) -> HttpResponse:
    return redirect(f"{reverse('session-graph', args=[session.agent_id, session.pk])}#n-{node.pk}")
