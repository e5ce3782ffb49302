"""The other forms in which a graph of LangChain asks, each against the desks of the command line; prints JSON."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, TypedDict

from countersign.adapters.langchain import CannotDeny, Gate
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from scripted_langchain import model

CONFIG = {"configurable": {"thread_id": "1"}}
GIVEN = {"order": "4711", "amount": 40.0}
Ran = list[Any]


def middleware(ran: Ran, may: Any, **more: Any) -> tuple[Any, Any]:
    def refund(order: str, amount: float) -> str:
        """Pay money back."""
        ran.append({"order": order, "amount": amount})
        return "Paid."

    asks = HumanInTheLoopMiddleware(interrupt_on={"refund": may}, **more)
    agent = create_agent(model([GIVEN]), [refund], middleware=[asks], checkpointer=InMemorySaver())
    return agent, {"messages": [("user", "Pay 40 back.")]}


class State(TypedDict, total=False):
    answer: Any


def graph(ran: Ran, value: Any) -> tuple[Any, Any]:
    """A graph of somebody's own that interrupts with a value."""

    def node(state: State) -> State:
        [answer] = interrupt(value)
        if answer["type"] in ("accept", "edit"):
            ran.append(answer["args"]["args"] if answer["type"] == "edit" else GIVEN)
        return {"answer": answer}

    return StateGraph(State).add_node(node).add_edge(START, "node").compile(InMemorySaver()), {}


EVERY = {"allow_accept": True, "allow_edit": True, "allow_ignore": True, "allow_respond": True}
INBOX = [{"action_request": {"action": "refund", "args": GIVEN}, "config": EVERY, "description": "Pay money back"}]
FORMS: dict[str, Any] = {
    "per call": lambda ran: middleware(ran, True, interrupt_mode="per_call"),
    "per call, no edit": lambda ran: middleware(
        ran, {"allowed_decisions": ["approve", "reject"]}, interrupt_mode="per_call"
    ),
    "no edit": lambda ran: middleware(ran, {"allowed_decisions": ["approve", "reject"]}),
    "only approve": lambda ran: middleware(ran, {"allowed_decisions": ["approve"]}),
    "per call, only approve": lambda ran: middleware(
        ran, {"allowed_decisions": ["approve"]}, interrupt_mode="per_call"
    ),
    "inbox": lambda ran: graph(ran, INBOX),
    "something else": lambda ran: graph(ran, "Go on?"),
}


async def became(form: str, desk: str) -> Any:
    os.environ["COUNTERSIGN_URL"] = desk
    ran: Ran = []
    try:
        result = await Gate("Refund agent", wait=2).run(*FORMS[form](ran), CONFIG)
    except CannotDeny:
        return [ran, "cannot deny"]
    return [ran, "interrupted" if result.get("__interrupt__") else "done"]


async def main(desks: list[str]) -> dict[str, Any]:
    return {form: [await became(form, desk) for desk in desks] for form in FORMS}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1:]))))
