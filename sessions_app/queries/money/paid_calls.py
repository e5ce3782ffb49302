"""What tool calls of sessions cost: those that succeeded, paid for from the data wallet as in the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from uuid import UUID

from django.db import connection
from django.db.models import Sum

from sessions_app.models import Agent, CallUsage, Session, ToolCall, Turn

PAID = """
SELECT c.turn, u.seq, u.cost FROM sessions_app_callusage u
JOIN sessions_app_toolcall c ON c.session_id = u.session_id AND c.seq = u.seq
WHERE u.session_id = %s AND u.status = 'ok' AND u.cost > 0 ORDER BY u.seq
"""


def note_costs_of(sessions: Iterable[Session]) -> None:
    """Set ``tool_cost`` of sessions whose agents run here, in one query; none where no agent does."""
    here = {session.pk: session for session in sessions if _may_pay(session)}
    if not here:
        return
    paid = CallUsage.objects.filter(session_id__in=here, status="ok", cost__gt=0)
    for pk, cost in paid.order_by().values("session_id").annotate(sum=Sum("cost")).values_list("session_id", "sum"):
        here[pk].tool_cost = cost


def note_costs_in(session: Session, turns: Iterable[Turn], calls: Iterable[ToolCall]) -> None:
    """Set ``tool_cost`` of a session, of its turns and of its calls; no query where its agent runs elsewhere."""
    if not _may_pay(session):
        return
    rows = _paid(session.pk)
    session.tool_cost = sum((cost for _, _, cost in rows), Decimal(0)) or None
    by_turn: dict[int, Decimal] = {}
    for turn, _, cost in rows:
        by_turn[turn] = by_turn.get(turn, Decimal(0)) + cost
    by_seq = {seq: cost for _, seq, cost in rows}
    for one in turns:
        one.tool_cost = by_turn.get(one.index)
    for call in calls:
        call.tool_cost = by_seq.get(call.seq)


def _may_pay(session: Session) -> bool:
    return session.origin != Session.Origin.IMPORT and session.agent.runtime != Agent.Runtime.EXTERNAL


def _paid(session_id: UUID) -> list[tuple[int, int, Decimal]]:
    with connection.cursor() as cursor:
        cursor.execute(PAID, [session_id])
        return cursor.fetchall()
