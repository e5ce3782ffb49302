"""Anthropic's Messages API: what a request brings that is new, its response, and the pieces of a streamed one."""

from __future__ import annotations

from typing import Any

from .telling import BROKEN_OFF, Json, Recording, plain, read_arguments, tell_call, tell_result

PATH = "/v1/messages"


def tell_new(session: Recording, asked: Json) -> None:
    """What came after the model's last answer."""
    messages = [plain(message) for message in asked["messages"]]
    answered = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
    for message in messages[answered[-1] + 1 :] if answered else messages:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for block in blocks:
            if block.get("type") == "tool_result":
                failed = bool(block.get("is_error"))
                tell_result(session, block["tool_use_id"], block.get("content"), failed=failed)
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        if text:
            session.message(text, "user" if message.get("role") == "user" else "system")


def tell(session: Recording, answer: Json, *, is_whole: bool = True) -> None:
    """A response."""
    data = None if is_whole else BROKEN_OFF
    text = "".join(block.get("text") or "" for block in answer["content"] if block["type"] == "text")
    if text:
        session.message(text, model=answer["model"], data=data)
    for block in answer["content"]:
        if block["type"] == "tool_use":
            tell_call(session, block["id"], block["name"], block["input"])
    used = answer["usage"]
    session.usage(
        model=answer["model"], input_tokens=used["input_tokens"], output_tokens=used["output_tokens"],
        cache_read_tokens=used.get("cache_read_input_tokens"),
        cache_write_tokens=used.get("cache_creation_input_tokens"), data=data,
    )  # fmt: skip


class Pieces:
    """A streamed response, as far as it came."""

    def __init__(self) -> None:
        self._message: Json | None = None
        self._blocks: dict[int, Json] = {}
        self._deltas: dict[int, list[str]] = {}
        self._ended: set[int] = set()
        self.is_whole = False

    def add(self, piece: Json) -> None:
        """The next event."""
        index: Any = piece.get("index")
        match piece["type"]:
            case "message_start":
                self._message = piece["message"]
            case "content_block_start":
                self._blocks[index], self._deltas[index] = piece["content_block"], []
            case "content_block_delta":
                delta = piece["delta"]
                self._deltas[index].append(delta.get("text") or delta.get("partial_json") or "")
            case "content_block_stop":
                self._ended.add(index)
            case "message_delta" if self._message:
                said = {name: count for name, count in piece["usage"].items() if count is not None}
                self._message["usage"] = self._message["usage"] | said
            case "message_stop":
                self.is_whole = True

    def answer(self) -> Json | None:
        """As one that is not streamed; a call that is not whole is left out. None where nothing came."""
        if self._message is None:
            return None
        content = [self._block(index) for index, block in self._blocks.items()
                   if block["type"] == "text" or index in self._ended]  # fmt: skip
        return self._message | {"content": content}

    def _block(self, index: int) -> Json:
        block, said = self._blocks[index], "".join(self._deltas[index])
        if block["type"] == "text":
            return block | {"text": (block.get("text") or "") + said}
        return block | {"input": read_arguments(said) if said else block.get("input") or {}}
