"""Event streams to whole responses: chunks of the chat API and events of the Responses API.

``Chunks`` and ``Events`` take one record after the other and give a response back when it is complete, or when
another begins. What breaks off is given as far as it went, with ``incomplete`` in it.
"""

from __future__ import annotations

from typing import Any

from ..common.calls import ID_LIMIT
from ..common.values import dict_of, list_of, text_of

TEXTS = ("content", "refusal", "reasoning_content", "reasoning", "thinking")
WHOLE = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
CUT = "cut_off"
"""Key of a response that was put together from a stream without its end."""
Value = dict[str, Any]


class Chunks:
    """Chat completions that come in chunks."""

    def __init__(self) -> None:
        self._whole: Value | None = None
        self._reasons: dict[int, Any] = {}
        self._details: dict[int, list[Any]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}
        """Pieces by choice and key of the message."""
        self._calls: dict[tuple[int, int], Value] = {}
        """Calls by choice and index; the legacy call of a choice has the index -1."""

    def add(self, chunk: Value) -> Value | None:
        """The response before this chunk, when the chunk is of another."""
        before = None
        if self._whole is not None and chunk.get("id") != self._whole.get("id"):
            before = self.end()
        whole = self._whole = self._whole or {"object": "chat.completion", "choices": []}
        for key in ("id", "created", "model", "provider", "service_tier", "usage", "error"):
            if chunk.get(key) is not None:
                whole[key] = chunk[key]
        for choice in map(dict_of, list_of(chunk.get("choices"))):
            self._choice(_index(choice), choice)
        return before

    def end(self) -> Value | None:
        """The response that is open; the last chunk says why a choice ended."""
        whole = self._whole
        if whole is None:
            return None
        whole["choices"] = [
            {"message": self._message(index), "finish_reason": reason}
            for index, reason in sorted(self._reasons.items())
        ]
        if not any(self._reasons.values()):
            whole[CUT] = True
        self._forget()
        return whole

    def _forget(self) -> None:
        self._whole, self._reasons, self._details, self._texts, self._calls = None, {}, {}, {}, {}

    def _message(self, index: int) -> Value:
        message: Value = {key: "".join(pieces) for (choice, key), pieces in self._texts.items() if choice == index}
        calls = [(at, _whole_call(call)) for (choice, at), call in sorted(self._calls.items()) if choice == index]
        message["tool_calls"] = [call for at, call in calls if at >= 0]
        message["function_call"] = next((call["function"] for at, call in calls if at < 0), None)
        return {"role": "assistant", **message, "reasoning_details": self._details.get(index)}

    def _choice(self, index: int, choice: Value) -> None:
        self._reasons[index] = choice.get("finish_reason") or self._reasons.get(index)
        delta = dict_of(choice.get("delta"))
        for key in TEXTS:
            if text := text_of(delta.get(key)):
                self._texts.setdefault((index, key), []).append(text)
        if details := list_of(delta.get("reasoning_details")):
            self._details.setdefault(index, []).extend(details)
        for part in map(dict_of, list_of(delta.get("tool_calls"))):
            self._call((index, _index(part)), part.get("id"), dict_of(part.get("function")))
        if legacy := dict_of(delta.get("function_call")):
            self._call((index, -1), None, legacy)

    def _call(self, place: tuple[int, int], id: Any, function: Value) -> None:
        """Pieces of a call belong together by their index. Names come whole, and some providers repeat them."""
        call = self._calls.setdefault(place, {"id": None, "name": None, "pieces": []})
        call["id"] = id or call["id"]
        call["name"] = text_of(function.get("name"))[:ID_LIMIT] or call["name"]
        call["pieces"].append(text_of(function.get("arguments")))


class Events:
    """Responses that come as events; the last event holds the whole response."""

    def __init__(self) -> None:
        self._begun: Value | None = None
        self._items: dict[int, Value] = {}
        self._texts: dict[int, list[str]] = {}

    def add(self, event: Value) -> Value | None:
        """The whole response, with the event that ends it."""
        kind = text_of(event.get("type"))
        response = event.get("response")
        if kind in WHOLE and isinstance(response, dict):
            self._forget()
            return response
        before = None
        if kind == "response.created" and self._begun is not None:
            before = self.end()
        if isinstance(response, dict):
            self._begun = response
        elif kind.startswith("response.output_item.") and isinstance(event.get("item"), dict):
            self._items[_output(event)] = event["item"]
        elif kind.endswith(".delta") and isinstance(event.get("delta"), str):
            self._texts.setdefault(_output(event), []).append(event["delta"])
        self._begun = self._begun if self._begun is not None else {"object": "response"}
        return before

    def end(self) -> Value | None:
        """The response that is open: its items as far as they came."""
        begun = self._begun
        if begun is None:
            return None
        items = [_filled(item, "".join(self._texts.get(place, []))) for place, item in sorted(self._items.items())]
        self._forget()
        return begun | {"object": "response", "output": items, CUT: True}

    def _forget(self) -> None:
        self._begun, self._items, self._texts = None, {}, {}


def _filled(item: Value, text: str) -> Value:
    """An item that was begun, with the pieces that came of it."""
    kind = item.get("type")
    if item.get("status") == "completed" or not text:
        return item
    if kind == "message":
        return item | {"content": [{"type": "output_text", "text": text}]}
    if kind == "reasoning":
        return item | {"summary": [{"type": "summary_text", "text": text}]}
    return item | {"input" if kind == "custom_tool_call" else "arguments": text}


def _whole_call(call: Value) -> Value:
    return {"id": call["id"], "function": {"name": call["name"], "arguments": "".join(call["pieces"])}}


def _index(value: Value) -> int:
    index = value.get("index")
    return index if isinstance(index, int) else 0


def _output(event: Value) -> int:
    index = event.get("output_index")
    return index if isinstance(index, int) else 0
