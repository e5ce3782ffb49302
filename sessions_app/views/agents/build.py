"""Build with AI: the page where a question about an agent begins a chat with the assistant of the desk."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from sessions_app.models import Agent
from sessions_app.queries.agents import agents as queries
from sessions_app.rendering import text
from sessions_app.services import build_chats, secrets

from .. import access
from ..session.addresses import event_url
from ..session.chat import RECENT, REFUSED, TITLE

EXAMPLES = (
    _("What did it do in its last sessions?"),
    _("What failed, and why?"),
    _("What waits for a person?"),
    _("Which sessions cost the most?"),
    _("What did its schedules and webhooks start?"),
    _("Which tools does it use?"),
)


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def begin(request: access.DeskRequest, slug: str) -> HttpResponse:
    """Ask about an agent; 409 with what was typed when no chat can be begun."""
    agent = access.agent_read(request, slug)
    if agent.is_built_in:
        raise Http404(gettext("This agent is the assistant itself."))
    said, problem = (request.POST if request.method == "POST" else request.GET).get("text", "").strip(), ""
    if request.method == "POST" and said:
        try:
            session = build_chats.begin(
                agent, said, by=access.actor(request), title=text.first_line(said, TITLE), user_id=str(request.member)
            )
            return redirect(f"{event_url(session, None)}#follow")
        except REFUSED as refused:
            problem = str(refused)
    context = {"agent": agent, "typed": said, "problem": problem, "examples": EXAMPLES, **_assistant(agent)}
    return render(request, "agents/build.html", context, status=409 if problem else 200)


def _assistant(about: Agent) -> dict[str, Any]:
    """The assistant as it is now; a workspace that never asked it has none yet."""
    found, tag = build_chats.assistant_of(about.workspace_id), build_chats.tag_of(about)
    chats = list(queries.recent_chats_about(found, tag)[:RECENT]) if found else []
    model = found.model if found else build_chats.MODEL
    return {"assistant": found, "sessions": chats, "tag": tag, "model": model, "has_key": _has_key(about)}


def _has_key(about: Agent) -> bool:
    """Whether a model answers; with a key that cannot be used nothing does, and the chat says why."""
    try:
        return bool(secrets.provider_key(about.workspace_id))
    except ValueError:
        return True
