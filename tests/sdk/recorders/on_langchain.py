"""Models and tools of LangChain, recorded. Arguments: the address of the APIs. Without pytest."""

from __future__ import annotations

import asyncio
import sys

from countersign import Session
from countersign.recorders.langchain import callbacks
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool

url = sys.argv[1]


@tool
def find(order: str) -> str:
    """Finds."""
    if order != "4711":
        raise ValueError("there is no such order")
    return "sent"


def model(name):
    return ChatAnthropic(model=name, base_url=url, api_key="sk-test", max_retries=0)


def recorded(name):
    return {"callbacks": [callbacks(Session(name, "Clerk"))]}


asked = {"messages": [{"role": "user", "content": "Where is 4711?"}]}
agent = create_agent(model("m-1"), [find])
print(agent.invoke(asked, recorded("invoked"))["messages"][-1].text)
for piece in model("m-1").stream("Where is 4711?", recorded("left")):
    if piece.text:
        break
try:
    model("nobodys").invoke("Where is 4711?", recorded("refused"))
except Exception:
    print("refused")
try:
    find.invoke({"order": "none"}, recorded("failed"))
except ValueError:
    print("failed")


async def in_a_loop():
    said = []
    async for mode, (piece, _) in agent.astream(asked, recorded("streamed"), stream_mode=["messages"]):
        said.append(piece.text if mode == "messages" else "")
    print("".join(said).endswith("At sea."))


asyncio.run(in_a_loop())
Session("invoked", "Clerk").flush()
