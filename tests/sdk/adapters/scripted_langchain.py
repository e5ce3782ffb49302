"""A chat model of LangChain that asks for refunds, and then is done."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage


class Scripted(FakeMessagesListChatModel):
    heard: list[str] = []

    def bind_tools(self, tools: Any, **more: Any) -> Scripted:
        return self

    def _generate(self, messages: list[BaseMessage], *more: Any, **named: Any) -> Any:
        self.heard[:] = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
        return super()._generate(messages, *more, **named)


def model(calls: list[dict[str, Any]]) -> Scripted:
    asked = [{"name": "refund", "args": given, "id": f"call_{number}"} for number, given in enumerate(calls)]
    return Scripted(responses=[AIMessage("", tool_calls=asked), AIMessage("Done.")], heard=[])


def told(model: Scripted) -> list[str]:
    return model.heard
