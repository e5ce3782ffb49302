"""What people do with a session that is live: say something, stop it, take back, try again; and begin one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from sessions_app.models import Session
from sessions_app.queries.agents import agents as queries
from sessions_app.rendering import text
from sessions_app.services import sessions
from sessions_app.services.money import budgets
from sessions_app.services.turns import messages

from .. import access
from ..pages import page_or_fragment, wants_fragment
from . import composer
from .addresses import event_url, fragment, session_at

REFUSED = (sessions.Closed, messages.NotActive, messages.TooLong, budgets.Spent)
ALONE = {"template": "sessions/composer/_composer.html", "title": gettext_lazy("Message to the agent")}
"""What who comes without htmx gets when something is refused."""
TITLE = 80
RECENT = 8
EXAMPLES = 4
OF_A_MODEL = (
    gettext_lazy("What can you do here, and with which tools?"),
    gettext_lazy("Say what you would do first, and change nothing yet."),
)
SCRIPTED = ("Hello", "/ask Refund or replace?", '/tool issue_refund {"order": "4711"}')


@require_safe
@access.viewer
def turn_state(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """How the session stands now, above the field for a message."""
    session = session_at(request, agent_id, session_id)
    return fragment(request, "sessions/composer/_turn_state.html", _context(request, session), gettext("How it stands"))


@require_POST
@access.reviewer
def message(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """A message to the agent; 409 with what was typed when it cannot be taken. ``interrupt``: stop the turn first."""
    session = session_at(request, agent_id, session_id)
    text, by = request.POST.get("text", "").strip(), access.actor(request)

    def say() -> None:
        if text:
            messages.submit(session.pk, text, by=by, interrupting="interrupt" in request.POST)

    response = _done(request, session, say, typed=text)
    if response.status_code == 200:
        response.headers["HX-Trigger-After-Swap"] = "said"
    return response


@require_POST
@access.reviewer
def interrupt(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Stop the turn in flight; what it asks is withdrawn."""
    session = session_at(request, agent_id, session_id)
    return _done(request, session, lambda: messages.interrupt(session.pk, by=access.actor(request)))


@require_POST
@access.reviewer
def retry(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Have the agent take up its last turn again."""
    session = session_at(request, agent_id, session_id)
    return _done(request, session, lambda: messages.retry(session.pk, by=access.actor(request)))


@require_POST
@access.reviewer
def go_on(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Send the messages that were held back."""
    session = session_at(request, agent_id, session_id)
    return _done(request, session, lambda: messages.send_waiting(session.pk))


@require_POST
@access.reviewer
def take_back(request: access.DeskRequest, agent_id: UUID, session_id: UUID, message_id: UUID) -> HttpResponse:
    """A message that still waits; one whose turn has begun stays."""
    session = session_at(request, agent_id, session_id)
    return _done(request, session, lambda: messages.take_back(session.pk, message_id))


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def begin(request: access.DeskRequest, slug: str) -> HttpResponse:
    """The page where typing begins a session of an agent; 409 with what was typed when it begins none."""
    agent = access.agent_read(request, slug)
    said, problem = (request.POST if request.method == "POST" else request.GET).get("text", "").strip(), ""
    if request.method == "POST" and said:
        try:
            session = messages.start_session(
                agent, said, by=access.actor(request), origin=Session.Origin.CHAT,
                title=text.first_line(said, TITLE), user_id=str(request.member),
            )  # fmt: skip
            return redirect(f"{event_url(session, None)}#follow")
        except REFUSED as refused:
            problem = str(refused)
    context = {"agent": agent, "typed": said, "problem": problem, "runs_here": messages.runs_here(agent)}
    context["sessions"] = recent = list(queries.recent_chats(agent)[:RECENT])
    context["examples"] = list(dict.fromkeys(one.title for one in recent if one.title))[:EXAMPLES] or (
        SCRIPTED if agent.runtime == "scripted" else OF_A_MODEL
    )
    return render(request, "agents/chat.html", context, status=409 if problem else 200)


def _done(request: access.DeskRequest, session: Session, act: Callable[[], Any], typed: str = "") -> HttpResponse:
    """Do it and show how things stand: to htmx the fragment, else the page again, or what was typed and why not."""
    problem = ""
    try:
        act()
    except REFUSED as refused:
        problem = str(refused)
    if not problem and not wants_fragment(request):
        return redirect(event_url(session, None))
    session.refresh_from_db()
    context = _context(request, session) | {"problem": problem, "typed": typed, **ALONE}
    status = 409 if problem else 200
    return page_or_fragment(
        request, "sessions/alone.html", "sessions/composer/_turn_state.html", context, status=status
    )


def _context(request: access.DeskRequest, session: Session) -> dict[str, Any]:
    return {"session": session, "composer": composer.composer_of(session, request.member)}
