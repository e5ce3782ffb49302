"""Usage of turns and tool calls of agents that run here, booked as they end."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.ids import uuid7
from sessions_app.models import CallUsage, Event, Session, Turn, TurnUsage, Wallet

from .. import sessions
from ..log.pricing import price, source
from . import ledger

TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")


@transaction.atomic
def book_turn(session_id: UUID, index: int, runtime_ms: int) -> TurnUsage | None:
    """The usage row of a turn, brought up to date and paid from the AI wallet.

    A turn that is taken up again adds to its row and pays the difference.
    """
    sessions.lock_row(session_id)  # as everybody who writes its turns, which this does by a trigger
    turn = Turn.objects.filter(session_id=session_id, index=index).first()
    if turn is None:
        return None
    session = Session.objects.only("workspace_id", "agent_id").get(pk=session_id)
    used, _ = TurnUsage.objects.get_or_create(
        session_id=session_id,
        turn=index,
        defaults={"workspace_id": session.workspace_id, "agent_id": session.agent_id, "at": timezone.now()},
    )
    for name in TOKENS:
        setattr(used, name, getattr(turn, name))
    used.runtime_ms += runtime_ms
    used.cost, used.unpriced_tokens = turn.cost_amount, turn.unpriced_tokens
    used.price_source = "" if used.cost is None else "runtime" if turn.cost_basis == "recorded" else source()
    used.save()
    event = f"turn:{session_id}:{index}"
    ledger.charge(session.workspace_id, Wallet.Kind.AI, event, used.cost, session_id=session_id)
    return used


@transaction.atomic
def book_call(
    call: Event, *, provider: str, status: str, latency_ms: int | None, cost: Decimal | None = None
) -> CallUsage:
    """The log row of a tool call that was made, once; one that succeeded is paid from the data wallet."""
    sessions.lock_row(call.session_id)
    session = Session.objects.only("workspace_id", "agent_id").get(pk=call.session_id)
    used, made = CallUsage.objects.get_or_create(
        session_id=call.session_id,
        seq=call.seq,
        defaults={
            "workspace_id": session.workspace_id, "agent_id": session.agent_id, "provider": provider,
            "tool": call.tool_name or "", "status": status, "latency_ms": latency_ms, "cost": cost,
            "at": timezone.now(),
        },
    )  # fmt: skip
    if made and cost and status == "ok":
        event = f"call:{call.session_id}:{call.seq}"
        ledger.charge(session.workspace_id, Wallet.Kind.DATA, event, cost, session_id=call.session_id)
    return used


@transaction.atomic
def book_request(session: Session, model: str, tokens: tuple[int, int, int, int, int]) -> Decimal | None:
    """What the desk asked a model of a session, beside its turns: priced as other requests, paid from the AI wallet.

    ``tokens`` as of ``pricing.price``; None: no price is known, and nothing is paid.
    """
    cost = price(model, timezone.now(), tokens)
    ledger.charge(session.workspace_id, Wallet.Kind.AI, f"retention:{uuid7()}", cost, session_id=session.pk)
    return cost
