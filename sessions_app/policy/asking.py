"""Rules that could ask a person about calls of an agent, whatever the calls will be: for triggers nobody attends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from . import conditions
from .agent_rules import AgentRules
from .conditions import Call
from .evaluation import RuleSet, Verdict
from .rules import Match, Rule

UNMATCHED = "no rule matches"


def verdicts(agent_slug: str, agent_name: str, trigger: str, rule_sets: Sequence[RuleSet]) -> list[Verdict]:
    """What could ask about calls in sessions of this agent that this trigger began; empty where nothing could.

    A rule that denies and of which it cannot be told whether it matches asks as well, once in a while: that is known
    when it happens, and not counted here.
    """
    about = Call("", None, agent_slug=agent_slug, agent_name=agent_name, trigger=trigger)
    found, answers_all = [], False
    for rules in rule_sets:
        stated = [compiled.rule for compiled in rules.rules if _is_about(compiled.rule, about)]
        found += [
            Verdict("ask", rules.source, rule.name, rule.reason, rule.ask) for rule in stated if rule.effect == "ask"
        ]
        if isinstance(rules, AgentRules):
            found += [Verdict("ask", rules.source, f"tools: {name}") for name in rules.tools_that_ask]
        if rules.default:
            found += [rules.default] if rules.default.effect == "ask" else []
            answers_all = True
        answers_all = answers_all or any(_matches_all(rule) for rule in stated)
    return found if answers_all else [*found, Verdict("ask", name=UNMATCHED)]


def _is_about(rule: Rule, call: Call) -> bool:
    """Whether a rule may match calls of this agent and trigger."""
    of_these = Match(agents=rule.match.agents, triggers=rule.match.triggers)
    return conditions.all_of(conditions.of_kind(of_these, allows=rule.effect == "allow"), call) is not False


def _matches_all(rule: Rule) -> bool:
    """Whether a rule matches every call of the agents and triggers that it is about."""
    return replace(rule.match, agents=None, triggers=None) == Match()
