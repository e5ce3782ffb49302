"""LangChain 1.5 and LangGraph: interrupts that ask for a decision are answered by the desk.

Reads what ``HumanInTheLoopMiddleware`` raises (one request for all calls of a turn, or one for each), and the list of
an agent inbox. Any other interrupt is left to whoever runs the graph.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from ..answers import Decision
from ..canonical import canonical
from ..sentences import why
from .asker import Asker

EVERY = ("approve", "edit", "reject", "respond")


class CannotDeny(PermissionError):
    """A call was not allowed, and the graph takes no other answer than yes: it stays interrupted."""


class Gate:
    """``run`` stands in for ``graph.ainvoke``. Options: those of ``Asker``."""

    def __init__(self, agent: str, **options: Any) -> None:
        self._asker = Asker(agent, **options)

    async def run(self, graph: Any, given: Any, config: Any, **more: Any) -> Any:
        """``graph.ainvoke`` until no interrupt waits for a decision. Raises ``CannotDeny``.

        The desk is told what came of the calls, where the graph keeps their results under ``messages``.
        """
        result = await graph.ainvoke(given, config, **more)
        while (waiting := interrupts_of(result)) and all(_kind(interrupt.value) for interrupt in waiting):
            allowed, before = list[Allowed](), set(_results(result))
            command = await self._settle(waiting, allowed)
            try:
                result = await graph.ainvoke(command, config, **more)
            except Exception:
                if len(allowed) == 1:  # of several, it cannot be told which were made
                    await self._report(allowed, [(allowed[0][0], True)])
                raise
            await self._report(allowed, [each for id_, each in _results(result).items() if id_ not in before])
        return result

    async def settle(self, interrupts: Iterable[Any]) -> Any:
        """The ``Command`` that resumes each of these interrupts. Raises ``CannotDeny``, and ``ValueError``."""
        return await self._settle(list(interrupts), [])

    async def _settle(self, waiting: list[Any], allowed: list[Allowed]) -> Any:
        from langgraph.types import Command

        answers = await asyncio.gather(*(self._answer(interrupt, allowed) for interrupt in waiting))
        return Command(resume={each.id: answer for each, answer in zip(waiting, answers, strict=True)})

    async def _report(self, allowed: list[Allowed], results: list[tuple[str, bool]]) -> None:
        """``results``: calls that were made, and whether each failed."""
        for call, failed in results:
            found = next((one for one in allowed if one[0] == call), None)
            if found:
                allowed.remove(found)
                await self._asker.report(found[1], failed=failed)

    async def _answer(self, interrupt: Any, allowed: list[Allowed]) -> Any:
        value, kind = interrupt.value, _kind(interrupt.value)
        calls = list(_CALLS[kind](value, interrupt)) if kind else []
        if not calls:
            raise ValueError("this interrupt does not ask about a call")
        asked = (self._asker.ask(name, arguments, context=context) for name, arguments, context, _ in calls)
        decisions = await asyncio.gather(*asked)
        answers = [_put(decision, name, may) for decision, (name, _, _, may) in zip(decisions, calls, strict=True)]
        for decision, (name, arguments, *_), answer in zip(decisions, calls, answers, strict=True):
            if answer["type"] in ("approve", "edit"):
                allowed.append((_written(name, arguments), decision))
        if kind == "inbox":
            return [_inbox(answer) for answer in answers]
        return answers[0] if kind == "call" else {"decisions": answers}


Allowed = tuple[str, Decision]
"""A call as the model wrote it, which stands in the messages of an edited one, too, and its decision."""


def _written(name: Any, arguments: Any) -> str:
    """To find a call again among those that were made; empty for one that is no JSON."""
    try:
        return canonical([str(name), arguments])
    except (ValueError, RecursionError):
        return ""


def _results(result: Any) -> dict[str, tuple[str, bool]]:
    """Id of each call that has a result -> the call, and whether it failed."""
    state = result if isinstance(result, dict) else getattr(result, "value", None)
    messages = state.get("messages") if isinstance(state, dict) else None
    listed = messages if isinstance(messages, list) else []
    calls = {str(call.get("id")): call for message in listed for call in getattr(message, "tool_calls", None) or ()}
    found = {}
    for message in listed:
        id_ = str(getattr(message, "tool_call_id", ""))
        if getattr(message, "type", "") == "tool" and id_ in calls:
            written = _written(calls[id_].get("name"), calls[id_].get("args"))
            found[id_] = (written, getattr(message, "status", "") == "error")
    return found


def interrupts_of(result: Any) -> list[Any]:
    """What a graph waits for, of either version of its output."""
    found = result.get("__interrupt__") if isinstance(result, dict) else getattr(result, "interrupts", None)
    return list(found or ())


def _kind(value: Any) -> str:
    if isinstance(value, dict) and value.get("action_requests"):
        return "calls"
    if isinstance(value, dict) and value.get("type") == "tool_approval":
        return "call"
    listed = isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
    return "inbox" if listed and all(isinstance(one.get("action_request"), dict) for one in value) else ""


Call = tuple[str, Any, str, tuple[str, ...]]
"""Name, arguments, what the desk shows beside them, and the decisions that the graph takes."""


def _calls(value: dict[str, Any], interrupt: Any) -> Iterator[Call]:
    may = {one["action_name"]: tuple(one["allowed_decisions"]) for one in value.get("review_configs", ())}
    for one in value["action_requests"]:
        yield one["name"], one["args"], one.get("description", ""), may.get(one["name"], ())


def _call(value: dict[str, Any], interrupt: Any) -> Iterator[Call]:
    yield value["name"], value["args"], value.get("description", ""), _allowed(interrupt.response_schema)


def _listed(value: list[dict[str, Any]], interrupt: Any) -> Iterator[Call]:
    names = {"allow_accept": "approve", "allow_edit": "edit", "allow_ignore": "reject", "allow_respond": "respond"}
    for one in value:
        action, config = one["action_request"], one.get("config") or {}
        may = tuple(name for flag, name in names.items() if config.get(flag))
        yield action["action"], action["args"], one.get("description") or "", may


_CALLS: dict[str, Any] = {"calls": _calls, "call": _call, "inbox": _listed}


def _allowed(schema: Any) -> tuple[str, ...]:
    """The decisions that a schema takes; every one where there is none: LangGraph refuses what it does not take."""
    if not isinstance(schema, dict):
        return EVERY
    found = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("$defs", {}).values()]
    types = [one.get("properties", {}).get("type", {}) for one in found if isinstance(one, dict)]
    said = {value for one in types for value in (one.get("const"), *one.get("enum", ())) if value in EVERY}
    return tuple(said) or EVERY


def _put(decision: Decision, name: str, may: tuple[str, ...]) -> dict[str, Any]:
    """As LangChain writes a decision."""
    if decision.allowed and "edit" in may and decision.is_edited:
        return {"type": "edit", "edited_action": {"name": name, "args": decision.arguments}}
    if decision.allowed and not decision.is_edited and "approve" in may:
        return {"type": "approve"}
    if decision.status == "answered" and "respond" in may:
        return {"type": "respond", "message": decision.answer}
    said = f"Not run: {decision.by} allows other arguments, which this tool takes from nobody." if decision else None
    if "reject" in may:
        return {"type": "reject", "message": said or why(decision)}
    raise CannotDeny(f"{name}: {said or why(decision)} The graph takes only: {', '.join(may) or 'nothing'}.")


def _inbox(answer: dict[str, Any]) -> dict[str, Any]:
    """The same as an agent inbox writes it."""
    if answer["type"] == "edit":
        action = answer["edited_action"]
        return {"type": "edit", "args": {"action": action["name"], "args": action["args"]}}
    if answer["type"] == "respond":
        return {"type": "response", "args": answer["message"]}
    return {"type": "accept" if answer["type"] == "approve" else "ignore", "args": None}
