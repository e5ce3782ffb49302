"""Rules and calls for tests, in one line each."""

from __future__ import annotations

from typing import Any

from sessions_app.policy.conditions import Call
from sessions_app.policy.evaluation import Outcome, RuleSet, evaluate
from sessions_app.policy.reading import compile_rules


def rule(effect: str, name: str = "", *, ask: dict[str, Any] | None = None, **match: Any) -> dict[str, Any]:
    """A rule as JSON; its name is its effect unless one is given."""
    return {"name": name or effect, "match": match, "effect": effect} | ({"ask": ask} if ask else {})


def argument(path: str, op: str, value: Any) -> list[dict[str, Any]]:
    return [{"path": path, "op": op, "value": value}]


def outcome(rules: list[dict[str, Any]], tool: str = "pay", arguments: Any = None, **about: Any) -> Outcome:
    call = Call(tool, {} if arguments is None else arguments, **about)
    return evaluate(call, [RuleSet(compile_rules(rules), "policy 1")])


def effect(rules: list[dict[str, Any]], tool: str = "pay", arguments: Any = None, **about: Any) -> str:
    return outcome(rules, tool, arguments, **about).effect
