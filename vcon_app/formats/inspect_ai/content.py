"""Messages, texts and tokens as Inspect writes them, with its attachments put back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import Finding, Usage
from ..common.calls import id_of
from ..common.reading import Findings
from ..common.spans.messages import Message
from ..common.spans.parts import Part
from ..common.usage import uncached_if_inside
from ..common.values import count_of, dict_of, list_of, scalars_of, text_of

FORMAT = "inspect"
REFERENCES = ("attachment://", "tc://")
"""How a long text is left out where it is used; ``tc://`` in logs of 2024."""
MOST_RESOLVED = 64 * 1024**2
"""Characters of attachments put back in one sample: a few may be named a thousand times."""
DEEPEST = 50
PAYLOADS = frozenset({"image", "audio", "video", "document", "data", "signature"})
ROLES = ("system", "user", "assistant", "tool")


class Attachments:
    """Puts texts back in the places that name them; pictures stay references."""

    def __init__(self, sample: dict[str, Any], findings: Findings, pointer: str) -> None:
        self._texts = dict_of(sample.get("attachments")) or dict_of(dict_of(sample.get("transcript")).get("content"))
        self._findings = findings
        self._pointer = pointer
        self._left = MOST_RESOLVED
        self.odd: list[Finding] = []
        """What could not be put back, to be told once a reader gets there."""

    def text(self, value: Any) -> str:
        """The text that stands or is named here; "" for what is no text."""
        told = text_of(value)
        return self._resolved(told) if told.startswith(REFERENCES) else told

    def value(self, value: Any, level: int = 0) -> Any:
        """The value with all texts in it put back."""
        if isinstance(value, str):
            return self.text(value)
        if level > DEEPEST:
            return value
        if isinstance(value, dict):
            return {key: self.value(item, level + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, level + 1) for item in value]
        return value

    def _resolved(self, reference: str) -> str:
        found = self._texts.get(reference.partition("://")[2])
        if not isinstance(found, str):
            self.add_finding(
                "missing-attachment", f"{reference[:80]} is not in the file; its name stands where it was used"
            )
            return reference
        if found.startswith("data:"):
            return reference
        self._left -= len(found)
        if self._left < 0:
            self.add_finding(
                "large-attachments", f"more than {MOST_RESOLVED:,} characters of attachments; others stay names"
            )
            return reference
        return found

    def add_finding(self, rule: str, message: str) -> None:
        """Keep a finding about this sample, unless there were too many like it."""
        self.odd += self._findings.limit(Finding(f"{FORMAT}.{rule}", "warning", self._pointer, message))


def message_of(value: Any, attachments: Attachments) -> Message | None:
    """A chat message; ``None`` for what is none."""
    role = dict_of(value).get("role")
    if role not in ROLES:
        return None
    content = attachments.value(value.get("content"))
    parts = [Part("text", content)] if isinstance(content, str) and content else []
    parts += [part for item in list_of(content) if (part := _part(item))]
    if thought := text_of(value.get("reasoning")):  # of logs before reasoning was content
        parts.insert(0, Part("reasoning", thought))
    if role == "tool":
        text = "\n".join(part.text for part in parts if part.kind == "text")
        error = dict_of(value.get("error"))
        text = text or attachments.text(error.get("message"))
        call_id = id_of(value.get("tool_call_id"))
        return Message(role, (Part("result", text, call_id, id_of(value.get("function")), None, bool(error)),))
    calls = (dict_of(call) for call in list_of(value.get("tool_calls")))
    return Message(role, (*parts, *(call_of(call, attachments) for call in calls)))


def call_of(call: dict[str, Any], attachments: Attachments) -> Part:
    """A tool call of a message or of an approval."""
    arguments = attachments.value(call.get("arguments"))
    return Part("call", "", id_of(call.get("id")), id_of(call.get("function")), arguments)


def _part(item: Any) -> Part | None:
    if isinstance(item, str):
        return Part("text", item)
    part = dict_of(item)
    if part.get("type") == "reasoning":
        text = text_of(part.get("summary")) if part.get("redacted") is True else text_of(part.get("reasoning"))
        return Part("reasoning", text) if text else None
    if isinstance(part.get("text"), str):
        return Part("text", part["text"]) if part["text"] else None
    return Part("other", value=scalars_of(part, PAYLOADS)) if part else None


def messages_in(value: Any, attachments: Attachments) -> list[Message]:
    """The messages of a list; a text is what a user says."""
    if isinstance(value, str):
        return [Message("user", (Part("text", attachments.text(value)),))] if value else []
    return [message for item in list_of(value) if (message := message_of(item, attachments))]


def readable(result: Any, attachments: Attachments) -> tuple[str, Any]:
    """A tool's result as text, and what of it is none (a picture without its bytes)."""
    brought = attachments.value(result)
    if isinstance(brought, (int, float)):
        return str(brought), None
    if isinstance(brought, str):
        return brought, None
    parts = [part for item in list_of(brought) if (part := _part(item))]
    others = [part.value for part in parts if part.kind == "other"]
    return "\n".join(part.text for part in parts if part.text), others or None


def usage_of(usage: dict[str, Any]) -> Usage | None:
    """Tokens of a response, ``None`` without any.

    Until 2025 cached tokens were part of the input for some models; the total tells: there it is input and output.
    """
    sent, output = count_of(usage.get("input_tokens")), count_of(usage.get("output_tokens"))
    if sent is None and output is None:
        return None
    read, written = count_of(usage.get("input_tokens_cache_read")), count_of(usage.get("input_tokens_cache_write"))
    inside = (sent or 0) + (output or 0) == count_of(usage.get("total_tokens"))
    fresh = uncached_if_inside(sent, read, written) if inside else sent
    return Usage(fresh, read, written, output, count_of(usage.get("reasoning_tokens")))


def changes_of(value: Any) -> Iterator[str]:
    """What a patch of the state or the store touches."""
    for change in map(dict_of, list_of(value)):
        yield f"{text_of(change.get('op'))} {text_of(change.get('path'))}"[:200]
