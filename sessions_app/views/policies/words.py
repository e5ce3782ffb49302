"""A rule in the words that its page shows: when it applies, and what it asks of a decision."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sessions_app.policy.writing import written
from sessions_app.queries.policies import Change

WORDS = {"=": "is", "!=": "is not", "in": "is one of", "regex": "matches", "glob": "is like", "exists": "is there:"}


@dataclass(frozen=True, slots=True)
class RuleInWords:
    name: str
    effect: str
    reason: str
    conditions: list[str]
    terms: list[str]


def in_words(rule: Any) -> RuleInWords:
    """A rule, also one that cannot be read any more: its page must not fail over it."""
    if not isinstance(rule, dict):
        return RuleInWords(json.dumps(rule), "ask", "", ["cannot be read, so that every call asks"], [])
    match, ask = (value if isinstance(value := rule.get(key), dict) else {} for key in ("match", "ask"))
    return RuleInWords(
        str(rule.get("name", "")),
        str(rule.get("effect", "")),
        str(rule.get("reason", "")),
        conditions(match),
        terms(ask),
    )


def rules_in_words(rules: Any) -> list[RuleInWords]:
    return [in_words(rule) for rule in rules] if isinstance(rules, list) else []


def conditions(match: dict[str, Any]) -> list[str]:
    """Each condition of a rule as one phrase; every call where there is none."""
    found = []
    for name, word in (("tool", "tool"), ("server", "server")):
        if name in match:
            found.append(f"{word} {match[name]}")
    if "agents" in match:
        found.append(f"agent {_listed(match['agents'])}")
    if "triggers" in match:
        found.append(f"begun by {_listed(match['triggers'])}")
    found += [argument(one) for one in _dicts(match.get("arguments"))]
    if "input_bytes_over" in match:
        found.append(f"arguments over {match['input_bytes_over']} bytes")
    if "cost_over" in match:
        found.append(f"session cost over ${match['cost_over']}")
    if "sub_agent" in match:
        found.append("asked by a sub-agent" if match["sub_agent"] else "not asked by a sub-agent")
    if isinstance(match.get("hours"), dict):
        found.append(_hours(match["hours"]))
    return found or ["every call"]


def argument(predicate: dict[str, Any]) -> str:
    """A condition on an argument: ``/amount < 100``."""
    op = str(predicate.get("op", ""))
    if op == "=" and not predicate.get("path"):
        return f"exactly {json.dumps(predicate.get('value'), ensure_ascii=False)}"
    path = predicate.get("path") or "all arguments"
    return f"{path} {WORDS.get(op, op)} {json.dumps(predicate.get('value'), ensure_ascii=False)}"


def terms(ask: dict[str, Any]) -> list[str]:
    """What a decision has to be, each parameter as one phrase."""
    found = []
    if ask.get("approvals", 1) != 1:
        found.append(f"{ask['approvals']} people")
    if isinstance(ask.get("eligible"), dict):
        people = [*_texts(ask["eligible"].get("roles")), *_texts(ask["eligible"].get("members"))]
        found.append(f"only {_listed(people)}")
    if ask.get("not_initiator"):
        found.append("not who began it")
    if "decisions" in ask:
        found.append(f"may {_listed(ask['decisions'])}")
    if ask.get("comment"):
        found.append(f"a reason to {_listed(ask['comment'])}")
    if "risk" in ask:
        found.append(f"risk {ask['risk']}")
    if "expires_in" in ask:
        found.append(f"denied after {_span(ask['expires_in'])}")
    if ask.get("escalation"):
        found.append(f"then asks {', '.join(map(_step, _dicts(ask['escalation'])))}")
    if ask.get("typed_confirmation"):
        found.append("name of the tool typed")
    return found


def change_in_words(change: Change) -> tuple[str, str, str]:
    """Before and after of one changed rule, as indented JSON."""
    before, after = (f"{written(value)}\n" if value else "" for value in (change.before, change.after))
    return change.name, before, after


def _hours(hours: dict[str, Any]) -> str:
    days = _listed(hours["days"]) if "days" in hours else "every day"
    clock = f" {hours.get('from', '00:00')} to {hours.get('to', '24:00')}" if {"from", "to"} & set(hours) else ""
    return f"{days}{clock} ({hours.get('zone', '?')})"


def _step(step: dict[str, Any]) -> str:
    said = f"{_listed(step.get('to'))} after {_span(step.get('after'))}"
    repeat = step.get("repeat")
    if not isinstance(repeat, dict):
        return said
    return f"{said} and {repeat.get('times')} times more, every {_span(repeat.get('every'))}"


def _span(seconds: Any) -> str:
    if not isinstance(seconds, int):
        return str(seconds)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _listed(value: Any) -> str:
    return ", ".join(_texts(value)) if isinstance(value, list) else str(value)
