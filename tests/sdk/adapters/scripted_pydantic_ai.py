"""A model of Pydantic AI that asks for refunds, and then is done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel


class Scripted(FunctionModel):
    def __init__(self, calls: list[dict[str, Any]]) -> None:
        self.told: list[str] = []
        parts = [ToolCallPart("refund", given, tool_call_id=f"call_{n}") for n, given in enumerate(calls)]

        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            results = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
            self.told = [str(part.content) for part in results]
            return ModelResponse(parts=[TextPart("Done.")] if results else parts)

        async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
            for number, part in enumerate(answer(messages, info).parts):
                if isinstance(part, ToolCallPart):
                    yield {
                        number: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)
                    }
                else:
                    yield part.content

        super().__init__(answer, stream_function=stream)


def model(calls: list[dict[str, Any]]) -> Scripted:
    return Scripted(calls)


def told(model: Scripted) -> list[str]:
    return model.told
