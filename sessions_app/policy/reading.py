"""Rules read from JSON: every fault is named with its place, and none is passed over.

An unknown member is a fault: a misspelt condition must not become a rule without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import matching, parameters
from .evaluation import Compiled, broken, compile_rule
from .faults import Fault, Faults, Invalid, shown
from .members import Members, check_choice, check_text
from .rules import EFFECTS, Rule

MAX_RULES = 1_000
MAX_NAME = 200
MAX_REASON = 2_000


def read_rules(value: Any, pointer: str = "") -> tuple[Rule, ...]:
    """The rules of a list. Raises ``Invalid`` with every fault; ``pointer`` is where the list stands."""
    faults = Faults()
    if not isinstance(value, list):
        raise Invalid([Fault(pointer, f"rules are a list, not {shown(value)}")])
    if len(value) > MAX_RULES:
        raise Invalid([Fault(pointer, f"these are {len(value)} rules, and {MAX_RULES} are allowed")])
    rules = [_rule(one, f"{pointer}/{position}", faults) for position, one in enumerate(value)]
    _refuse_repeated_names(value, pointer, faults)
    faults.raise_any()
    return tuple(rule for rule in rules if rule is not None)


def compile_rules(value: Any) -> list[Compiled]:
    """Rules that were kept, ready to be evaluated. One that cannot be read any more is kept as one that asks."""
    if not isinstance(value, list):
        return [broken("all rules", f"rules are a list, not {shown(value)}")]
    return [_compiled(one, position) for position, one in enumerate(value)]


def _compiled(value: Any, position: int) -> Compiled:
    try:
        return compile_rule(read_rules([value])[0])
    except Invalid as invalid:
        name = value.get("name") if isinstance(value, dict) else None
        return broken(name if isinstance(name, str) and name else f"rule {position + 1}", str(invalid))


def _rule(value: Any, pointer: str, faults: Faults) -> Rule | None:
    known = ("name", "match", "effect", "reason", "ask")
    before = len(faults.found)
    label = _label(value, pointer)
    members = Members.read(value, pointer, label, known, faults)
    if members is None:
        return None
    name = members.take("name", "a text", check_text(MAX_NAME), needed=True)
    effect = members.take("effect", "allow, ask or deny", check_choice(EFFECTS), needed=True)
    reason = members.take("reason", "a text", check_text(MAX_REASON, empty=True, lines=True)) or ""
    match = matching.read(members.values.get("match", {}), f"{pointer}/match", label, faults)
    ask: dict[str, Any] = {}
    if "ask" in members.values:
        if effect in ("allow", "deny"):
            faults.add(f"{pointer}/ask", f'{label}: "ask" is for the effect "ask", and this rule says "{effect}"')
        ask = parameters.read(members.values["ask"], f"{pointer}/ask", label, faults)
    if len(faults.found) > before:
        return None
    rule = Rule(name, match, effect, reason, ask)
    if fault := compile_rule(rule).fault:
        faults.add(f"{pointer}/match", f"{label}: {fault}")
    return rule


def _label(value: Any, pointer: str) -> str:
    """What a message calls the rule: by its name, or its number."""
    name = value.get("name") if isinstance(value, dict) else None
    return f"rule {shown(name)}" if isinstance(name, str) and name else f"rule {int(pointer.rpartition('/')[2]) + 1}"


def _refuse_repeated_names(rules: Sequence[Any], pointer: str, faults: Faults) -> None:
    seen: dict[str, int] = {}
    for position, rule in enumerate(rules):
        name = rule.get("name") if isinstance(rule, dict) else None
        if not isinstance(name, str):
            continue
        if name in seen:
            first = seen[name] + 1
            faults.add(f"{pointer}/{position}/name", f"rule {shown(name)}: rule {first} has this name already")
        seen.setdefault(name, position)
