"""Calls and sub-agents named in the latest lines; old entries fall out, so memory stays flat."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from ..common.lines import Line, digest
from ..common.values import dict_of, text_of

KEPT = 1024
"""Calls and sub-agent lines remembered. More than a thousand calls are never open at once."""
SPAWNERS = ("Task", "Agent")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: the key of its event, its name and, for a sub-agent, which one."""

    key: str
    name: str
    agent_type: str = ""
    depth: int = 0


class Links:
    """Finds the call that a result, a hook or a sub-agent's line belongs to."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, Call] = OrderedDict()
        self._prompts: OrderedDict[str, Call] = OrderedDict()
        self._agents: OrderedDict[str, Call] = OrderedDict()
        self._sides: OrderedDict[str, Call] = OrderedDict()

    def call(self, line: Line, part: str, call_id: str | None, name: str, arguments: Any) -> None:
        """Remember a tool call of this line."""
        call = Call(line.key + part, name)
        if name in SPAWNERS:
            call = Call(line.key + part, name, text_of(dict_of(arguments).get("subagent_type")), line.depth)
            _remember(self._sides, line.key, call)
            if opening := _fingerprint(dict_of(arguments).get("prompt")):
                _remember(self._prompts, opening, call)
        if call_id:
            _remember(self._calls, call_id, call)

    def get(self, call_id: Any) -> Call | None:
        """The call with this id, while it is remembered."""
        return self._calls.get(call_id) if isinstance(call_id, str) else None

    def agent(self, agent_id: Any, call_id: Any) -> None:
        """Remember which call started a sub-agent, as a progress line or a result states it."""
        if isinstance(agent_id, str) and (call := self.get(call_id)):
            _remember(self._agents, agent_id, call)

    def sub_agent_call(self, line: Line, content: Any) -> Call | None:
        """The call that a sub-agent's line in its parent's file runs under.

        Tried in this order: the agent id, the prompt that opened it, the line before it (or the call's own).
        """
        value = line.value
        agent_id, parent = text_of(value.get("agentId")), text_of(value.get("parentUuid"))
        call = self._agents.get(agent_id) or self._prompts.get(_fingerprint(content)) or self._sides.get(parent)
        if call:
            _remember(self._sides, line.key, call)
            if agent_id:
                _remember(self._agents, agent_id, call)
        return call


def _fingerprint(prompt: Any) -> str:
    if isinstance(prompt, list) and prompt:
        prompt = dict_of(prompt[0]).get("text")
    return digest(prompt.encode(errors="replace")) if isinstance(prompt, str) else ""


def _remember(known: OrderedDict[str, Call], name: str, call: Call) -> None:
    known[name] = call
    if len(known) > KEPT:
        known.popitem(last=False)
