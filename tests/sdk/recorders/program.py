"""A program that asks models with other people's clients, recorded. Arguments: their address. Without pytest."""

from __future__ import annotations

import asyncio
import sys

from anthropic import Anthropic
from countersign import Session
from countersign.recorders import record_anthropic, record_openai
from openai import AsyncOpenAI, NotFoundError

url = sys.argv[1]
session = Session("of-anthropic", "Clerk")
client = record_anthropic(Anthropic(base_url=url, api_key="sk-test"), session)
tool = {"name": "find", "description": "Finds", "input_schema": {"type": "object", "properties": {}}}
said = [{"role": "user", "content": "Where is 4711?"}]
first = client.messages.create(model="m-1", max_tokens=99, messages=said, tools=[tool])
said += [{"role": "assistant", "content": first.content}]
said += [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": first.content[0].id, "content": "sent"}]}]
print(client.messages.create(model="m-1", max_tokens=99, messages=said, tools=[tool]).content[0].text)
session.flush()


async def ask() -> None:
    session = Session("of-openai", "Clerk")
    client = record_openai(AsyncOpenAI(base_url=f"{url}/v1", api_key="sk-test", max_retries=0), session)
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]
    print((await client.chat.completions.create(model="o-1", messages=asked)).choices[0].message.content)
    try:
        await client.chat.completions.create(model="nobodys", messages=asked[1:])
    except NotFoundError:
        print("not found")
    session.flush()


asyncio.run(ask())
