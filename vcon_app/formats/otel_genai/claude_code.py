"""Spans of Claude Code's own telemetry (code.claude.com/docs/en/monitoring-usage, "Traces"), in the words of the
conventions: it has names of its own for tokens, prompts, what a tool was given and brought, and who let it run.
"""

from __future__ import annotations

from typing import Any

from ..common.values import count_of, text_of

PREFIX = "claude_code."
TOKENS = ("input_tokens", "cache_read_tokens", "cache_creation_tokens")
"""Of the input; they do not overlap."""
GIVEN = {"full_command": "command", "file_path": "file_path"}
"""Attributes that say what a tool was given, and the arguments that they are."""
BROUGHT = ("output", "content")
"""Attributes of the event ``tool.output``."""
DECISIONS = {"accept": "approved", "reject": "denied"}


def translated(attributes: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
    """The attributes of a span with those that the conventions have for the same."""
    kind = attributes.get("span.type")
    if kind == "llm_request":
        return attributes | _usage(attributes)
    if kind == "tool":
        return attributes | _called(attributes, events)
    return attributes


def decision_of(attributes: dict[str, Any]) -> dict[str, Any] | None:
    """Whether a call was let through, and by whom: a person, or the settings of the machine."""
    decision = DECISIONS.get(text_of(attributes.get("decision")))
    if attributes.get("span.type") != "tool.blocked_on_user" or decision is None:
        return None
    source = text_of(attributes.get("source"))[:100]
    by = "user" if source.startswith("user") else "policy"
    return {"type": "blocked_on_user", "decision": decision, "by": by, "source": source, "inferred": False}


def _usage(attributes: dict[str, Any]) -> dict[str, Any]:
    counts = [count_of(attributes.get(name)) for name in TOKENS]
    found = {
        "gen_ai.usage.input_tokens": None if counts[0] is None else sum(count or 0 for count in counts),
        "gen_ai.usage.cache_read.input_tokens": counts[1],
        "gen_ai.usage.cache_creation.input_tokens": counts[2],
        "gen_ai.usage.output_tokens": count_of(attributes.get("output_tokens")),
    }
    return {name: count for name, count in found.items() if count is not None}


def _called(attributes: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
    given = {name: attributes[told] for told, name in GIVEN.items() if told in attributes}
    outputs = (event.get(name) for event in events if event["event.name"] == "tool.output" for name in BROUGHT)
    brought = next((text for text in outputs if isinstance(text, str)), None)
    found = {"gen_ai.tool.call.arguments": given or None, "gen_ai.tool.call.result": brought}
    return {name: value for name, value in found.items() if value is not None}
