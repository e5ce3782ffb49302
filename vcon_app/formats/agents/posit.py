"""Posit Assistant: ``lm-messages.jsonl``, messages of the AI SDK. ``conversation.json`` beside it holds none: it tells
which of them are on the branch that was gone on with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, FormatError, Usage
from ..common.agents.pieces import pieces_of
from ..common.agents.places import session_of
from ..common.agents.reading import AgentReading
from ..common.head import Head
from ..common.lines import Line
from ..common.records import records
from ..common.times import moment_of
from ..common.values import count_of, dict_of, scalars_of, text_of
from ..contract import Spec

NAME = "posit-assistant"
SPEC = Spec(name=NAME, title="Posit Assistant", grows="lines")
PLACE = re.compile(r"([^/]+)/lm-messages\.jsonl$")
SUMMARY = re.compile(r"\n?<MESSAGESUMMARY>.{0,2000}?</MESSAGESUMMARY>", re.DOTALL)


def detect(head: Head) -> bool:
    """By messages with a number and a message of the AI SDK in them, or by the tree that points to them."""
    tree = head.shape.get("root") == "{" and "schemaVersion" in head.keys and "messages.item.lmMessageIds" in head.shape
    return tree or any(
        isinstance(line.get("id"), int) and "role" in dict_of(line.get("message")) and "type" not in line
        for line in head.records[:10]
    )


def session_in_path(path: str) -> str | None:
    """The session that is named by where its file lies."""
    return session_of(path, PLACE)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one conversation. Raises ``FormatError``, also for the tree, which holds no message."""
    return PositReading().run(records(source, NAME))


def usage_of(stated: dict[str, Any]) -> Usage | None:
    """Tokens of a response; the cache is counted apart."""
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    counts = [count_of(stated.get(name)) for name in names]
    return Usage(*counts) if any(count is not None for count in counts) else None


class PositReading(AgentReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Posit Assistant"
    ids = ()

    def note(self, line: Line) -> None:
        if "root" in line.value:
            title = text_of(dict_of(line.value["root"]).get("title")) or text_of(
                dict_of(line.value["root"]).get("summary")
            )
            raise FormatError(
                f"it is the tree of the Posit Assistant conversation {title[:60]!r} and holds no message; they are in "
                "lm-messages.jsonl beside it"
            )
        about = _about(line.value)
        line.at = moment_of(about.get("timestamp")).at or line.at
        self.facts.at(line.at)

    def tells_apart(self, line: Line) -> bool:
        return dict_of(line.value.get("message")).get("role") == "assistant"

    def events(self, line: Line) -> Iterator[Draft]:
        message, about = dict_of(line.value.get("message")), _about(line.value)
        role = message.get("role")
        pieces = pieces_of(message.get("content"), "/message/content")
        if role == "assistant":
            usage = usage_of(dict_of(about.get("usage")))
            model = about.get("modelId")
            data = scalars_of({"provider": about.get("providerId")})
            yield from self.message(line, "assistant", pieces, model=model, usage=usage, data=data)
        elif role in ("user", "system", "tool"):
            yield from self.message(line, role, pieces)
        else:
            yield self.unknown(line, f"role {str(role)[:100]!r}")


def _about(value: dict[str, Any]) -> dict[str, Any]:
    """What Posit keeps about a message: its time, model and tokens."""
    options = dict_of(dict_of(dict_of(value.get("message")).get("providerOptions")).get("providerMetadata"))
    return dict_of(options.get("positai")) or next((dict_of(item) for item in options.values() if dict_of(item)), {})
