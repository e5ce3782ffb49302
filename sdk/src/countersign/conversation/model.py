"""A model behind Anthropic's Messages API, or behind whatever speaks it."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import dataclass, field
from typing import Any, Protocol

from .. import wire

Json = dict[str, Any]
PATIENCE = 600.0
"""Seconds for an answer."""


TOKENS = {
    "input_tokens": "input_tokens", "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens", "cache_creation_input_tokens": "cache_write_tokens",
}  # fmt: skip


class ModelError(Exception):
    """The model did not answer; ``status`` is 0 where its API could not be reached."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}" if status else detail)
        self.status = status


@dataclass
class Answer:
    """What a model said: ``text``, the calls it wants as ``(id, name, arguments)``, and the tokens it took."""

    text: str
    calls: list[tuple[str, str, Json]]
    model: str
    usage: dict[str, int] = field(default_factory=dict)
    content: list[Json] = field(default_factory=list)
    """The same as its API wrote it, for the next request."""


class Model(Protocol):
    """Anything that answers as ``LanguageModel`` does."""

    async def answer(self, instructions: str, messages: list[Json], tools: list[Json]) -> Answer: ...


class LanguageModel:
    """``model`` (or ``COUNTERSIGN_MODEL``) at ``url`` (or ``ANTHROPIC_BASE_URL``), with ``ANTHROPIC_API_KEY``."""

    def __init__(
        self, model: str | None = None, *, url: str | None = None, api_key: str | None = None, max_tokens: int = 4096
    ) -> None:
        self.model = model or os.environ.get("COUNTERSIGN_MODEL") or "claude-sonnet-4-5"
        self._url = url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        self._api_key, self._max_tokens = api_key or os.environ.get("ANTHROPIC_API_KEY", ""), max_tokens

    async def answer(self, instructions: str, messages: list[Json], tools: list[Json]) -> Answer:
        """One response, whole. Raises ``ModelError``."""
        return await asyncio.to_thread(self._answer, instructions, messages, tools)

    def _answer(self, instructions: str, messages: list[Json], tools: list[Json]) -> Answer:
        if not self._api_key:
            raise ModelError(0, "ANTHROPIC_API_KEY is not set: there is no model to run this agent")
        asked: Json = {"model": self.model, "max_tokens": self._max_tokens, "messages": messages}
        asked |= {"system": instructions} if instructions else {}
        asked |= {"tools": tools} if tools else {}
        headers = {"x-api-key": self._api_key, "anthropic-version": "2023-06-01"}
        return _read(ask_api(self._url, "/v1/messages", asked, headers))


def ask_api(url: str, path: str, asked: Json, headers: dict[str, str]) -> Json:
    """The object that a model's API answers. Raises ``ModelError``."""
    try:
        body = json.dumps(asked).encode()
        status, answer = wire.exchange(wire.Address(url), "POST", path, body, headers, PATIENCE)
        said = json.loads(answer)
    except (wire.Unreachable, wire.Garbled, ValueError) as failed:
        raise ModelError(0, f"the model's API: {failed}") from None
    if status != 200 or not isinstance(said, dict):
        raise ModelError(status, answer[:500].decode(errors="replace"))
    return said


def _read(said: Json) -> Answer:
    content = [block for block in said.get("content", ()) if isinstance(block, dict)]
    text = "".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
    calls = [(str(block["id"]), str(block["name"]), block.get("input") or {}) for block in content
             if block.get("type") == "tool_use"]  # fmt: skip
    used = said.get("usage") or {}
    usage = {ours: int(used[theirs]) for theirs, ours in TOKENS.items() if used.get(theirs) is not None}
    return Answer(text, calls, str(said.get("model") or ""), usage, content)
