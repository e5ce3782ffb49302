"""Which user entries are a person speaking, and which are context that a program put in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from ....drafts import Kind
from . import extension
from .entries import has_media
from .steps import Step

INJECTED = (
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<system-reminder>",
    "<command-name>",
    "<local-command-stdout>",
    "Caveat: The messages below",
)
"""Exact headers only: real prompts begin with ``<`` too."""
SAME = timedelta(minutes=1)


def user_kind(entry: dict[str, Any], text: str) -> Kind:
    """The kind of a ``user`` entry that is not just a wrapper around tool results."""
    if entry.get("isCompactSummary") is True:
        return "compaction"
    if entry.get("isMeta") is True or text.lstrip().startswith(INJECTED):
        return "injected_context"
    if text.strip() or has_media(entry.get("content")):
        return "user_message"
    return "unknown"


class Doubles:
    """Codex logs a prompt twice, a millisecond apart; the second is no turn of its own."""

    def __init__(self) -> None:
        self._last: Step | None = None
        self._reasoning: Step | None = None

    def mark_double(self, step: Step) -> None:
        """Look at the steps in order; marks a double with ``duplicate_of``, which becomes a key on freezing."""
        if step.kind == "user_message" and step.depth == 0:
            if extension.KIND not in step.own and self._last is not None and _is_same_prompt(self._last, step):
                step.kind, step.data["duplicate"] = "injected_context", True
            else:
                self._last = step
        elif step.kind == "reasoning":
            if self._reasoning is not None and step.text and self._reasoning.text == step.text:
                step.data["duplicate"] = True
            self._reasoning = step
        elif step.kind in ("agent_message", "tool_call", "tool_result"):
            self._last = self._reasoning = None


def _is_same_prompt(first: Step, second: Step) -> bool:
    if first.text.strip() != second.text.strip() or not first.text.strip():
        return False
    return first.at is None or second.at is None or abs(second.at - first.at) < SAME
