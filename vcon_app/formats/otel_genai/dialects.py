"""Spans of MLflow, of Google's ADK, of Azure's SDKs and of Pydantic AI before 1.0, in the words of the conventions:
each has names of its own for what was asked and answered, or keeps it packed in another attribute.
"""

from __future__ import annotations

from typing import Any

from ..common.spans.parts import parsed_if_json
from ..common.values import count_of, dict_of, list_of, text_of

MLFLOW = "mlflow."
KINDS = {
    "CHAT_MODEL": "chat", "LLM": "chat", "TOOL": "execute_tool", "AGENT": "invoke_agent", "EMBEDDING": "embeddings",
    "RETRIEVER": "retrieval", "RERANKER": "retrieval",
}  # fmt: skip
"""Types of MLflow's spans; others are steps around these."""
COUNTS = {
    "input_tokens": "gen_ai.usage.input_tokens", "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_input_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_creation_input_tokens": "gen_ai.usage.cache_creation.input_tokens",
}  # fmt: skip
ADK = "gcp.vertex.agent."
OF_ADK = {
    f"{ADK}llm_request": "gen_ai.input.messages", f"{ADK}llm_response": "gen_ai.output.messages",
    f"{ADK}tool_call_args": "gen_ai.tool.call.arguments", f"{ADK}tool_response": "gen_ai.tool.call.result",
}  # fmt: skip
PACKED = "gen_ai.event.content"
"""Azure's SDKs keep all of an event in one attribute."""
LISTED = "events"
"""Attribute in which Pydantic AI keeps the events of a span."""
MOST_EVENTS = 10_000
CONTENT = ("mlflow.spanInputs", "mlflow.spanOutputs", *OF_ADK, LISTED)
"""Attributes that hold content."""


def translated(
    attributes: dict[str, Any], events: list[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:  # fmt: skip
    """Attributes and events of a span with those that the conventions have for the same; its own ones win."""
    if "mlflow.spanType" in attributes:
        attributes = _of_mlflow(attributes) | attributes
    if any(name in attributes for name in OF_ADK):
        attributes = {ours: attributes[name] for name, ours in OF_ADK.items() if name in attributes} | attributes
    if LISTED in attributes and "gen_ai.operation.name" in attributes:
        kept = list_of(parsed_if_json(attributes[LISTED]))[:MOST_EVENTS]
        events = [*events, *(event for event in kept if isinstance(event, dict) and text_of(event.get("event.name")))]
    return attributes, [_unpacked(event) if PACKED in event else event for event in events]


def _unpacked(event: dict[str, Any]) -> dict[str, Any]:
    return {**dict_of(parsed_if_json(event[PACKED])), **event}


def _of_mlflow(attributes: dict[str, Any]) -> dict[str, Any]:
    operation = KINDS.get(text_of(_plain(attributes, "spanType")), "chain")
    given, brought = attributes.get("mlflow.spanInputs"), attributes.get("mlflow.spanOutputs")
    used = dict_of(_plain(attributes, "chat.tokenUsage"))
    found: dict[str, Any] = {"gen_ai.operation.name": operation}
    if operation == "chat":
        asked = dict_of(parsed_if_json(given))
        model = text_of(_plain(attributes, "llm.model")) or text_of(asked.get("model"))
        found |= {"gen_ai.input.messages": given, "gen_ai.output.messages": brought, "gen_ai.request.model": model}
        found |= {ours: count for name, ours in COUNTS.items() if (count := count_of(used.get(name))) is not None}
    elif operation == "execute_tool":
        found |= {"gen_ai.tool.call.arguments": given, "gen_ai.tool.call.result": brought}
    else:
        found |= {"input.value": given, "output.value": brought}
    return {name: value for name, value in found.items() if value not in (None, "")}


def _plain(attributes: dict[str, Any], name: str) -> Any:
    """A value that MLflow wrote as JSON, be it a text."""
    value = attributes.get(f"{MLFLOW}{name}")
    return value[1:-1] if isinstance(value, str) and value.startswith('"') else parsed_if_json(value)
