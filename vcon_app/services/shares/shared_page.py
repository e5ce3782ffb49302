"""The page behind a share link while it is written: the session up to the event where the link was made, without what
is left out, and a search of what is left for what was left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from django.db import transaction

from sessions_app.models import EventLink
from sessions_app.services import audit
from sessions_app.services.log.sanitise import storable
from vcon_app.drafts import EventDraft, Events, Losses, SessionDraft
from vcon_app.formats.contract import Writer
from vcon_app.formats.html import shown_of_event, shown_of_session
from vcon_app.formats.vcon.redacting import Leak, Prepared, prepare
from vcon_app.models import Export, ShareLink

from ...queries.log_reader import LogEvents, session_draft
from ..redaction.redaction_rules import selection_of

OPTION = "share_link"
"""In the options of an export: the id of its link."""
FORMAT = "html"
LISTED_LEAKS = 50


def begin(export: Export) -> None:
    """The link shows this file."""
    ShareLink.objects.filter(pk=export.options[OPTION]).update(export=export)


def page_chunks(export: Export, writer: Writer, losses: Losses, options: dict[str, Any]) -> Iterator[bytes]:
    """The page in pieces, event by event: memory does not grow with the session, but for words that were left out."""
    link = ShareLink.objects.select_related("workspace").get(pk=export.options[OPTION])
    session, events, options = _as_it_was(export, link, options)
    if link.rules:
        selection = selection_of(link.session_id, link.redaction, link.rules, link.last_seq)
        prepared = prepare(session, events, selection)
        _note_leaks(link, prepared)
        session, events = prepared.session, prepared.events
    if link.without_cost:
        events, options = WithoutCost(events), {**options, "costs": None}
    yield from writer.write(session, events, losses, options={**options, "share": _head_of(link)})


@dataclass(frozen=True, slots=True)
class WithoutCost:
    """Events without what they cost: the writer is not told, so that it stands nowhere on the page."""

    events: Events

    def __iter__(self) -> Iterator[EventDraft]:
        return (replace(event, usage=None, cost=None) for event in self.events)

    def __len__(self) -> int:
        return len(self.events)


def _as_it_was(export: Export, link: ShareLink, options: dict[str, Any]) -> tuple[SessionDraft, Events, dict[str, Any]]:
    """The session up to the last event that is shown. Of one that grew since, nothing that later events changed."""
    row = export.session
    has_grown = row.last_seq > link.last_seq
    row.last_seq = link.last_seq
    draft = session_draft(row)
    if has_grown:
        draft = replace(draft, ended_at=None, phase="active", summary="")
        options = {**options, "costs": None}
    return draft, LogEvents(row), options


def _note_leaks(link: ShareLink, prepared: Prepared) -> None:
    leaks = _leaks(prepared)
    listed = [asdict(leak) for leak in islice(leaks, LISTED_LEAKS)]
    link.leaks, link.leak_count = storable(listed), len(listed) + sum(1 for _ in leaks)
    link.counts, link.unchecked = prepared.counts, prepared.removed.unchecked
    link.save(update_fields=["leaks", "leak_count", "counts", "unchecked"])


def _leaks(prepared: Prepared) -> Iterator[Leak]:
    """Places of what the page shows that still say what was left out."""
    for leak in prepared.removed.leaks(shown_of_session(prepared.session)):
        yield replace(leak, pointer=f"/session{leak.pointer}")
    for seq, event in enumerate(prepared.events, 1):
        for leak in prepared.removed.leaks(shown_of_event(event)):
            yield replace(leak, pointer=f"/events/{seq}{leak.pointer}")


def _head_of(link: ShareLink) -> dict[str, Any]:
    """What the head of the page says."""
    return {
        "shared_by": link.actor_name or link.actor_kind,
        "workspace": str(link.workspace),
        "as_of": link.as_of,
        "expires_at": link.expires_at,
        "events": link.last_seq,
        "redaction": link.redaction,
        "without_cost": link.without_cost,
        "counts": link.counts,
        "log_hash": "" if link.rules else _log_hash(link),
    }


def _log_hash(link: ShareLink) -> str:
    """Hash of the log up to the last event that is shown; empty where an append goes on behind it.

    It stands for every word of the log: of a redacted session it does not leave, for words can be tried until it fits.
    """
    last = EventLink.objects.filter(session_id=link.session_id, last_seq=link.last_seq).first()
    return bytes(last.hash).hex() if last else ""


def record_making(link: ShareLink, by: audit.Actor, *, confirmed: bool) -> None:
    """Into the audit log: who shares what until when, and against which missing grant."""
    details = {
        "redaction": link.redaction, "without_cost": link.without_cost, "redistribution_confirmed": confirmed,
    }  # fmt: skip
    with transaction.atomic():
        audit.record(
            link.workspace_id, by, "session.shared", subject=("session", link.session_id), share_link=str(link.pk),
            until=link.expires_at.isoformat(), events=link.last_seq,
            **{name: value for name, value in details.items() if value},
        )  # fmt: skip
