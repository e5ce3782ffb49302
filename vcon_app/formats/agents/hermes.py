"""Hermes Agent (Nous Research): ``~/.hermes/sessions/session_ID.json`` and ``.jsonl``, which hold no tokens; and the
trajectories that it writes for training, a run a line in the shape of ShareGPT, with thoughts and calls in tags.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO

from ...drafts import Draft, Finding
from ..common.agents.chat import ChatReading
from ..common.agents.reading import unfolded
from ..common.apis.openai import arguments_of
from ..common.head import Head
from ..common.jsonio import dumps
from ..common.lines import Item, Line, digest
from ..common.reading import Findings
from ..common.records import part_of, records
from ..common.times import moment_of
from ..common.values import dict_of, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "hermes"
SPEC = Spec(name=NAME, title="Hermes Agent")
HEADER = frozenset({
    "session_start", "last_updated", "platform", "system_prompt", "model_config", "message_count", "base_url",
    "parent_session_id",
})  # fmt: skip
BESIDE = frozenset({"completed", "model", "timestamp", "metadata", "toolsets_used", "tool_stats", "prompt_index"})
"""Members of a trajectory."""


def detect(head: Head) -> bool:
    """By messages beside a session id and two of the facts that only Hermes keeps, or by the header of its lines."""
    if any(line.get("role") == "session_meta" for line in head.records[:3]):
        return True
    if any(map(_is_trajectory, head.records[:3])):
        return True
    told = head.shape.get("messages") == "[" and isinstance(head.shape.get("session_id"), str)
    return told and len(HEADER & head.keys) > 1


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one session, or of each trajectory. Raises ``FormatError``."""
    items = records(source, NAME)
    first = next(items, None)
    if isinstance(first, Line) and _is_trajectory(first.value):
        yield from _trajectories(chain([first], items))
    else:
        yield from HermesReading().run(unfolded(chain([first] if first else [], items), NAME, "messages"))


def _trajectories(items: Iterator[Item]) -> Iterator[Draft]:
    """Drafts of each trajectory; what stands between two of them goes with the later one, or ends the last."""
    findings = Findings(NAME)
    for item in items:
        if isinstance(item, Line) and _is_trajectory(item.value):
            reading = HermesReading()
            reading.findings = findings
            yield from reading.run(_turns(item))
        elif isinstance(item, Line):
            message = "it is no trajectory, as the lines beside it are; left out"
            yield from findings.limit(Finding(f"{NAME}.no-run", "warning", item.pointer, message))
        elif isinstance(item, Finding):
            yield from findings.limit(item)
        else:
            yield item


def _is_trajectory(value: dict[str, Any]) -> bool:
    """A run with what Hermes says about it beside its turns: nobody else's training data has that."""
    turns = value.get("conversations")
    first = dict_of(next(iter(list_of(turns)), None))
    return first.keys() >= {"from", "value"} and bool(BESIDE & value.keys())


def _turns(run: Line) -> Iterator[Item]:
    """The messages of a trajectory, as the chat API has them. Calls have no ids there: results follow in order."""
    header = {key: value for key, value in run.value.items() if key != "conversations"}
    header |= {"role": "session_meta", "session_id": f"trajectory-{digest(dumps(run.value))}"}
    yield Line(header, run.pointer, dumps(header), run.offset)
    waiting: deque[str] = deque()
    for index, turn in enumerate(map(dict_of, list_of(run.value["conversations"]))):
        role, text = text_of(turn.get("from")), text_of(turn.get("value"))
        place = f"/conversations/{index}/value"
        if role == "tool":
            found, rest = _tagged(text, "tool_response")
            for one in found or [rest]:
                yield part_of(run, _result(one, waiting.popleft() if waiting else None), place)
        elif role == "gpt":
            message = _answer(text, index)
            waiting += [call["id"] for call in message["tool_calls"]]
            yield part_of(run, message, place)
        else:
            yield part_of(run, {"role": "user" if role == "human" else role, "content": text}, place)


def _answer(text: str, index: int) -> dict[str, Any]:
    thoughts, text = _tagged(text, "think")
    calls, text = _tagged(text, "tool_call")
    told = [dict_of(arguments_of(call)) for call in calls]
    return {
        "role": "assistant", "content": text.strip(), "reasoning": "\n".join(filter(None, thoughts)),
        "tool_calls": [
            {"id": f"call-{index}-{number}", "name": call.get("name"), "arguments": call.get("arguments")}
            for number, call in enumerate(told)
        ],
    }  # fmt: skip


def _result(found: str, call_id: str | None) -> dict[str, Any]:
    told = dict_of(arguments_of(found))
    return {"role": "tool", "tool_call_id": call_id, "name": told.get("name"), "content": told.get("content", found)}


def _tagged(text: str, tag: str) -> tuple[list[str], str]:
    """What stands in tags of that name, and the text without them."""
    opened, closed = f"<{tag}>", f"</{tag}>"
    inside: list[str] = []
    outside: list[str] = []
    at = 0
    while (start := text.find(opened, at)) >= 0 and (end := text.find(closed, start)) >= 0:
        outside.append(text[at:start])
        inside.append(text[start + len(opened) : end].strip())
        at = end + len(closed)
    return inside, "".join([*outside, text[at:]])


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
