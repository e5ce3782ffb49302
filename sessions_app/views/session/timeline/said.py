"""Who said it: the mark of a row whose event is not simply of the session's own source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from sessions_app.models import Agent, EventLink, Session
from sessions_app.queries.log.links import EventOrigin
from sessions_app.queries.log.timeline import Entry, Window
from sessions_app.rendering import text

Kind = EventLink.Origin
REPORTED = frozenset({"approval", "escalation", "status"})
"""Kinds that are the desk's own word: from elsewhere they are what somebody reports."""
REPORTERS = {
    "member": gettext_lazy("a member of this workspace"),
    "api_key": gettext_lazy("an API key"),
    "trigger": gettext_lazy("a trigger"),
    "slack": gettext_lazy("somebody in Slack"),
    "agent": gettext_lazy("an agent that runs here"),
    "command": gettext_lazy("the command line"),
    "system": gettext_lazy("the desk itself"),
}
PEOPLE = frozenset({"member", "slack", "trigger"})
"""Reporters whose messages the desk itself takes in, under their own name."""


@dataclass(frozen=True, slots=True)
class Said:
    """How an event came in, in words for a tag: ``sent by`` and a name, or ``this desk``."""

    words: str
    name: str = ""
    title: str = ""


ORIGINS = {
    "file": gettext_lazy("read from a file"),
    "runtime": gettext_lazy("made by the agent that runs here"),
    "api": gettext_lazy("sent from outside, over the API"),
    "desk": gettext_lazy("written by this desk"),
}
USUAL_DELAY = timedelta(minutes=5)
"""Between a claimed time and that of receipt: what batches and slow networks explain."""


@dataclass(frozen=True, slots=True)
class CameIn:
    """How an event came in, for its inspector. ``reporter`` says what kind of reporter the name is of."""

    how: str
    name: str
    reporter: str
    received_at: datetime | None
    claims_another_time: bool
    """Whether who sent it says another time than that of receipt, by more than some minutes."""
    told: Any
    """What the file says of how the event came to where the file was made; None where it says nothing."""


def came_in(entry: Entry, origin: EventOrigin | None) -> CameIn:
    """What the inspector says of an event's origin."""
    if origin is None:
        return CameIn(_("unknown: no link says so; run audit verify"), "", "", None, False, None)
    is_claimed = origin.kind == Kind.API and entry.at is not None and origin.received_at is not None
    is_other = is_claimed and abs(origin.received_at - entry.at) > USUAL_DELAY
    return CameIn(
        str(ORIGINS.get(origin.kind, origin.kind)), origin.reported_by, str(REPORTERS.get(origin.reporter_kind, "")),
        origin.received_at, is_other, entry.data.get("reported") if origin.kind == Kind.FILE else None,
    )  # fmt: skip


def own_source(session: Session, first: EventOrigin | None) -> EventOrigin | None:
    """Where the events of a session come from by themselves, which the head of its page says; None: each is marked.

    ``first`` is the origin of its first event: a session of an agent elsewhere belongs to who began to report it.
    """
    if session.origin == Session.Origin.IMPORT:
        return EventOrigin(Kind.FILE, "", "", None)
    if session.agent.runtime != Agent.Runtime.EXTERNAL:
        return EventOrigin(Kind.RUNTIME, "", "", None)
    is_reported = first is not None and first.kind == Kind.API and first.reported_by
    return first if is_reported else None


def marker(session: Session) -> Callable[[Any, Mapping[int, EventOrigin]], bool]:
    """Tells of a row, by the origins of some events, whether it has a mark. The first event is among the origins."""
    return lambda row, origins: _mark(row, origins, own_source(session, origins.get(1))) is not None


def marks_of(session: Session, window: Window) -> dict[int, Said]:
    """The marks of a window's rows, by seq; a call has that of its result where its own needs none."""
    own = own_source(session, window.origins.get(1))
    found = {entry.seq: mark for entry in window.entries if (mark := _mark(entry, window.origins, own))}
    for seq, result in window.results.items():
        mark = _mark(result, window.origins, own)
        if mark and seq not in found:
            found[seq] = Said(_("result %(mark)s") % {"mark": mark.words}, mark.name, mark.title)
    return found


def _mark(entry: Entry, origins: Mapping[int, EventOrigin], own: EventOrigin | None) -> Said | None:
    origin = origins.get(entry.seq)
    if origin is None:
        return Said(_("unknown origin"), title=_("No link says how this came in: run audit verify"))
    if origin.kind == Kind.DESK:
        return Said(_("this desk"), title=_("Written by this desk itself"))
    if origin.kind == Kind.FILE and (own is None or own.kind != Kind.FILE):
        return Said(_("from a file"), title=_("Read from a file"))
    if origin.kind != Kind.API:
        return None
    if _is_same(origin, own) or (_is_own_message(entry, origin) and not _speaks_for_others(own)):
        return None
    who = REPORTERS.get(origin.reporter_kind, _("somebody"))
    name = text.first_line(origin.reported_by, 60)
    title = _("Sent over the API by %(who)s") % {"who": who}
    return Said(_("sent by") if name else _("sent from outside"), name, title)


def _speaks_for_others(own: EventOrigin | None) -> bool:
    """Whether the session's own source names who said something as it likes: then a row that is unmarked may bear the
    name of a member who said nothing, and what that member did say is told from it by its mark.
    """
    return own is not None and own.kind == Kind.API


def _is_own_message(entry: Entry, origin: EventOrigin) -> bool:
    """Whether the row names who sent it already: a message that the desk took in under that name."""
    is_persons = entry.kind == "user_message" and origin.reporter_kind in PEOPLE
    return is_persons and entry.actor_name == origin.reported_by


def _is_same(origin: EventOrigin, own: EventOrigin | None) -> bool:
    return own is not None and (origin.kind, origin.reporter_kind, origin.reported_by) == (
        own.kind, own.reporter_kind, own.reported_by,
    )  # fmt: skip


def teller_of(entry: Entry, window: Window) -> str:
    """Who reports an event of a kind that is the desk's own word; empty where it is the desk's, or a runtime's."""
    if entry.kind not in REPORTED:
        return ""
    origin = window.origins.get(entry.seq)
    if origin is None:
        return _("somebody")
    if origin.kind == Kind.FILE:
        return _("the file")
    return text.first_line(origin.reported_by, 60) or _("somebody outside") if origin.kind == Kind.API else ""
