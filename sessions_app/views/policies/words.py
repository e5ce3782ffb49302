"""A rule in the words that its page shows: when it applies, and what it asks of a decision."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_lazy

from sessions_app.policy.writing import written
from sessions_app.queries.policies import Change

WORDS = {
    "=": gettext_lazy("is"),
    "!=": gettext_lazy("is not"),
    "in": gettext_lazy("is one of"),
    "regex": gettext_lazy("matches"),
    "glob": gettext_lazy("is like"),
    "exists": gettext_lazy("is there:"),
}


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
        return RuleInWords(json.dumps(rule), "ask", "", [gettext("cannot be read, so that every call asks")], [])
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
    if "tool" in match:
        found.append(gettext("tool %(tool)s") % {"tool": match["tool"]})
    if "server" in match:
        found.append(gettext("server %(server)s") % {"server": match["server"]})
    if "agents" in match:
        found.append(gettext("agent %(agents)s") % {"agents": _listed(match["agents"])})
    if "triggers" in match:
        found.append(gettext("begun by %(triggers)s") % {"triggers": _listed(match["triggers"])})
    found += [argument(one) for one in _dicts(match.get("arguments"))]
    if "input_bytes_over" in match:
        found.append(
            gettext("arguments over %(input_bytes_over)s bytes") % {"input_bytes_over": match["input_bytes_over"]}
        )
    if "cost_over" in match:
        found.append(gettext("session cost over $%(cost_over)s") % {"cost_over": match["cost_over"]})
    if "sub_agent" in match:
        found.append(gettext("asked by a sub-agent") if match["sub_agent"] else gettext("not asked by a sub-agent"))
    if isinstance(match.get("hours"), dict):
        found.append(_hours(match["hours"]))
    return found or [gettext("every call")]


def argument(predicate: dict[str, Any]) -> str:
    """A condition on an argument: ``/amount < 100``."""
    op = str(predicate.get("op", ""))
    if op == "=" and not predicate.get("path"):
        return gettext("exactly %(value)s") % {"value": json.dumps(predicate.get("value"), ensure_ascii=False)}
    path = predicate.get("path") or gettext("all arguments")
    return f"{path} {WORDS.get(op) or op} {json.dumps(predicate.get('value'), ensure_ascii=False)}"


def terms(ask: dict[str, Any]) -> list[str]:
    """What a decision has to be, each parameter as one phrase."""
    found = []
    if ask.get("approvals", 1) != 1:
        found.append(gettext("%(count)s people") % {"count": ask["approvals"]})
    if isinstance(ask.get("eligible"), dict):
        people = [*_texts(ask["eligible"].get("roles")), *_texts(ask["eligible"].get("members"))]
        found.append(gettext("only %(people)s") % {"people": _listed(people)})
    if ask.get("not_initiator"):
        found.append(gettext("not who began it"))
    if "decisions" in ask:
        found.append(gettext("may %(decisions)s") % {"decisions": _listed(ask["decisions"])})
    if ask.get("comment"):
        found.append(gettext("a reason to %(comment)s") % {"comment": _listed(ask["comment"])})
    if "risk" in ask:
        found.append(gettext("risk %(risk)s") % {"risk": ask["risk"]})
    if "expires_in" in ask:
        found.append(gettext("denied after %(expires_in)s") % {"expires_in": _span(ask["expires_in"])})
    if ask.get("escalation"):
        found.append(gettext("then asks %(step)s") % {"step": ", ".join(map(_step, _dicts(ask["escalation"])))})
    if ask.get("typed_confirmation"):
        found.append(gettext("name of the tool typed"))
    return found


def change_in_words(change: Change) -> tuple[str, str, str]:
    """Before and after of one changed rule, as indented JSON."""
    before, after = (f"{written(value)}\n" if value else "" for value in (change.before, change.after))
    return change.name, before, after


def _hours(hours: dict[str, Any]) -> str:
    days = _listed(hours["days"]) if "days" in hours else gettext("every day")
    values = {"days": days, "zone": hours.get("zone", "?")}
    if not {"from", "to"} & set(hours):
        return gettext("%(days)s (%(zone)s)") % values
    values |= {"first": hours.get("from", "00:00"), "last": hours.get("to", "24:00")}
    return gettext("%(days)s %(first)s to %(last)s (%(zone)s)") % values


def _step(step: dict[str, Any]) -> str:
    values = {"people": _listed(step.get("to")), "after": _span(step.get("after"))}
    repeat = step.get("repeat")
    if not isinstance(repeat, dict):
        return gettext("%(people)s after %(after)s") % values
    values |= {"times": repeat.get("times"), "every": _span(repeat.get("every"))}
    return gettext("%(people)s after %(after)s and %(times)s times more, every %(every)s") % values


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
