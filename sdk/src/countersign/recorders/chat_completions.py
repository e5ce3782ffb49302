"""OpenAI's chat completions: what a request brings that is new, its response, and the pieces of a streamed one."""

from __future__ import annotations

from typing import Any

from .telling import BROKEN_OFF, Json, Recording, is_json, plain, read_arguments, tell_call, tell_result

PATH = "/chat/completions"


def tell_new(session: Recording, asked: Json) -> None:
    """What came after the model's last answer."""
    messages = [plain(message) for message in asked["messages"]]
    answered = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
    for message in messages[answered[-1] + 1 :] if answered else messages:
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            tell_result(session, message.get("tool_call_id"), content, failed=False)
            continue
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        if text:
            session.message(text, "user" if role == "user" else "system")


def tell(session: Recording, answer: Json, *, is_whole: bool = True) -> None:
    """A response. Its tokens of the prompt hold those that were cached; ours do not."""
    data = None if is_whole else BROKEN_OFF
    for choice in answer["choices"]:
        said = choice["message"]
        if text := said.get("content") or said.get("refusal"):
            session.message(text, model=answer["model"], data=data)
        for call in said.get("tool_calls") or ():
            if call.get("function"):
                arguments = read_arguments(call["function"]["arguments"])
                tell_call(session, call["id"], call["function"]["name"], arguments)
    used = answer.get("usage")
    if used:
        cached = (used.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        session.usage(
            model=answer["model"], input_tokens=used["prompt_tokens"] - cached, cache_read_tokens=cached,
            output_tokens=used["completion_tokens"],
            reasoning_tokens=(used.get("completion_tokens_details") or {}).get("reasoning_tokens"), data=data,
        )  # fmt: skip


class Pieces:
    """A streamed response, as far as it came. Its tokens are in the last chunk, where ``include_usage`` asks for it."""

    def __init__(self) -> None:
        self._said: dict[int, list[str]] = {}
        self._calls: dict[tuple[int, int], Json] = {}
        self._model, self._usage = "", None
        self.is_whole = False

    def add(self, piece: Json) -> None:
        """The next chunk."""
        self._model = piece.get("model") or self._model
        self._usage = piece.get("usage") or self._usage
        for choice in piece["choices"]:
            index, delta = choice["index"], choice.get("delta") or {}
            self._said.setdefault(index, []).append(delta.get("content") or delta.get("refusal") or "")
            for call in delta.get("tool_calls") or ():
                self._add_call((index, call["index"]), call)
            self.is_whole = self.is_whole or bool(choice.get("finish_reason"))

    def _add_call(self, place: tuple[int, int], piece: Json) -> None:
        call = self._calls.setdefault(place, {"id": "", "name": "", "arguments": []})
        function = piece.get("function") or {}
        call["id"] = piece.get("id") or call["id"]
        call["name"] = function.get("name") or call["name"]
        call["arguments"].append(function.get("arguments") or "")

    def answer(self) -> Json | None:
        """As one that is not streamed; a call that is not whole is left out. None where nothing came."""
        if not self._model:
            return None
        choices = [{"message": {"content": "".join(said), "tool_calls": self._calls_of(index)}}
                   for index, said in self._said.items()]  # fmt: skip
        return {"model": self._model, "choices": choices, "usage": self._usage}

    def _calls_of(self, choice: int) -> list[Json]:
        calls: list[Json] = []
        for (index, _), call in self._calls.items():
            arguments: Any = "".join(call["arguments"])
            if index == choice and (self.is_whole or is_json(arguments)):
                calls.append({"id": call["id"], "function": {"name": call["name"], "arguments": arguments}})
        return calls
