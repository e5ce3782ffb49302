"""Kind of a record: a request, a response, a piece of a stream, a message, an item, or a log entry around those."""

from __future__ import annotations

from typing import Any

from ..common.values import dict_of, list_of, text_of
from .items import TYPES

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
FOREIGN = frozenset({
    "info", "trajectory_format", "trajectory", "history", "projectHash", "threadId", "sessionId", "sessionID", "eval",
    "vcon", "feed_type", "trace", "uuid", "schema_version", "requests", "parts", "mapping", "chat_messages",
    "session_start",
})  # fmt: skip
"""Keys of other formats that also have messages or an input."""
TRAINING = frozenset({"messages", "tools", "functions", "parallel_tool_calls", "weight", "metadata"})
"""Keys of a line of training data, which names no model."""
STORED = frozenset({"source", "started_at"})
"""Keys of a session that Hermes exports, which has a model and messages, too."""
CARRIED = ("request", "completion", "response")
"""What makes a log entry one of the API."""
ASKING = frozenset({
    "instructions", "reasoning", "tools", "stream", "store", "include", "previous_response_id", "conversation",
    "max_output_tokens", "temperature", "top_p", "tool_choice", "text", "truncation", "parallel_tool_calls",
})  # fmt: skip
"""Keys that tell a request for a response from one for embeddings, which has a model and an input, too."""


def kind_of(value: dict[str, Any]) -> str:
    """ "request", "response", "completion", "chunk", "event", "message", "item", "update", "state", "entry", "page",
    "error", or "" for what is none of them."""
    object_ = value.get("object")
    if "$schemaVersion" in value and ("current_agent" in value or "original_input" in value):
        return "state"
    if object_ == "chat.completion.chunk":
        return "chunk"
    if object_ == "chat.completion" or _has(value, "choices", "message"):
        return "completion"
    if object_ == "response" or ("output" in value and text_of(value.get("id")).startswith("resp_")):
        return "response"
    if text_of(value.get("type")).startswith("response."):
        return "event"
    if isinstance(value.get("contents"), list):
        return "update"
    if FOREIGN & value.keys():
        return ""
    return _asked(value) or _spoken_text(value) or _around(value)


def _asked(value: dict[str, Any]) -> str:
    if isinstance(messages := value.get("messages"), list):
        listed = [dict_of(message) for message in messages[:3]]
        if all("contents" in message for message in listed) and listed:
            return "updates"
        named = ("model" in value or value.keys() <= TRAINING) and not value.keys() >= STORED
        return "request" if named and all(message.get("role") in ROLES for message in listed) else ""
    if "model" in value and isinstance(given := value.get("input"), (str, list)):
        asks = bool(ASKING & value.keys()) or any("role" in dict_of(item) for item in list_of(given))
        return "request" if asks else ""
    return ""


def _spoken_text(value: dict[str, Any]) -> str:
    kind = value.get("type")
    if isinstance(kind, str) and kind in TYPES:
        return "item"
    if kind is None and value.get("role") in ROLES and ("content" in value or "tool_calls" in value):
        return "message"
    return ""


def _around(value: dict[str, Any]) -> str:
    """Log entries hold the request and the response; batch files name them body."""
    if any(
        isinstance(value.get(key), dict) and kind_of(body_of(value[key])) for key in ("request", "response", "body")
    ):
        return "entry"
    if value.get("object") == "list" and any(kind_of(dict_of(item)) for item in list_of(value.get("data"))[:3]):
        return "page"
    if isinstance(error := value.get("error"), dict) and "message" in error and len(value) <= 3:
        return "error"
    return ""


def body_of(value: dict[str, Any]) -> dict[str, Any]:
    """The body of a logged request or response, or the value itself."""
    body = value.get("body") or value.get("json")
    return body if isinstance(body, dict) else value


def _has(value: dict[str, Any], key: str, inner: str) -> bool:
    return any(inner in dict_of(item) for item in list_of(value.get(key))[:1])


def is_anthropics(value: dict[str, Any]) -> bool:
    """Whether a body that a program logged is a response of Anthropic's API; alone it is a file of another format."""
    return value.get("type") == "message" and value.get("role") == "assistant" and "usage" in value
