"""Calls of the Microsoft Agent Framework that wait for an approval, each against the desks of the command line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from agent_framework import Agent, Message, tool
from countersign.adapters.agent_framework import Gate
from scripted_agent_framework import model

GIVEN = {"order": "4711", "amount": 40.0}
Ran = list[Any]


def agent(ran: Ran, *middleware: Any) -> Agent:
    @tool(approval_mode="always_require")
    def refund(order: str, amount: float) -> str:
        """Pay money back."""
        ran.append({"order": order, "amount": amount})
        return "Paid."

    return Agent(model([GIVEN]), tools=[refund], middleware=middleware)


async def answered(gate: Gate, ran: Ran) -> None:
    await gate.run(agent(ran), "Pay.")


async def asked_once(gate: Gate, ran: Ran) -> None:
    await gate.run(agent(ran, gate.middleware), "Pay.")


async def approved_elsewhere(gate: Gate, ran: Ran) -> None:
    refunds = agent(ran, gate.middleware)
    session = refunds.create_session()
    [request] = (await refunds.run("Pay.", session=session)).user_input_requests
    answer = Message(role="user", contents=[request.to_function_approval_response(True)])
    await refunds.run(answer, session=session)


async def became(form: Any, desk: str) -> Ran:
    os.environ["COUNTERSIGN_URL"] = desk
    ran: Ran = []
    await form(Gate("Refund agent", wait=2), ran)
    return ran


async def main(desks: list[str]) -> dict[str, Any]:
    forms = (answered, asked_once, approved_elsewhere)
    return {form.__name__: [await became(form, desk) for desk in desks] for form in forms}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1:]))))
