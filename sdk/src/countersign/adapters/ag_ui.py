"""AG-UI 1.0: a run that ends with an interrupt about a tool call goes on with the decision of the desk.

Stands where the user interface stands: it starts the runs, keeps the messages, and answers. Wire as in the
specification, "Interrupts and Resume"; events may be those of ``ag-ui-protocol`` or JSON objects.
"""

from __future__ import annotations

import asyncio
import copy
import json
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

from ..answers import Decision
from ..sentences import why
from .asker import Asker

Json = dict[str, Any]
Start = Callable[[Any], AsyncIterator[Any]]
"""From the input of a run to its events."""


class Gate:
    """Options: those of ``Asker``; ``external_id`` is the thread, unless it is given."""

    def __init__(self, agent: str, **options: Any) -> None:
        self._asker, self._external_id = Asker(agent, **options), options.get("external_id")

    async def run(self, start: Start, given: Any) -> AsyncIterator[Any]:
        """The events of a run and of those that go on from it, until nothing waits that the desk can decide.

        ``given``: a ``RunAgentInput``, or the object that it is on the wire. Where one of the interrupts is about
        something else, none is answered: the protocol wants answers to all of them at once.
        """
        form, asked = type(given), _json(given)
        allowed: dict[str, Decision] = {}
        while True:
            history = History(asked)
            async for event in start(given):
                seen = _json(event)
                history.note(seen)
                await self._report(seen.get("type"), allowed, history)
                yield event
            calls = [history.call_of(interrupt) for interrupt in history.interrupts]
            if not calls or None in calls:
                return
            decisions = await asyncio.gather(*(self._ask(call, asked) for call in calls if call))
            answers = [_answer(*each) for each in zip(history.interrupts, decisions, strict=True)]
            for interrupt, decision, answer in zip(history.interrupts, decisions, answers, strict=True):
                if answer["payload"]["approved"]:
                    allowed[str(interrupt.get("toolCallId"))] = decision
            asked = asked | {"runId": str(uuid.uuid4()), "messages": history.messages, "resume": answers}
            given = asked if form is dict else form.model_validate(asked)

    async def _report(self, kind: Any, allowed: dict[str, Decision], history: History) -> None:
        """At the end of a run its calls with a result were made; of a run that broke off, only a single one is told."""
        made = [call for call in history.results if call in allowed]
        if kind == "RUN_FINISHED" or (kind == "RUN_ERROR" and len(allowed) == len(made) == 1):
            for call in made:
                await self._asker.report(allowed.pop(call), failed=kind == "RUN_ERROR")

    async def _ask(self, call: tuple[str, str, str | None], asked: Json) -> Decision:
        name, arguments, message = call
        session = self._external_id or str(asked.get("threadId"))
        return await self._asker.ask(name, arguments, context=message, external_id=session)


class History:
    """What a run has said: its messages, as the next run is given them, and what it waits for."""

    def __init__(self, asked: Json) -> None:
        self.messages: list[Json] = copy.deepcopy(asked.get("messages") or [])
        self.interrupts: list[Json] = []
        self.results: list[str] = []
        """Calls that have a result."""

    def note(self, event: Json) -> None:
        kind = event.get("type")
        if kind == "MESSAGES_SNAPSHOT":
            self.messages = copy.deepcopy(event.get("messages") or [])
        elif kind in ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK"):
            message = self._message(event.get("messageId"), event.get("role") or "assistant")
            message["content"] = (message.get("content") or "") + (event.get("delta") or "")
        elif kind in ("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_CHUNK"):
            self._call(event)
        elif kind == "TOOL_CALL_RESULT":
            said = {name: event.get(name) for name in ("toolCallId", "content")}
            self.messages.append({"id": str(event.get("messageId")), "role": "tool", **said})
            self.results.append(str(event.get("toolCallId")))
        elif kind == "RUN_FINISHED":
            outcome = event.get("outcome")
            waits = isinstance(outcome, dict) and outcome.get("type") == "interrupt"
            self.interrupts = list(outcome.get("interrupts") or ()) if waits and isinstance(outcome, dict) else []

    def call_of(self, interrupt: Json) -> tuple[str, str, str | None] | None:
        """Name, arguments and message of the call that an interrupt asks about; None where it asks something else."""
        schema, calls = interrupt.get("responseSchema"), self._calls(interrupt.get("toolCallId"))
        if len(calls) != 1 or (schema is not None and "approved" not in _properties(schema)):
            return None  # an id that two calls have names neither
        [call] = calls
        return call["function"]["name"], call["function"]["arguments"], interrupt.get("message")

    def _calls(self, id_: Any) -> list[Json]:
        calls = (call for message in self.messages for call in message.get("toolCalls") or ())
        return [call for call in calls if call.get("id") == id_]

    def _call(self, event: Json) -> None:
        id_ = event.get("toolCallId")
        call = self._last if id_ is None or (self._last and self._last["id"] == id_) else None
        if call is None or event.get("type") == "TOOL_CALL_START":
            known = self._calls(id_) if event.get("type") == "TOOL_CALL_ARGS" else []
            call = known[-1] if known else self._new_call(id_, event.get("parentMessageId"))
        self._last = call
        call["function"]["name"] = event.get("toolCallName") or call["function"]["name"]
        call["function"]["arguments"] += event.get("delta") or ""

    _last: Json | None = None
    """The call that pieces without an id belong to."""

    def _new_call(self, id_: Any, message: Any) -> Json:
        call = {"id": str(id_), "type": "function", "function": {"name": "", "arguments": ""}}
        holder = self._message(message or str(uuid.uuid4()), "assistant")
        holder["toolCalls"] = [*(holder.get("toolCalls") or ()), call]
        return call

    def _message(self, id_: Any, role: str) -> Json:
        found = next((one for one in self.messages if one.get("id") == id_), None)
        if found is None:
            found = {"id": str(id_), "role": role}
            self.messages.append(found)
        return found


def _answer(interrupt: Json, decision: Decision) -> Json:
    """A denial is an answer, too: ``resolved``, with ``approved`` false."""
    schema = interrupt.get("responseSchema")
    takes = _properties(schema)
    payload: Json = {"approved": decision.allowed and (not decision.is_edited or "editedArgs" in takes)}
    if payload["approved"] and "editedArgs" in takes:
        payload["editedArgs"] = decision.arguments  # also unchanged: these were decided on, nothing else
    if not payload["approved"] and (schema is None or "reason" in takes):
        said = json.dumps(decision.arguments, ensure_ascii=False) if decision.allowed else ""
        payload["reason"] = f"Not run: {decision.by} would allow {said}." if said else why(decision)
    about = {"approval": decision.approval_id, "status": decision.status, "digest": decision.digest}
    return {
        "interruptId": interrupt.get("id"), "status": "resolved", "payload": payload,
        "metadata": {"countersign": about},
    }  # fmt: skip


def _properties(schema: Any) -> Json:
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _json(model: Any) -> Json:
    found: Json = model if isinstance(model, dict) else model.model_dump(mode="json", by_alias=True)
    return found
