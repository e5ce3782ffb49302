"""What rules make of a call: allow, ask or deny; the most restrictive of those that match wins.

Nothing that goes wrong opens the gate. No rule that matches: ask. A rule that cannot be read: ask, for every call. A
rule of which it cannot be told whether it matches: it counts where it restricts (then a person is asked, also where it
would deny), and does not count where it allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import conditions, terms
from .conditions import Call, Condition
from .rules import EFFECTS, Effect, Match, Rule

KINDS_KEPT = 2_000
"""Kinds of calls whose rules are remembered; then all are forgotten, so that invented names cost no memory."""
WILD = re.compile(r"[*?]")
DENIED = "The rules do not allow this call. Do not repeat it."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule says of a call. ``source``: whose rules it is among; ``name`` is empty where none matched."""

    effect: Effect
    source: str = ""
    name: str = ""
    reason: str = ""
    ask: dict[str, Any] = field(default_factory=dict)
    fault: str = ""
    """Why it cannot be told what the rule says, where it cannot."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What all rules together say of a call."""

    effect: Effect
    verdicts: tuple[Verdict, ...] = ()
    """Of the rules that led to the effect; none where no rule matched."""
    terms: dict[str, Any] = field(default_factory=dict)
    """What is asked of the decision; empty unless the effect is ask."""
    faults: tuple[str, ...] = ()
    """Rules that could not be evaluated, each with the reason, also where they did not lead to the effect."""

    @property
    def rule(self) -> str:
        """Names of the rules that led to it."""
        return "; ".join(dict.fromkeys(verdict.name for verdict in self.verdicts if verdict.name))

    @property
    def reason(self) -> str:
        """Why, in the words of the rules' authors."""
        return " ".join(dict.fromkeys(verdict.reason for verdict in self.verdicts if verdict.reason))


@dataclass(frozen=True, slots=True)
class Compiled:
    """A rule ready to be evaluated, or what is wrong with it."""

    rule: Rule
    kind: tuple[Condition, ...] = ()
    rest: tuple[Condition, ...] = ()
    tests: tuple[Callable[[Call], bool | None], ...] = ()
    """Those of ``rest``, alone."""
    fault: str = ""


Candidate = tuple[Compiled, bool, Verdict]
"""A rule that may match a kind of calls, whether its conditions on the kind hold for certain, and what it says then."""


class RuleSet:
    """Rules of one author, compiled. ``default`` is said where none of them matches: of an agent's own rules alone.

    ``source`` names them: "policy 7"; ``author`` wrote them, where that is known. Safe to use from several threads.
    """

    def __init__(
        self, rules: Sequence[Compiled], source: str, default: Verdict | None = None, author: str = ""
    ) -> None:  # fmt: skip
        self.rules, self.source, self.default, self.author = tuple(rules), source, default, author
        said = [Verdict(one.rule.effect, source, one.rule.name, one.rule.reason, one.rule.ask) for one in rules]
        self._all: tuple[Candidate, ...] = tuple(
            (one, not one.fault, what) for one, what in zip(rules, said, strict=True)
        )
        self._for_every_tool: list[int] = []
        self._on_one_tool: dict[str, list[int]] = {}
        self._by_beginning: dict[str, list[int]] = {}
        """Rules on a pattern, by what it begins with before its first ``*`` or ``?``: most tools begin otherwise."""
        for place, one in enumerate(rules):
            tool = one.rule.match.tool
            if tool is None:
                self._for_every_tool.append(place)
            elif beginning := WILD.search(tool):
                self._by_beginning.setdefault(tool[: beginning.start()], []).append(place)
            else:
                self._on_one_tool.setdefault(tool, []).append(place)
        self._lengths = sorted({len(beginning) for beginning in self._by_beginning})
        self._of_kind: dict[tuple[Any, ...], tuple[Candidate, ...]] = {}

    def verdicts(self, call: Call) -> list[Verdict]:
        """What every rule that matches says, and every one of which it cannot be told."""
        found, settled = [], False
        for compiled, of_kind, said in self._candidates(call):
            certain = of_kind
            for test in compiled.tests:  # in place of ``conditions.all_of``: this is what an evaluation costs
                holds = test(call)
                if holds is False:
                    break
                certain = certain and holds is not None
            else:
                settled = settled or certain
                found.append(said if certain else self._untold(compiled, call))
        if self.default and not settled:
            found.append(self.default)
        return found

    def _untold(self, compiled: Compiled, call: Call) -> Verdict:
        """What a rule says of which it cannot be told whether it matches."""
        rule = compiled.rule
        about = " and ".join(conditions.untold((*compiled.kind, *compiled.rest), call))
        fault = compiled.fault or f"{about} is missing, hidden or of another type than in the rule"
        effect: Effect = "ask" if rule.effect == "deny" else rule.effect
        return Verdict(effect, self.source, rule.name, rule.reason, rule.ask, fault)

    def _for_tool(self, tool: str) -> Sequence[Candidate]:
        """Rules that this tool may fall under, in their order; all of them for a name that may hide something."""
        if not tool.isascii():
            return self._all
        places = [*self._for_every_tool, *self._on_one_tool.get(tool, ())]
        for length in self._lengths:
            if length > len(tool):
                break
            places += self._by_beginning.get(tool[:length], ())
        return [self._all[place] for place in sorted(places)]

    def _candidates(self, call: Call) -> tuple[Candidate, ...]:
        """Rules that may match calls of this kind, each with whether that is certain and what it says then."""
        kind = call.kind
        known = self._of_kind.get(kind)
        if known is None:
            known = tuple(found for one in self._for_tool(call.tool) if (found := _of_kind(one, call)))
            if len(self._of_kind) >= KINDS_KEPT:
                self._of_kind = {}
            self._of_kind[kind] = known
        return known


def _of_kind(candidate: Candidate, call: Call) -> Candidate | None:
    """The rule as it stands to calls of this kind; None where it does not match them."""
    compiled, sound, said = candidate
    if not compiled.kind:
        return candidate
    holds = conditions.all_of(compiled.kind, call)
    return None if holds is False else (compiled, bool(holds) and sound, said)


def compile_rule(rule: Rule) -> Compiled:
    """A rule ready to be evaluated. One that cannot be is kept with its fault: it asks."""
    try:
        allows = rule.effect == "allow"
        kind, rest = (of(rule.match, allows=allows) for of in (conditions.of_kind, conditions.of_this_call))
        return Compiled(rule, tuple(kind), tuple(rest), tuple(one.test for one in rest))
    except ValueError as error:
        return broken(rule.name, str(error))


def broken(name: str, why: str) -> Compiled:
    """A rule that cannot be read: whatever it was meant for, a person is asked."""
    return Compiled(Rule(name, Match(), "ask"), fault=f"it cannot be read: {why}")


def evaluate(call: Call, rule_sets: Sequence[RuleSet]) -> Outcome:
    """What all rules together say of a call."""
    verdicts = [verdict for rules in rule_sets for verdict in rules.verdicts(call)]
    faults = tuple(f"{verdict.name}: {verdict.fault}" for verdict in verdicts if verdict.fault)
    counted = [verdict for verdict in verdicts if not (verdict.fault and verdict.effect == "allow")]
    if not counted:
        return Outcome("ask", faults=faults)
    effect = max((verdict.effect for verdict in counted), key=EFFECTS.index)
    decisive = tuple(verdict for verdict in counted if verdict.effect == effect)
    asked = terms.merged(verdict.ask for verdict in decisive) if effect == "ask" else {}
    return Outcome(effect, decisive, asked, faults)
