"""What an agent's runs led to, and what one session did: each decision leads back to what allowed it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from sessions_app import extensions
from sessions_app.models import GraphNode, Role, Session
from sessions_app.queries.graph import runs
from sessions_app.rendering import text
from sessions_app.rendering.graph import picture
from sessions_app.rendering.graph.picture import Branch
from sessions_app.services.graph import fields

from .. import access, tables
from ..session.addresses import event_url, number, session_at

LABEL = 30
"""Characters of a box in the picture; the list has the whole."""
PAGE = 100


@require_safe
@access.viewer
def of_agent(request: access.DeskRequest, slug: str) -> HttpResponse:
    """Runs of an agent that led to something, as a picture and as a list; ``?before=`` turns the page."""
    agent = access.agent_read(request, slug)
    before = tables.list_place(request.GET, "before")
    found, following = runs.runs_of(agent, before=before)
    context = {"agent": agent, "runs": found, "following": following, "before": before}
    context["files"] = extensions.parts(extensions.AGENT_GRAPH, request, agent)
    context["picture"] = picture.drawn(_versions(found))
    return render(request, "graph/agent.html", context)


def _versions(found: list[runs.Run]) -> list[Branch]:
    by_version = sorted(found, key=lambda run: -run.session.agent_version)
    return [
        Branch(f"version {version}", reverse("agent-version", args=[of[0].session.agent.slug, version]), "is-version",
               [_run(run) for run in of])
        for version, group in groupby(by_version, key=lambda run: run.session.agent_version)
        if (of := list(group))
    ]  # fmt: skip


def _run(run: runs.Run) -> Branch:
    session = run.session
    page = reverse("session-graph", args=[session.agent_id, session.pk])
    decided = [_node(one.node, session, one.evidence) for one in run.decisions]
    alone = [_node(node, session) for node in run.evidence]
    return Branch(_short(session.title or "session"), page, "is-run", decided + alone)


def _node(node: GraphNode, session: Session, evidence: Iterable[GraphNode] = ()) -> Branch:
    return Branch(
        _short(node.title), place_of(node, session), f"is-{node.kind}", [_node(one, session) for one in evidence]
    )


def _short(words: str) -> str:
    shown = text.clean(" ".join(words.split()))
    return shown if len(shown) <= LABEL else f"{shown[: LABEL - 1]}…"


def place_of(node: GraphNode, session: Session) -> str:
    """Where a decision or evidence is shown: the event that tells it, or its place on the session's page of them."""
    if node.seq:
        return event_url(session, node.seq)
    return f"{reverse('session-graph', args=[session.agent_id, session.pk])}#n-{node.pk}"


@require_safe
@access.viewer
def of_session(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """What a session led to, and for reviewers the forms to record more; ``?event=12`` is what it is drawn from."""
    return show(request, session_at(request, agent_id, session_id), {})


def show(request: access.DeskRequest, session: Session, entered: dict[str, Any], status: int = 200) -> HttpResponse:
    """The page; what was refused stands in its form again, with the reason under the field's name in ``errors``."""
    after = tables.list_place(request.GET, "after")
    found = GraphNode.objects.filter(session=session)
    rows = list((found.filter(pk__gt=after) if after else found).order_by("session", "id")[: PAGE + 1])
    decided, alone = runs.arranged(rows[:PAGE])
    context = {
        "session": session, "agent": session.agent, "decided": decided, "alone": alone, "after": after,
        "following": rows[PAGE - 1].pk if len(rows) > PAGE else None,
        "policies": runs.policies_of([session.pk]).get(session.pk, []),
        "may_review": Role(request.member.role).covers(Role.REVIEWER), "statuses": list(fields.TRANSITIONS),
        "transitions": fields.TRANSITIONS, "layers": fields.LAYERS, "rigor": fields.RIGOR,
        "sources": fields.SOURCES, "directions": fields.DIRECTIONS,
        "entered": {"opened": number(request.GET.get("event"))} | entered,
    }  # fmt: skip
    return render(request, "graph/session.html", context, status=status)
