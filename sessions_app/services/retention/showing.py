"""What was pruned is shown again: all of a session, as its log holds it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import HiddenSpan, Pruning, Session

from .. import audit, notify
from . import policies


@dataclass(frozen=True, slots=True)
class Shown:
    """What came into sight again."""

    messages: int
    events: int


@transaction.atomic
def show_again(session_id: UUID, *, by: audit.Actor) -> Shown:
    """Bring all that was pruned of a session into sight. Raises ``Session.DoesNotExist``.

    The sweep leaves it there until somebody prunes by hand, or says another retention of the session. Allowed on hold,
    too: nothing is lost by it.
    """
    row = policies.lock(session_id)
    spans = list(HiddenSpan.objects.filter(session_id=session_id).order_by("first_seq"))
    if not spans:
        return Shown(0, 0)
    shown = Shown(
        sum(span.messages for span in spans), sum(span.last_seq - span.first_seq + 1 for span in spans)
    )  # fmt: skip
    first, last = spans[0].first_seq, spans[-1].last_seq
    row.shown_through = max(row.shown_through, last)
    row.save(update_fields=["shown_through"])
    HiddenSpan.objects.filter(session_id=session_id).delete()
    Pruning.objects.filter(session_id=session_id, shown_at=None).update(shown_at=timezone.now(), shown_by=by.name)
    audit.record(
        row.workspace_id, by, "session.shown_again", subject=("session", session_id), messages=shown.messages,
        events=shown.events, first_seq=first, last_seq=last,
    )  # fmt: skip
    notify.session_changed(session_id, Session.objects.values_list("last_seq", flat=True).get(pk=session_id))
    return shown
