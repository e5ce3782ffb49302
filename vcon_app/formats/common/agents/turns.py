"""Runs in the shape of ShareGPT: turns of ``from`` and ``value``, with thoughts, calls and results in tags or in turns
of their own. Programs that train models read and write them; who ran is said nowhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from ..apis.openai import arguments_of
from ..lines import Item, Line
from ..records import part_of
from ..values import dict_of, list_of, text_of

LISTS = ("conversations", "conversation", "items")
"""Names under which the turns stand."""
ROLES = {
    "human": "user", "user": "user", "prompter": "user", "gpt": "assistant", "assistant": "assistant",
    "chatgpt": "assistant", "model": "assistant", "bot": "assistant", "bing": "assistant", "bard": "assistant",
    "system": "system", "tool": "tool", "observation": "tool", "function_response": "tool", "ipython": "tool",
    "function_call": "call",
}  # fmt: skip


def turns_in(value: dict[str, Any]) -> str:
    """The member of a record that holds its turns; "" for what is no run."""
    for name in LISTS:
        first = dict_of(next(iter(list_of(value.get(name))), None))
        if first.keys() >= {"from", "value"} and text_of(first["from"]) in ROLES:
            return name
    return ""


def messages_of(run: Line, name: str) -> Iterator[Item]:
    """The turns of a run as messages of the chat API. Calls have no ids: results follow in their order."""
    waiting: deque[str] = deque()
    for index, turn in enumerate(map(dict_of, list_of(run.value.get(name)))):
        kind = text_of(turn.get("from"))
        role, text = ROLES.get(kind, kind), text_of(turn.get("value"))
        place = f"/{name}/{index}/value"
        if role == "tool":
            found, rest = _tagged(text, "tool_response")
            for one in found or [rest]:
                yield part_of(run, _result(one, waiting.popleft() if waiting else None), place)
        elif role in ("assistant", "call"):
            message = _answer(f"<tool_call>{text}</tool_call>" if role == "call" else text, index)
            waiting += [call["id"] for call in message["tool_calls"]]
            yield part_of(run, message, place)
        else:
            yield part_of(run, {"role": role, "content": text}, place)


def _answer(text: str, index: int) -> dict[str, Any]:
    thoughts, text = _tagged(text, "think")
    calls, text = _tagged(text, "tool_call")
    told = [arguments_of(call) for call in calls]
    return {
        "role": "assistant", "content": text.strip(), "reasoning": "\n".join(filter(None, thoughts)),
        "tool_calls": [
            {"id": f"call-{index}-{number}", "name": dict_of(call).get("name"),
             "arguments": dict_of(call).get("arguments", call)}
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
