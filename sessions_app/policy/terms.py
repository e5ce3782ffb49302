"""What rules ask of a decision: the ``ask`` of a rule, and of several rules at once the strictest of each.

The merged object has the form of one rule's ``ask`` and only the members that some rule states. One member is more:
``eligible.and``, further objects ``{"roles", "members"}`` whom a decider must fit as well, where two rules name
different people.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .rules import DECISIONS, RISKS

DESTRUCTIVE = ("high", "critical")
"""Risks of calls that nobody allows for more than one time."""


def merged(asks: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The strictest of each parameter over the ``ask`` of several rules."""
    terms: dict[str, Any] = {}
    for ask in asks:
        for name, value in ask.items():
            terms[name] = MERGES[name](terms[name], value) if name in terms else value
    return terms


def decisions_allowed(terms: dict[str, Any], risk: str = "") -> tuple[str, ...]:
    """What may be decided. Denying always may, and nothing else where ``decisions`` is there and empty.

    A call is never allowed for more than one time where its risk is high, or where the rules want more than the word of
    one person: several of them, somebody else than who began it, or the name of the tool typed.
    """
    stated = terms.get("decisions", DECISIONS)
    stated = stated if isinstance(stated, (list, tuple)) else ()
    wants_more = terms.get("approvals", 1) > 1 or terms.get("not_initiator") or terms.get("typed_confirmation")
    once = risk in DESTRUCTIVE or terms.get("risk") in DESTRUCTIVE or wants_more
    return tuple(one for one in DECISIONS if one == "deny" or (one in stated and not (one == "always" and once)))


def moments(step: dict[str, Any]) -> list[int]:
    """Seconds after it was asked at which an escalation step fires: once, and as often as it is repeated."""
    repeat = step.get("repeat") or {"every": 0, "times": 0}
    return [step["after"] + number * repeat["every"] for number in range(repeat["times"] + 1)]


def higher(risk: str, other: str) -> str:
    """The higher of two risks; a word that is none of ours is lower than each of ours, and above nothing said."""
    return max((risk, other), key=lambda one: (RISKS.index(one) if one in RISKS else -1, bool(one)))


def _decisions(one: list[str], other: list[str]) -> list[str]:
    return [decision for decision in DECISIONS if decision == "deny" or (decision in one and decision in other)]


def _eligible(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    if other in ({name: one[name] for name in one if name != "and"}, *one.get("and", ())):
        return one
    return one | {"and": [*one.get("and", ()), other]}


def _comment(one: list[str], other: list[str]) -> list[str]:
    return sorted({*one, *other})


def _escalation(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> list[dict[str, Any]]:
    steps = [*one, *(step for step in other if step not in one)]
    return sorted(steps, key=lambda step: step["after"])


MERGES: dict[str, Any] = {
    "decisions": _decisions,
    "eligible": _eligible,
    "approvals": max,
    "not_initiator": lambda one, other: one or other,
    "comment": _comment,
    "expires_in": min,
    "escalation": _escalation,
    "risk": higher,
    "typed_confirmation": lambda one, other: one or other,
}
"""How two values of a parameter become one."""
