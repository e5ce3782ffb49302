"""A model of Google ADK that asks for refunds, and then is done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Scripted(BaseLlm):
    calls: list[dict[str, Any]]
    heard: list[str] = []

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
        parts = [part for content in llm_request.contents for part in content.parts or ()]
        self.heard[:] = [
            str(next(iter(part.function_response.response.values()))) for part in parts if part.function_response
        ]
        asked = [types.Part.from_function_call(name="refund", args=given) for given in self.calls]
        said = [types.Part.from_text(text="Done.")] if self.heard else asked
        yield LlmResponse(content=types.Content(role="model", parts=said))


def model(calls: list[dict[str, Any]]) -> Scripted:
    return Scripted(model="scripted", calls=calls, heard=[])


def told(model: Scripted) -> list[str]:
    return model.heard
