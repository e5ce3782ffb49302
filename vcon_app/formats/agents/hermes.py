"""Hermes Agent (Nous Research): ``~/.hermes/sessions/session_ID.json`` and ``.jsonl``, which hold no tokens; and the
trajectories that it writes for training, a run a line in the shape of ShareGPT, with thoughts and calls in tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO

from ...drafts import Draft
from ..common.agents.chat import ChatReading
from ..common.agents.reading import unfolded
from ..common.agents.turns import messages_of, turns_in
from ..common.head import Head
from ..common.jsonio import dumps
from ..common.lines import Item, Line, digest
from ..common.records import records
from ..common.runs import alone
from ..common.times import moment_of
from ..common.values import dict_of, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "hermes"
SPEC = Spec(name=NAME, title="Hermes Agent")
HEADER = frozenset({
    "session_start", "last_updated", "platform", "system_prompt", "model_config", "message_count", "base_url",
    "parent_session_id",
})  # fmt: skip


def detect(head: Head) -> bool:
    """By messages beside a session id and two of the facts that only Hermes keeps, or by the header of its lines."""
    if any(line.get("role") == "session_meta" for line in head.records[:3]):
        return True
    if any(map(_is_trajectory, head.records[:3])):
        return True
    if head.shape.get("messages") != "[":
        return False
    saved = {"model", "session_start"} <= head.keys  # what /save writes names no session
    return saved or (isinstance(head.shape.get("session_id"), str) and len(HEADER & head.keys) > 1)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session, or of each trajectory. Raises ``FormatError``."""
    items = records(source, NAME)
    first = next(items, None)
    if isinstance(first, Line) and _is_trajectory(first.value):
        yield from alone(chain([first], items), NAME, _opened, HermesReading)
    else:
        yield from HermesReading().run(unfolded(chain([first] if first else [], items), NAME, "messages"))


def _opened(item: Line) -> Iterator[Item] | None:
    return _turns(item) if _is_trajectory(item.value) else None


def _is_trajectory(value: dict[str, Any]) -> bool:
    """A run that says whether it came to its end: of all who write such data Hermes alone does."""
    return "completed" in value and bool(turns_in(value))


def _turns(run: Line) -> Iterator[Item]:
    name = turns_in(run.value)
    header = {key: value for key, value in run.value.items() if key != name}
    header |= {"role": "session_meta", "session_id": f"trajectory-{digest(dumps(run.value))}"}
    yield Line(header, run.pointer, dumps(header), run.offset)
    yield from messages_of(run, name)


class HermesReading(ChatReading):
    """The state of one file while it is read."""

    name = NAME
    title = "Hermes Agent"
    stamps = ("timestamp", "session_start")
    repeated = frozenset({"/user_id"})  # of a messenger: personal data
    ids = ("id", "message_id")

    def note(self, line: Line) -> None:
        value = line.value
        if "role" in value and value["role"] != "session_meta":
            return
        self.claim(value.get("session_id"))
        facts = self.facts
        facts.title = text_of(value.get("title")) or facts.title
        facts.parent = text_of(value.get("parent_session_id"))[:200] or facts.parent
        facts.model = text_of(value.get("model"))[:200] or facts.model
        facts.at(moment_of(value.get("last_updated")).at)
        facts.set_environment(cwd=value.get("cwd") or dict_of(value.get("model_config")).get("cwd"))
        facts.more |= scalars_of({"platform": value.get("platform"), "base_url": value.get("base_url")})
        if tags := [tag[:100] for tag in list_of(value.get("conversation_tags"))[:50] if isinstance(tag, str)]:
            facts.more["tags"] = tags

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if "role" not in value or value["role"] == "session_meta":
            if prompt := text_of(value.get("system_prompt")):
                yield line.event("system", prompt, at_path="/system_prompt", data={"type": "session"})
            return
        data = scalars_of({"finish_reason": value.get("finish_reason")})
        yield from self.chat(line, value, model=value.get("model") or self.facts.model, data=data)
