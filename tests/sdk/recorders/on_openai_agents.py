"""Runs of the OpenAI Agents SDK, recorded by their traces. Arguments: the address of the APIs. Without pytest."""

from __future__ import annotations

import asyncio
import logging
import sys

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
)
from agents.tracing import set_trace_processors
from countersign import Session
from countersign.recorders.openai_agents import processor
from openai import AsyncOpenAI

logging.getLogger("openai.agents").setLevel(logging.CRITICAL)  # it says that a model was not there
client = AsyncOpenAI(base_url=f"{sys.argv[1]}/v1", api_key="sk-test", max_retries=0)
set_trace_processors([processor(lambda trace: Session(trace.group_id, "Clerk") if trace.group_id else None)])

COUNTING = ModelSettings(include_usage=True)


@function_tool
def find(order: str) -> str:
    """Finds."""
    return "sent"


def agent(kind, name="o-1"):
    return Agent(name="Clerk", model=kind(name, client), tools=[find], model_settings=COUNTING)


def run(name):
    return RunConfig(group_id=name)


async def main():
    for kind, name in ((OpenAIResponsesModel, "responses"), (OpenAIChatCompletionsModel, "completions")):
        print((await Runner.run(agent(kind), "Where is 4711?", run_config=run(name))).final_output)
        streamed = Runner.run_streamed(agent(kind), "Where is 4711?", run_config=run(f"{name} streamed"))
        async for _ in streamed.stream_events():
            pass
        print(streamed.final_output)
    try:
        await Runner.run(agent(OpenAIResponsesModel, "nobodys"), "Where is 4711?", run_config=run("refused"))
    except Exception:
        print("refused")
    await Runner.run(agent(OpenAIResponsesModel), "Where is 4711?")  # of no session


asyncio.run(main())
Session("responses", "Clerk").flush()
