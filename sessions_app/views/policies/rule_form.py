"""The form for one rule: what most rules need. Everything else is written in the JSON below it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from sessions_app.models import Approval
from sessions_app.policy.parameters import MOST_SECONDS, MOST_TIMES
from sessions_app.policy.rules import EFFECTS, OPERATORS, RISKS
from sessions_app.rendering.arguments import secrets

MOST_MINUTES = MOST_SECONDS // 60
ROWS = 3
"""Conditions on arguments that the form has room for."""
MAX_SCALAR = 500
"""Characters of an argument that is offered as a condition."""


class RuleForm(forms.Form):
    """One rule. Conditions on arguments come as ``path_0``, ``op_0``, ``value_0`` and so on."""

    name = forms.CharField(max_length=200)
    effect = forms.ChoiceField(choices=[(one, one) for one in EFFECTS], initial="ask")
    tool = forms.CharField(max_length=500, required=False)
    server = forms.CharField(max_length=500, required=False)
    agents = forms.CharField(max_length=2_000, required=False)
    reason = forms.CharField(max_length=2_000, required=False)
    approvals = forms.IntegerField(min_value=1, max_value=5, required=False)
    eligible = forms.ChoiceField(
        choices=[("", gettext_lazy("reviewers and admins")), ("admin", gettext_lazy("admins"))], required=False
    )
    risk = forms.ChoiceField(choices=[("", gettext_lazy("none")), *((one, one) for one in RISKS)], required=False)
    expires_minutes = forms.IntegerField(min_value=1, max_value=MOST_MINUTES, required=False)
    not_initiator = forms.BooleanField(required=False)
    typed_confirmation = forms.BooleanField(required=False)
    escalate_minutes = forms.IntegerField(min_value=1, max_value=MOST_MINUTES, required=False)
    escalate_to = forms.CharField(max_length=2_000, required=False)
    escalate_times = forms.IntegerField(min_value=0, max_value=MOST_TIMES, required=False)

    def conditions(self) -> list[tuple[str, str, str]]:
        """Path, operator and value of each row as they were typed, to show them again."""
        source = self.data if self.is_bound else self.initial
        return [tuple(str(source.get(f"{name}_{row}", "")) for name in ("path", "op", "value")) for row in range(ROWS)]

    def rule(self) -> dict[str, Any]:
        """The rule as JSON. Call ``is_valid`` before. A value is JSON where it reads as JSON, else a text."""
        said = self.cleaned_data
        match: dict[str, Any] = {name: said[name] for name in ("tool", "server") if said[name]}
        if agents := [name.strip() for name in said["agents"].split(",") if name.strip()]:
            match["agents"] = agents
        rows = [(path, op, value) for path, op, value in self.conditions() if path]
        if rows:
            match["arguments"] = [{"path": path, "op": op, "value": value_of(op, value)} for path, op, value in rows]
        rule = {"name": said["name"], "match": match, "effect": said["effect"]}
        rule |= {"reason": said["reason"]} if said["reason"] else {}
        ask = self._ask() if said["effect"] == "ask" else {}
        return rule | ({"ask": ask} if ask else {})

    def _ask(self) -> dict[str, Any]:
        said = self.cleaned_data
        ask: dict[str, Any] = {name: said[name] for name in ("approvals", "risk") if said[name]}
        if said["eligible"]:
            ask["eligible"] = {"roles": [said["eligible"]]}
        if said["expires_minutes"]:
            ask["expires_in"] = 60 * said["expires_minutes"]
        ask |= {name: True for name in ("not_initiator", "typed_confirmation") if said[name]}
        if said["escalate_minutes"]:
            ask["escalation"] = [self._step()]
        return ask

    def _step(self) -> dict[str, Any]:
        """The one step that the form has room for, repeated after the same time again."""
        said = self.cleaned_data
        after = 60 * said["escalate_minutes"]
        step: dict[str, Any] = {"after": after, "to": said["escalate_to"].replace(",", " ").split() or ["role:admin"]}
        if said["escalate_times"]:
            step["repeat"] = {"every": after, "times": said["escalate_times"]}
        return step


def is_begun(sent: Mapping[str, str]) -> bool:
    """Whether the form that was sent holds a rule, or the beginning of one: what it is called, or what it is about."""
    names = ("name", "tool", "server", "agents", "reason", *(f"path_{row}" for row in range(ROWS)))
    return any(sent.get(name, "").strip() for name in names)


def value_of(op: str, typed: str) -> Any:
    """What was typed as a value: JSON where it is JSON. A pattern is a text in any case."""
    if op in ("glob", "regex"):
        return typed
    try:
        return json.loads(typed)
    except ValueError:
        return typed


def operators() -> tuple[str, ...]:
    """Operators to choose from, in the order of the form."""
    return OPERATORS


def like(approval: Approval) -> dict[str, Any]:
    """What the form begins with for a rule like an approval: its tool, its agent, its arguments without secrets."""
    agent = approval.session.agent
    initial: dict[str, Any] = {
        "name": f"{approval.tool_name} of {agent.name}"[:200], "effect": "allow", "tool": approval.tool_name,
        "server": approval.tool_server or "", "agents": agent.slug,
    }  # fmt: skip
    arguments = secrets.without(approval.arguments if isinstance(approval.arguments, dict) else {})
    plain = {name: value for name, value in arguments.items() if _is_plain(value)}
    for row, (name, value) in enumerate([*plain.items()][:ROWS]):
        step = name.replace("~", "~0").replace("/", "~1")
        written = json.dumps(value, ensure_ascii=False)
        initial |= {f"path_{row}": f"/{step}", f"op_{row}": "=", f"value_{row}": written}
    return initial


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= MAX_SCALAR)
