"""Answers to what a session at the provider waits for: people are asked here, and their decisions sent there."""

from __future__ import annotations

from typing import Any

import orjson
from anyio.from_thread import start_blocking_portal
from django.utils import timezone

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Approval, Event
from sessions_app.services.approvals import delivery, endings
from sessions_app.services.turns import in_flight

from .. import calls
from ..run import TurnRun
from ..tools.box import Toolbox
from .client import Json, Rejected, Unavailable
from .events import ANSWERS
from .follow import Follower, answer_line, unanswered

Status = Approval.Status
UNSEEN = "call that was not shown"
"""The runtime waits for it and does not tell what it is: it can only be denied."""
LOOKS, SECONDS_BETWEEN = 3, 0.3
WITHOUT_SIGHT = "The reviewer could not see this call, so it is not allowed. Make it again."


def send_decisions(follower: Follower) -> bool:
    """Send every decision there is to the runtime. True when people have still to decide something.

    Only ids that the server itself names are answered: one of an earlier turn would be refused, and for ever.
    """
    waits = False
    for id_ in [*follower.remote.waits_for] or list(unanswered(follower.turn)):
        if id_ not in follower.answered and (call := _call(follower, id_)):
            waits |= not _answer_call(follower, call, id_)
    return waits


def withdraw(turn: TurnRun) -> None:
    """End the approvals that the runtime does not wait for any more: it went on, or has ended."""
    ids = [call.call_id for call in calls.open_calls(turn)]
    for approval in Approval.objects.filter(session_id=turn.session_id, status=Status.PENDING, client_id__in=ids):
        endings.end_answered_elsewhere(approval, "the runtime does not wait for this any more")


def is_custom(call: Event) -> bool:
    """Whether its result comes from here: the runtime's own tools need but a word."""
    return call.data.get("type") == "agent.custom_tool_use"


def _call(follower: Follower, id_: str) -> Event | None:
    """The call in the log; None when it is not for people (a worker of ours elsewhere is to run it)."""
    for look in range(LOOKS):
        if call := follower.call(id_):
            return None if call.data.get("evaluated_permission") == "allow" else call
        if look and follower.turn.pause(SECONDS_BETWEEN):
            return None
        follower.look_for_calls()
    unseen = EventDraft(
        "tool_call", f"managed:{id_}:unseen", at=timezone.now(), actor_kind="agent",
        actor_name=follower.turn.agent.name, tool=ToolDraft(id_, UNSEEN), data={"unseen": True},
    )  # fmt: skip
    follower.turn.append(unseen)
    return follower.call(id_)


def _answer_call(follower: Follower, call: Event, id_: str) -> bool:
    """Send what answers the call. False when a person has still to decide."""
    if is_custom(call):
        return _answer_custom_call(follower, call, id_)
    approval = _asked(follower.turn, id_) or _ask(follower.turn, call)
    if approval.status == Status.PENDING:
        return False
    approval = endings.held_to_stop(approval)
    _send(follower, id_, reply(call, approval, id_), approval)
    return True


def _ask(turn: TurnRun, call: Event) -> Approval:
    """Ask a person; but not about the call that a person told the agent to make."""
    with in_flight.owned(turn.flight):
        approval = turn.request_approval(call, context=calls.question(call))
        if approval.status == Status.PENDING and (changed := _changed_to(turn, call)):
            endings.allow_as_changed(approval, changed)
        return approval


def _changed_to(turn: TurnRun, call: Event) -> Approval | None:
    """The approval of this turn, not used yet, in whose place exactly this call was to be made."""
    ids = [event.call_id for event in turn.events_of_turn("tool_call")]
    approvals = Approval.objects.filter(
        session_id=turn.session_id, client_id__in=ids, status=Status.APPROVED_EDITED, delivery="delivered",
        tool_name=call.tool_name, tool_server=call.tool_server,
    )  # fmt: skip
    same = (one for one in approvals if _exactly((one.decision or {}).get("arguments")) == _exactly(call.arguments))
    return next((one for one in same if not endings.has_allowed_a_call(one)), None)


def _exactly(arguments: Any) -> bytes:
    """Bytes to compare two calls by: to Python 1, 1.0 and True are equal."""
    return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)


