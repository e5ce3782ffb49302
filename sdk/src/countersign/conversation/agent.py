"""A model with tools that works in a session: what it says and does is recorded, what others said there it reads."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from .memory import Memory
from .model import LanguageModel, Model
from .session import Session
from .tools import Tool, as_text, tools_of

Json = dict[str, Any]
CONTEXT = 200
"""Messages of the session that the model is given."""
STEPS = 20
"""Responses of the model in one run."""


class NoField(AttributeError):
    """Neither the answer nor the last result of a tool is a JSON object with this member."""


@dataclass
class AgentResult:
    """What came of a run. A member of the answer, where that is a JSON object, or else of what the last tool returned,
    is an attribute: ``result.category``.
    """

    output: str
    tool_calls: list[Json] = field(default_factory=list)
    """``{name, arguments, result, status}`` in their order."""
    handoff_to: str | None = None

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            for held in (_object(self.output), *(call["result"] for call in reversed(self.tool_calls))):
                if isinstance(held, dict) and name in held:
                    return held[name]
        raise NoField(f'neither the answer nor a result of a tool says "{name}"')


class Agent:
    """``tools`` are functions. A call of one in ``needs_approval`` waits for a person at the desk first.

    Each of ``handoffs`` is an agent of the same session that the model may hand the conversation to. Without a
    ``model`` it is ``LanguageModel()``; of a ``memory`` what fits is put before the model.
    """

    def __init__(
        self, name: str, session: Session | None = None, model: Model | None = None, instructions: str = "",
        tools: Iterable[Any] = (), memory: Memory | None = None, *, needs_approval: Collection[str] = (),
        handoffs: Iterable[Agent] = (),
    ) -> None:  # fmt: skip
        self.name, self.instructions, self.memory = name, instructions, memory
        self.session = session or Session(f"{name}-{id(self):x}", app_name=name)
        self.model = model or LanguageModel()
        self._tools = tools_of(tools)
        self._needs_approval = set(needs_approval)
        self._handoffs = {f"transfer_to_{agent.name}": agent for agent in handoffs}

    async def run(self, text: str) -> AgentResult:
        """Answer a message. Raises ``ModelError``, ``DeskError`` (the session cannot be read) and ``RuntimeError``.

        The message is in the session before the model is asked, each call and its result when it was made. An agent
        that follows another one in the session is recorded as a handoff.
        """
        before = await self.session.history(limit=CONTEXT)
        self._note_handoff(before)
        async with self.session.turn(text):
            return await self._answer([*before, {"role": "user", "content": text, "name": None}])

    async def _answer(self, said: list[Json]) -> AgentResult:
        messages, result = self._as_messages(said), AgentResult("")
        instructions = await self._instructed(said[-1]["content"])
        told = [tool.told for tool in self._tools.values()] + [_transfer(name) for name in self._handoffs]
        for _ in range(STEPS):
            answer = await self.model.answer(instructions, messages, told)
            if answer.usage:
                self.session.usage(model=answer.model, **cast(Any, answer.usage))
            if not answer.calls:
                self.session.message(answer.text, name=self.name, model=answer.model)
                result.output = answer.text
                return result
            if answer.text:
                self.session.message(answer.text, name=self.name, model=answer.model)
            handed = next((self._handoffs[name] for _, name, _ in answer.calls if name in self._handoffs), None)
            if handed:
                return await self._hand_over(handed, said)
            results = [await self._called(call, result) for call in answer.calls]
            messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
        raise RuntimeError(f"{self.name} did not come to an end within {STEPS} responses of its model")

    async def _called(self, call: tuple[str, str, Json], result: AgentResult) -> Json:
        """Make a call that the model wants; what the model is told of it."""
        call_id, name, arguments = call
        tool, status = self._tools.get(name), "error"
        came: Any = f"there is no tool {name}"
        if tool is not None:
            arguments, came, status = await self._made(tool, call_id, arguments)
        result.tool_calls.append({"name": name, "arguments": arguments, "result": came, "status": status})
        return {"type": "tool_result", "tool_use_id": call_id, "content": as_text(came), "is_error": status != "ok"}

    async def _made(self, tool: Tool, call_id: str, arguments: Json) -> tuple[Json, Any, str]:
        """Arguments it was made with, result, and status."""
        if tool.name in self._needs_approval:
            decision = await self.session.approve(tool.name, arguments)
            if not decision.allowed:
                return arguments, f"not allowed: {decision.reason or decision.status}", "denied"
            arguments = decision.arguments or {}
        try:
            async with self.session.tool_call(tool.name, arguments, call_id=call_id) as made:
                made.result = came = await tool.call(arguments)
        except Exception as error:  # of the tool: the model may try otherwise
            return arguments, f"{type(error).__name__}: {error}", "error"
        return arguments, came, "ok"

    async def _hand_over(self, other: Agent, said: list[Json]) -> AgentResult:
        self.session.record(
            "handoff", text=f"{self.name} → {other.name}", data=_handed(self.name, other.name, len(said))
        )
        result = await other._answer(said)
        result.handoff_to = other.name
        return result

    def _note_handoff(self, before: list[Json]) -> None:
        last = next((one["name"] for one in reversed(before) if one["role"] == "assistant"), None)
        if last and last != self.name:
            data = _handed(last, self.name, len(before))
            self.session.record("handoff", text=f"{last} → {self.name}", data=data)

    async def _instructed(self, text: str) -> str:
        if self.memory is None:
            return self.instructions
        known = "\n".join(f"- {found.key}: {found.content}" for found in await self.memory.search(text))
        return f"{self.instructions}\n\nWhat is remembered:\n{known}".strip() if known else self.instructions

    def _as_messages(self, said: list[Json]) -> list[Json]:
        """The session as the model's API takes it: what other agents said comes as theirs, from outside."""
        messages: list[Json] = []
        for one in said:
            own = one["role"] == "assistant" and one["name"] in (None, self.name)
            role, content = ("assistant" if own else "user"), one["content"]
            if one["role"] == "system":
                content = f"[system] {content}"
            elif one["role"] == "assistant" and not own:
                content = f"[{one['name']}] {content}"
            if not content.strip():
                continue
            if messages and messages[-1]["role"] == role:
                messages[-1]["content"] += f"\n\n{content}"
            else:
                messages.append({"role": role, "content": content})
        return messages[1:] if messages and messages[0]["role"] == "assistant" else messages


def _handed(from_: str, to: str, passed: int) -> Json:
    return {"from": from_, "to": to, "messages_passed": passed}


def _transfer(name: str) -> Json:
    to = name.removeprefix("transfer_to_")
    return {"name": name, "description": f"Hand this conversation over to {to}, who reads all of it.",
            "input_schema": {"type": "object", "properties": {}}}  # fmt: skip


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
