"""What the assistant of the desk says, with links that the desk makes: see ``rendering.answers.citations``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from sessions_app.models import EventLink, Session
from sessions_app.queries.log.links import EventOrigin
from sessions_app.queries.log.timeline import Window
from sessions_app.queries.sessions.citations import existing
from sessions_app.rendering.answers import citations
from sessions_app.rendering.answers.citations import Cited, Target
from sessions_app.rendering.titles import title_of_prompt

from ..addresses import event_url


def targets_in(session: Session, window: Window) -> dict[Cited, Target] | None:
    """Where the citations of a window lead that are there; None for a session of any other agent."""
    if not session.agent.is_built_in:
        return None
    said = [entry.head for entry in window.entries if is_answer(entry.kind, window.origins.get(entry.seq))]
    return targets_of(session, said)


def targets_of(session: Session, texts: Sequence[str]) -> dict[Cited, Target]:
    """Where the citations of some texts lead: into the workspace of their session and nowhere else."""
    found = existing(session.workspace_id, citations.cited_in(texts))
    return {one: Target(event_url(there, one.seq), title_of_prompt(str(there), 200)) for one, there in found.items()}


def is_answer(kind: str, origin: EventOrigin | None) -> bool:
    """Whether the assistant itself said it here, and nobody sent it in its name."""
    return kind == "agent_message" and origin is not None and origin.kind == EventLink.Origin.RUNTIME


def html_of_answer(value: str, targets: Mapping[Cited, Target]) -> SafeString:
    """Markdown of the assistant as HTML of the sanitised renderer, whose only links are those of the desk."""
    words = citations.Words(_("event %(seq)s"), _("session"), _("not found"))
    return mark_safe(citations.render(value, targets, words))  # noqa: S308 - rendered without raw HTML and sanitised
