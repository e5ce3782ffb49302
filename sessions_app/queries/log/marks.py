"""Marks in a session that are gone through one by one: its errors, its pending approvals."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from sessions_app.models import Event, ToolCall, Turn

from .outline import pending_seqs

MOST = 1_000
"""Errors whose places are told; of a session with more the first ones."""
# Turn by turn, so that it ends where enough are found: PostgreSQL would else read the whole log for its order.
ERRORS = """
SELECT found.seq FROM sessions_app_turn t CROSS JOIN LATERAL (
    SELECT seq FROM sessions_app_event
    WHERE session_id = %(session)s AND seq BETWEEN t.first_seq AND t.last_seq AND kind = 'error'
    UNION SELECT seq FROM sessions_app_toolcall
    WHERE session_id = %(session)s AND seq BETWEEN t.first_seq AND t.last_seq AND status = 'error'
) AS found
WHERE t.session_id = %(session)s AND t.errors > 0
ORDER BY t.index, found.seq LIMIT %(most)s
"""
KINDS = ("error", "approval")


def seqs(session_id: UUID, what: str) -> list[int]:
    """The events that have a mark, in order."""
    return pending_seqs(session_id) if what == "approval" else error_seqs(session_id)


def error_seqs(session_id: UUID, most: int | None = None) -> list[int]:
    """Error events and calls that failed, in order; read from turns that count some, not from the log."""
    with connection.cursor() as cursor:
        cursor.execute(ERRORS, {"session": session_id, "most": most or MOST})
        return sorted({seq for (seq,) in cursor.fetchall()})


def step(session_id: UUID, what: str, seq: int, *, back: bool) -> int | None:
    """The mark after ``seq``, or the one before it; behind the last the first comes again, and the other way round."""
    if what == "error":
        return _error(session_id, seq, back=back)
    found = pending_seqs(session_id)
    if back:
        return next((one for one in reversed(found) if one < seq), found[-1] if found else None)
    return next((one for one in found if one > seq), found[0] if found else None)


def _error(session_id: UUID, seq: int, *, back: bool) -> int | None:
    """The error after or before an event. Looked for in the turns that count errors, of which there is an index, and
    not in the log."""
    here = Event.objects.filter(session_id=session_id, seq=seq).values_list("turn", flat=True).first() or 0
    failing = Turn.objects.filter(session_id=session_id, errors__gt=0).values_list("index", flat=True)
    failing = failing.order_by("-index" if back else "index")
    # Of the turn that the event is in, all errors may be on its other side.
    near = failing.filter(index__lte=here)[:2] if back else failing.filter(index__gte=here)[:2]
    for bound, turns in ((seq, near), (None, failing[:1])):
        for turn in turns:
            if (found := _error_of_turn(session_id, turn, bound, back=back)) is not None:
                return found
    return None


def _error_of_turn(session_id: UUID, turn: int, seq: int | None, *, back: bool) -> int | None:
    """The first error of a turn after an event, or the last before it; of the whole turn without one."""
    bound = {} if seq is None else {"seq__lt" if back else "seq__gt": seq}
    of_turn = {"session_id": session_id, "turn": turn, **bound}
    order = "-seq" if back else "seq"
    error = Event.objects.filter(kind="error", **of_turn).order_by(order).values_list("seq", flat=True).first()
    call = ToolCall.objects.filter(status="error", **of_turn).order_by(order).values_list("seq", flat=True).first()
    found = [one for one in (error, call) if one is not None]
    return (max if back else min)(found, default=None)
