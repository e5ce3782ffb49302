"""A chat client of the Microsoft Agent Framework whose model asks for refunds, and then is done."""

from __future__ import annotations

import json
from typing import Any

from agent_framework import BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message


class Scripted(FunctionInvocationLayer, BaseChatClient):
    def __init__(self, calls: list[dict[str, Any]]) -> None:
        super().__init__()
        self.calls, self.heard = calls, []

    async def _inner_get_response(
        self, *, messages: Any, stream: bool = False, options: Any = None, **more: Any
    ) -> Any:
        contents = [content for message in messages for content in message.contents]
        self.heard = [str(content.result) for content in contents if content.type == "function_result"]
        asked = [
            Content.from_function_call(call_id=f"call_{number}", name="refund", arguments=json.dumps(given))
            for number, given in enumerate(self.calls)
        ]
        said = [Content.from_text("Done.")] if self.heard else asked
        return ChatResponse(messages=[Message(role="assistant", contents=said)])


def model(calls: list[dict[str, Any]]) -> Scripted:
    return Scripted(calls)


def told(model: Scripted) -> list[str]:
    return model.heard
