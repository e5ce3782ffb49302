"""Tool calls that run here: judged at the gate, asked of a person where it says so, run at most once."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from sessions_app.drafts import EventDraft
from sessions_app.models import Approval, Event
from sessions_app.queries import escalations
from sessions_app.services.approvals import endings
from sessions_app.services.money import budgets, usage

from .run import TurnRun
from .tool_rules import ESCALATE, price_of

Status = Approval.Status
UNKNOWN_OUTCOME = (
    "The worker stopped while this call ran, so whether it took effect is not known. Find out before you repeat it."
)
OTHER_CALL = "This is not the call that was approved, so it was not made. Do not repeat it."


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call, as the log keeps it; ``data`` is for its ``data``."""

    text: str
    status: str = "ok"
    data: dict[str, Any] | None = None
    provider: str = "builtin"


Execute = Callable[[Event, Any], Result]
"""Runs a call with these arguments. Raises nothing: a tool that fails has a result of status ``error``."""


def open_calls(turn: TurnRun) -> list[Event]:
    """Calls of this turn that have no result in the log, in order."""
    events = turn.events_of_turn("tool_call", "tool_result")
    done = {event.call_id for event in events if event.kind == "tool_result"}
    return [event for event in events if event.kind == "tool_call" and event.call_id not in done]


def cancelled(turn: TurnRun) -> list[EventDraft]:
    """Results for the calls that an interrupted turn leaves behind."""
    told = escalations.error(Status.CANCELLED).text
    return [
        turn.result(call, told if _is_escalation(call) else "interrupted", "cancelled") for call in open_calls(turn)
    ]


def finish_open_calls(turn: TurnRun, execute: Execute, people: Collection[str] = ()) -> bool:
    """Bring every open call to its result. False when some wait for a person; those that need none are done.

    ``people`` are tools that a person answers: rules may deny them, but not allow them.
    """
    waits = False
    for call in open_calls(turn):
        if turn.interrupted:
            return True
        waits |= not finish_call(turn, call, execute, people)
    return not waits


def finish_call(turn: TurnRun, call: Event, execute: Execute, people: Collection[str] = ()) -> bool:
    """Bring one call to its result. False when it waits for a person."""
    if turn.state.get("executing") == call.call_id:
        turn.append(turn.result(call, UNKNOWN_OUTCOME, "error", unknown_outcome=True))
        return True
    for_person = call.tool_name in people and not call.tool_server
    arguments = call.arguments
    if not turn.allows(call, for_person=for_person):
        approval = turn.request_approval(call, context=question(call), for_person=for_person)
        if approval.status == Status.PENDING:
            return False
        if not endings.mark_delivered(approval):
            approval.refresh_from_db()  # delivered by a worker before this one, or void since it was read
        if approval.status not in (Status.APPROVED, Status.APPROVED_EDITED, Status.AUTO_ALLOWED):
            _refuse(turn, call, approval, for_person=for_person or approval.is_escalation)
            return True
        edited = (approval.decision or {}).get("arguments")
        arguments = call.arguments if edited is None else edited
        if approval.executable_digest not in ("", approval.digest_of_call(arguments)):  # empty: of before digests
            turn.append(turn.result(call, OTHER_CALL, "denied", by="Countersign"))
            return True
    _execute(turn, call, arguments, execute)
    return True


def _is_escalation(call: Event) -> bool:
    return call.tool_name == ESCALATE and not call.tool_server


def question(call: Event) -> str:
    """Question of the agent to a person, where the call is one; empty otherwise."""
    asked = call.arguments.get("question") if call.tool_name == ESCALATE and isinstance(call.arguments, dict) else ""
    return asked if isinstance(asked, str) else ""


def _refuse(turn: TurnRun, call: Event, approval: Approval, *, for_person: bool) -> None:
    """Tell the agent what the person said: an answer is a result, everything else is a refusal with its reason.

    Of a question to a person the refusal is an error as JSON, which programs can tell from an answer.
    """
    made = approval.decision or {}
    if approval.status == Status.ANSWERED:
        turn.append(turn.result(call, str(made.get("answer", "")), "ok", answered_by=made.get("by", "")))
        return
    why = str(made.get("reason") or approval.get_status_display())
    if for_person:
        why = escalations.refusal_of(approval).text
    status = "cancelled" if approval.status == Status.CANCELLED else "denied"
    turn.append(turn.result(call, why, status, by=made.get("by", ""), decision=approval.status))


def _execute(turn: TurnRun, call: Event, arguments: Any, execute: Execute) -> None:
    """Run the call at most once: it is noted as under way first, and a worker that finds the note does not run it."""
    price = price_of(turn.agent.tools, call.tool_name or "", call.tool_server)
    try:
        budgets.check_call(turn.session, price)
    except budgets.Spent as spent:
        turn.append(turn.result(call, str(spent), "denied", by="wallet"))
        provider = call.tool_server or "builtin"
        usage.book_call(call, provider=provider, status="denied", latency_ms=None, cost=price)  # nothing is taken
        return
    if stopped := turn.begin_execution(call):
        turn.append(turn.result(call, f"{stopped}. Do not repeat this call.", "denied", by="stop"))
        return
    asked = Approval.objects.filter(session_id=turn.session_id, client_id=call.call_id or "", execution="none")
    asked.exclude(client_id="").update(execution="running")
    started = time.monotonic()
    result = execute(call, arguments)
    latency_ms = round((time.monotonic() - started) * 1000)
    edited = {"arguments": arguments} if arguments != call.arguments else {}
    turn.append(turn.result(call, result.text, result.status, **(result.data or {}), **edited))
    usage.book_call(
        call,
        provider=call.tool_server or result.provider,
        status=result.status,
        latency_ms=latency_ms,
        cost=price,
    )
    turn.save_state(executing=None)
