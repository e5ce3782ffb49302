"""Rules written as JSON for people: members in the order of the documentation, whatever order the database keeps."""

from __future__ import annotations

import json
from typing import Any

ORDER = (
    "name", "match", "effect", "reason", "ask",
    "agents", "tool", "server", "triggers", "arguments", "input_bytes_over", "cost_over", "sub_agent", "hours",
    "path", "op", "value",
    "days", "from", "to", "zone",
    "decisions", "eligible", "approvals", "not_initiator", "comment", "expires_in", "escalation", "risk",
    "typed_confirmation", "roles", "members", "after", "repeat", "every", "times",
)  # fmt: skip
"""Members by name; ``to`` is of hours and of a step of an escalation. Others come last, as they are."""
PLACES = {name: place for place, name in enumerate(ORDER)}


def written(rules: Any) -> str:
    """Rules as indented JSON. What a condition compares with is left as it is."""
    return json.dumps(_ordered(rules), indent=2, ensure_ascii=False)


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(one) for one in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value, key=lambda name: PLACES.get(name, len(PLACES)))
    return {name: value[name] if name == "value" else _ordered(value[name]) for name in names}
