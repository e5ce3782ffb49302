"""Mistral Vibe: ``~/.vibe/logs/session/session_DATE_TIME_ID/messages.jsonl``, and older ones in one JSON file.

No line has a time. What is known of the session (tokens, model, place) stands in ``meta.json`` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, Usage
from ..common.agents.chat import ChatReading
from ..common.agents.places import session_of
from ..common.agents.reading import unfolded
from ..common.head import Head
from ..common.lines import Line
from ..common.records import records
from ..common.times import moment_of
from ..common.usage import uncached
from ..common.values import count_of, dict_of, money_of, text_of
from ..contract import Spec

NAME = "vibe"
SPEC = Spec(name=NAME, title="Mistral Vibe", grows="lines")
PLACE = re.compile(r"(session_\d[^/]*)/(?:messages\.jsonl|meta\.json)$")
META = frozenset({"session_id", "start_time"})
BESIDE = frozenset({"stats", "total_messages", "tools_available", "title_source", "loops"})
"""Facts of a session of which one at least stands beside its id and beginning."""


def detect(head: Head) -> bool:
    """By messages with ``message_id``, or by the facts of a session with its statistics."""
    if any("role" in line and "content" in line and _is_ours(line) for line in head.records[:5]):
        return True
    inner = isinstance(head.shape.get("metadata.session_id"), str) and head.shape.get("metadata.stats") == "{"
    return (head.keys >= META and bool(BESIDE & head.keys)) or inner


def _is_ours(line: dict[str, Any]) -> bool:
    return "message_id" in line and not {"type", "timestamp", "session_id", "created"} & line.keys()


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session. Raises ``FormatError``."""
    return VibeReading().run(unfolded(records(source, NAME), NAME, "messages"))


def usage_of(stats: dict[str, Any]) -> Usage | None:
    """Tokens of a whole session; what came out of the cache is part of the prompt."""
    given, output = count_of(stats.get("session_prompt_tokens")), count_of(stats.get("session_completion_tokens"))
    cached = count_of(stats.get("session_cached_tokens"))
    if given is None and output is None:
        return None
    return Usage(uncached(given, cached), cached, None, output, quality="aggregate")


class VibeReading(ChatReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Mistral Vibe"
    ids = ("message_id",)

    def note(self, line: Line) -> None:
        if "role" not in line.value:
            meta = _meta_of(line)
            facts, config = self.facts, dict_of(meta.get("config")) or dict_of(meta.get("agent_config"))
            self.claim(meta.get("session_id"))
            facts.parent = text_of(meta.get("parent_session_id"))[:200] or facts.parent
            facts.title = text_of(meta.get("title")) or facts.title
            facts.model = text_of(meta.get("model"))[:200] or text_of(config.get("active_model"))[:200] or facts.model
            facts.at(moment_of(meta.get("start_time")).at)
            facts.at(moment_of(meta.get("end_time")).at)
            place = dict_of(meta.get("environment"))
            facts.set_environment(
                cwd=place.get("working_directory"), git_branch=meta.get("git_branch"), git_commit=meta.get("git_commit")
            )

    def tells_apart(self, line: Line) -> bool:
        return line.value.get("role") == "assistant"

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if "role" in value:
            role = "system" if value.get("injected") is True and value.get("role") == "user" else value.get("role")
            data = {"injected": True} if value.get("injected") is True else {}
            yield from self.chat(line, {**value, "role": role}, model=self.facts.model, data=data)
        elif usage := usage_of(dict_of(_meta_of(line).get("stats"))):
            yield line.event(
                "model_request", actor=line.agent, model=self.facts.model, usage=usage, request="session",
                cost=money_of(dict_of(_meta_of(line).get("stats")).get("session_cost")), data={"type": "session_total"},
            )  # fmt: skip


def _meta_of(line: Line) -> dict[str, Any]:
    return dict_of(line.value.get("metadata")) or line.value
