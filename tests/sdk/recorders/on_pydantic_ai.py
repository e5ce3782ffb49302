"""Runs of Pydantic AI, recorded. Arguments: the address of the APIs. Without pytest."""

from __future__ import annotations

import asyncio
import sys

from countersign import Session
from countersign.recorders.pydantic_ai import recording
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

url = sys.argv[1]
providers = {
    AnthropicModel: lambda: AnthropicProvider(base_url=url, api_key="sk-test"),
    OpenAIResponsesModel: lambda: OpenAIProvider(base_url=f"{url}/v1", api_key="sk-test"),
}


def agent(kind, session, name="m-1", **more):
    return Agent(kind(name, provider=providers[kind]()), capabilities=[recording(session)], **more)


def find(order: str) -> str:
    """Finds."""
    return "sent"


def fails(order: str) -> str:
    """Finds nothing."""
    raise ModelRetry("there is no such order")


async def main():
    for kind, name in ((AnthropicModel, "messages"), (OpenAIResponsesModel, "responses")):
        print((await agent(kind, Session(name, "Clerk"), tools=[find]).run("Where is 4711?")).output)
        async with agent(kind, Session(f"{name} streamed", "Clerk"), tools=[find]).run_stream("Where is 4711?") as said:
            print(await said.get_output())
    one_for_each = agent(AnthropicModel, lambda run: Session(run.deps, "Clerk"), tools=[fails], deps_type=str)
    print((await one_for_each.run("Where is 4711?", deps="failed")).output)
    try:
        async with agent(AnthropicModel, Session("left", "Clerk")).run_stream("Where is 4711?") as said:
            async for piece in said.stream_text(delta=True, debounce_by=None):
                raise KeyError(piece)
    except KeyError as left:
        print("left after", left)
    try:
        await agent(AnthropicModel, Session("refused", "Clerk"), "nobodys").run("Where is 4711?")
    except Exception:
        print("refused")


asyncio.run(main())
Session("messages", "Clerk").flush()