def _answer_custom_call(follower: Follower, call: Event, id_: str) -> bool:
    """A tool whose result comes from here: of a function, or of a person. The log has it before the runtime does."""
    turn = follower.turn
    if follower.result(id_) is None:
        with start_blocking_portal() as portal, Toolbox(turn, portal) as tools:
            if not calls.finish_call(turn, call, tools.execute, tools.people):
                return False
    if result := follower.result(id_):
        follower.mapping.results.add(id_)
        _send(follower, id_, _own_result(result, id_), _asked(turn, id_))
    return True


def _asked(turn: TurnRun, id_: str) -> Approval | None:
    return Approval.objects.filter(session_id=turn.session_id, client_id=id_, recorded=False).first()


def _send(follower: Follower, id_: str, answer: Json, approval: Approval | None = None) -> None:
    """Send an answer once: it is noted first, and after a failure the runtime is asked which answers it has."""
    turn = follower.turn
    if approval and approval.delivery in ("sending", "uncertain"):  # a worker was killed at this, or had no answer
        follower.look_for_answers()
        if id_ in follower.answered:
            return
    turn.save_state(answering=turn.state.get("answering", {}) | {id_: answer_line(answer)})
    if approval:
        delivery.begin_sending(approval)
    try:
        follower.note_answer(follower.port.send(follower.id, answer))
    except Unavailable as silence:
        if approval:
            delivery.note_uncertain(approval, str(silence))
        follower.look_for_answers()
        if id_ not in follower.answered:
            if approval:
                delivery.queue_again(approval)
            raise
    except Rejected as stale:
        follower.look_for_answers()
        if id_ not in follower.answered:
            _give_up(follower, id_, approval, stale)


def _give_up(follower: Follower, id_: str, approval: Approval | None, stale: Rejected) -> None:
    """The runtime does not wait for it any more, and has no answer either: it was interrupted, or moved on."""
    follower.answered.add(id_)
    if approval:
        delivery.mark_stale(approval, str(stale))
    follower.turn.append(
        follower.turn.event(
            "status", f"managed:{id_}:stale", f"the runtime did not take the answer: {stale}", actor_kind="system",
            data={"status": "answer_refused"},
        )
    )  # fmt: skip


def reply(call: Event, approval: Approval, id_: str) -> Json:
    """Body of the decision on a tool of the provider, as its API has it."""
    made = approval.decision or {}
    by = made.get("by") or "A reviewer"
    if approval.tool_name == UNSEEN and approval.status in (Status.APPROVED, Status.APPROVED_EDITED):
        return _denial(id_, WITHOUT_SIGHT)
    if approval.status in (Status.APPROVED, Status.AUTO_ALLOWED):
        return {"type": "user.tool_confirmation", "tool_use_id": id_, "result": "allow"}
    if approval.status == Status.APPROVED_EDITED:
        return _denial(id_, _instead(call, made.get("arguments"), by))
    if approval.status == Status.ANSWERED:
        return _denial(id_, f"{by} answered instead of allowing this call: {made.get('answer', '')}")
    return _denial(id_, made.get("reason") or approval.get_status_display())


def _instead(call: Event, arguments: Any, by: str) -> str:
    """The API cannot change a call, so the agent is told which one to make in its place."""
    return (
        f"{by} changed this call. It did not run. Call {call.tool_name} again, with exactly these arguments: "
        f"{_json(arguments)}"
    )


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def _denial(id_: str, why: str) -> Json:
    return {"type": "user.tool_confirmation", "tool_use_id": id_, "result": "deny", "deny_message": why}


def _own_result(result: Event, id_: str) -> Json:
    """What came of a call here; where a person changed its arguments the agent has to know."""
    edited = result.data.get("arguments")
    note = "" if edited is None else f"A reviewer changed the arguments to {_json(edited)}.\n"
    kind = "user.custom_tool_result"
    said = (note + result.text).strip() or "(no output)"  # an empty text is refused
    content = [{"type": "text", "text": said}]
    return {"type": kind, ANSWERS[kind]: id_, "content": content, "is_error": result.tool_status != "ok"}
