"""The head of a session's page: what it is, how it stands, and what it cost so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sessions_app import extensions
from sessions_app.extensions import Part
from sessions_app.models import Agent, FileScan, Session, TriggerRun
from sessions_app.queries import triggers
from sessions_app.queries.log import file_changes, links
from sessions_app.queries.log.links import EventOrigin
from sessions_app.queries.money import paid_calls
from sessions_app.queries.sessions import provenance
from sessions_app.queries.sessions.provenance import Provenance
from sessions_app.queries.sessions.relatives import Relative, relatives_of
from sessions_app.rendering import text, usage_words

from ..access import DeskRequest
from ..translated import translated
from .timeline import said

MODELS, TOOLS = 3, 6
"""Names that stand in the head; the facts have all of them."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the head shows beside the columns of the session itself."""

    runs_here: bool
    """Whether its agent has a runtime of the desk, instead of reporting from elsewhere."""
    may_archive: bool
    may_hand_over: bool
    no_tokens: usage_words.NoTokens | None
    """In place of tokens and cost; None where there are numbers."""
    source_of_cost: str
    sent_by: EventOrigin | None
    """Who reports the session over the API, where it is the session of an agent elsewhere."""
    models: str
    tools: str
    relatives: list[Relative]
    trigger_run: TriggerRun | None
    files: FileScan | None
    """What its files came to, as far as they were read; None before anybody asked."""
    actions: list[Part]
    line: list[Part]
    notices: list[Part]


def head_of(
    request: DeskRequest, session: Session, first: EventOrigin | None = None, origin: Provenance | None = None
) -> Head:
    """The head for this member; the number of its queries does not grow with the session.

    ``first`` is the origin of its first event, and ``origin`` its import, where they are known already.
    """
    origin = origin or provenance.provenance_of([session.pk]).get(session.pk)
    signature = origin.signature if origin else None
    here = runs_here(session)
    if session.tool_cost is None:
        paid_calls.note_costs_of([session])
    is_open = session.status != Session.Status.ARCHIVED
    return Head(
        runs_here=here,
        may_archive=is_open,
        may_hand_over=is_open and session.origin != Session.Origin.IMPORT,
        no_tokens=_no_tokens(session),
        sent_by=_sender(session, first),
        source_of_cost=translated(usage_words.source_of_cost(session.cost_basis, runs_here=here)),
        models=_first_names(session.all_models, MODELS, 40),
        tools=_first_names(session.tools_invoked, TOOLS, 30),
        relatives=relatives_of(session),
        trigger_run=trigger_run_of(session),
        files=file_changes.scan_of(session.pk),
        actions=extensions.parts(extensions.SESSION_ACTIONS, request, session),
        line=extensions.parts(extensions.SESSION_LINE, request, session, signature),
        notices=extensions.parts(extensions.SESSION_NOTICES, request, session, signature),
    )


def runs_here(session: Session) -> bool:
    return session.agent.runtime != Agent.Runtime.EXTERNAL


def _sender(session: Session, first: EventOrigin | None) -> EventOrigin | None:
    if session.origin == Session.Origin.IMPORT or runs_here(session):
        return None
    return said.own_source(session, first or links.origins(session.pk, [1]).get(1))


def trigger_run_of(session: Session) -> TriggerRun | None:
    """The trigger run that began a session; no query for a session that none began."""
    return triggers.that_started(session.pk) if session.origin in triggers.STARTED_BY_A_TRIGGER else None


def _no_tokens(session: Session) -> usage_words.NoTokens | None:
    if session.total_tokens is not None or session.cost_amount is not None:
        return None
    is_running = session.status == Session.Status.RUNNING
    return usage_words.no_tokens_of_session(
        session.copied_tokens, is_running=is_running, asks_here=session.asks_models_here
    )


def _first_names(names: Sequence[str], most: int, characters: int) -> str:
    """``opus, haiku +3``: names of strangers, each on one line."""
    shown = ", ".join(text.first_line(name, characters) for name in names[:most])
    return f"{shown} +{len(names) - most}" if len(names) > most else shown
