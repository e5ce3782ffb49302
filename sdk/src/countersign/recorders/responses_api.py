"""OpenAI's Responses API: what a request brings that is new, its response, and the pieces of a streamed one."""

from __future__ import annotations

from typing import Any

from .telling import BROKEN_OFF, Json, Recording, plain, read_arguments, tell_call, tell_result

PATH = "/responses"
ENDS = ("response.completed", "response.incomplete", "response.failed")


def new_items(given: Any) -> list[Json]:
    """Of the ``input`` of a request what came after the model's last item."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    items = [plain(item) for item in given or ()]
    answered = [place for place, item in enumerate(items) if not _is_new(item)]
    return items[answered[-1] + 1 :] if answered else items


def _is_new(item: Json) -> bool:
    return item.get("role") in ("user", "system", "developer") or str(item.get("type")).endswith("_output")


def text_of(item: Json) -> str:
    """The words of a message, of either side."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or part.get("refusal") or "" for part in content or () if isinstance(part, dict))


def tell_new(session: Recording, asked: Json) -> None:
    """What came after the model's last item."""
    for item in new_items(asked.get("input")):
        if "call_id" in item:
            tell_result(session, item["call_id"], item.get("output"), failed=False)
        elif text := text_of(item):
            session.message(text, "user" if item.get("role") == "user" else "system")


def tell(session: Recording, answer: Json, *, is_whole: bool = True) -> None:
    """A response."""
    tell_output(session, answer, is_whole=is_whole)
    for call in calls_of(answer):
        tell_call(session, *call)
    for item in answer.get("output") or ():
        if item["type"] == "mcp_call":
            failed = bool(item.get("error"))
            tell_result(session, item["id"], item.get("error") or item.get("output"), failed=failed)
    if error := answer.get("error"):
        session.record("error", text=str(error.get("message") or error), actor={"kind": "agent"})
    tell_usage(session, answer, is_whole=is_whole)


def tell_output(session: Recording, answer: Json, *, is_whole: bool = True) -> None:
    """The messages of a response."""
    for item in answer.get("output") or ():
        if item["type"] == "message" and (text := text_of(item)):
            session.message(text, model=answer.get("model"), data=None if is_whole else BROKEN_OFF)


def calls_of(answer: Json) -> list[tuple[str, str, Any, str | None]]:
    """Id, name, arguments and server of the calls that a response wants, or has had the service make."""
    calls: list[tuple[str, str, Any, str | None]] = []
    for item in answer.get("output") or ():
        match item["type"]:
            case "function_call":
                calls.append((item["call_id"], item["name"], read_arguments(item["arguments"]), None))
            case "custom_tool_call":
                calls.append((item["call_id"], item["name"], item["input"], None))
            case "mcp_call":
                label = item.get("server_label")
                calls.append((item["id"], item["name"], read_arguments(item["arguments"]), label))
            case kind if kind.endswith("_call"):
                given = {name: value for name, value in item.items() if name not in ("id", "type", "status")}
                calls.append((item.get("call_id") or item["id"], kind.removesuffix("_call"), given, None))
    return calls


def tell_usage(session: Recording, answer: Json, *, is_whole: bool = True) -> None:
    """Its tokens. Those of the input hold the cached ones; ours do not."""
    if used := answer.get("usage"):
        cached = (used.get("input_tokens_details") or {}).get("cached_tokens") or 0
        session.usage(
            model=answer["model"], input_tokens=used["input_tokens"] - cached, cache_read_tokens=cached,
            output_tokens=used["output_tokens"],
            reasoning_tokens=(used.get("output_tokens_details") or {}).get("reasoning_tokens"),
            data=None if is_whole else BROKEN_OFF,
        )  # fmt: skip


class Pieces:
    """A streamed response, as far as it came: its last event is the whole of it."""

    def __init__(self) -> None:
        self._response: Json | None = None
        self._items: dict[str, Json] = {}
        self._deltas: dict[str, list[str]] = {}
        self.is_whole = False

    def add(self, piece: Json) -> None:
        """The next event."""
        match piece["type"]:
            case "response.created":
                self._response = piece["response"]
            case "response.output_text.delta":
                self._deltas.setdefault(piece["item_id"], []).append(piece["delta"])
            case "response.output_item.done":
                item = piece["item"]
                self._items[item.get("id") or str(len(self._items))] = item
            case kind if kind in ENDS:
                self._response, self.is_whole = piece["response"], True

    def answer(self) -> Json | None:
        """As one that is not streamed; a call that is not whole is left out. None where nothing came."""
        if self._response is None or self.is_whole:
            return self._response
        cut = [{"type": "message", "content": "".join(said)} for id_, said in self._deltas.items()
               if id_ not in self._items]  # fmt: skip
        return self._response | {"output": [*self._items.values(), *cut]}
