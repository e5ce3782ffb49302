"""Sessions that a session goes on from or that go on from it: resumed or forked, with a copy of what was before. And
what other files tell of the same session, each kept as one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, F, QuerySet, Sum
from django.db.models.functions import Coalesce

from sessions_app.compiled import Compiled
from sessions_app.models import ModelRequest, Session
from sessions_app.phrases import gettext, ngettext

MOST = 5
BILLED = sum(
    (Coalesce(F(f"{name}_tokens"), 0) for name in ("cache_read", "cache_write", "output")),
    start=Coalesce(F("input_tokens"), 0),
)
NAMED = {"forked_from": gettext("forked from"), "resumed_from": gettext("resumed from")}
"""What a recorder says of it, under these names in the session's metadata."""


@dataclass(frozen=True, slots=True)
class Relative:
    """Another session, and how many responses the two share."""

    how: str
    """A phrase."""
    session: Session
    responses: int = 0
    tokens: int = 0
    seq: int | None = None
    """Up to where in it, for a session that this one was begun from."""
    has_same_id: bool = False
    """It is called by when it came in, and not by its title: that would be a stranger's word on this session's page."""


def relatives_of(session: Session) -> list[Relative]:
    """At most five of each kind. Sub-agents are no relatives."""
    here = [*_continued_here(session), *_of_same_id(session)]
    if not session.response_scope:
        return here
    earlier, later = (
        {pk: (responses, tokens) for pk, responses, tokens in those(session.pk)} for those in (_EARLIER, _LATER)
    )
    others = [*earlier, *later]
    known = {found.pk: found for found in _sessions(session).filter(pk__in=others)} if others else {}
    named = {found.pk: Relative(how, found) for how, found in _named(session)}
    for pk, counts in earlier.items():
        if pk in known:
            named[pk] = Relative(named[pk].how if pk in named else gettext("goes on from"), known[pk], *counts)
    repeated = [Relative(gettext("continued in"), known[pk], *c) for pk, c in later.items() if pk in known]
    return [*here, *named.values(), *repeated]


def _continued_here(session: Session) -> Iterator[Relative]:
    """Sessions that were begun here to go on from another one; they repeat none of its responses."""
    if session.continues_id:
        earlier = _here(session.workspace_id).get(pk=session.continues_id)
        yield Relative(gettext("continues"), earlier, seq=session.continues_seq)
    for found in _CONTINUING(session.workspace_id, session.pk):
        yield Relative(gettext("continued in"), found)


_CONTINUING = Compiled[Session](
    lambda workspace_id, session_id: _here(workspace_id).filter(continues=session_id).order_by("-id")[:MOST]
)


def _of_same_id(session: Session) -> Iterator[Relative]:
    """Sessions of the same id and format: what a file told in another way than one before it, or was signed, or what
    somebody else brought, added nothing to the session that was there.
    """
    if not session.external_id:
        return
    for found in _SAME_ID(session.workspace_id, session.external_id, str(session.source_format), session.pk):
        events = found.event_count
        how = ngettext(
            "another session with the same id, of %(count)s event, came in",
            "another session with the same id, of %(count)s events, came in",
            events,
            count=events,
        )
        yield Relative(how, found, has_same_id=True)


_SAME_ID = Compiled[Session](
    lambda workspace_id, external_id, source_format, session_id: (
        _here(workspace_id)
        .filter(external_id=external_id, source_format=source_format)
        .exclude(pk=session_id)
        .order_by("-id")[:MOST]
    )
)


def _here(workspace_id: UUID) -> QuerySet[Session]:
    found = Session.objects.filter(workspace_id=workspace_id)
    return found.only("agent_id", "title", "created_at", "event_count")


def _named(session: Session) -> Iterator[tuple[str, Session]]:
    for name, how in NAMED.items():
        if external_id := session.metadata.get(name):
            found = _sessions(session).filter(external_id=external_id, source_format=session.source_format).first()
            if found and found.pk != session.pk:
                yield how, found


def _sessions(session: Session) -> QuerySet[Session]:
    """Sessions beside this one: a sub-agent's responses may stand in its parent's file too."""
    found = _here(session.workspace_id).exclude(parent_id=session.pk)
    return found.exclude(pk=session.parent_id) if session.parent_id else found


def _shared(copies: QuerySet[ModelRequest], column: str) -> QuerySet[Any, tuple[UUID, int, int]]:
    """Responses and tokens by the session on the other side, the most first."""
    rows = copies.values_list(column).annotate(responses=Count("key"), tokens=Sum(BILLED))
    return rows.order_by("-responses", column)[:MOST]


_EARLIER = Compiled[tuple[UUID, int, int]](
    lambda session_id: _shared(
        ModelRequest.objects.filter(session_id=session_id, counted_in__isnull=False), "counted_in"
    )
)
_LATER = Compiled[tuple[UUID, int, int]](
    lambda session_id: _shared(ModelRequest.objects.filter(counted_in_id=session_id), "session")
)
