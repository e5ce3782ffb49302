"""Programs whose ``stream-json`` has the shape of Claude Code's: Amp's, and Qwen Code's, which is a JSON list, too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...drafts import Usage
from ..common.apis.anthropic import usage_of
from ..common.usage import uncached
from ..common.values import dict_of, text_of


@dataclass(frozen=True, slots=True)
class Program:
    """Who wrote a file."""

    name: str
    """The format's."""
    title: str
    cache_inside: bool = False
    """Whether the input that a response states contains what was read from the cache."""

    def usage_of(self, message: dict[str, Any]) -> Usage | None:
        """Tokens of a response. Qwen Code splits one by the kind of its blocks, and the first parts state zeros:
        https://github.com/QwenLM/qwen-code, ``BaseJsonOutputAdapter.ts``.
        """
        usage = usage_of(message)
        if usage is None or not self.cache_inside:
            return usage
        if not (usage.input_tokens or usage.output_tokens):
            return None
        return replace(usage, input_tokens=uncached(usage.input_tokens, usage.cache_read_tokens))


CLAUDE_CODE = Program("claude-code", "Claude Code")
AMP = Program("amp", "Amp")
QWEN_CODE = Program("qwen-code", "Qwen Code", cache_inside=True)


def program_of(lines: list[dict[str, Any]]) -> Program:
    """Whose the lines of a stream are: Qwen Code says so or names a line by its message, Amp names threads."""
    if any("qwen_code_version" in line or _is_named_by_message(line) for line in lines):
        return QWEN_CODE
    of_threads = [line for line in lines if text_of(line.get("session_id")).startswith("T-")]
    return AMP if of_threads and all("uuid" not in line for line in of_threads) else CLAUDE_CODE


def _is_named_by_message(line: dict[str, Any]) -> bool:
    uuid = line.get("uuid")
    return bool(uuid) and "session_id" in line and dict_of(line.get("message")).get("id") == uuid
