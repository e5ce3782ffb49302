"""A program that asks models with other people's clients, recorded. Arguments: their address. Without pytest."""

from __future__ import annotations

import asyncio
import sys

from anthropic import Anthropic, AsyncAnthropic
from countersign import Session
from countersign.recorders import record_anthropic, record_openai
from openai import AsyncOpenAI, NotFoundError, OpenAI

url = sys.argv[1]
TOOL = {"name": "find", "description": "Finds", "input_schema": {"type": "object", "properties": {}}}
FUNCTION = {"type": "function", "name": "find", "parameters": {"type": "object", "properties": {}}, "strict": False}
CALLED = {"type": "function", "function": {"name": "find", "parameters": FUNCTION["parameters"]}}
ASKED = [{"role": "user", "content": "Where is 4711?"}]
WHOLE = {"model": "m-1", "max_tokens": 99, "tools": [TOOL]}
CUT = {"model": "breaks", "max_tokens": 99, "messages": ASKED}


def anthropic(name):
    return record_anthropic(Anthropic(base_url=url, api_key="sk-test", max_retries=0), Session(name, "Clerk"))


def openai(name):
    return record_openai(OpenAI(base_url=f"{url}/v1", api_key="sk-test", max_retries=0), Session(name, "Clerk"))


def answered(content):
    """What a program sends back of a call."""
    result = [{"type": "tool_result", "tool_use_id": content[0].id, "content": "sent"}]
    return [*ASKED, {"role": "assistant", "content": content}, {"role": "user", "content": result}]


def messages():
    client = anthropic("messages")
    said = answered(client.messages.create(messages=ASKED, **WHOLE).content)
    print(client.messages.create(messages=said, **WHOLE).content[0].text)


def messages_streamed():
    client = anthropic("messages streamed")
    with client.messages.stream(messages=ASKED, **WHOLE) as stream:
        said = answered(stream.get_final_message().content)
    for _ in client.messages.create(messages=said, stream=True, **WHOLE):
        pass


def messages_cut():
    client = anthropic("messages cut")
    try:
        for _ in client.messages.create(stream=True, **CUT):
            pass
    except Exception as error:
        print("cut", type(error).__name__ != "")


def messages_left():
    """The program wants no more of it, and closes it, or drops it."""
    with anthropic("messages closed").messages.stream(model="m-1", max_tokens=99, messages=ASKED) as stream:
        for piece in stream.text_stream:
            print("left after", piece)
            break
    for event in anthropic("messages dropped").messages.create(stream=True, **CUT | {"model": "m-1"}):
        if event.type == "content_block_delta":
            break


def completions():
    client = openai("completions")
    asked = [{"role": "system", "content": "Be brief."}, *ASKED]
    print(client.chat.completions.create(model="o-1", messages=asked).choices[0].message.content)
    try:
        client.chat.completions.create(model="nobodys", messages=ASKED)
    except NotFoundError:
        print("not found")


def completions_streamed():
    client = openai("completions streamed")
    counting = {"include_usage": True}
    for _ in client.chat.completions.create(
        model="o-1", messages=ASKED, tools=[CALLED], stream=True, stream_options=counting
    ):
        pass
    with client.chat.completions.stream(model="o-1", messages=ASKED, stream_options=counting) as stream:
        print(stream.get_final_completion().choices[0].message.content)


def responses():
    client = openai("responses")
    first = client.responses.create(model="o-1", input="Where is 4711?", tools=[FUNCTION])
    result = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "sent"}
    said = [*ASKED, *first.output, result]
    with client.responses.stream(model="o-1", input=said, tools=[FUNCTION]) as stream:
        print(stream.get_final_response().output_text)


def responses_cut():
    try:
        for _ in openai("responses cut").responses.create(model="breaks", input=ASKED, stream=True):
            pass
    except Exception:
        print("cut")


async def in_a_loop():
    client = record_anthropic(AsyncAnthropic(base_url=url, api_key="sk-test"), Session("messages async", "Clerk"))
    async with client.messages.stream(messages=ASKED, **WHOLE) as stream:
        said = answered((await stream.get_final_message()).content)
    print((await client.beta.messages.create(messages=said, **WHOLE)).content[0].text)
    client = record_openai(AsyncOpenAI(base_url=f"{url}/v1", api_key="sk"), Session("responses async", "Clerk"))
    stream = await client.responses.create(model="o-1", input=ASKED, stream=True)
    async for event in stream:
        if event.type == "response.output_text.delta":
            break
    await stream.close()


for run in (messages, messages_streamed, messages_cut, messages_left, completions, completions_streamed, responses,
            responses_cut):  # fmt: skip
    run()
asyncio.run(in_a_loop())
Session("messages", "Clerk").flush()
