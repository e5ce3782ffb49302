"""An agent's own rules: the ``policy`` of its definition.

``{"default": EFFECT, "tools": {"server/tool" | "tool": EFFECT}, "expires_in": SECONDS, "rules": [RULE]}``, all
optional. An entry of ``tools`` is a rule for that tool, the one with the server before the one without. ``default`` is
said where none of the agent's own rules matches; left out, the workspace's rules decide alone.
"""

from __future__ import annotations

from typing import Any

from .conditions import Call
from .evaluation import RuleSet, Verdict
from .faults import Faults, Invalid, shown
from .members import Members, check_choice, check_whole, escaped
from .parameters import MOST_SECONDS
from .reading import compile_rules, read_rules
from .rules import EFFECTS

KNOWN = ("default", "tools", "expires_in", "rules")


class AgentRules(RuleSet):
    """The rules of an agent's definition. What is not understood asks."""

    def __init__(self, policy: dict[str, Any], source: str) -> None:
        default = policy.get("default")
        super().__init__(
            compile_rules(policy.get("rules", [])), source, _stated("default", default, source) if default else None
        )
        tools = policy.get("tools")
        self._tools = tools if isinstance(tools, dict) else {}

    @property
    def tools_that_ask(self) -> list[str]:
        """Names of the tools whose entry asks, or is none of the effects."""
        return [name for name, effect in self._tools.items() if effect not in ("allow", "deny")]

    def verdicts(self, call: Call) -> list[Verdict]:
        """What the agent's rules say; an entry for the tool counts like a rule that matches."""
        found = super().verdicts(call)
        for name in (f"{call.server}/{call.tool}" if call.server else "", call.tool):
            if name and (said := self._tools.get(name)):
                without_default = [verdict for verdict in found if verdict is not self.default]
                return [*without_default, _stated(f"tools: {name}", said, self.source)]
        return found


def read_agent_policy(policy: dict[str, Any], pointer: str = "/policy") -> None:
    """Check what somebody wrote as an agent's policy. Raises ``Invalid`` with every fault."""
    faults, label = Faults(), "the policy"
    members = Members.read(policy, pointer, label, KNOWN, faults)
    if members is None:
        return faults.raise_any()
    effects = "allow, ask or deny"
    members.take("default", effects, check_choice(EFFECTS))
    members.take("expires_in", "whole seconds, at most 30 days", check_whole(1, MOST_SECONDS))
    tools = members.take("tools", "an object of tools", lambda value: isinstance(value, dict)) or {}
    for name, effect in tools.items():
        if effect not in EFFECTS:
            faults.add(f"{pointer}/tools/{escaped(name)}", f"{label}: {name} is {effects}, not {shown(effect)}")
    try:
        read_rules(policy.get("rules", []), f"{pointer}/rules")
    except Invalid as invalid:
        faults.found.extend(invalid.faults)
    return faults.raise_any()


def _stated(name: str, effect: Any, source: str) -> Verdict:
    if effect in EFFECTS:
        return Verdict(effect, source, name)
    return Verdict("ask", source, name, fault=f"{shown(effect)} is none of {', '.join(EFFECTS)}")
