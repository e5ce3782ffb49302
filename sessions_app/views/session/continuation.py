"""The page where a session goes on as a new one: which agent, from where, and what it will be told."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from sessions_app.models import Agent, Session, Turn
from sessions_app.queries.agents import agents as queries
from sessions_app.queries.sessions import handover_transcript
from sessions_app.rendering import text
from sessions_app.services import continuations

from .. import access
from . import chat
from .addresses import event_url, number, session_at

REFUSED = (*chat.REFUSED, continuations.CannotContinue, continuations.NoSuchTurn)
PREVIEW = 12_000
"""Characters of the context that the page shows; the new session's log has all of it."""


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def page(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Choose and see what the agent will know; ``?after_turn=3`` forks, ``?handoff=1`` hands over."""
    session = session_at(request, agent_id, session_id)
    sent = request.POST if request.method == "POST" else request.GET
    chosen = {
        "turn": number(sent.get("after_turn")), "agent": sent.get("agent", ""), "handoff": "handoff" in sent,
        "message": sent.get("message", "").strip(),
    }  # fmt: skip
    agents = list(queries.running_here(session.workspace_id))
    problem = ""
    if request.method == "POST":
        try:
            return redirect(event_url(_continued(request, session, agents, chosen), None))
        except REFUSED as refused:
            problem = str(refused)
    context = _shown(session, chosen) | {"agents": agents, "chosen": chosen, "problem": problem}
    return render(request, "sessions/continue.html", context, status=409 if problem else 200)


def _continued(request: access.DeskRequest, session: Session, agents: list[Agent], chosen: dict[str, Any]) -> Session:
    agent = next((one for one in agents if str(one.pk) == chosen["agent"]), None)
    if agent is None:
        raise continuations.CannotContinue(gettext("choose an agent that runs here and is active"))
    return continuations.continue_session(
        session, agent, by=access.actor(request), origin=Session.Origin.CHAT, after_turn=chosen["turn"],
        message=chosen["message"], handoff=chosen["handoff"],
    )  # fmt: skip


def _shown(session: Session, chosen: dict[str, Any]) -> dict[str, Any]:
    """The turn that it goes on from, and the context as it would be now."""
    turn = None
    if chosen["turn"] is not None:
        turn = Turn.objects.filter(session=session, index=chosen["turn"]).first()
    context = handover_transcript.transcript_for_successor(session, turn.last_seq if turn else session.last_seq)
    may_hand_over = session.status != Session.Status.ARCHIVED and session.origin != Session.Origin.IMPORT
    return {
        "session": session, "turn": turn, "may_hand_over": may_hand_over,
        "context_size": len(context), "preview": text.clamp(context, characters=PREVIEW, lines=400),
    }  # fmt: skip
